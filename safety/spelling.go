// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// require adds e to what is checked. What exact sources spelled in several ways ("a1",
// "A1") is one entity by its key, and may be two in the world: each spelling is checked,
// against everything that was seen of the entity.
func (q *inquiry) require(e entity.Canonical, unseen bool) {
	values := spellings(e)
	for i, v := range values {
		t := target{entity: e, unseen: unseen, spelled: len(values) > 1, again: i > 0}
		t.entity.Value = v
		t.action = ofAction(e, q.decision)
		if t.spelled {
			t.action = q.decision != "" && slices.ContainsFunc(e.Seen, func(s entity.Entity) bool {
				return s.Value == v && s.Source == entity.SourceAction && s.TechNode == q.decision
			})
		}
		q.targets = append(q.targets, t)
	}
}

// spellings returns the texts by which exact sources called e, its value first.
func spellings(e entity.Canonical) []string {
	out := []string{e.Value}
	if k := e.Norm.Kind(); k != entity.KindNone && k != entity.KindText {
		return out
	}
	for _, s := range e.Seen {
		if s.Source != entity.SourceModel && !slices.Contains(out, s.Value) {
			out = append(out, s.Value)
		}
	}
	return out
}

// counted returns the targets that are things of their own in a sum: of several spellings
// those that the action has, or else the first.
func (q *inquiry) counted() map[int]bool {
	named := make(map[string]bool) // keys of what the action spelled in one of several ways
	for _, t := range q.targets {
		named[t.entity.Key] = named[t.entity.Key] || t.action && t.spelled
	}
	out := make(map[int]bool, len(q.targets))
	for i, t := range q.targets {
		out[i] = !t.spelled || t.action || !t.again && !named[t.entity.Key]
	}
	return out
}
