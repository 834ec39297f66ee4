// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// randomSchemas makes parts of schemas at random.
type randomSchemas struct{ *rand.Rand }

var schemaTexts = []string{
	"", "a", "city", "the city to look in", "<b>&amp;</b>", "line\nline", "\xff\xfe", "Größe 名前", strings.Repeat("a long description ", 40),
	"password", "api_key", "page_token", "name", "value", "DB_PASSWORD", "Authorization: Bearer abcdefghijklmnop",
	`{"token":"abcdefgh"}`, "use token=abcdefgh here", "https://user:pass@example.com/", strings.Repeat("x", 300) + " password=abcdefgh " + strings.Repeat("y", 300),
}

func (r randomSchemas) text() string { return schemaTexts[r.IntN(len(schemaTexts))] }

// value returns a value of any type.
func (r randomSchemas) value(depth int) any {
	n := 14
	if depth <= 0 {
		n = 8
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return []float64{0, 1, -1, 0.5, 1e-9, 1e22, 2.25, math.Inf(1)}[r.IntN(8)]
	case 3:
		return r.IntN(100)
	case 4:
		return json.Number([]string{"1", "1.50", "1e400", "x"}[r.IntN(4)])
	case 5:
		return json.RawMessage([]string{"1", `{"token":"abc","a":[1,2]}`, "{", "null"}[r.IntN(4)])
	case 6, 7:
		return r.text()
	case 8:
		return r.filled(reflect.TypeFor[map[string]any](), depth-1).Interface()
	case 9:
		return r.filled(reflect.TypeFor[[]any](), depth-1).Interface()
	case 10:
		return r.filled(reflect.TypeFor[[]string](), depth-1).Interface()
	case 11:
		return r.filled(reflect.TypeFor[*jsonschema.Schema](), depth-1).Interface()
	case 12:
		return r.filled(reflect.TypeFor[*genai.Schema](), depth-1).Interface()
	}
	return ownNumber(r.IntN(3))
}

// ownNumber is a type of the host's own.
type ownNumber int

func (n ownNumber) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "number %d", int(n)), nil }

