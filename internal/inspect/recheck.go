// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Recheck is a check that was made now, for a session on record.
type Recheck struct {
	// Verdict is that of its report, Skipped how many entities the policy lets go unchecked that were not checked.
	Verdict string
	Skipped int
	// Approval is the request that was checked, as the ledger has it after the check, Request the
	// same as people see it; nil where the session has none.
	Approval *safety.Approval
	Request  *Approval
	// NeedsAgent are the types of entities that only the process of the agent can check, each
	// with the reason.
	NeedsAgent map[string]string
}

// Over reports whether the request can lead to nothing any more. The ledger has one open that
// expired, or that was only observed and has run.
func (r *Recheck) Over() bool {
	return r.Request != nil && (!r.Request.Status.Open() || !r.Approval.State.Open())
}

// Status is what the recheck came to, as the status that it speaks for: that of the request if it has ended.
func (r *Recheck) Status() Status {
	if r.Over() {
		return r.Request.Status
	}
	return statusOfVerdict(r.Verdict)
}

// Explanation says what the status means.
func (r *Recheck) Explanation() string {
	switch {
	case !r.Over():
		return explained(r.Status(), r.Skipped, len(r.NeedsAgent))
	case r.Approval.State == safety.StatePermitted && r.Request.Status == StatusSafe:
		return "It was approved, and a permit for one run was handed out: nothing is left to approve."
	}
	return r.Request.Explanation
}

// explained says what a verdict about an open request means. skipped counts the optional entities
// that were not checked, agent the types that only the process of the agent can check.
func explained(verdict Status, skipped, agent int) string {
	switch {
	case verdict == StatusSafe && skipped > 0:
		return fmt.Sprintf("Everything that the policy requires was checked, and nothing changed; %d optional ones could not be checked. The gate checks once more before anything runs.", skipped)
	case verdict == StatusSafe:
		return "Everything that was to be checked was checked, and nothing changed. The gate checks once more before anything runs."
	case verdict == StatusDrift:
		return "The world changed since it was seen. An approval now would be blocked for good: ask for a new plan."
	case agent > 0:
		return "It could not be shown that nothing changed, and without proof nothing is safe. What needs the agent is checked when the request is answered, or by Instance.Check in its process."
	}
	return "It could not be shown that nothing changed, and without proof nothing is safe."
}

// Checked is a check of an open request that was made now, as the page shows it. It permits nothing.
type Checked struct {
	// Verdict is the verdict as a status.
	Verdict     Status `json:"verdict"`
	Explanation string `json:"explanation"`
	Check       Check  `json:"check"`
	// NeedsAgent are the types of entities that only the process of the agent can check, each
	// with the reason.
	NeedsAgent map[string]string `json:"needs_agent"`
}

// NewChecked reads the JSON of a [safety.Report]. Its verdict is for people alone.
func NewChecked(report []byte, needsAgent map[string]string) (Checked, error) {
	var r reported
	if err := json.Unmarshal(report, &r); err != nil || r.Verdict == "" {
		return Checked{}, errors.Join(errors.New("the check has no report that can be read"), err)
	}
	c := Checked{Verdict: statusOfVerdict(r.Verdict), Check: Check{Stage: stageCheck, Row: -1}, NeedsAgent: needsAgent}
	r.fill(&c.Check)
	skipped := 0
	for _, e := range c.Check.Entities {
		if e.Outcome == safety.EntitySkipped.String() {
			skipped++
		}
	}
	c.Explanation = explained(c.Verdict, skipped, len(needsAgent))
	return c, nil
}

// AddTo adds the check to the request that it was made for, unless it is there.
func (c *Checked) AddTo(a *Approval) {
	if a.Status.Open() && !slices.ContainsFunc(a.Checks, func(k Check) bool { return k.ID == c.Check.ID }) {
		a.Checks = append(a.Checks, c.Check)
		a.Progress = append(a.Progress, c.Check.progress())
		a.rest()
		a.found()
	}
}
