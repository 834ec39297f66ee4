// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// reported is the JSON of a [safety.Report].
type reported struct {
	ID            string    `json:"id"`
	Verdict       string    `json:"verdict"`
	Fingerprint   string    `json:"fingerprint"`
	PolicyVersion string    `json:"policy_version"`
	StartedAt     time.Time `json:"started_at"`
	CheckedAt     time.Time `json:"checked_at"`
	Total         int       `json:"total_entities"`
	Stale         int       `json:"stale_entities"`
	Entities      []struct {
		Type       string                  `json:"type"`
		Value      string                  `json:"value"`
		Outcome    string                  `json:"outcome"`
		Seen       map[string]entity.Value `json:"seen"`
		Now        map[string]entity.Value `json:"now"`
		Conditions map[string]string       `json:"conditions"`
		SeenAt     time.Time               `json:"seen_at"`
		AsOf       time.Time               `json:"as_of"`
		Unseen     bool                    `json:"unseen"`
		Skipped    []safety.Failure        `json:"skipped"`
		Waived     []safety.Failure        `json:"waived"`
	} `json:"entities"`
	Alerts   []safety.Alert   `json:"alerts"`
	Warnings []safety.Alert   `json:"warnings"`
	Failures []safety.Failure `json:"failures"`
	Costs    []safety.Cost    `json:"costs"`
}

// fill sets what the report of a check says.
func (c *reported) fill(k *Check) {
	k.ID, k.Fingerprint, k.PolicyVersion = c.ID, c.Fingerprint, c.PolicyVersion
	k.Verdict = cmp.Or(k.Verdict, c.Verdict)
	k.Total, k.Stale = c.Total, c.Stale
	if k.At.IsZero() {
		k.At = clock(c.CheckedAt)
	}
	if k.DurationMS == 0 && !c.StartedAt.IsZero() {
		k.DurationMS = max(0, float64(c.CheckedAt.Sub(c.StartedAt))/float64(time.Millisecond))
	}
	k.Entities = []Rested{}
	k.Alerts, k.Warnings, k.Failures = present(c.Alerts), present(c.Warnings), present(c.Failures)
	k.Costs, k.Findings = present(c.Costs), safety.Findings(slices.Concat(c.Alerts, c.Warnings), c.Failures)
	k.Changed, k.Failed = inBrackets(k.phrases("block")), inBrackets(k.phrases("fail"))
	why := c.reasons()
	for _, e := range c.Entities {
		r := Rested{
			Type: e.Type, Value: e.Value, Outcome: e.Outcome, Unseen: e.Unseen,
			Seen: shown(e.Seen), SeenAt: clock(e.SeenAt), Conditions: e.Conditions, AsOf: clock(e.AsOf), Reason: why[[2]string{e.Type, e.Value}],
		}
		if len(e.Now) > 0 {
			r.Now = shown(e.Now)
		}
		k.Entities = append(k.Entities, r)
	}
}

// reasons has the reasons why entities could not be checked, or were let pass by the policy, by
// type and value.
func (c *reported) reasons() map[[2]string]string {
	why := make(map[[2]string]string)
	add := func(list []safety.Failure) {
		for _, f := range list {
			if key := [2]string{f.EntityType, f.Entity}; why[key] == "" {
				why[key] = cmp.Or(f.Detail, f.Reason)
			}
		}
	}
	for _, e := range c.Entities {
		add(e.Skipped)
		add(e.Waived)
	}
	add(c.Failures)
	return why
}

// rest merges the entities as the human saw them with the findings of the last check.
func (q *Approval) rest() {
	at := make(map[[2]string]int)
	for i := range q.Entities {
		e := &q.Entities[i]
		if e.Seen == nil {
			e.Seen = map[string]string{}
		}
		at[thing(e.Type, e.Value)] = i
	}
	for _, k := range q.Checks {
		if k.Stage == stageCheck && !q.Status.Open() {
			continue // the check that ended it says more
		}
		if len(k.Costs) > 0 {
			q.Costs = k.Costs
		}
		for n := range k.Entities {
			found := &k.Entities[n]
			i, ok := at[thing(found.Type, found.Value)]
			if !ok {
				i = len(q.Entities)
				at[thing(found.Type, found.Value)] = i
				q.Entities = append(q.Entities, Rested{
					Type: found.Type, Value: found.Value, Seen: found.Seen, SeenAt: found.SeenAt, Conditions: found.Conditions, Unseen: found.Unseen,
				})
			}
			e := &q.Entities[i]
			found.Confidence = e.Confidence
			if e.Conditions == nil {
				e.Conditions = found.Conditions
			}
			e.Now, e.AsOf, e.Outcome, e.Reason = found.Now, found.AsOf, found.Outcome, found.Reason
		}
	}
	q.Entities, q.Costs = present(q.Entities), present(q.Costs)
}
