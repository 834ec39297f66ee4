// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Row is one row that was applied to the table.
type Row struct {
	// EventID, User and Session are the columns event_id, user_id and session_id, empty where the schema has none.
	EventID, User, Session string
	// Connection and Request number the connection of the server and the request on it,
	// from 0.
	Connection, Request int
	// Bytes is the encoded size.
	Bytes int

	encoded []byte
	schema  *writerSchema
}

// Fields decodes the row: a column that is not set is absent, a record is a
// map[string]any, a repeated column is a []any. It is nil when the server drops rows.
func (r Row) Fields() map[string]any {
	if r.encoded == nil {
		return nil
	}
	m, err := r.schema.decode(r.encoded)
	if err != nil {
		return nil // cannot happen: the row was decoded when it came
	}
	return fields(m)
}

func fields(m protoreflect.Message) map[string]any {
	out := make(map[string]any)
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !fd.IsList() {
			out[string(fd.Name())] = plain(fd, v)
			return true
		}
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = plain(fd, v.List().Get(i))
		}
		out[string(fd.Name())] = list
		return true
	})
	return out
}

func plain(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	if fd.Message() != nil {
		return fields(v.Message())
	}
	return v.Interface()
}

// writerSchema is what the first request of a connection says about its rows.
type writerSchema struct {
	row protoreflect.MessageDescriptor
}

// newWriterSchema resolves dp the way the service does: on its own, with nothing
// imported.
func newWriterSchema(dp *descriptorpb.DescriptorProto) (*writerSchema, error) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:        proto.String("row.proto"),
		Syntax:      proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{dp},
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("writer schema: %w", err)
	}
	return &writerSchema{file.Messages().Get(0)}, nil
}

// columns returns the names of the top-level columns.
func (s *writerSchema) columns() []string {
	names := make([]string, s.row.Fields().Len())
	for i := range names {
		names[i] = string(s.row.Fields().Get(i).Name())
	}
	return names
}

// decode reads one row, whole.
func (s *writerSchema) decode(encoded []byte) (protoreflect.Message, error) {
	m := dynamicpb.NewMessage(s.row)
	if err := proto.Unmarshal(encoded, m); err != nil {
		return nil, err
	}
	return m, protorange.Range(m, func(at protopath.Values) error {
		v := at.Index(-1).Value.Interface()
		if below, ok := v.(protoreflect.Message); ok && len(below.GetUnknown()) > 0 {
			return errors.New("the row has a field that the writer schema has not")
		}
		return nil
	})
}

// read decodes encoded into a Row.
func (s *writerSchema) read(encoded []byte) (Row, error) {
	m, err := s.decode(encoded)
	if err != nil {
		return Row{}, err
	}
	text := func(column protoreflect.Name) string {
		if fd := s.row.Fields().ByName(column); fd != nil {
			return m.Get(fd).String()
		}
		return ""
	}
	return Row{EventID: text("event_id"), User: text("user_id"), Session: text("session_id"), Bytes: len(encoded), encoded: encoded, schema: s}, nil
}
