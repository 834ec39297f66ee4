// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import "slices"

// Precondition is the revision of one entity that the check before an effect saw. An
// effect that is made conditional on it, as HTTP's If-Match or an UPDATE that compares a
// revision do, cannot take place in a world that has moved since that check.
type Precondition struct {
	// EntityType and Entity name the entity as its checker was asked for it, Key as the
	// policy tells entities apart.
	EntityType string `json:"entity_type"`
	Entity     string `json:"entity"`
	Key        string `json:"key"`
	// Version is the State.Version of the checker's answer, as it gave it.
	Version string `json:"version"`
}

// preconditions returns the revisions that the answers named, in the order of the
// targets. An entity that was not compared with what was seen gives none: nothing is
// known of the revision that its checker named.
func preconditions(targets []target, found []examined) []Precondition {
	var out []Precondition
	for i, x := range found {
		if x.result.Version != "" && x.result.compared() {
			e := targets[i].entity
			out = append(out, Precondition{EntityType: e.Type, Entity: e.Value, Key: e.Key, Version: x.result.Version})
		}
	}
	return out
}

// Preconditions returns the revisions that the check behind this very permit saw, in the
// order of [Report.Entities], once the permit was consumed; before that, and for no
// permit, nothing. An entity whose checker named no version has no precondition. The
// slice is the caller's.
func (p *Permit) Preconditions() []Precondition {
	if p == nil || p.stage.Load() < permitConsumed {
		return nil
	}
	return slices.Clone(p.preconditions)
}
