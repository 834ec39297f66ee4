// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/genai"
)

// declaration hashes the part of a tool that a row has.
func (s *valueHash) declaration(f *genai.FunctionDeclaration) uint64 {
	h := s.mix(0, kindDeclaration, 0)
	h = s.str(h, 1, f.Name)
	h = s.str(h, 2, f.Description)
	if f.ParametersJsonSchema != nil {
		h = s.mix(h, 3, s.value(f.ParametersJsonSchema))
	} else if f.Parameters != nil {
		h = s.mix(h, 4, s.genai(f.Parameters))
	}
	return h
}

// schema counts a schema, and reports whether to look into it.
func (s *valueHash) schema() bool {
	s.foreign = s.foreign || !s.known
	return s.visit()
}

func (s *valueHash) genai(v *genai.Schema) uint64 {
	if v == nil || !s.schema() {
		return 0
	}
	var h uint64 = 1
	h = s.str(h, 1, string(v.Type))
	h = s.str(h, 2, v.Title)
	h = s.str(h, 3, v.Description)
	h = s.str(h, 4, v.Format)
	h = s.str(h, 5, v.Pattern)
	h = s.strs(h, 6, v.Enum)
	h = s.strs(h, 7, v.Required)
	h = s.strs(h, 8, v.PropertyOrdering)
	h = mapping(s, h, 9, v.Properties, (*valueHash).genai)
	h = list(s, h, 10, v.AnyOf, (*valueHash).genai)
	if v.Items != nil {
		h = s.mix(h, 11, s.genai(v.Items))
	}
	if v.Nullable != nil {
		h = s.flag(s.mix(h, 12, 0), 13, *v.Nullable)
	}
	h = number(s, h, 14, v.MinItems)
	h = number(s, h, 15, v.MaxItems)
	h = number(s, h, 16, v.MinLength)
	h = number(s, h, 17, v.MaxLength)
	h = number(s, h, 18, v.MinProperties)
	h = number(s, h, 19, v.MaxProperties)
	h = s.float(h, 20, v.Minimum)
	h = s.float(h, 21, v.Maximum)
	if v.Default != nil {
		h = s.mix(h, 22, s.value(v.Default))
	}
	if v.Example != nil {
		h = s.mix(h, 23, s.value(v.Example))
	}
	return h
}

func (s *valueHash) sub(h, place uint64, v *jsonschema.Schema) uint64 {
	if v == nil {
		return h
	}
	return s.below(h, place, v)
}

func (s *valueHash) below(h, place uint64, v *jsonschema.Schema) uint64 {
	return s.mix(h, place, s.json(v))
}

func (s *valueHash) json(v *jsonschema.Schema) uint64 {
	if v == nil || !s.schema() {
		return 0
	}
	var h uint64 = 1
	h = s.str(h, 1, v.ID)
	h = s.str(h, 2, v.Schema)
	h = s.str(h, 3, v.Ref)
	h = s.str(h, 4, v.Comment)
	h = mapping(s, h, 5, v.Defs, (*valueHash).json)
	h = mapping(s, h, 6, v.Definitions, (*valueHash).json)
	h = mapping(s, h, 7, v.DependencySchemas, (*valueHash).json)
	h = mapping(s, h, 8, v.DependencyStrings, func(s *valueHash, v []string) uint64 { return s.strs(0, 1, v) })
	h = s.str(h, 9, v.Anchor)
	h = s.str(h, 10, v.DynamicAnchor)
	h = s.str(h, 11, v.DynamicRef)
	h = mapping(s, h, 12, v.Vocabulary, func(s *valueHash, v bool) uint64 { return s.flag(0, 1, v) })
	h = s.str(h, 13, v.Title)
	h = s.str(h, 14, v.Description)
	h = s.raw(h, 15, v.Default)
	h = s.flag(h, 16, v.Deprecated)
	h = s.flag(h, 17, v.ReadOnly)
	h = s.flag(h, 18, v.WriteOnly)
	h = list(s, h, 19, v.Examples, (*valueHash).value)
	h = s.str(h, 20, v.Type)
	h = s.strs(h, 21, v.Types)
	h = list(s, h, 22, v.Enum, (*valueHash).value)
	if v.Const != nil {
		h = s.mix(h, 23, s.value(*v.Const))
	}
	h = s.float(h, 24, v.MultipleOf)
	h = s.float(h, 25, v.Minimum)
	h = s.float(h, 26, v.Maximum)
	h = s.float(h, 27, v.ExclusiveMinimum)
	h = s.float(h, 28, v.ExclusiveMaximum)
	h = number(s, h, 29, v.MinLength)
	h = number(s, h, 30, v.MaxLength)
	h = s.str(h, 31, v.Pattern)
	h = list(s, h, 32, v.PrefixItems, (*valueHash).json)
	h = s.sub(h, 33, v.Items)
	h = list(s, h, 34, v.ItemsArray, (*valueHash).json)
	h = number(s, h, 35, v.MinItems)
	h = number(s, h, 36, v.MaxItems)
	h = s.sub(h, 37, v.AdditionalItems)
	h = s.flag(h, 38, v.UniqueItems)
	h = s.sub(h, 39, v.Contains)
	h = number(s, h, 40, v.MinContains)
	h = number(s, h, 41, v.MaxContains)
	h = s.sub(h, 42, v.UnevaluatedItems)
	h = number(s, h, 43, v.MinProperties)
	h = number(s, h, 44, v.MaxProperties)
	h = s.strs(h, 45, v.Required)
	h = mapping(s, h, 46, v.DependentRequired, func(s *valueHash, v []string) uint64 { return s.strs(0, 1, v) })
	h = mapping(s, h, 47, v.Properties, (*valueHash).json)
	h = mapping(s, h, 48, v.PatternProperties, (*valueHash).json)
	h = s.sub(h, 49, v.AdditionalProperties)
	h = s.sub(h, 50, v.PropertyNames)
	h = s.sub(h, 51, v.UnevaluatedProperties)
	h = list(s, h, 52, v.AllOf, (*valueHash).json)
	h = list(s, h, 53, v.AnyOf, (*valueHash).json)
	h = list(s, h, 54, v.OneOf, (*valueHash).json)
	h = s.sub(h, 55, v.Not)
	h = s.sub(h, 56, v.If)
	h = s.sub(h, 57, v.Then)
	h = s.sub(h, 58, v.Else)
	h = mapping(s, h, 59, v.DependentSchemas, (*valueHash).json)
	h = s.str(h, 60, v.ContentEncoding)
	h = s.str(h, 61, v.ContentMediaType)
	h = s.sub(h, 62, v.ContentSchema)
	h = s.str(h, 63, v.Format)
	h = mapping(s, h, 64, v.Extra, (*valueHash).value)
	h = s.strs(h, 65, v.PropertyOrder)
	return h
}
