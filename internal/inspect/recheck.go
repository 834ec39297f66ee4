// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Checked is a check that was made now, for a session on record. It permits nothing.
type Checked struct {
	// Verdict is the verdict as a status.
	Verdict     Status `json:"verdict"`
	Explanation string `json:"explanation"`
	Check       Check  `json:"check"`
	// NeedsAgent are the types of entities that only the process of the agent can check, each
	// with the reason.
	NeedsAgent map[string]string `json:"needs_agent"`
	// Session, ApprovalID and NotChosen are those of the report.
	Session    record.Session   `json:"-"`
	ApprovalID string           `json:"-"`
	NotChosen  entity.NotChosen `json:"-"`
}

// NewChecked reads the JSON of a [safety.Report]. Its verdict is for people alone.
func NewChecked(report []byte, needsAgent map[string]string) (Checked, error) {
	var r struct {
		reported
		ApprovalID string           `json:"approval_id"`
		Session    record.Session   `json:"session"`
		NotChosen  entity.NotChosen `json:"not_chosen"`
	}
	if err := json.Unmarshal(report, &r); err != nil || r.Verdict == "" {
		return Checked{}, errors.Join(errors.New("the check has no report that can be read"), err)
	}
	c := Checked{
		Verdict: statusOfVerdict(r.Verdict), Check: Check{Stage: stageCheck, Row: -1}, NeedsAgent: needsAgent,
		Session: r.Session, ApprovalID: r.ApprovalID, NotChosen: r.NotChosen,
	}
	r.fill(&c.Check)
	c.Explanation = c.explanation()
	return c, nil
}

// explanation says what the verdict means for an open request.
func (c *Checked) explanation() string {
	skipped := 0
	for _, e := range c.Check.Entities {
		if e.Outcome == safety.EntitySkipped {
			skipped++
		}
	}
	switch {
	case c.Verdict == StatusSafe && skipped > 0:
		return fmt.Sprintf("Everything that the policy requires was checked, and nothing changed; %d optional ones could not be checked.", skipped)
	case c.Verdict == StatusSafe:
		return "Everything that was to be checked was checked, and nothing changed."
	case c.Verdict == StatusDrift:
		return "The world changed since it was read" + inBrackets(c.Check.phrases("block")) + ". After a yes now it can never run: ask for a new plan."
	}
	said := "The check failed" + inBrackets(c.Check.phrases("fail")) + ": nothing runs without proof that nothing has changed."
	if len(c.NeedsAgent) > 0 {
		said += " What needs the agent is checked when the request is answered, or by Instance.Check in its process."
	}
	return said
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
