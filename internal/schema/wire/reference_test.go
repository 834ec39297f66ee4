// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/record"
)

// row is a row by the names of its columns. What is NULL is not in it.
type row map[string]any

// descriptor returns the type of the messages, made from what the write service gets.
func descriptor(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("row.proto"), Syntax: new("proto2"), MessageType: []*descriptorpb.DescriptorProto{wire.Descriptor()},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().Get(0)
}

// decode reads a message as the write service does, by its descriptor alone.
func decode(t testing.TB, d protoreflect.MessageDescriptor, data []byte) row {
	t.Helper()
	m := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(data, m); err != nil { // required fields are checked too
		t.Fatalf("%x: %v", data, err)
	}
	return rowOf(t, m)
}

func rowOf(t testing.TB, m protoreflect.Message) row {
	t.Helper()
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		t.Errorf("%s has unknown fields %x", m.Descriptor().Name(), unknown)
	}
	out := row{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(f.Name())
		switch {
		case f.IsList():
			var list []row
			for i := range v.List().Len() {
				list = append(list, rowOf(t, v.List().Get(i).Message()))
			}
			out[name] = list
		case f.Message() != nil:
			out[name] = rowOf(t, v.Message())
		default:
			if s, ok := v.Interface().(string); ok && !utf8.ValidString(s) {
				t.Errorf("%s = %q, which is not UTF-8", name, s)
			}
			out[name] = v.Interface()
		}
		return true
	})
	return out
}

// want returns the row that an event becomes, made in the plainest way. ok is whether
// its content_parts can be read.
func want(t testing.TB, e *record.Event) (r row, ok bool) {
	t.Helper()
	r = row{"timestamp": e.Timestamp, "status": repaired(e.Status), "is_truncated": e.IsTruncated}
	for name, s := range map[string]string{
		"event_id": e.EventID, "event_type": e.EventType, "agent": e.Agent, "session_id": e.SessionID,
		"invocation_id": e.InvocationID, "user_id": e.UserID, "trace_id": e.TraceID, "span_id": e.SpanID,
		"parent_span_id": e.ParentSpanID, "error_message": e.ErrorMessage,
		"content": string(e.Content), "attributes": wantAttributes(e), "latency_ms": string(e.LatencyMS),
	} {
		if s != "" {
			r[name] = repaired(s)
		}
	}
	parts, ok := wantParts(t, e.ContentParts)
	if len(parts) > 0 {
		r["content_parts"] = parts
	}
	return r, ok
}

func wantAttributes(e *record.Event) string {
	s := string(e.Attributes)
	rest, ok := strings.CutPrefix(s, `{"adk":{`)
	if !ok || rest == "" || e.RunSeq <= 0 || !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(e.RunID) {
		return s
	}
	number := fmt.Sprintf(`{"adk":{"run_id":"%s","run_seq":%d,`, e.RunID, e.RunSeq)
	if rest[0] == '}' {
		number = strings.TrimSuffix(number, ",")
	}
	return number + rest
}

func repaired(s string) string { return string([]rune(s)) }

func wantParts(t testing.TB, text []byte) (parts []row, ok bool) {
	t.Helper()
	if len(text) == 0 {
		return nil, true
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, false
	}
	for _, element := range list {
		if element[0] != '{' {
			return nil, false
		}
		p, ref := row{}, row{}
		eachMember(t, element, func(key string, v json.RawMessage) {
			key = named(key, "mime_type", "uri", "object_ref", "text", "part_index", "part_attributes", "storage_mode")
			switch key {
			case "mime_type", "uri", "text", "part_attributes", "storage_mode":
				setString(t, p, key, v)
			case "part_index":
				if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
					p[key] = i
				}
			case "object_ref":
				if v[0] != '{' {
					return
				}
				p[key] = ref
				eachMember(t, v, func(key string, v json.RawMessage) {
					key = named(key, "uri", "version", "authorizer", "details")
					switch key {
					case "uri", "version", "authorizer":
						setString(t, ref, key, v)
					case "details":
						if string(v) != "null" {
							ref[key] = repaired(string(v))
						}
					}
				})
			}
		})
		parts = append(parts, p)
	}
	return parts, true
}

func setString(t testing.TB, r row, key string, v json.RawMessage) {
	t.Helper()
	if v[0] != '"' {
		return
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		t.Fatal(err)
	}
	r[key] = s
}

// eachMember calls f with the members of a JSON object in their order.
func eachMember(t testing.TB, object []byte, f func(key string, v json.RawMessage)) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	next := func() json.Token {
		token, err := d.Token()
		if err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		return token
	}
	next()
	for d.More() {
		key := next().(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		f(key, bytes.TrimSpace(v))
	}
	if next(); d.InputOffset() != int64(len(object)) {
		t.Fatalf("%s: %v", object, io.ErrUnexpectedEOF)
	}
}

// named returns the name that key is, in upper or lower case as encoding/json has it, else key.
func named(key string, names ...string) string {
	for _, name := range names {
		if strings.EqualFold(key, name) {
			return name
		}
	}
	return key
}

// nested returns a JSON value of depth lists in each other.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
