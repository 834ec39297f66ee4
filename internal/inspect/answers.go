// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/json"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// answer adds the answer that a row is. One without any id, as other recorders write it,
// is taken for that to the request that has waited longest.
func (c *collector) answer(r *row, at int, kind string) {
	q := c.find(r, kind)
	if q == nil {
		if r.ADK.ApprovalID != "" || confirmationOf(r) != "" || r.ADK.CallID() != "" {
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
	a := Answer{At: r.at(), Row: at, Approver: r.ADK.Approver, Authenticated: r.ADK.Authenticated, Reason: r.ADK.Reason, Change: r.ADK.Change, Because: r.ADK.Because, Override: r.ADK.Override}
	if a.Reason == safety.CodeChange {
		q.Change = a.Change
	}
	switch {
	case r.ADK.Confirmed.Bool() != nil:
		a.Confirmed = *r.ADK.Confirmed.Bool()
	case kind == KindConfirmation:
		a.Confirmed = confirmed(r.Content)
	default:
		a.Confirmed = true
	}
	// A guard says whether it took an answer: silence is no yes.
	a.Accepted = a.Confirmed && !q.guarded
	if accepted := r.ADK.Accepted.Bool(); accepted != nil {
		a.Accepted = *accepted
	}
	switch {
	case len(r.ADK.Consents) > 0:
		q.Consents = r.ADK.Consents
	case a.Accepted && a.Approver != "":
		q.Consents = []string{a.Approver}
	}
	if a.Reason == "" && !a.Accepted && r.ErrorMessage != "" {
		a.Reason = r.ErrorMessage
	}
	counts := a.Reason == safety.CodeRejected || a.Reason == safety.CodeChange || a.resolves()
	if !a.Accepted && (a.Confirmed || !counts) {
		a.Refusal = cmp.Or(r.ErrorMessage, refusal(a.Reason))
	}
	q.Answers = append(q.Answers, a)
	q.answered(r, &a)
}

// resolves reports whether a person said how a call in doubt ended.
func (a *Answer) resolves() bool {
	return a.Reason == safety.CodeHappened || a.Reason == safety.CodeDidNotHappen
}

// confirmed reads an answer as the framework does: as an object or, if that has only a response, as
// the object in the text of it. An answer that cannot be read is no yes.
func confirmed(content []byte) bool {
	var c struct {
		Result json.RawMessage `json:"result"`
	}
	unmarshal(content, &c)
	var members map[string]json.RawMessage
	unmarshal(c.Result, &members)
	data := []byte(c.Result)
	if response, ok := members["response"]; ok && len(members) == 1 {
		var text string
		unmarshal(response, &text)
		data = []byte(text)
	}
	var said struct {
		Confirmed bool `json:"confirmed"`
	}
	return json.Unmarshal(data, &said) == nil && said.Confirmed
}

// check adds the check that a row is.
func (c *collector) check(r *row, at int) {
	q := c.find(r, KindConfirmation)
	if q == nil {
		q = c.find(r, kindInput)
	}
	if q == nil && r.ADK.Stage == stageAsking && r.ADK.ApprovalID != "" {
		c.before[r.ADK.ApprovalID] = append(c.before[r.ADK.ApprovalID], at) // its request comes after it
	}
	if q == nil {
		return // a program asked for it, not an answer
	}
	q.addCheck(r.Content, Check{Stage: r.ADK.Stage, Verdict: r.ADK.Verdict, At: r.at(), Span: r.span, Row: at, DurationMS: totalMS(r.LatencyMS)})
	q.redo = q.redo || r.ADK.Redo
	if r.ADK.Stage == stageExecution {
		q.Overridden = r.ADK.Overridden
		q.checkedFor(r)
	}
}

// addCheck adds a check and its report, unless it is there already.
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
