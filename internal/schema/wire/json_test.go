// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
)

// everyType has a column of each type and mode, and two records with one name at different depths.
func everyType() []schema.Column {
	inner := schema.Column{Name: "list", Type: schema.Struct, Mode: schema.Repeated, Fields: []schema.Column{
		{Name: "score", Type: schema.Float64, Mode: schema.Nullable},
		{Name: "names", Type: schema.String, Mode: schema.Repeated},
	}}
	return []schema.Column{
		{Name: "id", Type: schema.String, Mode: schema.Required},
		{Name: "day", Type: schema.Date, Mode: schema.Required},
		{Name: "at", Type: schema.Timestamp, Mode: schema.Nullable},
		{Name: "number", Type: schema.Int64, Mode: schema.Nullable},
		{Name: "ok", Type: schema.Bool, Mode: schema.Nullable},
		{Name: "detail", Type: schema.JSON, Mode: schema.Nullable},
		{Name: "list", Type: schema.Struct, Mode: schema.Repeated, Fields: []schema.Column{
			{Name: "at", Type: schema.Timestamp, Mode: schema.Required},
			inner,
		}},
	}
}

// messageType returns the type of the messages of a table, made from what the write service gets.
func messageType(t testing.TB, columns []schema.Column) protoreflect.MessageDescriptor {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("row.proto"), Syntax: new("proto2"), MessageType: []*descriptorpb.DescriptorProto{wire.DescriptorOf("Everything", columns)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protoregistry.GlobalFiles.FindDescriptorByName("Everything"); err == nil {
		t.Error("the message is registered")
	}
	return file.Messages().Get(0)
}

// plain returns the values of a message by the names of the columns.
func plain(m protoreflect.Message) map[string]any {
	out := make(map[string]any)
	value := func(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
		if f.Message() != nil {
			return plain(v.Message())
		}
		return v.Interface()
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !f.IsList() {
			out[string(f.Name())] = value(f, v)
			return true
		}
		var list []any
		for i := range v.List().Len() {
			list = append(list, value(f, v.List().Get(i)))
		}
		out[string(f.Name())] = list
		return true
	})
	return out
}

