// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// ofAction reports whether e stands in the arguments of the action that asks at the node. An entity
// that only an earlier action named is claimed, no more.
func ofAction(e entity.Canonical, node string) bool {
	return slices.ContainsFunc(e.Seen, func(s entity.Entity) bool { return saidBy(s, node) })
}

// saidBy reports whether s stands in the arguments of the action that asks at the node.
func saidBy(s entity.Entity, node string) bool {
	return node != "" && s.Source == entity.SourceAction && s.TechNode == node
}

// requires reports whether e has to be checked; action, whether it is of the action. Entities of the
// action always have to.
func (b rulebook) requires(e entity.Canonical, action bool) bool {
	switch b.Require {
	case config.RequireNamed:
		return action
	case config.RequireListed:
		of, isSet := entity.ElementOf(e.Type)
		return action || slices.Contains(b.Listed, e.Type) || isSet && slices.Contains(b.Listed, of)
	default:
		return true
	}
}

// required returns the entities that have to be checked for the decision.
func (b rulebook) required(entities []entity.Canonical, node string) []entity.Canonical {
	return slices.DeleteFunc(slices.Clone(entities), func(e entity.Canonical) bool {
		return !b.requires(e, ofAction(e, node))
	})
}

// noEntities says why there is nothing to check.
func (q *check) noEntities() Failure {
	switch {
	case q.policy.Require == config.RequireEverything:
		return fail(ReasonNoEntities, "there is no entity to check")
	case q.approval.DecisionNode == "":
		return fail(ReasonNoEntities, "there is no request, and so no arguments whose entities could be checked")
	case q.policy.Require == config.RequireNamed:
		return fail(ReasonNoEntities, "the arguments of %s name no entity: add a rule with in: action that finds it", q.approval.Tool)
	default:
		return fail(ReasonNoEntities, "the arguments of %s name no entity, and none of the listed types %q was found: add a rule with in: action, or list the types that count",
			q.approval.Tool, q.policy.Listed)
	}
}

// unlisted says which listed types have nothing to check.
func (q *check) unlisted() (failures []Failure) {
	for _, typ := range slices.Sorted(slices.Values(q.policy.Listed)) {
		if !slices.ContainsFunc(q.targets, func(t target) bool { return t.entity.Type == typ }) {
			failures = append(failures, fail(ReasonNoEntities, "%q is a listed type, and nothing of it was found", typ))
		}
	}
	return failures
}
