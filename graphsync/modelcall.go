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
	for _, callID := range sortedKeys(attrs.ADK.Read.Results) {
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
