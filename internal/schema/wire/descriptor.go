// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Descriptor returns the descriptor of the messages that [Row.Append] writes. It is that of
// [DescriptorOf] for [schema.Columns]: the numbers of its fields never change, so that rows encoded
// by an older or a newer version can be read.
func Descriptor() *descriptorpb.DescriptorProto { return DescriptorOf("AgentEvent", schema.Columns()) }

// DescriptorOf returns the descriptor of a message with the columns of a table, as the Storage
// Write API takes it: a proto2 message that stands alone, with one field for each column, named
// after it and numbered by its place from 1.
//
// The types are those of
// https://cloud.google.com/bigquery/docs/supported-data-types: a TIMESTAMP is an int64
// of microseconds since the Unix epoch, a DATE an int32 of days since it, and JSON a string.
//
// It is made anew for each call, and nothing is registered with the protobuf runtime:
// a library must not take names in a registry that its host shares.
func DescriptorOf(name string, columns []schema.Column) *descriptorpb.DescriptorProto {
	root := &descriptorpb.DescriptorProto{Name: new(name)}
	root.Field = fields(root, name, columns)
	return root
}

// fields returns the fields for columns. The messages of records are nested in root,
// however deep they stand, and named after their column and those that it stands in.
func fields(root *descriptorpb.DescriptorProto, prefix string, columns []schema.Column) []*descriptorpb.FieldDescriptorProto {
	out := make([]*descriptorpb.FieldDescriptorProto, len(columns))
	for i, c := range columns {
		f := &descriptorpb.FieldDescriptorProto{
			Name:   new(c.Name),
			Number: new(int32(i + 1)),
			Label:  label(c.Mode).Enum(),
			Type:   fieldType(c.Type).Enum(),
		}
		if c.Type == schema.Struct {
			name := prefix + "_" + c.Name
			nested := &descriptorpb.DescriptorProto{Name: &name}
			root.NestedType = append(root.NestedType, nested)
			nested.Field = fields(root, name, c.Fields)
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
	case schema.Date:
		return descriptorpb.FieldDescriptorProto_TYPE_INT32
	case schema.Float64:
		return descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	case schema.Bool:
		return descriptorpb.FieldDescriptorProto_TYPE_BOOL
	case schema.Struct:
		return descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	}
	return descriptorpb.FieldDescriptorProto_TYPE_STRING
}