// filled returns a value of the type.
func (r randomSchemas) filled(typ reflect.Type, depth int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ {
	case reflect.TypeFor[any]():
		if x := r.value(depth); x != nil {
			v.Set(reflect.ValueOf(x))
		}
		return v
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"secret":"s","n":1}`))
		return v
	}
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.String:
		v.SetString(r.text())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(r.IntN(5)))
	case reflect.Float64:
		v.SetFloat(float64(r.IntN(9)) / 4)
	case reflect.Pointer:
		if r.IntN(10) > 0 && depth > 0 || typ.Elem().Kind() != reflect.Struct {
			v.Set(reflect.New(typ.Elem()))
			v.Elem().Set(r.filled(typ.Elem(), depth-1))
		}
	case reflect.Slice:
		if r.IntN(10) > 0 {
			v.Set(reflect.MakeSlice(typ, 0, 3))
			for range r.IntN(4) {
				v.Set(reflect.Append(v, r.filled(typ.Elem(), depth-1)))
			}
		}
	case reflect.Map:
		if r.IntN(10) > 0 {
			v.Set(reflect.MakeMap(typ))
			for range r.IntN(5) {
				v.SetMapIndex(reflect.ValueOf(r.text()), r.filled(typ.Elem(), depth-1))
			}
		}
	case reflect.Struct:
		for range r.IntN(6) {
			i := r.IntN(typ.NumField())
			v.Field(i).Set(r.filled(typ.Field(i).Type, depth-1))
		}
	}
	return v
}

// change changes v in place, at a random depth. v can be set, or is a pointer or a map.
func (r randomSchemas) change(v reflect.Value, depth int) {
	if v.CanSet() && r.IntN(4) == 0 {
		v.Set(r.filled(v.Type(), depth))
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			r.change(v.Elem(), depth)
		}
	case reflect.Struct:
		var in []int
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				in = append(in, i)
			}
		}
		i := r.IntN(v.NumField())
		if len(in) > 0 && r.IntN(5) > 0 {
			i = in[r.IntN(len(in))]
		}
		r.change(v.Field(i), depth-1)
	case reflect.Slice:
		if v.Len() > 0 {
			r.change(v.Index(r.IntN(v.Len())), depth-1)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		key := reflect.ValueOf(r.text())
		if keys := v.MapKeys(); len(keys) > 0 && r.IntN(4) > 0 {
			key = keys[r.IntN(len(keys))]
		}
		switch e := v.MapIndex(key); {
		case e.IsValid() && r.IntN(4) == 0:
			v.SetMapIndex(key, reflect.Value{})
		case e.IsValid() && (e.Kind() == reflect.Pointer || e.Kind() == reflect.Interface) && r.IntN(2) == 0:
			r.change(e, depth-1) // below it
		default:
			v.SetMapIndex(key, r.filled(v.Type().Elem(), depth-1))
		}
	}
}

func (r randomSchemas) declaration() *genai.FunctionDeclaration {
	f := &genai.FunctionDeclaration{Name: r.text(), Description: r.text()}
	switch r.IntN(8) {
	case 0:
	case 1, 2:
		f.Parameters = r.filled(reflect.TypeFor[*genai.Schema](), 6).Interface().(*genai.Schema)
	case 3, 4, 5:
		f.ParametersJsonSchema = r.filled(reflect.TypeFor[*jsonschema.Schema](), 6).Interface()
	case 6:
		f.ParametersJsonSchema = r.filled(reflect.TypeFor[map[string]any](), 5).Interface()
	case 7:
		f.ParametersJsonSchema = r.value(4)
	}
	return f
}

// asWritten is the part of a row about the schemas of a request.
type asWritten struct {
	JSON               string
	Truncated          bool
	Redacted, Repaired int
}

// writeConfig writes the part behind before bytes.
func writeConfig(rec *Recorder, before int, c *genai.GenerateContentConfig) asWritten {
	w := rec.writer()
	defer rec.writers.Put(w)
	d := w.Doc(attributesShare)
	d.Open('{')
	d.ID("before", []byte(strings.Repeat(".", before)))
	rec.modelConfig(d, c)
	d.Close('}')
	return asWritten{string(w.Bytes()), w.Truncated(), w.Redacted(), w.Repaired()}
}

// A recorder that has written schemas before writes the same bytes as one that has not, and counts
// the same, whatever was changed in place meanwhile.
func TestRememberedSchemasAreWrittenAsNew(t *testing.T) {
	for name, c := range map[string]config.Record{
		"default":       {},
		"little room":   {MaxRow: 9_000},
		"short strings": {MaxString: 60},
		"own rules":     {Redact: config.Redact{Keys: []string{"city"}, Patterns: []string{"description a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			open := func() *Recorder {
				rec, err := New(Config{Sink: &discard{}, Record: c})
				if err != nil {
					t.Fatal(err)
				}
				return rec
			}
			r := randomSchemas{rand.New(rand.NewPCG(1, uint64(len(name))))}
			remembering := open()
			tools := make([]*genai.FunctionDeclaration, 30)
			for i := range tools {
				tools[i] = r.declaration()
			}
			changed, again := 0, 0
			steps := testsize.Rounds(t, 300, 6000)
			for step := range steps {
				if i := r.IntN(len(tools)); r.IntN(10) == 0 {
					tools[i] = r.declaration()
				} else {
					r.change(reflect.ValueOf(tools[i]), 4)
				}
				c := &genai.GenerateContentConfig{Tools: []*genai.Tool{{}}}
				for range 1 + r.IntN(6) {
					c.Tools[0].FunctionDeclarations = append(c.Tools[0].FunctionDeclarations, tools[r.IntN(len(tools))])
				}
				if r.IntN(3) == 0 {
					c.ResponseJsonSchema = tools[r.IntN(len(tools))].ParametersJsonSchema
				} else if r.IntN(3) == 0 {
					c.ResponseSchema = tools[r.IntN(len(tools))].Parameters
				}
				before := r.IntN(3000)
				known := remembering.schemas.written.Len()
				got := writeConfig(remembering, before, c)
				if remembering.schemas.written.Len() > known {
					changed++
				} else if !got.Truncated {
					again++
				}
				if diff := cmp.Diff(writeConfig(open(), before, c), got); diff != "" {
					t.Fatalf("step %d (-new +remembered):\n%s", step, diff)
				}
			}
			if t.Logf("%d requests added schemas to the memory, %d did not", changed, again); changed < steps/15 || again < steps/15 {
				t.Error("too few of them: the test shows nothing")
			}
		})
	}
}
