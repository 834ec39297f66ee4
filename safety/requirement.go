// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"errors"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// Requirement says which entities have to be checked beside those in the arguments
// of the action itself, which always have to. It holds when a request is asked and
// at each check: an entity found after the request is checked too if it is required.
type Requirement uint8

// The requirements. The zero value requires most.
const (
	// RequireEverything requires everything that was recorded before the decision.
	RequireEverything Requirement = iota
	// RequireNamed requires only the entities that the arguments name.
	RequireNamed
	// RequireListed requires what was recorded of the types in [Policy.Listed]: of each at
	// least one entity.
	RequireListed
)

var requirementNames = []string{RequireEverything: "everything", RequireNamed: "named", RequireListed: "listed"}

// String returns "named", "listed" or, for every other value, "everything".
func (r Requirement) String() string { return nameOf(requirementNames, r) }

func (p Policy) validateRequirement() error {
	switch {
	case int(p.Require) >= len(requirementNames):
		return fmt.Errorf("Require is %d: use RequireEverything, RequireNamed or RequireListed", uint8(p.Require))
	case p.Require == RequireListed && len(p.Listed) == 0:
		return errors.New("Listed is empty: RequireListed needs the entity types that are required")
	case p.Require != RequireListed && len(p.Listed) > 0:
		return fmt.Errorf("Listed has %q: it is for RequireListed only", p.Listed)
	case slices.Contains(p.Listed, ""):
		return errors.New(`Listed has "": a type has a name`)
	default:
		return nil
	}
}

// ofAction reports whether e stands in the arguments of the action that asks at the node. An entity
// that only an earlier action named is claimed, no more.
func ofAction(e entity.Canonical, node string) bool {
	return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool { return saidBy(s, node) })
}

// saidBy reports whether s stands in the arguments of the action that asks at the node.
func saidBy(s entity.Entity, node string) bool {
	return node != "" && s.Source == entity.SourceAction && s.TechNode == node
}

// requires reports whether e has to be checked; action, whether it is of the action.
func (p Policy) requires(e entity.Canonical, action bool) bool {
	switch p.Require {
	case RequireNamed:
		return action
	case RequireListed:
		return action || slices.Contains(p.Listed, e.Type)
	default:
		return true
	}
}

// required returns the entities that have to be checked for the decision.
func (p Policy) required(entities []entity.Canonical, node string) []entity.Canonical {
	return slices.DeleteFunc(slices.Clone(entities), func(e entity.Canonical) bool {
		return !p.requires(e, ofAction(e, node))
	})
}

// noEntities says why there is nothing to check.
func (q *inquiry) noEntities(p Policy) Failure {
	switch {
	case p.Require == RequireEverything:
		return fail(ReasonNoEntities, "there is no entity to check")
	case q.decision.Node == "":
		return fail(ReasonNoEntities, "there is no request, and so no arguments whose entities could be checked")
	case p.Require == RequireNamed:
		return fail(ReasonNoEntities, "the arguments of %s name no entity: add a rule with in: action that finds it", q.tool)
	default:
		return fail(ReasonNoEntities, "the arguments of %s name no entity, and none of the listed types %q was found: add a rule with in: action, or list the types that count",
			q.tool, p.Listed)
	}
}

// unlisted says which listed types have nothing to check.
func (q *inquiry) unlisted(p Policy) (failures []Failure) {
	for _, typ := range slices.Compact(slices.Sorted(slices.Values(p.Listed))) {
		if !slices.ContainsFunc(q.targets, func(t target) bool { return t.entity.Type == typ }) {
			failures = append(failures, fail(ReasonNoEntities, "%q is a listed type, and nothing of it was found", typ))
		}
	}
	return failures
}
