// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter/adapt"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
)

// TestColumns pins names, types, modes and numbers: what stands in tables and messages
// everywhere.
func TestColumns(t *testing.T) {
	want := []string{
		"1 timestamp TIMESTAMP REQUIRED",
		"2 event_id STRING NULLABLE",
		"3 event_type STRING NULLABLE",
		"4 agent STRING NULLABLE",
		"5 session_id STRING NULLABLE",
		"6 invocation_id STRING NULLABLE",
		"7 user_id STRING NULLABLE",
		"8 trace_id STRING NULLABLE",
		"9 span_id STRING NULLABLE",
		"10 parent_span_id STRING NULLABLE",
		"11 content JSON NULLABLE",
		"12 content_parts STRUCT REPEATED",
		"12.1 mime_type STRING NULLABLE",
		"12.2 uri STRING NULLABLE",
		"12.3 object_ref STRUCT NULLABLE",
		"12.3.1 uri STRING NULLABLE",
		"12.3.2 version STRING NULLABLE",
		"12.3.3 authorizer STRING NULLABLE",
		"12.3.4 details JSON NULLABLE",
		"12.4 text STRING NULLABLE",
		"12.5 part_index INT64 NULLABLE",
		"12.6 part_attributes STRING NULLABLE",
		"12.7 storage_mode STRING NULLABLE",
		"13 attributes JSON NULLABLE",
		"14 latency_ms JSON NULLABLE",
		"15 status STRING NULLABLE",
		"16 error_message STRING NULLABLE",
		"17 is_truncated BOOL NULLABLE",
	}
	var got []string
	var list func(prefix string, columns []schema.Column)
	list = func(prefix string, columns []schema.Column) {
		for i, c := range columns {
			number := fmt.Sprint(prefix, i+1)
			got = append(got, fmt.Sprintf("%s %s %s %s", number, c.Name, c.Type, c.Mode))
			// BigQuery takes descriptions of up to 1024 characters.
			if n := utf8.RuneCountInString(c.Description); n == 0 || n > 1024 {
				t.Errorf("%s: the description has %d characters", c.Name, n)
			}
			list(number+".", c.Fields)
		}
	}
	list("", schema.Columns())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	changed := schema.Columns()
	changed[11].Fields[2].Fields[0].Name = "changed"
	if schema.Columns()[11].Fields[2].Fields[0].Name != "uri" {
		t.Error("what one caller changes shows at another")
	}
}

// TestDescriptor compares the descriptor with the one that Google's client makes from
// the schema of the table, apart from the names of messages.
func TestDescriptor(t *testing.T) {
	of, err := adapt.StorageSchemaToProto2Descriptor(&storagepb.TableSchema{Fields: tableFields(t, schema.Columns())}, "root")
	if err != nil {
		t.Fatal(err)
	}
	want, err := adapt.NormalizeDescriptor(of.(protoreflect.MessageDescriptor))
	if err != nil {
		t.Fatal(err)
	}
	got := wire.Descriptor()
	if diff := cmp.Diff(describe(t, want, want, ""), describe(t, got, got, "")); diff != "" {
		t.Errorf("descriptor (-want +got):\n%s", diff)
	}
	if len(got.GetNestedType()) != len(want.GetNestedType()) {
		t.Errorf("%d nested messages, want %d", len(got.GetNestedType()), len(want.GetNestedType()))
	}

	// Going through the client's own normalisation changes nothing but names.
	again, err := adapt.NormalizeDescriptor(descriptor(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(describe(t, again, again, ""), describe(t, got, got, "")); diff != "" {
		t.Errorf("normalised (-want +got):\n%s", diff)
	}

	for _, name := range []protoreflect.FullName{"AgentEvent", "AgentEvent.AgentEvent_content_parts"} {
		if _, err := protoregistry.GlobalFiles.FindDescriptorByName(name); err == nil {
			t.Errorf("%s is registered", name)
		}
	}
}

func tableFields(t *testing.T, columns []schema.Column) []*storagepb.TableFieldSchema {
	t.Helper()
	out := make([]*storagepb.TableFieldSchema, len(columns))
	for i, c := range columns {
		typ, known := storagepb.TableFieldSchema_Type_value[c.Type]
		mode, moded := storagepb.TableFieldSchema_Mode_value[c.Mode]
		if !known || !moded {
			t.Fatalf("%s: the write service knows no type %s with mode %s", c.Name, c.Type, c.Mode)
		}
		out[i] = &storagepb.TableFieldSchema{
			Name: c.Name, Type: storagepb.TableFieldSchema_Type(typ), Mode: storagepb.TableFieldSchema_Mode(mode), Fields: tableFields(t, c.Fields),
		}
	}
	return out
}

// describe returns a line for each field of a message, with those of its messages. Their
// types are looked up among the messages nested in root, as the write service does.
func describe(t *testing.T, root, m *descriptorpb.DescriptorProto, prefix string) []string {
	t.Helper()
	var lines []string
	for _, f := range m.GetField() {
		number := fmt.Sprint(prefix, f.GetNumber())
		lines = append(lines, fmt.Sprint(number, " ", f.GetName(), " ", f.GetType(), " ", f.GetLabel(), " ", f.DefaultValue))
		if f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			continue
		}
		found := false
		for _, nested := range root.GetNestedType() {
			if nested.GetName() == f.GetTypeName() {
				found = true
				lines = append(lines, describe(t, root, nested, number+".")...)
			}
		}
		if !found {
			t.Errorf("%s: no message %s", number, f.GetTypeName())
		}
	}
	return lines
}
