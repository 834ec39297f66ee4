// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// answerCall is a call in an answer of a model. The digest of the arguments is that of a guarded tool.
type answerCall struct{ id, tool, digest string }

// second is a call that comes second in an answer: an earlier one is equal, or has its id.
type second struct {
	code string
	// first says that the earlier one has everything in common with this one. ADK runs the calls of an
	// answer at the same time, so whichever begins first is the first.
	first bool
}

// callsIn returns the calls in an event; none if no tool among them is guarded.
func (g *Gate) callsIn(ev *session.Event) (calls []answerCall) {
	if ev.Content == nil {
		return nil
	}
	guarded := false
	for _, part := range ev.Content.Parts {
		if part == nil || part.FunctionCall == nil {
			continue
		}
		fc := part.FunctionCall
		c := answerCall{id: fc.ID, tool: fc.Name}
		if enforced, _ := g.enforced(fc.Name); enforced {
			c.digest, _, _ = safety.ArgsDigest(fc.Args)
			guarded = true
		}
		calls = append(calls, c)
	}
	if !guarded {
		return nil
	}
	return calls
}

// noteCalls remembers the calls in an event, and which of them come second. ADK hands on the event of
// an answer before it runs the calls in it.
func (r *run) noteCalls(calls []answerCall) {
	if len(calls) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.called == nil {
		r.called, r.second = make(map[string]string), make(map[answerCall]*second)
	}
	ids, equal := make(map[string]answerCall), make(map[answerCall]bool)
	for _, c := range calls {
		first, sameID := ids[c.id]
		alike := answerCall{tool: c.tool, digest: c.digest}
		if !sameID {
			delete(r.second, c) // of an earlier answer
			ids[c.id], r.called[c.id] = c, c.tool
		}
		switch {
		case sameID && first == c && r.second[c] != nil: // it is said of the first as well
		case sameID:
			r.second[c] = &second{code: CodeSameID, first: first == c}
		case equal[alike]:
			r.second[c] = &second{code: safety.CodeAsked}
		}
		equal[alike] = c.digest != ""
	}
}

// secondOf returns why a call that begins must not ask; nil if it may.
func (r *run) secondOf(c *call, args map[string]any) *safety.Refusal {
	digest, _, _ := safety.ArgsDigest(args)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.second[answerCall{c.ID, c.Name, digest}]
	switch {
	case s == nil:
		return nil
	case s.first:
		s.first = false
		return nil
	case s.code == CodeSameID:
		return &safety.Refusal{
			Code: CodeSameID, Tool: c.Name, Message: fmt.Sprintf("%s was not run: another call of the same answer has its id %q.", c.Name, c.ID),
			Next: "Make this call again by itself, with an id of its own.",
		}
	}
	return &safety.Refusal{Code: safety.CodeAsked, Tool: c.Name, Message: fmt.Sprintf("The same answer asks for this very call of %s already.", c.Name)}
}
