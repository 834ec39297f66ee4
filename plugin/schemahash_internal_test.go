// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/genai"
)

// hashed returns the hash of a schema, and whether it covers all of it.
func hashed(seed hashSeed, v any) (hash uint64, whole bool) {
	s := valueHash{hashSeed: seed}
	s.begin(maxSchemaValues)
	if f, ok := v.(*genai.FunctionDeclaration); ok {
		hash = s.declaration(f)
	} else {
		hash = s.value(v)
	}
	return hash, s.whole()
}

// samples returns values of a type that is a part of a schema, none of them empty.
func samples(t *testing.T, typ reflect.Type) []reflect.Value {
	t.Helper()
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return []reflect.Value{reflect.ValueOf(json.RawMessage("1")), reflect.ValueOf(json.RawMessage("2"))}
	case reflect.TypeFor[any]():
		var list []reflect.Value
		for _, v := range []any{"1", "2", true, 1.0, 2.0} {
			e := reflect.New(typ).Elem()
			e.Set(reflect.ValueOf(v))
			list = append(list, e)
		}
		return list
	case reflect.TypeFor[jsonschema.Schema]():
		return []reflect.Value{reflect.ValueOf(jsonschema.Schema{}), reflect.ValueOf(jsonschema.Schema{Title: "a"}), reflect.ValueOf(jsonschema.Schema{Title: "b"})}
	case reflect.TypeFor[genai.Schema]():
		return []reflect.Value{reflect.ValueOf(genai.Schema{}), reflect.ValueOf(genai.Schema{Title: "a"}), reflect.ValueOf(genai.Schema{Title: "b"})}
	}
	var list []reflect.Value
	add := func(make func(v reflect.Value)) {
		v := reflect.New(typ).Elem()
		make(v)
		list = append(list, v)
	}
	switch typ.Kind() {
	case reflect.Bool:
		add(func(v reflect.Value) { v.SetBool(true) })
	case reflect.String:
		for _, s := range []string{"a", "b", "a\x00"} {
			add(func(v reflect.Value) { v.SetString(s) })
		}
	case reflect.Int, reflect.Int64:
		for _, n := range []int64{1, 2, -1} {
			add(func(v reflect.Value) { v.SetInt(n) })
		}
	case reflect.Float64:
		for _, f := range []float64{1, 2, -1, 0.5} {
			add(func(v reflect.Value) { v.SetFloat(f) })
		}
	case reflect.Pointer:
		for _, e := range samples(t, typ.Elem()) {
			add(func(v reflect.Value) { v.Set(reflect.New(typ.Elem())); v.Elem().Set(e) })
		}
		if k := typ.Elem().Kind(); k != reflect.Struct {
			add(func(v reflect.Value) { v.Set(reflect.New(typ.Elem())) }) // of the zero value
		}
	case reflect.Slice:
		of := samples(t, typ.Elem())
		for _, e := range of {
			add(func(v reflect.Value) { v.Set(reflect.Append(v, e)) })
			add(func(v reflect.Value) { v.Set(reflect.Append(v, e, e)) })
		}
		if len(of) > 1 {
			add(func(v reflect.Value) { v.Set(reflect.Append(v, of[0], of[1])) })
			add(func(v reflect.Value) { v.Set(reflect.Append(v, of[1], of[0])) })
		}
		add(func(v reflect.Value) { v.Set(reflect.MakeSlice(typ, 0, 0)) })
	case reflect.Map:
		for _, e := range samples(t, typ.Elem()) {
			for _, keys := range []string{"a", "b", "a b"} {
				add(func(v reflect.Value) {
					v.Set(reflect.MakeMap(typ))
					for _, k := range strings.Fields(keys) {
						v.SetMapIndex(reflect.ValueOf(k), e)
					}
				})
			}
		}
		add(func(v reflect.Value) { v.Set(reflect.MakeMap(typ)) })
	default:
		t.Fatalf("a schema has a part of the type %v, which the test does not know", typ)
	}
	return list
}

// A field that the hash leaves out could change in a declaration without anybody noticing. Each
// value of each field gives a hash of its own.
func TestSchemaHashCoversEveryField(t *testing.T) {
	seed := newHashSeed()
	if !seed.known {
		t.Fatal("a schema has other fields than those that schemahash.go lists; list the new ones there")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[jsonschema.Schema](), reflect.TypeFor[genai.Schema]()} {
		t.Run(typ.String(), func(t *testing.T) {
			seen := make(map[uint64]string)
			check := func(what string, v any) {
				t.Helper()
				hash, whole := hashed(seed, v)
				if !whole {
					t.Errorf("%s has no hash", what)
				}
				if other, ok := seen[hash]; ok {
					t.Errorf("%s has the hash of %s", what, other)
				}
				seen[hash] = what
			}
			check("nothing", reflect.Zero(reflect.PointerTo(typ)).Interface())
			check("an empty schema", reflect.New(typ).Interface())
			for i := range typ.NumField() {
				for n, sample := range samples(t, typ.Field(i).Type) {
					v := reflect.New(typ)
					v.Elem().Field(i).Set(sample)
					check(fmt.Sprintf("sample %d of %s", n, typ.Field(i).Name), v.Interface())
				}
			}
		})
	}
}

