// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
)

// Bounds of what is remembered: how many schemas, and how large one of them is, in bytes of JSON and
// in values. A larger one is encoded each time.
const (
	knownSchemas    = 1000
	maxSchema       = 16 << 10
	maxSchemaValues = 10_000
)

// schemas remembers how the schemas of model requests are written. Most requests declare the same
// tools as the one before, and to encode a tool anew takes a hundred times as long as to look it up.
//
// It knows a schema by its content, not by its address: see valueHash. ADK makes a declaration anew
// for each request, and a callback may change one in place.
type schemas struct {
	seed    hashSeed
	written *lru.Cache[uint64, *jsonenc.Piece]
}

func newSchemas() (*schemas, error) {
	written, err := lru.New[uint64, *jsonenc.Piece](knownSchemas)
	return &schemas{seed: newHashSeed(), written: written}, err
}

// writer returns a writer of schemas into d. It is for one goroutine.
func (m *schemas) writer(d jsonenc.Doc) *schemaWriter {
	return &schemaWriter{memory: m, d: d, hash: valueHash{hashSeed: m.seed}}
}

// schemaWriter writes the schemas of one request.
type schemaWriter struct {
	memory *schemas
	d      jsonenc.Doc
	hash   valueHash
}

// value writes a schema of any type.
func (w *schemaWriter) value(v any) {
	w.hash.begin(maxSchemaValues)
	w.write(w.hash.value(v), func(d jsonenc.Doc) { d.Value(v) })
}

// declaration writes a tool.
func (w *schemaWriter) declaration(f *genai.FunctionDeclaration) {
	w.hash.begin(maxSchemaValues)
	w.write(w.hash.declaration(f), func(d jsonenc.Doc) {
		d.Open('{')
		d.Str("name", f.Name)
		d.OptStr("description", f.Description)
		if f.ParametersJsonSchema != nil {
			d.Any("parameters", f.ParametersJsonSchema)
		} else if f.Parameters != nil {
			d.Any("parameters", f.Parameters)
		}
		d.Close('}')
	})
}

// write writes what has the hash that was just made: as it was written before, or else by encode.
func (w *schemaWriter) write(hash uint64, encode func(jsonenc.Doc)) {
	if !w.hash.whole() || w.hash.bytes > maxSchema {
		encode(w.d)
		return
	}
	if p, ok := w.memory.written.Get(hash); ok && w.d.Again(p) {
		return
	}
	if p := w.d.Keep(w.hash.bytes, encode); p != nil && p.Len() <= maxSchema {
		w.memory.written.Add(hash, p)
	}
}
