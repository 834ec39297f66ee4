// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Warnings returns, in sentences, faults that code may still mend, so they are no errors. Left as
// they are, rules find nothing, or approvals fail. There are warnings of events that are not
// recorded, of types without a checker, of values that no result shows, and of attributes that a
// checker does not answer, or answers as another type. Code gives checkers for the types in coded.
func Warnings(c config.Config, coded []string) []string {
	return advice{c.WithDefaults(), c.Guard, coded}.warnings()
}

// advice is a configuration with its defaults, the guard as it was written, and the types that
// code checks.
type advice struct {
	config.Config
	written config.Guard
	coded   []string
}

func (c advice) warnings() []string {
	answers, replays := c.answers()
	types := slices.Sorted(maps.Keys(answers))
	shown := c.shown()
	out := slices.Concat(c.unread(), c.unfound(), c.unused(), c.unseen(shown), c.unchosen(), c.unmet(shown))
	unchecked := make(map[string]bool)
	for _, e := range c.Extract {
		if c.Guard.Types[e.Type].Optional {
			continue // a check passes without it
		}
		attributes, ok := answers[e.Type]
		if !ok && unchecked[e.Type] {
			continue
		}
		if !ok {
			unchecked[e.Type] = true
			out = append(out, fmt.Sprintf("rule %q finds entities of type %q, which no checker checks: an approval that rests on one fails its check%s",
				e.Name, e.Type, orMeant(e.Type, types)))
			continue
		}
		if r := replays[e.Type]; r != nil {
			if problem := unanswered(r, e); problem != "" {
				out = append(out, fmt.Sprintf("rule %q %s, so that no call can be repeated for what it finds of type %q: an approval that rests on one fails its check", e.Name, problem, e.Type))
			}
		}
		if attributes == nil {
			continue
		}
		found := e.Attributes
		if len(found) == 0 && len(shown[e.Type]) == 0 {
			found = map[string]config.Attribute{entity.Exists: {Type: entity.KindBool}}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			seen := cmp.Or(found[name].Type, entity.KindText)
			now, answered := attributes(name)
			switch {
			case !answered && name == entity.Exists: // whatever else it answers confirms it
			case !answered && !c.optional(e.Type, name):
				out = append(out, fmt.Sprintf("rule %q finds the attribute %q of type %q, which its checker does not answer: an approval that rests on one fails its check; have the checker answer it, or, where only the plan has it, as a quantity, write optional: true for it in guard.drift", e.Name, name, e.Type))
			case answered && now != seen:
				out = append(out, fmt.Sprintf("rule %q finds the attribute %q of type %q as %s, and its checker answers it as %s: an approval that rests on one fails its check; give both the same type", e.Name, name, e.Type, seen, now))
			}
		}
	}
	return out
}

// answers returns by type what is known of the attributes that its checker answers, nil
// where nobody knows, and the checkers that repeat calls.
func (c advice) answers() (map[string]func(attribute string) (entity.Kind, bool), map[string]*config.Replay) {
	answers := make(map[string]func(string) (entity.Kind, bool))
	replays := make(map[string]*config.Replay)
	for _, k := range c.Checkers {
		switch {
		case k.HTTP != nil || k.SQL != nil:
			answers[k.Type] = k.Answers
		case k.Replay != nil:
			answers[k.Type], replays[k.Type] = nil, k.Replay
		}
	}
	for _, t := range c.coded {
		answers[t] = nil // code wins, and its answers are not known
		delete(replays, t)
	}
	return answers, replays
}

// optional reports whether an answer may lack the attribute. It needs a guard with its
// defaults.
func (c advice) optional(typ, attribute string) bool {
	ofType := c.Guard.Types[typ].Drift
	for _, name := range []string{attribute, config.Other} {
		for _, drift := range []map[string]config.Drift{ofType, c.Guard.Drift} {
			if d, ok := drift[name]; ok {
				return d.Optional
			}
		}
	}
	return false
}

// unfound says which types have to be unchanged by guard.listed and are found by no rule.
func (c advice) unfound() []string {
	types := c.ruled()
	var out []string
	for _, typ := range c.Guard.Listed {
		if slices.Contains(types, typ) {
			continue
		}
		out = append(out, fmt.Sprintf("guard.listed requires the type %q, which no rule finds: every check fails unless a tool declares one%s",
			typ, orMeant(typ, types)))
	}
	return out
}

