// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"maps"
	"math"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// NotChosen has the entities that a decision could have chosen and did not choose.
type NotChosen struct {
	// Total counts the things.
	Total int
	// Entities are the first 20 of them by key, as [Selection.Entities] would
	// have them.
	Entities []entity.Canonical
}

// Counted says why a thing counts although the action does not name it and rules with
// [config.Extract.Alternatives] find its type.
type Counted struct {
	// Row is the number of a row that shows or names it.
	Row int64
	// Rule found it there; nil says that none did, but a tool or a model.
	Rule *config.Extract
}

// maxNotChosen is how many of the things that were not chosen are named: the list is for people.
const maxNotChosen = 20

// choose adds the sightings in found of types that a rule with Alternatives finds. c is the rule
// that found them, nil if none did. A rule with config.InAction adds nothing: the entities that the
// deciding action names are read from its arguments.
func (x *Extractor) choose(list []Choice, c *compiled, found []entity.Entity) []Choice {
	if x == nil || c != nil && c.In == config.InAction {
		return list
	}
	for _, e := range found {
		if !x.choices[e.Type] {
			continue
		}
		n := Choice{Key: e.Identity()}
		if c != nil {
			n.Rule, n.Reading = c.number, e.Shows()
		}
		list = append(list, n)
	}
	return list
}

// entry is a place where a rule finds things to choose from. The rows of an agent that ran
// as a tool are told apart by the result that brought them.
type entry struct {
	row, result int64
	rule        int
}

func (c Choice) entry() entry { return entry{c.Row, c.Result, c.Rule} }

// rule returns the rule with a number; nil if none has it.
func (x *Extractor) rule(number int) *config.Extract {
	if number < 1 || number > len(x.rules) {
		return nil
	}
	return &x.rules[number-1].Extract
}

// choosing reports whether any rule says that there is something to choose.
func (x *Extractor) choosing() bool { return x != nil && len(x.choices) > 0 }

// chosen finds where rules show what the action names.
func (sel *selector) chosen() error {
	sel.shows = make(map[entry]bool)
	for _, key := range slices.Sorted(maps.Keys(sel.named)) {
		err := sel.choices(key, func(c Choice) bool {
			if c.Reading {
				sel.shows[c.entry()] = true
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// notChosen reports whether a thing could have been chosen and was not. The action does not name
// it, every sighting of it comes from a rule with Alternatives, and each of those rows also shows,
// by the same rule, an entity that the action names.
func (sel *selector) notChosen(key string) (bool, error) {
	if !sel.x.choosing() || len(sel.named[key]) > 0 {
		return false, nil
	}
	var against *Counted
	if found := sel.found[key]; len(found) > 0 && sel.x.choices[found[0].Type] {
		against = &Counted{Row: found[0].Row}
	}
	seen := false
	err := sel.choices(key, func(c Choice) bool {
		seen = true
		if rule := sel.x.rule(c.Rule); against == nil && (rule == nil || !rule.Alternatives || !sel.shows[c.entry()]) {
			against = &Counted{Row: c.Row, Rule: rule}
		}
		return against == nil
	})
	if against != nil {
		sel.out.Counted[key] = *against
	}
	return seen && against == nil, err
}

// choices calls f with the choices of a thing, in order, until f returns false.
func (sel *selector) choices(key string, f func(Choice) bool) error {
	for skip, limit := 0, choicesAtOnce; ; skip, limit = skip+limit, min(limit*8, 4096) {
		list, err := sel.r.Choices(key, sel.upTo, skip, limit)
		if err != nil {
			return err
		}
		for _, c := range list {
			if !sel.excluded(c.Row) && !f(c) {
				return nil
			}
		}
		if len(list) < limit {
			return nil
		}
	}
}

// choicesAtOnce is how many choices are read first.
const choicesAtOnce = 64

// choicesOfAll returns the choices of the session of an agent that ran as a tool, for the
// session of its caller. It includes the finds of models.
func choicesOfAll(x *Extractor, r EvidenceReader) ([]Choice, error) {
	var out []Choice
	sel := selector{r: r, excluded: func(int64) bool { return false }, upTo: math.MaxInt64}
	err := sel.keys(func(key string) error {
		return sel.choices(key, func(c Choice) bool {
			out = append(out, c)
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	found, err := r.Found()
	for _, s := range found {
		if x.choices[s.Type] {
			out = append(out, Choice{Key: s.Identity(), Row: s.Row})
		}
	}
	return out, err
}
