// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
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
	switch {
	case q.Execution != nil && !q.Enforced:
		// The ledger says what the gate would have done.
		q.Status = q.Execution.outcome()
	case q.ledger != nil:
		q.Status = q.news(ledgerStatus(q.ledger, now))
	default:
		q.Status = q.rowStatus(now)
	}
	if until := q.waitedUntil(now); !until.IsZero() && !q.RequestedAt.IsZero() {
		q.WaitedMS = max(0, until.Sub(q.RequestedAt).Milliseconds())
	}
	q.rest()
	q.found()
	q.Action, q.Explanation, q.MayApprove, q.Progress = q.action(), q.explanation(), q.mayApprove(), q.progress()
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

// ledgerStatus is the status of an approval by the word of the ledger.
func ledgerStatus(a *safety.Approval, now time.Time) Status {
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
		if late || past(a.PermitExpiresAt, now) {
			return StatusExpired
		}
		if a.Overridden {
			return StatusCheckFailed
		}
		return StatusSafe
	case safety.StateRejected:
		return StatusRejected
	case safety.StateExpired:
		return StatusExpired
	case safety.StateSuperseded:
		return StatusSuperseded
	case safety.StateBlocked:
		return StatusDrift
	case safety.StateExecuting:
		return StatusInDoubt
	case safety.StateExecuted:
		return StatusExecuted
	case safety.StateFailed:
		return StatusFailed
	}
	return StatusInDoubt // a state that is not known here: anything may have happened
}

// news returns what rows say that were recorded after the last word of the ledger, if that has
// not come to an end and they are worse: that a change could not be written there does not
// make the world safe.
func (q *request) news(s Status) Status {
	if s != StatusPending && s != StatusSafe && s != StatusCheckFailed {
		return s
	}
	for _, k := range q.deciding() {
		if k.Row < 0 || !k.At.After(q.ledger.UpdatedAt) {
			continue
		}
		switch k.Verdict {
		case verdictDrift:
			return StatusDrift
		case verdictFailed:
			s = StatusCheckFailed
		}
	}
	for _, a := range q.Answers {
		if !a.At.After(q.ledger.UpdatedAt) {
			continue
		}
		switch a.Reason {
		case safety.CodeDrift, safety.CodeBlocked:
			return StatusDrift
		case safety.CodeRejected, safety.CodeChange:
			return StatusRejected
		}
	}
	return s
}

func past(t, now time.Time) bool { return !t.IsZero() && now.After(t) }

// rowStatus is the status of an approval according to its rows. Each later answer repeats the end
// of an approval, so it is known even if its own rows are lost.
func (q *request) rowStatus(now time.Time) Status {
	accepted, rejected := false, false
	for i := range q.Answers {
		a := &q.Answers[i]
		accepted = accepted || a.Accepted && a.Confirmed
		rejected = q.refused(a) || rejected && q.guarded
	}
	verdict := q.verdict()
	switch {
	case q.hears(safety.CodeHappened):
		return StatusExecuted
	case q.hears(safety.CodeDidNotHappen):
		return StatusFailed
	case q.Execution != nil:
		return q.Execution.outcome()
	case q.Enforced && (q.permitted() || q.hears(safety.CodeAlreadyUsed)):
		return StatusInDoubt
	case rejected:
		return StatusRejected
	case verdict == verdictDrift || q.guarded && (q.hears(safety.CodeDrift) || q.hears(safety.CodeBlocked)):
		return StatusDrift
	case accepted && !q.guarded && q.Kind != KindConfirmation:
		return StatusExecuted
	case q.hears(safety.CodeSuperseded):
		return StatusSuperseded
	case past(q.ExpiresAt, now) || q.hears(safety.CodeExpired):
		return StatusExpired
	case verdict == verdictFailed:
		return StatusCheckFailed
	case accepted && verdict == verdictSafe:
		return StatusSafe
	}
	return StatusPending
}

// refused reports whether an answer ended the request with a no.
func (q *request) refused(a *Answer) bool {
	if q.guarded {
		return a.Reason == safety.CodeRejected
	}
	return !a.Confirmed
}

// deciding returns the checks that decide about the request: not those that somebody asked for
// meanwhile.
func (q *request) deciding() []Check {
	return slices.DeleteFunc(slices.Clone(q.Checks), func(k Check) bool { return k.Stage == stageCheck })
}

// hears reports whether the guard gave the reason for any answer that it did not take.
func (q *request) hears(code string) bool {
	return slices.ContainsFunc(q.Answers, func(a Answer) bool { return a.Reason == code })
}

// permitted reports whether a check right before the effect was safe: then it may have begun.
func (q *request) permitted() bool {
	return slices.ContainsFunc(q.Checks, func(k Check) bool { return k.Stage == stageExecution && k.Verdict == verdictSafe })
}

// verdict is the verdict of the last check, or of one without a row that the last answer names.
func (q *request) verdict() string {
	verdict, at := "", -1
	if checks := q.deciding(); len(checks) > 0 {
		last := checks[len(checks)-1]
		verdict, at = last.Verdict, last.Row
	}
	if n := len(q.Answers); n > 0 && q.Answers[n-1].Row > at && q.Answers[n-1].Reason == safety.CodeCheckFailed {
		return verdictFailed
	}
	return verdict
}
