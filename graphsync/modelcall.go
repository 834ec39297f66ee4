// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// modelCall adds a model call with everything that it had read.
func (b *batch) modelCall(e *schema.Event, attrs rowEvidence) error {
	c := ModelCall{EventID: e.EventID, Row: e.Seq, Names: []string{"r:" + e.EventID}}
	for _, f := range attrs.FunctionCalls {
		if f.ID != "" {
			c.Names = appendNew(c.Names, "c:"+f.ID)
		}
	}
	b.out.To.Unmatched += attrs.ADK.Read.Unmatched
	for _, name := range attrs.ADK.Read.Answers {
		spans, ok, err := b.readBy(name)
		if err != nil {
			return err
		}
		if !ok {
			b.out.To.Unmatched++
		}
		c.Read = union(c.Read, spans)
	}
	for _, callID := range sortedKeys(attrs.ADK.Read.Results) {
		n, err := b.resultOf(callID, attrs.ADK.Read.Results[callID])
		if err != nil {
			return err
		}
		if n == 0 {
			b.out.To.Unmatched++
			continue
		}
		c.Read = union(c.Read, []Span{{n, n}})
	}
	b.out.Calls = append(b.out.Calls, c)
	return nil
}

// resultOf returns the number of the latest result with a call id and a digest, 0 if there
// is none. Of several the latest counts: they are one call's, and say the same.
func (b *batch) resultOf(callID, digest string) (int64, error) {
	for _, r := range slices.Backward(b.out.Results) {
		if r.CallID == callID && r.Digest == digest && digest != "" {
			return r.Number, nil
		}
	}
	if digest == "" {
		return 0, nil
	}
	var last int64
	stored, err := b.reader.Results(callID, digest)
	if err != nil {
		return 0, err
	}
	for _, r := range stored {
		if now, changed := b.out.Rewritten[r.EventID]; !changed || now == digest {
			last = r.Number
		}
	}
	for id, now := range b.out.Rewritten {
		if now != digest {
			continue
		}
		r, ok, err := b.reader.Result(id)
		if err != nil {
			return 0, err
		}
		if ok && r.CallID == callID {
			last = max(last, r.Number)
		}
	}
	return last, nil
}

// readBy returns what the model call with a name had read; false if none or several have
// the name.
func (b *batch) readBy(name string) ([]Span, bool, error) {
	calls, err := b.reader.ModelCalls(name)
	if err != nil {
		return nil, false, err
	}
	if id, ok := b.out.Names[name]; ok {
		name = "r:" + id
		more, err := b.reader.ModelCalls(name)
		if err != nil {
			return nil, false, err
		}
		calls = append(calls, more...)
	}
	for _, c := range b.out.Calls {
		if slices.Contains(c.Names, name) {
			calls = append(calls, c)
		}
	}
	if len(calls) != 1 {
		return nil, false, nil
	}
	return calls[0].Read, true, nil
}
