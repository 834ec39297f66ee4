// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package rowtest holds what tests need to look at recorded rows: sinks that take them, and the
// values in their columns.
package rowtest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Sink keeps the rows that it is given. Several goroutines may use it.
type Sink struct {
	mu   sync.Mutex
	rows []record.Event
}

// Append keeps a row.
func (s *Sink) Append(e record.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, e)
	return true
}

// Commit reports that a row is stored.
func (*Sink) Commit(context.Context, string) error { return nil }

// Rows returns the rows so far, in their order.
func (s *Sink) Rows() []record.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

// Of returns those of a type.
func (s *Sink) Of(typ string) []record.Event { return Of(s.Rows(), typ) }

// Types returns the types of the rows so far.
func (s *Sink) Types() (out []string) {
	for _, e := range s.Rows() {
		out = append(out, e.EventType)
	}
	return out
}

// Broken panics on rows of the type On, and on every row when On is empty. It keeps the others.
type Broken struct {
	Sink
	On string
}

// Append keeps a row, or panics.
func (b *Broken) Append(e record.Event) bool {
	if b.On == "" || e.EventType == b.On {
		panic("broken sink")
	}
	return b.Sink.Append(e)
}

// Dropped takes rows and keeps none.
type Dropped struct{}

// Append takes a row.
func (Dropped) Append(record.Event) bool { return true }

// Commit reports that a row is stored.
func (Dropped) Commit(context.Context, string) error { return nil }

// Of returns the rows of a type.
func Of(rows []record.Event, typ string) (out []record.Event) {
	for _, e := range rows {
		if e.EventType == typ {
			out = append(out, e)
		}
	}
	return out
}

// Attribute returns the value at a path in the attributes of a row, or nil. A row without
// attributes fails the test.
func Attribute(t testing.TB, e record.Event, path ...string) any {
	t.Helper()
	if e.Attributes == nil {
		t.Fatalf("%s has no attributes", e.EventType)
	}
	return Field(t, e.Attributes, path...)
}

// Field returns the value at a path in a JSON document, or nil.
func Field(t testing.TB, doc []byte, path ...string) any {
	t.Helper()
	if doc == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatalf("column is not JSON: %v\n%s", err, doc)
	}
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}
