// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import "slices"

// Precondition is the revision of one entity at the check before an effect. An effect that is
// conditional on it, by HTTP's If-Match or by an UPDATE that compares a revision, cannot happen in
// a world that has changed since that check.
type Precondition struct {
	// EntityType and Entity name the entity as its checker was asked for it, Key as the
	// policy tells entities apart.
	EntityType string `json:"entity_type"`
	Entity     string `json:"entity"`
	Key        string `json:"key"`
	// Version is the State.Version of the checker's answer, as it gave it. It is empty with Overridden alone.
	Version string `json:"version"`
	// Overridden says that the source of the entity is down, and that people let the call run all the same: see
	// [Answer.Override]. The effect cannot be conditional then, or has to be refused.
	Overridden bool `json:"overridden,omitempty"`
}

// preconditions returns the revisions in the answers, in their order. An entity that
// was not compared gives none: the revision that its checker named proves nothing. One whose source is down stands
// there without: its check failed, so that the call runs only if people override that.
func preconditions(found []entityCheck) []Precondition {
	var out []Precondition
	for _, x := range found {
		e := x.target.entity
		switch {
		case slices.ContainsFunc(x.failures, Failure.Down):
			out = append(out, Precondition{EntityType: e.Type, Entity: e.Value, Key: e.Key, Overridden: true})
		case x.result.Version != "" && x.result.compared():
			out = append(out, Precondition{EntityType: e.Type, Entity: e.Value, Key: e.Key, Version: x.result.Version})
		}
	}
	return out
}

// Preconditions returns the revisions that the check behind this permit saw, in the order of
// [Report.Entities]. It returns nil before the permit is consumed, and for the zero Permit. An
// entity without a version in the answer has no precondition, unless people override its check. The slice belongs to the caller.
func (p *Permit) Preconditions() []Precondition {
	if p == nil || p.stage.Load() < permitConsumed {
		return nil
	}
	return slices.Clone(p.preconditions)
}
