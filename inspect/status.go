// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The verdicts of checks as rows and the ledger have them.
const (
	verdictSafe   = "safe"
	verdictDrift  = "drift"
	verdictFailed = "check_failed"
)

// settle decides what came of a request, when all about it is known. end is the time of
// the last row: without an answer it has waited until then.
func (q *request) settle(end, now time.Time) {
	q.rest()
	if n := len(q.Answers); n > 0 {
		end = q.Answers[n-1].At
	}
	if !q.RequestedAt.IsZero() {
		q.WaitedMS = max(0, end.Sub(q.RequestedAt).Milliseconds())
	}
	if q.ran() {
		q.Execution = q.attempt
	}
	for _, k := range q.Checks {
		if q.PolicyVersion == "" {
			q.PolicyVersion = k.PolicyVersion
		}
		if q.Fingerprint == "" {
			q.Fingerprint = k.Fingerprint
		}
	}
	switch {
	case q.Execution != nil && !q.Enforced:
		// The ledger says what the gate would have done.
		q.Status = q.Execution.outcome()
	case q.ledger != nil:
		q.Status = ledgerStatus(q.ledger, now)
	default:
		q.Status = q.rowStatus(now)
	}
	q.Explanation = q.explanation()
	q.Warnings, q.Answers, q.Checks, q.Why = present(q.Warnings), present(q.Answers), present(q.Checks), present(q.Why)
}

func (e *Execution) outcome() Status {
	switch {
	case e.End.IsZero() && e.Status == "":
		return StatusInDoubt
	case e.Status == schema.StatusError:
		return StatusFailed
	}
	return StatusExecuted
}

// ledgerStatus is the status of an approval by the word of the ledger.
func ledgerStatus(a *safety.Approval, now time.Time) Status {
	late := past(a.ExpiresAt, now)
	switch a.State {
	case safety.StatePending, safety.StateApproved:
		switch {
		case late:
			return StatusExpired
		case a.Verdict == verdictFailed:
			return StatusCheckFailed
		case a.State == safety.StateApproved:
			return StatusSafe
		}
		return StatusPending
	case safety.StatePermitted:
		if late || past(a.PermitExpiresAt, now) {
			return StatusExpired
		}
		return StatusSafe
	case safety.StateRejected:
		return StatusRejected
	case safety.StateExpired:
		return StatusExpired
	case safety.StateBlocked:
		return StatusDrift
	case safety.StateExecuting:
		return StatusInDoubt
	case safety.StateExecuted:
		return StatusExecuted
	case safety.StateFailed:
		return StatusFailed
	}
	return StatusPending
}

func past(t, now time.Time) bool { return !t.IsZero() && now.After(t) }

// rowStatus is the status of an approval by what its rows say.
func (q *request) rowStatus(now time.Time) Status {
	var verdict, reason string
	accepted, rejected := false, false
	for _, k := range q.Checks {
		verdict = k.Verdict
	}
	for _, a := range q.Answers {
		reason = a.Reason
		accepted = accepted || a.Confirmed && a.Accepted
		rejected = rejected || !a.Confirmed && (!q.guarded || a.Reason == safety.CodeRejected)
	}
	if verdict == "" && (reason == safety.CodeDrift || reason == safety.CodeCheckFailed) {
		verdict = reason // the row of the check is missing
	}
	switch {
	case q.Execution != nil:
		return q.Execution.outcome()
	case rejected:
		return StatusRejected
	case verdict == verdictDrift:
		return StatusDrift
	case accepted && !q.guarded && q.Kind != kindConfirmation:
		return StatusExecuted
	case past(q.ExpiresAt, now) || reason == safety.CodeExpired:
		return StatusExpired
	case verdict == verdictFailed:
		return StatusCheckFailed
	case accepted && verdict == verdictSafe:
		return StatusSafe
	}
	return StatusPending
}