// unseen says which rules name what no rule shows in a result: nobody can compare it. It
// needs a guard with its defaults.
func (c advice) unseen(shown map[string]map[string]bool) []string {
	var out []string
	for _, e := range c.Extract {
		t := c.Guard.Types[e.Type]
		if shows(&e) || t.Optional || t.Unseen == config.UnseenAllow || !c.requires(e) {
			continue
		}
		if shown[e.Type] == nil {
			out = append(out, fmt.Sprintf("rule %q names entities of type %q, which no rule shows in a result: an approval that rests on one fails its check unless a tool declares it; add a rule with in: result, or write unseen: allow for the type in guard.types", e.Name, e.Type))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			if !shown[e.Type][name] && !c.optional(e.Type, name) {
				out = append(out, fmt.Sprintf("rule %q names the attribute %q of type %q, which no rule shows in a result: an approval that rests on one fails its check unless a tool declares it; add it to a rule with in: result, or, where only the plan has it, as a quantity, write optional: true for it in guard.drift", e.Name, name, e.Type))
			}
		}
	}
	return out
}

// unchosen names the rules with alternatives that no action can choose from.
func (c advice) unchosen() []string {
	var out []string
	for _, e := range c.Extract {
		named := slices.ContainsFunc(c.Extract, func(o config.Extract) bool { return o.In == config.InAction && o.Tool != "" && o.Type == e.Type })
		if e.Alternatives && !named {
			out = append(out, fmt.Sprintf("rule %q says alternatives, and no rule with in: action finds the type %q: every entry counts, because no action names any; add such a rule over the tool that takes the chosen one", e.Name, e.Type))
		}
	}
	return out
}

// shown returns the attributes that rules show in results, by type.
func (c advice) shown() map[string]map[string]bool {
	shown := make(map[string]map[string]bool)
	for _, e := range c.Extract {
		if !shows(&e) {
			continue
		}
		if shown[e.Type] == nil {
			shown[e.Type] = make(map[string]bool)
		}
		for name := range e.Attributes {
			shown[e.Type][name] = true
		}
	}
	return shown
}

// shows reports whether what the rule finds was looked up, and is not only named.
func shows(e *config.Extract) bool { return e.ReadsResult() || e.Event == record.ToolCompleted }

// requires reports whether what a rule finds has to be unchanged.
func (c advice) requires(e config.Extract) bool {
	return e.In == config.InAction || c.Guard.Require == config.RequireEverything ||
		c.Guard.Require == config.RequireListed && slices.Contains(c.Guard.Listed, e.Type)
}

// unread says which rules can never find anything.
func (c advice) unread() []string {
	types := record.EventTypes()
	var out []string
	for _, e := range c.Extract {
		event := e.Event
		switch {
		case event != "":
		case e.In == config.InResult:
			event = record.ToolCompleted
		default:
			event = record.ToolStarting
		}
		if !slices.Contains(types, event) {
			out = append(out, fmt.Sprintf("rule %q reads events of type %q, which are never recorded: it finds nothing%s",
				e.Name, event, orMeant(strings.ToUpper(event), types)))
		} else if key := hides(&c.Record, event); key != "" {
			out = append(out, fmt.Sprintf("rule %q reads the content of %s, which %s leaves out: it finds nothing", e.Name, event, key))
		}
	}
	return out
}

// unmet names the conditions that no check can meet: no rule shows their attribute in a
// result, and a check needs a reading of it. It needs a guard with its defaults.
func (c advice) unmet(shown map[string]map[string]bool) []string {
	var out []string
	for _, typ := range slices.Sorted(maps.Keys(c.Guard.Types)) {
		drift := c.Guard.Types[typ].Drift
		for _, attribute := range slices.Sorted(maps.Keys(drift)) {
			d := drift[attribute]
			given := d.Operands()
			if len(given) == 0 || shown[typ][attribute] || drift[attribute].Optional || c.Guard.Types[typ].Optional {
				continue
			}
			out = append(out, fmt.Sprintf("guard.types.%s.drift.%s has a condition (%s), and no rule shows %q of type %q in a result: an approval that rests on one fails its check unless a tool declares it; add it to a rule with in: result%s",
				typ, attribute, given[0].Key, attribute, typ, orMeant(attribute, slices.Sorted(maps.Keys(shown[typ])))))
		}
	}
	return out
}

// unanswered names the part of a rule that a checker with repeated calls cannot answer, or returns
// "". A rule that reads no result needs no answer of its own: the checker repeats the call whose
// result showed the entity.
func unanswered(c *config.Replay, e config.Extract) string {
	if e.ReadsResult() && c.Tool != "" && c.Tool != e.Tool {
		return "reads the result of " + e.Tool + ", and only " + c.Tool + " is called again"
	}
	return ""
}

// hides says which key keeps the content of an event type out of the record, or
// returns "".
func hides(c *config.Record, eventType string) string {
	switch policy := c.Content[eventType]; {
	case required(eventType):
		return ""
	case slices.Contains(c.Deny, eventType):
		return "record.deny"
	case len(c.Allow) > 0 && !slices.Contains(c.Allow, eventType):
		return "record.allow"
	case policy != "" && policy != config.ContentFull:
		return "record.content"
	}
	return ""
}
