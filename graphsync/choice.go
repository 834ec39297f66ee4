// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"encoding/json"
	"slices"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
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
	// Reading says that the rule shows it there, and does not only name it. Asked says that the arguments of
	// the look-up name it, so that it is no choice of a rule with [config.AlternativesTrue].
	Reading, Asked bool
}

// choose adds the sightings in found of types that a rule with Alternatives finds. c is the rule
// that found them, nil if none did. A rule with config.InAction adds nothing: the entities that the
// deciding action names are read from its arguments. args are those of the call, nil for none.
func (x *Extractor) choose(list []choice, c *compiled, found []entity.Entity, args *arguments) []choice {
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
			n.Asked = c.Alternatives == config.AlternativesTrue && c.asked(e, args)
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
	return entity.Counted{
		Row: row, Rule: r.Name, Place: r.Place, Result: r.In == config.InResult,
		Alternatives: r.Alternatives != "", Session: r.Alternatives == config.AlternativesSession,
	}
}

// choosing reports whether any rule says that there is something to choose.
func (x *Extractor) choosing() bool { return x != nil && len(x.choices) > 0 }

// execution is an approved call that ran to its end.
type execution struct {
	row int64
	// read are the results that the model had read that asked for it, named the identities of what it named.
	read  *numbers
	named []string
}

// execute adds the approved call that a row ends. If it cannot be told what its model had read, or what it
// names, no list is spent.
func (s *Session) execute(e *record.Event, attrs *schema.Attributes, began []byte) {
	asked := s.callNamed("c:" + attrs.ADK.CallID())
	var content struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	if attrs.ADK.ApprovalID == "" || !s.x.choosing() || asked < 0 || json.Unmarshal(began, &content) != nil {
		return
	}
	named, err := s.x.named(record.Decision{Tool: content.Tool, Args: string(content.Args)})
	if err != nil {
		return
	}
	ran := execution{row: e.Seq, read: union(s.calls[asked].shown, s.calls[asked].known)}
	for _, en := range named.entities {
		ran.named = append(ran.named, en.Identity())
		s.bytes += sizeOfName
	}
	s.executed = append(s.executed, ran)
}

// list returns the place that stands for the list of a sighting.
func (sel *selector) list(c *choice) entry {
	if sel.session(c) {
		return entry{rule: c.Rule}
	}
	return c.entry()
}

func (sel *selector) session(c *choice) bool {
	return c.Rule > 0 && sel.x.rules[c.Rule-1].Alternatives == config.AlternativesSession
}

// chosen finds the lists that show what the action names, and those that earlier actions have spent: the
// model that asked for one had read the list, and the one was carried out.
func (sel *selector) chosen() {
	sel.shows, sel.spent, sel.taken = make(map[entry]bool), make(map[entry][]*numbers), make(map[string]bool)
	for key := range sel.named {
		for _, c := range sel.s.choices[key] {
			if c.Reading && c.Row <= sel.upTo {
				sel.shows[sel.list(c)] = true
			}
		}
	}
	for _, ran := range sel.s.executed {
		if ran.row > sel.upTo {
			break
		}
		for _, key := range ran.named {
			sel.taken[key] = true
			for _, c := range sel.s.choices[key] {
				if c.Reading && ran.read.has(c.Result) {
					sel.spent[sel.list(c)] = append(sel.spent[sel.list(c)], ran.read)
				}
			}
		}
	}
}

// notChosen reports whether a thing could have been chosen and was not. The action does not name
// it, every sighting of it comes from a rule with Alternatives whose look-up did not ask for it, and each of
// those lists also shows, by the same rule, an entity that the action names. A list that an earlier action
// has spent does so too, but for what that action took.
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
		spent := !sel.taken[key] && slices.ContainsFunc(sel.spent[sel.list(c)], func(read *numbers) bool { return read.has(c.Result) })
		if counts := sel.x.counts(c.Row, c.Rule); !counts.Alternatives || c.Asked || !sel.shows[sel.list(c)] && !spent {
			counts.Asked = c.Asked
			sel.out.Counted[key] = counts
			return false
		}
	}
	return seen
}
