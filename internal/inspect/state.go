// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The verdicts of checks as rows and the ledger have them.
const (
	verdictSafe   = "safe"
	verdictDrift  = "drift"
	verdictFailed = "check_failed"
)

// settle decides what came of a request, when all about it is known.
func (q *request) settle(now time.Time) {
	q.Execution = q.execution()
	for _, k := range q.Checks {
		if q.PolicyVersion == "" {
			q.PolicyVersion = k.PolicyVersion
		}
		if q.Fingerprint == "" {
			q.Fingerprint = k.Fingerprint
		}
	}
	if q.Status = statusOf(q.known(), now); q.Execution != nil && (!q.Enforced || q.ledger == nil) {
		q.Status = q.Execution.outcome() // the ledger of a call that was only observed says what the gate would have done
	}
	if q.unknown {
		q.Status = StatusUnknown
	}
	if until := q.waitedUntil(now); !until.IsZero() && !q.RequestedAt.IsZero() {
		q.WaitedMS = max(0, until.Sub(q.RequestedAt).Milliseconds())
	}
	q.rest()
	q.found()
	q.Explanation, q.MayApprove, q.Progress = q.explanation(), q.mayApprove(), q.progress()
	q.Warnings, q.Answers, q.Checks, q.Why, q.Consents = present(q.Warnings), present(q.Answers), present(q.Checks), present(q.Why), present(q.Consents)
}

func (e *Execution) outcome() Status {
	switch {
	case e.End.IsZero() && e.Status == "":
		return StatusInDoubt
	case e.Status == record.StatusError:
		return StatusFailed
	}
	return StatusExecuted
}

// statusOf is the status of an approval, known by the ledger or by rows.
func statusOf(a safety.Approval, now time.Time) Status {
	late := past(a.ExpiresAt, now)
	switch a.State {
	case safety.StatePending, safety.StateApproved:
		switch {
		case late:
			return StatusExpired
		case a.State == safety.StateApproved && a.Verdict == verdictSafe:
			return StatusSafe
		case a.State == safety.StateApproved || a.Verdict == verdictFailed:
			return StatusCheckFailed
		}
		return StatusPending
	case safety.StatePermitted:
		switch {
		case late || past(a.PermitExpiresAt, now):
			return StatusExpired
		case a.Overridden:
			return StatusCheckFailed
		}
		return StatusSafe
	case safety.StateBlocked:
		return StatusDrift
	case safety.StateRejected, safety.StateExpired, safety.StateSuperseded, safety.StateExecuted, safety.StateFailed:
		return Status(a.State)
	}
	return StatusInDoubt // it is executing, or in a state that is not known here: anything may have happened
}

func past(t, now time.Time) bool { return !t.IsZero() && now.After(t) }

// endedBy has the state that the reason of an answer tells of. Each later answer repeats the end of an approval, so it is
// known even if its own rows are lost.
var endedBy = map[string]safety.ApprovalState{
	safety.CodeRejected: safety.StateRejected, safety.CodeChange: safety.StateRejected, safety.CodeDrift: safety.StateBlocked, safety.CodeBlocked: safety.StateBlocked,
	safety.CodeSuperseded: safety.StateSuperseded, safety.CodeExpired: safety.StateExpired, safety.CodeAlreadyUsed: safety.StateExecuting, safety.CodeHappened: safety.StateExecuted, safety.CodeDidNotHappen: safety.StateFailed,
}

// known is what the ledger says of a request, and without it what rows say, as the ledger would. Of an approval that
// may still come to something, rows that are later than the last word of the ledger count if they say worse: that a
// change could not be written there does not make the world safe.
func (q *request) known() safety.Approval {
	a := safety.Approval{State: safety.StatePending, ExpiresAt: q.ExpiresAt}
	if q.ledger != nil {
		if a = *q.ledger; !a.State.Open() && a.State != safety.StatePermitted {
			return a
		}
	}
	for i := range q.Answers {
		n := &q.Answers[i]
		end := endedBy[n.Reason]
		switch {
		case q.ledger != nil && (!n.At.After(q.ledger.UpdatedAt) || end != safety.StateBlocked && end != safety.StateRejected):
		case end == safety.StateExecuting && !q.Enforced:
		case end != "":
			a.State = end
		case n.Reason == safety.CodeCheckFailed:
			a.Verdict = verdictFailed
		case q.guarded:
		case !n.Confirmed:
			a.State = safety.StateRejected
		case q.Kind != KindConfirmation && n.Accepted:
			a.State = safety.StateExecuted // the run went on
		default:
			a.State = safety.StatePending
		}
	}
	for _, k := range q.deciding() {
		permitted := q.Enforced && k.Stage == stageExecution && k.Verdict == verdictSafe
		switch {
		case q.ledger != nil && (k.Row < 0 || !k.At.After(q.ledger.UpdatedAt) || k.Verdict == verdictSafe):
		case k.Verdict == verdictDrift && a.State != safety.StateRejected && a.State != safety.StateExecuting:
			a.State = safety.StateBlocked
		case q.ledger != nil && a.State == safety.StatePermitted:
			a.State, a.Verdict = safety.StateApproved, k.Verdict
		case permitted:
			a.State = safety.StateExecuting // it may have begun
		default:
			if n := len(q.Answers); n == 0 || q.Answers[n-1].Row < k.Row || q.Answers[n-1].Reason != safety.CodeCheckFailed {
				a.Verdict = k.Verdict
			}
		}
	}
	if a.State == safety.StatePending && a.Verdict == verdictSafe && slices.ContainsFunc(q.Answers, func(n Answer) bool { return n.Accepted && n.Confirmed }) {
		a.State = safety.StateApproved
	}
	return a
}

// deciding returns the checks that decide about the request: not those before the question, and not those that somebody asked for meanwhile.
func (q *request) deciding() []Check {
	return slices.DeleteFunc(slices.Clone(q.Checks), func(k Check) bool { return k.Stage == stageCheck || k.Stage == stageAsking })
}

// The stages of checks.
const (
	stageExecution = "execution" // right before the effect
	stageCheck     = "check"     // on demand: it decides nothing
	stageAsking    = "asking"    // before anybody was asked: it decides nothing
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
// name calls, a call of the same tool with the same arguments after a human said yes. If several
// requests fit such a call, nobody knows which one it belongs to.
func (c *collector) tool(r *row) {
	var call *call
	var fit []*request
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
			if len(q.attempts) == 0 && call.tool == q.Tool && reflect.DeepEqual(call.args, q.args) {
				fit = append(fit, q)
			}
		case r.EventType != record.ToolStarting && a.End.IsZero():
			a.end(r)
		}
	}
	if len(fit) == 1 && !fit[0].unknown {
		fit[0].begin(r)
		return
	}
	for _, q := range fit {
		q.unknown = true
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
