// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/json"
	"reflect"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// answer adds the answer that a row is. One without any id, as other recorders write it,
// is taken for that to the request that has waited longest.
func (c *collector) answer(r *row, at int, kind string) {
	q := c.find(r, kind)
	if q == nil {
		if r.ADK.ApprovalID != "" || confirmationOf(r) != "" || r.ADK.FunctionCallID != "" {
			return
		}
		for _, open := range c.requests {
			if open.Kind == kind && len(open.Answers) == 0 {
				q = open
				break
			}
		}
		if q == nil {
			return
		}
	}
	a := Answer{At: r.at(), Row: at, Approver: r.ADK.Approver, Authenticated: r.ADK.Authenticated, Reason: r.ADK.Reason}
	switch {
	case r.ADK.Confirmed != nil:
		a.Confirmed = *r.ADK.Confirmed
	case kind == kindConfirmation:
		a.Confirmed = confirmed(r.Content)
	default:
		a.Confirmed = true
	}
	a.Accepted = a.Confirmed
	if r.ADK.Accepted != nil {
		a.Accepted = *r.ADK.Accepted
	}
	if a.Reason == "" && !a.Accepted && r.ErrorMessage != "" {
		a.Reason = r.ErrorMessage
	}
	q.Answers = append(q.Answers, a)
	if a.Confirmed && q.confirmedAt < 0 {
		q.confirmedAt = at
	}
}

// confirmed reads an answer: the framework takes it as an object, or as one inside of a
// string.
func confirmed(content []byte) bool {
	var c struct {
		Result struct {
			Confirmed bool   `json:"confirmed"`
			Response  string `json:"response"`
		} `json:"result"`
	}
	unmarshal(content, &c)
	if c.Result.Response != "" {
		unmarshal([]byte(c.Result.Response), &c.Result)
	}
	return c.Result.Confirmed
}

// check adds the check that a row is.
func (c *collector) check(r *row, at int) {
	q := c.find(r, kindConfirmation)
	if q == nil {
		q = c.find(r, kindInput)
	}
	if q == nil {
		return // a program asked for it, not an answer
	}
	k := Check{Stage: r.ADK.Stage, Verdict: r.ADK.Verdict, At: r.at(), Span: r.span, Row: at, DurationMS: totalMS(r.LatencyMS)}
	q.addCheck(r.Content, k)
	if k.Stage == "execution" {
		q.checked = q.Checks[len(q.Checks)-1].Verdict
	}
}

// addCheck adds a check with what its report says, unless it is there already.
func (q *request) addCheck(report []byte, k Check) {
	var c reported
	unmarshal(report, &c)
	for i := range q.Checks {
		if c.ID != "" && q.Checks[i].ID == c.ID {
			return
		}
	}
	c.fill(&k)
	q.Checks = append(q.Checks, k)
}

func totalMS(latency []byte) float64 {
	var l struct {
		Total float64 `json:"total_ms"`
	}
	unmarshal(latency, &l)
	return max(0, l.Total)
}

// tool notes a run of what was asked for, if the row is of one: the call that was asked
// about, or one of the same tool with the same arguments where rows do not name calls,
// after a human said yes.
func (c *collector) tool(r *row) {
	for _, q := range c.requests {
		if q.Kind != kindConfirmation || q.confirmedAt < 0 || !q.about(r) {
			continue
		}
		switch {
		case r.EventType == schema.ToolStarting:
			q.attempt, q.checked = &Execution{Start: r.at(), Span: r.span}, ""
		case q.attempt != nil && q.attempt.Span == r.span && q.attempt.End.IsZero():
			q.attempt.End, q.attempt.Status, q.attempt.Error = r.at(), cmp.Or(r.Status, schema.StatusOK), r.ErrorMessage
			if r.EventType == schema.ToolError {
				q.attempt.Status = schema.StatusError
			}
		}
	}
}

func (q *request) about(r *row) bool {
	if r.ADK.FunctionCallID != "" || q.guarded {
		return q.CallID != "" && r.ADK.FunctionCallID == q.CallID
	}
	if q.attempt != nil && q.attempt.Span == r.span {
		return true
	}
	var call struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	unmarshal(r.Content, &call)
	return call.Tool == q.Tool && sameJSON(call.Args, q.Args)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	unmarshal(a, &x)
	unmarshal(b, &y)
	return reflect.DeepEqual(x, y)
}

// runEnded notes the end of a run that a guarded input started: the run is what was
// approved.
func (c *collector) runEnded(rows []row, r *row) {
	for _, q := range c.requests {
		if q.Kind != kindInput || !q.guarded || q.confirmedAt < 0 || r.run == "" {
			continue
		}
		if first := &rows[q.confirmedAt]; first.run == r.run && q.attempt == nil {
			q.attempt = &Execution{Start: first.at(), End: r.at(), Status: cmp.Or(r.Status, schema.StatusOK), Error: r.ErrorMessage, Span: r.span}
		}
	}
}

// ran reports whether the attempt passed the gate, if there is one.
func (q *request) ran() bool {
	switch {
	case q.attempt == nil:
		return false
	case q.ledger != nil && q.Enforced:
		switch q.ledger.State {
		case safety.StateExecuting, safety.StateExecuted, safety.StateFailed:
			return true
		}
		return false
	case !q.Enforced:
		return true
	}
	// The gate ends a call that it refuses with an error.
	return q.checked == "safe" || q.checked == "" && q.Kind == kindConfirmation && q.attempt.Status == schema.StatusOK && !q.attempt.End.IsZero()
}
