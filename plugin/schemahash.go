// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/genai"
)

// schemaHash hashes the content of a schema: every text, number and list in it, at any depth. Two
// schemas that are written in different ways have the same hash only by chance, at odds of one to
// 2^64. The hash does not depend on addresses. So it is the same for a schema that is made anew for
// each request, and another one after any change in place.
//
// It is exact only for types that it knows to the last field. For a value of any other type there is
// no hash: code of the host may write it, from anything.
type schemaHash struct {
	*mixer
	// known says that the types have the fields that are listed below, and no others. A host may
	// use a later version of their packages.
	known bool
	// left is how many values it still looks at.
	left int
	// bytes counts those of the strings in the schema.
	bytes int
	// foreign is set by a value of a type that it does not know.
	foreign bool
}

func newSchemaHash(m *mixer) schemaHash {
	return schemaHash{
		mixer: m,
		known: reflect.TypeFor[jsonschema.Schema]().NumField() == 65 && reflect.TypeFor[genai.Schema]().NumField() == 22,
	}
}

// begin forgets the schema before. values is how many values it looks at.
func (s *schemaHash) begin(values int) { s.left, s.bytes, s.foreign = values, 0, !s.known }

// whole reports whether the hash covers all of the schema.
func (s *schemaHash) whole() bool { return !s.foreign && s.left >= 0 }

// visit counts a value, and reports whether to look into it.
func (s *schemaHash) visit() bool {
	s.left--
	return s.whole()
}

// The parts of a value are hashed one after the other, each with a number that is its place. An empty
// part is left out.

func (s *schemaHash) part(h, place, part uint64) uint64 { return s.mix(h^place, part) }

func (s *schemaHash) str(h, place uint64, v string) uint64 {
	if v == "" {
		return h
	}
	return s.string(h, place, v)
}

func (s *schemaHash) string(h, place uint64, v string) uint64 {
	s.bytes += len(v)
	return s.part(h, place, s.text(v))
}

func (s *schemaHash) raw(h, place uint64, v json.RawMessage) uint64 {
	if v == nil {
		return h
	}
	s.bytes += len(v)
	return s.part(h, place, maphash.Bytes(s.seed, v))
}

func (s *schemaHash) flag(h, place uint64, v bool) uint64 {
	if !v {
		return h
	}
	return s.part(h, place, 1)
}

func number[T int | int64](s *schemaHash, h, place uint64, v *T) uint64 {
	if v == nil {
		return h
	}
	return s.part(h, place, uint64(*v))
}

func (s *schemaHash) float(h, place uint64, v *float64) uint64 {
	if v == nil {
		return h
	}
	return s.part(h, place, math.Float64bits(*v))
}

func (s *schemaHash) strs(h, place uint64, v []string) uint64 {
	if v == nil {
		return h
	}
	return s.texts(h, place, v)
}

func (s *schemaHash) texts(h, place uint64, list []string) uint64 {
	var in uint64
	for _, v := range list {
		in = s.string(in, 1, v)
	}
	return s.part(h, place, s.part(in, 0, uint64(len(list))))
}

func list[V any](s *schemaHash, h, place uint64, v []V, of func(*schemaHash, V) uint64) uint64 {
	if v == nil {
		return h
	}
	return elements(s, h, place, v, of)
}

// elements hashes a list. of hashes one element.
func elements[V any](s *schemaHash, h, place uint64, v []V, of func(*schemaHash, V) uint64) uint64 {
	var in uint64
	for _, e := range v {
		in = s.part(in, 1, of(s, e))
	}
	return s.part(h, place, s.part(in, 0, uint64(len(v))))
}

func object[V any](s *schemaHash, h, place uint64, m map[string]V, of func(*schemaHash, V) uint64) uint64 {
	if m == nil {
		return h
	}
	return members(s, h, place, m, of)
}

// members hashes a map. The sum over its members does not depend on their order, which is another one
// each time.
func members[V any](s *schemaHash, h, place uint64, m map[string]V, of func(*schemaHash, V) uint64) uint64 {
	var in uint64
	for k, v := range m {
		in += s.part(s.string(0, 1, k), 0, of(s, v))
	}
	return s.part(h, place, s.part(in, 0, uint64(len(m))))
}

// The kinds of values of any type.
const (
	kindNil uint64 = iota
	kindString
	kindBool
	kindFloat
	kindInt
	kindNumber
	kindRaw
	kindMap
	kindList
	kindStrings
	kindSchema
	kindGenai
	kindDeclaration
)

// value hashes a value of any type.
func (s *schemaHash) value(v any) uint64 {
	if !s.visit() {
		return 0
	}
	switch v := v.(type) {
	case nil:
		return kindNil
	case string:
		return s.string(0, kindString, v)
	case bool:
		return s.flag(s.part(0, kindBool, 0), 1, v)
	case float64:
		return s.part(0, kindFloat, math.Float64bits(v))
	case int:
		return s.part(0, kindInt, uint64(v))
	case int64:
		return s.part(0, kindInt, uint64(v))
	case json.Number:
		return s.string(0, kindNumber, string(v))
	case json.RawMessage:
		return s.raw(0, kindRaw, v)
	case map[string]any:
		return object(s, 1, kindMap, v, (*schemaHash).value)
	case []any:
		return list(s, 1, kindList, v, (*schemaHash).value)
	case []string:
		return s.strs(1, kindStrings, v)
	case *jsonschema.Schema:
		return s.part(0, kindSchema, s.json(v))
	case *genai.Schema:
		return s.part(0, kindGenai, s.genai(v))
	}
	s.foreign = true
	return 0
}

