// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// waits reports whether the request still waits for people: it is open, and no answer that counts
// came before. A failed check asks them once more.
func (a *Approval) waits() bool {
	switch a.Status {
	case StatusCheckFailed:
		return a.Enforced && !a.Overridden
	case StatusPending:
		return !slices.ContainsFunc(a.Answers, func(a Answer) bool { return a.Accepted })
	}
	return false
}

// waitedUntil returns when the request stopped to wait for people: now if it still waits. An answer
// ends it, or its time; zero if neither is on record.
func (q *request) waitedUntil(now time.Time) time.Time {
	if q.waits() {
		return now
	}
	var accepted time.Time
	for i := range q.Answers {
		switch a := &q.Answers[i]; {
		case endedBy[a.Reason] == safety.StateRejected || a.Reason == safety.CodeDrift || !q.guarded && !a.Confirmed:
			if accepted.IsZero() {
				return a.At
			}
			return accepted // whatever was said after it changed nothing
		case a.Accepted:
			accepted = a.At
			if !q.guarded {
				return accepted
			}
		}
	}
	switch n := len(q.Answers); {
	case !accepted.IsZero():
		return accepted
	case q.Status == StatusExpired && !q.ExpiresAt.IsZero():
		return q.ExpiresAt
	case n > 0 && q.Status != StatusSuperseded:
		return q.Answers[n-1].At
	case q.ledger != nil: // the row of the answer is lost
		return q.ledger.UpdatedAt
	}
	return time.Time{}
}

// waited returns how long people were waited for, with at least one of the requests open: what
// overlaps counts once.
func waited(asked []outcome) time.Duration {
	type wait struct{ from, to time.Time }
	var waits []wait
	for _, a := range asked {
		if a.WaitedMS > 0 {
			waits = append(waits, wait{a.At, a.At.Add(time.Duration(a.WaitedMS) * time.Millisecond)})
		}
	}
	slices.SortFunc(waits, func(a, b wait) int { return a.from.Compare(b.from) })
	var total time.Duration
	var until time.Time
	for _, w := range waits {
		if w.from.Before(until) {
			w.from = until
		}
		if w.to.After(w.from) {
			total += w.to.Sub(w.from)
			until = w.to
		}
	}
	return total
}