func TestAppendJSON(t *testing.T) {
	type values = map[string]any
	d := messageType(t, everyType())
	tests := map[string]struct {
		row  string
		want values
		err  string
	}{
		"everything": {
			row: `{"id":"a","day":"2026-07-31","at":"2026-07-31T12:00:00.123456+02:00","number":-9007199254740993,"ok":true,"detail":{"b":[1,null]},
				"list":[{"at":"1969-12-31T23:59:59Z","list":[{"score":0.25,"names":["x","ü"]},{}]},{"at":"1970-01-01T00:00:00Z"}]}`,
			want: values{
				"id": "a", "day": int32(20665), "at": int64(1785492000123456), "number": int64(-9007199254740993), "ok": true, "detail": `{"b":[1,null]}`,
				"list": []any{
					values{"at": int64(-1000000), "list": []any{values{"score": 0.25, "names": []any{"x", "ü"}}, values{}}},
					values{"at": int64(0)},
				},
			},
		},
		"nothing but what is required": {row: `{"id":"","day":"1969-12-31"}`, want: values{"id": "", "day": int32(-1)}},
		"null is absent": {
			row:  `{"id":"a","day":"1970-01-01","at":null,"detail":null,"list":null,"ok":null,"number":null}`,
			want: values{"id": "a", "day": int32(0)},
		},
		"empty and false are values": {
			row:  `{"id":"a","day":"1970-01-01","number":0,"ok":false,"detail":"","list":[]}`,
			want: values{"id": "a", "day": int32(0), "number": int64(0), "ok": false, "detail": `""`},
		},
		"a JSON text that is no UTF-8":  {row: "{\"id\":\"\xff\",\"day\":\"1970-01-01\",\"detail\":[\"\xff\"]}", want: values{"id": "\ufffd", "day": int32(0), "detail": "[\"\ufffd\"]"}},
		"a required column is absent":   {row: `{"id":"a"}`, err: "day: it is required and absent"},
		"a required column is null":     {row: `{"id":null,"day":"1970-01-01"}`, err: "id: it is required"},
		"one inside is absent":          {row: `{"id":"a","day":"1970-01-01","list":[{"at":"1970-01-01T00:00:00Z"},{}]}`, err: "list: element 1: at: it is required"},
		"a column that is not there":    {row: `{"id":"a","day":"1970-01-01","z":1,"b":2}`, err: "b: there is no such column"},
		"an array with a null":          {row: `{"id":"a","day":"1970-01-01","list":[null]}`, err: "list: element 0: it is null"},
		"a number that is none":         {row: `{"id":"a","day":"1970-01-01","number":1.5}`, err: "number: "},
		"a number beyond 64 bits":       {row: `{"id":"a","day":"1970-01-01","number":9223372036854775808}`, err: "value out of range"},
		"a day that is none":            {row: `{"id":"a","day":"2026-02-30"}`, err: "day: "},
		"a day with a time":             {row: `{"id":"a","day":"2026-02-03T00:00:00Z"}`, err: "day: "},
		"a time that is none":           {row: `{"id":"a","day":"1970-01-01","at":17}`, err: "at: "},
		"a text that is a number":       {row: `{"id":1,"day":"1970-01-01"}`, err: "id: "},
		"a list that is an object":      {row: `{"id":"a","day":"1970-01-01","list":{}}`, err: "list: "},
		"an object that is a text":      {row: `{"id":"a","day":"1970-01-01","list":["x"]}`, err: "list: element 0: "},
		"null":                          {row: `null`, err: "null"},
		"no JSON":                       {row: `{`, err: "unexpected end"},
		"a truth that is a number":      {row: `{"id":"a","day":"1970-01-01","ok":1}`, err: "ok: "},
		"a fraction that is no number":  {row: `{"id":"a","day":"1970-01-01","list":[{"at":"1970-01-01T00:00:00Z","list":[{"score":"x"}]}]}`, err: "score: "},
		"a fraction beyond the doubles": {row: `{"id":"a","day":"1970-01-01","list":[{"at":"1970-01-01T00:00:00Z","list":[{"score":1e999}]}]}`, err: "score: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := wire.AppendJSON([]byte("before"), everyType(), []byte(tt.row))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			data, ok := bytes.CutPrefix(data, []byte("before"))
			m := dynamicpb.NewMessage(d)
			if err := proto.Unmarshal(data, m); err != nil || !ok {
				t.Fatal(err, ok)
			}
			if diff := cmp.Diff(tt.want, plain(m)); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := wire.AppendJSON(nil, []schema.Column{{Name: "a", Type: "GEOGRAPHY", Mode: schema.Nullable}}, []byte(`{"a":"POINT(1 1)"}`)); err == nil {
		t.Error("a type that nobody knows is accepted")
	}
}

// FuzzAppendJSON holds that what is accepted makes a message that the write service can read, with
// nothing unknown in it, and with the same rows when it is written again.
func FuzzAppendJSON(f *testing.F) {
	d := messageType(f, everyType())
	f.Add([]byte(`{"id":"a","day":"2026-07-31","at":"2026-07-31T12:00:00.123456+02:00","number":-1,"ok":true,"detail":{"b":[1]},"list":[{"at":"1970-01-01T00:00:00Z","list":[{"score":1e3,"names":["x"]}]}]}`))
	f.Add([]byte(`{"id":"\ud800","day":"0001-01-01","detail":" [ 1 ]"}`))
	f.Fuzz(func(t *testing.T, row []byte) {
		data, err := wire.AppendJSON(nil, everyType(), row)
		if err != nil {
			return
		}
		m := dynamicpb.NewMessage(d)
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		known, err := proto.Marshal(m)
		if err != nil || proto.Size(m) != len(data) || len(known) != len(data) {
			t.Errorf("%d bytes, %d of them known, %v", len(data), len(known), err)
		}
	})
}
