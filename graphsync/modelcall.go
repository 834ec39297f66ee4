// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// modelCall adds a model call with everything that it had read.
func (b *batch) modelCall(e *record.Event, attrs *schema.Attributes) error {
	c := ModelCall{EventID: e.EventID, Row: e.Seq, Names: []string{"r:" + e.EventID}}
	for _, f := range attrs.FunctionCalls {
		if f.ID != "" {
			c.Names = appendNew(c.Names, "c:"+f.ID)
		}
	}
	b.out.To.Unmatched += attrs.ADK.Read.Unmatched
	if base := attrs.ADK.Read.Base; base != "" {
		before, err := b.callNamed(base)
		if err != nil {
			return err
		}
		c.Read, c.Own = before.Read, before.Own
	}
	for _, name := range attrs.ADK.Read.Answers {
		before, err := b.callNamed(name)
		if err != nil {
			return err
		}
		c.Read = union(c.Read, before.Read)
	}
	for _, callID := range slices.Sorted(maps.Keys(attrs.ADK.Read.Results)) {
		n, err := b.resultOf(callID, attrs.ADK.Read.Results[callID])
		if err != nil {
			return err
		}
		if n == 0 {
			b.out.To.Unmatched++
			continue
		}
		c.Own = union(c.Own, []Span{{n, n}})
	}
	c.Read = union(c.Read, c.Own)
	b.out.Calls = append(b.out.Calls, c)
	return nil
}

// resultOf returns the number of the latest result with a call id and a digest, 0 if there
// is none. Models that give calls no ids of their own use one again: of several results the
// latest counts if they are of calls with the same arguments. Otherwise nobody can tell which
// of them was read, and none counts.
func (b *batch) resultOf(callID, digest string) (int64, error) {
	if digest == "" {
		return 0, nil
	}
	stored, err := b.reader.Results(callID, digest)
	if err != nil {
		return 0, err
	}
	list := slices.DeleteFunc(stored, func(r Result) bool {
		now, changed := b.out.Rewritten[r.EventID]
		return changed && now != digest
	})
	for id, now := range b.out.Rewritten {
		if now != digest || slices.ContainsFunc(list, func(r Result) bool { return r.EventID == id }) {
			continue
		}
		r, ok, err := b.reader.Result(id)
		if err != nil {
			return 0, err
		}
		if ok && r.CallID == callID {
			list = append(list, r)
		}
	}
	for _, r := range b.out.Results {
		if r.CallID == callID && r.Digest == digest {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return 0, nil
	}
	last := slices.MaxFunc(list, func(a, b Result) int { return cmp.Compare(a.Number, b.Number) })
	if len(list) == 1 {
		return last.Number, nil
	}
	begun, err := b.beginning(last)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		if other, err := b.beginning(r); err != nil || !bytes.Equal(other, begun) {
			return 0, err
		}
	}
	return last.Number, nil
}

// beginning returns the content of the row that began the call of a result: its tool and its
// arguments; nil if it is not known.
func (b *batch) beginning(r Result) ([]byte, error) {
	if r.Start == 0 {
		return nil, nil
	}
	rows, err := b.reader.Rows(r.Start-1, 1)
	if err != nil || len(rows) == 0 || rows[0].Seq != r.Start {
		return nil, err
	}
	return rows[0].Content, nil
}

// callNamed returns the model call with a name. If none or several have it, that is counted,
// and the call had read nothing.
func (b *batch) callNamed(name string) (ModelCall, error) {
	calls, err := b.reader.ModelCalls(name)
	if err != nil {
		return ModelCall{}, err
	}
	if id, ok := b.out.Names[name]; ok {
		name = "r:" + id
		more, err := b.reader.ModelCalls(name)
		if err != nil {
			return ModelCall{}, err
		}
		calls = append(calls, more...)
	}
	for _, c := range b.out.Calls {
		if slices.Contains(c.Names, name) {
			calls = append(calls, c)
		}
	}
	if len(calls) != 1 {
		b.out.To.Unmatched++
		return ModelCall{}, nil
	}
	return calls[0], nil
}
