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
	// RequireEverything requires everything that was evaluated before the decision.
	RequireEverything Requirement = iota
	// RequireNamed requires nothing else than the arguments.
	RequireNamed
	// RequireListed requires what was evaluated of the types in [Policy.Listed].
	RequireListed
)

var requirementNames = []string{RequireEverything: "everything", RequireNamed: "named", RequireListed: "listed"}

// String returns "named", "listed" or, for every other value, "everything".
func (r Requirement) String() string { return nameOf(requirementNames, r) }

// MarshalText encodes the requirement as its String.
func (r Requirement) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what String writes. Anything else is an error.
func (r *Requirement) UnmarshalText(text []byte) error {
	return readName(r, "requirement", requirementNames, text)
}

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

// ofAction reports whether e stands in the arguments of the action that asks at the
// node decision. What an earlier action named is no more than evaluated.
func ofAction(e entity.Canonical, decision string) bool {
	return decision != "" && slices.ContainsFunc(e.Seen, func(s entity.Entity) bool {
		return s.Source == entity.SourceAction && s.TechNode == decision
	})
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
func (p Policy) required(entities []entity.Canonical, decision string) []entity.Canonical {
	if p.Require == RequireEverything {
		return entities
	}
	return slices.DeleteFunc(slices.Clone(entities), func(e entity.Canonical) bool {
		return !p.requires(e, ofAction(e, decision))
	})
}

// noEntities says why there is nothing to check.
func (q *inquiry) noEntities(p Policy) Failure {
	switch {
	case p.Require == RequireEverything:
		return fail(ReasonNoEntities, "there is no entity to check")
	case q.decision == "":
		return fail(ReasonNoEntities, "there is no request, and so no arguments whose entities could be checked")
	case p.Require == RequireNamed:
		return fail(ReasonNoEntities, "the arguments of %s name no entity: add a rule with in: action that finds it", q.tool)
	default:
		return fail(ReasonNoEntities, "the arguments of %s name no entity, and none of the listed types %q was evaluated: add a rule with in: action, or list the types that count",
			q.tool, p.Listed)
	}
}

// passOver marks what the action does not name while it names others of the type: what the
// plan could have had and does not.
func (q *inquiry) passOver() {
	types, keys := make(map[string]bool), make(map[string]bool)
	for _, t := range q.targets {
		if t.action {
			types[t.entity.Type], keys[t.entity.Key] = true, true
		}
	}
	for i := range q.targets {
		t := &q.targets[i]
		t.passedOver = types[t.entity.Type] && !keys[t.entity.Key]
	}
}

// match notes what only the action names, while something of its type was seen that is
// not required. That may be what is meant, under another name, as an id is one: whatever
// was seen of it would not be compared.
func (q *inquiry) match(b rulebook, entities []entity.Canonical) {
	seen := make(map[string]string) // a value by type
	for _, e := range entities {
		if seen[e.Type] == "" && !b.requires(e, ofAction(e, q.decision)) && slices.ContainsFunc(e.Seen, found) {
			seen[e.Type] = e.Value
		}
	}
	for i := range q.targets {
		t := &q.targets[i]
		if e := t.known(); t.action && !slices.ContainsFunc(e.Seen, found) && !b.compares(e) {
			t.instead = seen[e.Type]
		}
	}
}

// found reports whether a tool or an event showed the thing, and not a call's arguments
// or a model alone.
func found(s entity.Entity) bool {
	return s.Source != entity.SourceAction && s.Source != entity.SourceModel
}

// compares reports whether an answer must have anything that was seen of e.
func (b rulebook) compares(e entity.Canonical) bool {
	for name := range e.Attributes {
		if !b.rule(e.Type, name).Optional {
			return true
		}
	}
	return false
}
