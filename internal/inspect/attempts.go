// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/json"
	"reflect"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The stages of checks.
const (
	stageExecution = "execution" // right before the effect
	stageCheck     = "check"     // on demand: it decides nothing
)

// attempt is one run of the action: the call of a confirmation, or the run that the answer of an
// input begins. checked is the verdict of the check made for it.
type attempt struct {
	Execution
	run     string
	checked string
}

// answered notes the consequences of an answer. The gate takes an approval only in the run that
// brought it. An input lets that run begin.
func (q *request) answered(r *row, a *Answer) {
	q.said = a.Confirmed
	if !a.Accepted {
		return
	}
	if q.taken == nil {
		q.taken = make(map[string]bool)
	}
	q.taken[r.run] = true
	if q.Kind == kindInput && q.guarded {
		q.attempts = append(q.attempts, attempt{Execution: Execution{Start: r.at(), Span: r.span}, run: r.run})
	}
}

// checkedFor notes the verdict of the check of an attempt. The check of a call lies in its span.
func (q *request) checkedFor(r *row) {
	verdict := cmp.Or(r.ADK.Verdict, q.Checks[len(q.Checks)-1].Verdict)
	parent := parentKey(r)
	found := -1
	for i := range q.attempts {
		if a := &q.attempts[i]; a.Span == parent {
			a.checked = verdict
			return
		} else if a.run == r.run {
			found = i
		}
	}
	if found >= 0 {
		q.attempts[found].checked = verdict
	}
}

// tool notes a run of the action, if the row has one: the call of the request or, if rows do not
// name calls, a call of the same tool with the same arguments after a human said yes.
func (c *collector) tool(r *row) {
	var call *call
	for _, q := range c.requests {
		if q.Kind != KindConfirmation {
			continue
		}
		byID := r.ADK.CallID() != "" || q.guarded
		a := q.attemptIn(r.span)
		switch {
		case byID && (q.CallID == "" || q.CallID != r.ADK.CallID()):
		case a == nil && (r.EventType != record.ToolStarting || !q.lets(r)):
		case a == nil && byID:
			q.begin(r)
		case a == nil:
			if call == nil {
				call = callIn(r.Content)
			}
			// Each run belongs to one request, the one that has waited longest for it.
			if len(q.attempts) == 0 && call.tool == q.Tool && reflect.DeepEqual(call.args, q.args) {
				q.begin(r)
				return
			}
		case r.EventType != record.ToolStarting && a.End.IsZero():
			a.end(r)
		}
	}
}

// call is the call that the row of a tool describes.
type call struct {
	tool string
	args any
}

func callIn(content []byte) *call {
	var c struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	unmarshal(content, &c)
	out := &call{tool: c.Tool}
	unmarshal(c.Args, &out.args)
	return out
}

// lets reports whether a call may be one that an answer to the request let begin: where the
// guard enforces, in the run of an answer that it took; else after a yes.
func (q *request) lets(r *row) bool {
	if q.Enforced {
		return q.taken[r.run]
	}
	return q.said
}

func (q *request) begin(r *row) {
	q.attempts = append(q.attempts, attempt{Execution: Execution{Start: r.at(), Span: r.span}, run: r.run})
}

func (q *request) attemptIn(span string) *attempt {
	for i := len(q.attempts) - 1; i >= 0; i-- {
		if q.attempts[i].Span == span {
			return &q.attempts[i]
		}
	}
	return nil
}

func (a *attempt) end(r *row) {
	a.End, a.Status, a.Error = r.at(), cmp.Or(r.Status, record.StatusOK), r.ErrorMessage
	if r.EventType == record.ToolError {
		a.Status = record.StatusError
	}
}

// runEnded notes the end of a run that a guarded input started: the run is what was
// approved.
func (c *collector) runEnded(r *row) {
	for _, q := range c.requests {
		if q.Kind != kindInput || r.run == "" {
			continue
		}
		for i := range q.attempts {
			if a := &q.attempts[i]; a.run == r.run && a.End.IsZero() {
				a.end(r)
			}
		}
	}
}

// execution returns the attempt that passed the gate; nil for none. An approval is used once, so
// the gate refused all but one. That one has a good end, or else no end.
func (q *request) execution() *Execution {
	if !q.Enforced {
		if n := len(q.attempts); n > 0 {
			return &q.attempts[n-1].Execution
		}
		return nil
	}
	if q.ledger != nil {
		switch q.ledger.State {
		case safety.StateExecuting, safety.StateExecuted, safety.StateFailed:
		default:
			return nil
		}
	}
	var best *attempt
	for i := range q.attempts {
		a := &q.attempts[i]
		if q.passed(a) && (best == nil || a.rank() >= best.rank()) {
			best = a
		}
	}
	if best == nil && q.ledger != nil {
		for i := range q.attempts { // the row of its check is lost
			if a := &q.attempts[i]; a.checked == "" {
				best = a
			}
		}
	}
	if best == nil {
		return nil
	}
	return &best.Execution
}

// passed reports whether rows show that an attempt passed the gate, which ends a call that
// it refuses with an error.
func (q *request) passed(a *attempt) bool {
	return a.checked == verdictSafe ||
		a.checked == "" && q.Kind == KindConfirmation && a.Status == record.StatusOK && !a.End.IsZero()
}

func (a *attempt) rank() int {
	switch {
	case a.End.IsZero():
		return 1
	case a.Status == record.StatusError:
		return 0
	}
	return 2
}