// Values that are written in different ways have different hashes, at whatever depth they differ.
func TestSchemaHashOfValues(t *testing.T) {
	seed := newHashSeed()
	values := []any{
		"", "a", "b", "null", "1", true, false, 0.0, 1.0, -1.0, 1, -1, 1 << 40, json.Number("1.0"), json.Number("1.00"),
		json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":2}`), nil,
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"a": ""}, map[string]any{"": "a"}, map[string]any{"a": "b"},
		map[string]any{"b": "a"}, map[string]any{"a": "b", "b": "a"}, map[string]any{"a": "a", "b": "b"}, map[string]any{"a": map[string]any{}},
		[]any{}, []any{nil}, []any{"a"}, []any{"a", "b"}, []any{"b", "a"}, []any{[]any{"a"}, "b"}, []any{[]any{"a", "b"}}, []string{"a"},
		[]string{"ab"}, []string{"a", "b"}, []string{"", "ab"}, &jsonschema.Schema{Type: "object"}, &genai.Schema{Type: "object"},
	}
	for depth, in := range []func(any) any{
		func(v any) any { return v },
		func(v any) any { return map[string]any{"in": v} },
		func(v any) any { return []any{"in", v} },
		func(v any) any { return &jsonschema.Schema{Extra: map[string]any{"in": v}} },
		func(v any) any { return &genai.Schema{Properties: map[string]*genai.Schema{"in": {Default: v}}} },
		func(v any) any { return &genai.FunctionDeclaration{ParametersJsonSchema: []any{v}} },
	} {
		seen := make(map[uint64]int)
		for i, v := range values {
			hash, whole := hashed(seed, in(v))
			if !whole {
				t.Errorf("in %d: %#v has no hash", depth, v)
			}
			if again, _ := hashed(seed, in(v)); again != hash {
				t.Errorf("in %d: %#v has two hashes", depth, v)
			}
			if other, ok := seen[hash]; ok && i != other {
				t.Errorf("in %d: values %d and %d have one hash", depth, i, other)
			}
			seen[hash] = i
		}
	}
	a, _ := hashed(seed, "a")
	if b, _ := hashed(newHashSeed(), "a"); a == b {
		t.Error("two processes have one hash for a text")
	}
}

// The hash of a tool has its name, its description and the schema that is written.
func TestSchemaHashOfDeclarations(t *testing.T) {
	seed := newHashSeed()
	seen := make(map[uint64]int)
	for i, f := range []*genai.FunctionDeclaration{
		{}, {Name: "a"}, {Description: "a"}, {Name: "a", Description: "b"}, {Name: "b", Description: "a"},
		{Name: "a", Parameters: &genai.Schema{}}, {Name: "a", Parameters: &genai.Schema{Title: "a"}},
		{Name: "a", ParametersJsonSchema: &genai.Schema{}}, {Name: "a", ParametersJsonSchema: &jsonschema.Schema{}},
		{Name: "a", ParametersJsonSchema: map[string]any{}}, {Name: "a", ParametersJsonSchema: (*jsonschema.Schema)(nil)},
	} {
		hash, whole := hashed(seed, f)
		if !whole {
			t.Errorf("declaration %d has no hash", i)
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("declarations %d and %d have one hash", i, other)
		}
		seen[hash] = i
	}
}

type ownJSON struct{ text *string }

func (o ownJSON) MarshalJSON() ([]byte, error) { return json.Marshal(*o.text) }

// What the hash cannot see into is encoded each time.
func TestSchemaWithoutHash(t *testing.T) {
	seed := newHashSeed()
	ring := &jsonschema.Schema{}
	ring.Items = ring
	old := seed
	old.known = false
	text := "a"
	for _, test := range []struct {
		name string
		seed hashSeed
		v    any
	}{
		{"of the host's own type", seed, ownJSON{&text}},
		{"with a value of the host's own type", seed, &jsonschema.Schema{Enum: []any{"a", ownJSON{&text}}}},
		{"with a time", seed, &genai.Schema{Default: time.Time{}}},
		{"with itself inside", seed, ring},
		{"too large", seed, make([]any, maxSchemaValues)},
		{"of a version with other fields", old, &jsonschema.Schema{Type: "string"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, whole := hashed(test.seed, test.v); whole {
				t.Error("it has a hash")
			}
		})
	}
}
