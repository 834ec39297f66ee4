// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Recheck is a check that was made now, for a session on record.
type Recheck struct {
	Report safety.Report
	// Approval is the request that was checked, as the ledger has it after the check, Request the
	// same as people see it; nil where the session has none.
	Approval *safety.Approval
	Request  *Approval
	// NeedsAgent are the types of entities that only the process of the agent can check, each
	// with the reason.
	NeedsAgent map[string]string
}

// Finding is the end of a recheck.
type Finding int

// The findings.
const (
	// Unproven: it could not be shown that nothing changed.
	Unproven Finding = iota
	// Unchanged: everything that is required was checked, and nothing changed.
	Unchanged
	// Changed: something changed, or the request was blocked because of that.
	Changed
	// Over: the request has ended, whatever the world is like.
	Over
)

// Finding returns what the recheck came to.
func (r *Recheck) Finding() Finding {
	switch verdict := r.Report.Verdict(); {
	case r.Over() && r.Approval.State != safety.StateBlocked:
		return Over
	case r.Over() || verdict == safety.Drift:
		return Changed
	case verdict == safety.Safe:
		return Unchanged
	}
	return Unproven
}

// Over reports whether the request can lead to nothing any more. The ledger has one open that
// expired, or that was only observed and has run.
func (r *Recheck) Over() bool {
	return r.Request != nil && (!r.Request.Status.Open() || !r.Approval.State.Open())
}

// Status is the finding in one word: the status of the request if it has ended.
func (r *Recheck) Status() Status {
	switch r.Finding() {
	case Unchanged:
		return StatusSafe
	case Changed:
		return StatusDrift
	case Over:
		return r.Request.Status
	}
	return StatusCheckFailed
}

// Explanation says what the finding means.
func (r *Recheck) Explanation() string {
	switch r.Finding() {
	case Unchanged:
		if n := r.skipped(); n > 0 {
			return fmt.Sprintf("Everything that the policy requires was checked, and nothing changed; %d optional ones could not be checked. The gate checks once more before anything runs.", n)
		}
		return "Everything that was to be checked was checked, and nothing changed. The gate checks once more before anything runs."
	case Changed:
		if r.Over() {
			return r.Request.Explanation
		}
		return "The world changed since it was seen. An approval now would be blocked for good: ask for a new plan."
	case Over:
		if r.Approval.State == safety.StatePermitted && r.Request.Status == StatusSafe {
			return "It was approved, and a permit for one run was handed out: nothing is left to approve."
		}
		return r.Request.Explanation
	}
	text := "It could not be shown that nothing changed, and without proof nothing is safe."
	if len(r.NeedsAgent) > 0 {
		text += " What needs the agent is checked when the request is answered, or by Instance.Check in its process."
	}
	return text
}

// skipped is how many entities the policy lets go unchecked that were not checked.
func (r *Recheck) skipped() int {
	n := 0
	for _, e := range r.Report.Entities() {
		if e.Outcome == safety.EntitySkipped {
			n++
		}
	}
	return n
}