// declaration hashes the part of a tool that a row has.
func (s *schemaHash) declaration(f *genai.FunctionDeclaration) uint64 {
	h := s.part(0, kindDeclaration, 0)
	h = s.str(h, 1, f.Name)
	h = s.str(h, 2, f.Description)
	if f.ParametersJsonSchema != nil {
		h = s.part(h, 3, s.value(f.ParametersJsonSchema))
	} else if f.Parameters != nil {
		h = s.part(h, 4, s.genai(f.Parameters))
	}
	return h
}

func (s *schemaHash) genai(v *genai.Schema) uint64 {
	if v == nil || !s.visit() {
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
	h = object(s, h, 9, v.Properties, (*schemaHash).genai)
	h = list(s, h, 10, v.AnyOf, (*schemaHash).genai)
	if v.Items != nil {
		h = s.part(h, 11, s.genai(v.Items))
	}
	if v.Nullable != nil {
		h = s.flag(s.part(h, 12, 0), 13, *v.Nullable)
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
		h = s.part(h, 22, s.value(v.Default))
	}
	if v.Example != nil {
		h = s.part(h, 23, s.value(v.Example))
	}
	return h
}

func (s *schemaHash) sub(h, place uint64, v *jsonschema.Schema) uint64 {
	if v == nil {
		return h
	}
	return s.below(h, place, v)
}

func (s *schemaHash) below(h, place uint64, v *jsonschema.Schema) uint64 {
	return s.part(h, place, s.json(v))
}

func (s *schemaHash) json(v *jsonschema.Schema) uint64 {
	if v == nil || !s.visit() {
		return 0
	}
	var h uint64 = 1
	h = s.str(h, 1, v.ID)
	h = s.str(h, 2, v.Schema)
	h = s.str(h, 3, v.Ref)
	h = s.str(h, 4, v.Comment)
	h = object(s, h, 5, v.Defs, (*schemaHash).json)
	h = object(s, h, 6, v.Definitions, (*schemaHash).json)
	h = object(s, h, 7, v.DependencySchemas, (*schemaHash).json)
	h = object(s, h, 8, v.DependencyStrings, func(s *schemaHash, v []string) uint64 { return s.strs(0, 1, v) })
	h = s.str(h, 9, v.Anchor)
	h = s.str(h, 10, v.DynamicAnchor)
	h = s.str(h, 11, v.DynamicRef)
	h = object(s, h, 12, v.Vocabulary, func(s *schemaHash, v bool) uint64 { return s.flag(0, 1, v) })
	h = s.str(h, 13, v.Title)
	h = s.str(h, 14, v.Description)
	h = s.raw(h, 15, v.Default)
	h = s.flag(h, 16, v.Deprecated)
	h = s.flag(h, 17, v.ReadOnly)
	h = s.flag(h, 18, v.WriteOnly)
	h = list(s, h, 19, v.Examples, (*schemaHash).value)
	h = s.str(h, 20, v.Type)
	h = s.strs(h, 21, v.Types)
	h = list(s, h, 22, v.Enum, (*schemaHash).value)
	if v.Const != nil {
		h = s.part(h, 23, s.value(*v.Const))
	}
	h = s.float(h, 24, v.MultipleOf)
	h = s.float(h, 25, v.Minimum)
	h = s.float(h, 26, v.Maximum)
	h = s.float(h, 27, v.ExclusiveMinimum)
	h = s.float(h, 28, v.ExclusiveMaximum)
	h = number(s, h, 29, v.MinLength)
	h = number(s, h, 30, v.MaxLength)
	h = s.str(h, 31, v.Pattern)
	h = list(s, h, 32, v.PrefixItems, (*schemaHash).json)
	h = s.sub(h, 33, v.Items)
	h = list(s, h, 34, v.ItemsArray, (*schemaHash).json)
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
	h = object(s, h, 46, v.DependentRequired, func(s *schemaHash, v []string) uint64 { return s.strs(0, 1, v) })
	h = object(s, h, 47, v.Properties, (*schemaHash).json)
	h = object(s, h, 48, v.PatternProperties, (*schemaHash).json)
	h = s.sub(h, 49, v.AdditionalProperties)
	h = s.sub(h, 50, v.PropertyNames)
	h = s.sub(h, 51, v.UnevaluatedProperties)
	h = list(s, h, 52, v.AllOf, (*schemaHash).json)
	h = list(s, h, 53, v.AnyOf, (*schemaHash).json)
	h = list(s, h, 54, v.OneOf, (*schemaHash).json)
	h = s.sub(h, 55, v.Not)
	h = s.sub(h, 56, v.If)
	h = s.sub(h, 57, v.Then)
	h = s.sub(h, 58, v.Else)
	h = object(s, h, 59, v.DependentSchemas, (*schemaHash).json)
	h = s.str(h, 60, v.ContentEncoding)
	h = s.str(h, 61, v.ContentMediaType)
	h = s.sub(h, 62, v.ContentSchema)
	h = s.str(h, 63, v.Format)
	h = object(s, h, 64, v.Extra, (*schemaHash).value)
	h = s.strs(h, 65, v.PropertyOrder)
	return h
}
