// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Descriptor returns the descriptor of the messages that [Row.Append] writes, as the
// Storage Write API takes it: a proto2 message that stands alone, with one field for
// each column, named after it and numbered by its place from 1. The numbers never
// change, so that rows encoded by an older or a newer version can be read.
//
// The types are those of
// https://cloud.google.com/bigquery/docs/supported-data-types: a TIMESTAMP is an int64
// of microseconds since the Unix epoch, and JSON is a string.
//
// It is made anew for each call, and nothing is registered with the protobuf runtime:
// a library must not take names in a registry that its host shares.
func Descriptor() *descriptorpb.DescriptorProto {
	root := &descriptorpb.DescriptorProto{Name: new("AgentEvent")}
	root.Field = fields(root, schema.Columns())
	return root
}

// fields returns the fields for columns. The messages of records are nested in root,
// however deep they stand, and named after their column.
func fields(root *descriptorpb.DescriptorProto, columns []schema.Column) []*descriptorpb.FieldDescriptorProto {
	out := make([]*descriptorpb.FieldDescriptorProto, len(columns))
	for i, c := range columns {
		f := &descriptorpb.FieldDescriptorProto{
			Name:   new(c.Name),
			Number: new(int32(i + 1)),
			Label:  label(c.Mode).Enum(),
			Type:   fieldType(c.Type).Enum(),
		}
		if c.Type == schema.Struct {
			name := "AgentEvent_" + c.Name
			nested := &descriptorpb.DescriptorProto{Name: &name}
			root.NestedType = append(root.NestedType, nested)
			nested.Field = fields(root, c.Fields)
			f.TypeName = new(name)
		}
		out[i] = f
	}
	return out
}

func label(mode string) descriptorpb.FieldDescriptorProto_Label {
	switch mode {
	case schema.Required:
		return descriptorpb.FieldDescriptorProto_LABEL_REQUIRED
	case schema.Repeated:
		return descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	}
	return descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
}

func fieldType(name string) descriptorpb.FieldDescriptorProto_Type {
	switch name {
	case schema.Timestamp, schema.Int64:
		return descriptorpb.FieldDescriptorProto_TYPE_INT64
	case schema.Bool:
		return descriptorpb.FieldDescriptorProto_TYPE_BOOL
	case schema.Struct:
		return descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	return descriptorpb.FieldDescriptorProto_TYPE_STRING
}
