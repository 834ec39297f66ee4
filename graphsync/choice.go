// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// maxNotChosen is how many of the things that were not chosen are named: the list is for people.
const maxNotChosen = 20

// choice is a sighting of a thing by one rule, if any rule with [config.Extract.Alternatives] finds its
// type. Two sightings are no choice: the arguments of an action, by rules with [config.InAction], and
// the values in a refusal for drift.
type choice struct {
	// Key is the [entity.Entity.Identity], Row the number of the row.
	Key string
	Row int64
	// Result is the number of the result that shows it; 0 where none does.
	Result int64
	// Rule is the number of the rule, from 1 in the order of the rules; 0 where none found
	// it.
	Rule int
	// Reading says that the rule shows it there, and does not only name it.
	Reading bool
}

// choose adds the sightings in found of types that a rule with Alternatives finds. c is the rule
// that found them, nil if none did. A rule with config.InAction adds nothing: the entities that the
// deciding action names are read from its arguments.
func (x *Extractor) choose(list []choice, c *compiled, found []entity.Entity) []choice {
	if x == nil || c != nil && c.In == config.InAction {
		return list
	}
	for _, e := range found {
		if !x.choices[e.Type] {
			continue
		}
		n := choice{Key: e.Identity()}
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

func (c choice) entry() entry { return entry{c.Row, c.Result, c.Rule} }

// counts says that a thing counts because of a row, where the rule with a number found it; 0 is none.
func (x *Extractor) counts(row int64, number int) entity.Counted {
	if number == 0 {
		return entity.Counted{Row: row}
	}
	r := x.rules[number-1]
	return entity.Counted{Row: row, Rule: r.Name, Place: r.Place, Result: r.In == config.InResult, Alternatives: r.Alternatives}
}

// choosing reports whether any rule says that there is something to choose.
func (x *Extractor) choosing() bool { return x != nil && len(x.choices) > 0 }

// chosen finds where rules show what the action names.
func (sel *selector) chosen() {
	sel.shows = make(map[entry]bool)
	for key := range sel.named {
		for _, c := range sel.s.choices[key] {
			if c.Reading && c.Row <= sel.upTo {
				sel.shows[c.entry()] = true
			}
		}
	}
}

// notChosen reports whether a thing could have been chosen and was not. The action does not name
// it, every sighting of it comes from a rule with Alternatives, and each of those rows also shows,
// by the same rule, an entity that the action names.
func (sel *selector) notChosen(key string) bool {
	if !sel.x.choosing() || len(sel.named[key]) > 0 {
		return false
	}
	if found := sel.found(key); len(found) > 0 && sel.x.choices[found[0].Type] {
		sel.out.Counted[key] = sel.x.counts(found[0].row, 0)
		return false
	}
	seen := false
	for _, c := range sel.s.choices[key] {
		if c.Row > sel.upTo {
			break
		}
		seen = true
		if counts := sel.x.counts(c.Row, c.Rule); !counts.Alternatives || !sel.shows[c.entry()] {
			sel.out.Counted[key] = counts
			return false
		}
	}
	return seen
}
