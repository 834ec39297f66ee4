// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Warnings says, in sentences, what of the configuration is no error and probably not
// meant: see each for what comes of it. [Open] logs them. Checkers that code would give are
// not known before it does.
func (c Config) Warnings() []string { return c.warnings() }

// warnings says what is no error, because code may still make up for it, but makes
// rules find nothing, or every approval that rests on what they find fail: events
// that are not recorded, types that nothing checks, what no result shows, and attributes
// that a checker does not answer, or as a value of another type.
func (c Config) warnings() []string {
	answers, replays := c.answers()
	types := slices.Sorted(maps.Keys(answers))
	guard, shown := c.Guard.withDefaults(), c.shown()
	out := slices.Concat(c.unread(), c.unfound(), c.unseen(guard, shown), c.unchosen(), c.unmet(guard, shown))
	for _, e := range c.Extract {
		if guard.Types[e.Type].Optional {
			continue // a check passes without it
		}
		attributes, ok := answers[e.Type]
		if !ok {
			w := fmt.Sprintf("rule %q finds entities of type %q, which no checker checks: an approval that rests on one fails its check", e.Name, e.Type)
			if near := closest(e.Type, types); near != "" {
				w += fmt.Sprintf("; did you mean %q?", near)
			}
			out = append(out, w)
			continue
		}
		if r := replays[e.Type]; r != nil {
			if problem := r.unanswered(e); problem != "" {
				out = append(out, fmt.Sprintf("rule %q %s, so that no call can be repeated for what it finds of type %q: an approval that rests on one fails its check", e.Name, problem, e.Type))
			}
		}
		if attributes == nil {
			continue
		}
		found := e.Attributes
		if len(found) == 0 && len(shown[e.Type]) == 0 {
			found = map[string]AttributeConfig{safety.Exists: {Type: entity.KindBool}}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			seen := cmp.Or(found[name].Type, entity.KindText)
			now, answered := attributes(name)
			switch {
			case !answered && name == safety.Exists: // whatever else it answers confirms it
			case !answered && !guard.optional(e.Type, name):
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
func (c Config) answers() (map[string]func(attribute string) (entity.Kind, bool), map[string]*ReplayCheckerConfig) {
	answers := make(map[string]func(string) (entity.Kind, bool))
	replays := make(map[string]*ReplayCheckerConfig)
	for _, k := range c.Checkers {
		switch {
		case k.HTTP != nil:
			answers[k.Type] = func(attribute string) (entity.Kind, bool) {
				a, ok := k.HTTP.Attributes[attribute]
				return cmp.Or(a.Type, entity.KindText), ok
			}
		case k.SQL != nil:
			answers[k.Type] = func(attribute string) (entity.Kind, bool) {
				a, ok := k.SQL.Attributes[attribute]
				return cmp.Or(a.Type, entity.KindText), ok
			}
		case k.Replay != nil:
			answers[k.Type], replays[k.Type] = nil, k.Replay
		}
	}
	for t := range c.CheckFuncs {
		answers[t] = nil // code wins, and nobody knows what it answers
		delete(replays, t)
	}
	return answers, replays
}

// optional reports whether an answer may lack the attribute. It needs a guard with its
// defaults.
func (g GuardConfig) optional(typ, attribute string) bool {
	ofType := g.Types[typ].Drift
	for _, name := range []string{attribute, safety.Other} {
		for _, drift := range []map[string]DriftConfig{ofType, g.Drift} {
			if d, ok := drift[name]; ok {
				return d.Optional
			}
		}
	}
	return false
}

// unfound says which types have to be unchanged by guard.listed and are found by no rule.
func (c Config) unfound() []string {
	var types, out []string
	for _, e := range c.Extract {
		types = append(types, e.Type)
	}
	for _, typ := range c.Guard.Listed {
		if slices.Contains(types, typ) {
			continue
		}
		w := fmt.Sprintf("guard.listed requires the type %q, which no rule finds: every check fails unless a tool declares one", typ)
		if near := closest(typ, types); near != "" {
			w += fmt.Sprintf("; did you mean %q?", near)
		}
		out = append(out, w)
	}
	return out
}

// unseen says which rules name what no rule shows in a result: nobody can compare it. It
// needs a guard with its defaults.
func (c Config) unseen(guard GuardConfig, shown map[string]map[string]bool) []string {
	var out []string
	for _, e := range c.Extract {
		t := guard.Types[e.Type]
		if e.shows() || t.Optional || t.Unseen == safety.UnseenAllow || !guard.requires(e) {
			continue
		}
		if shown[e.Type] == nil {
			out = append(out, fmt.Sprintf("rule %q names entities of type %q, which no rule shows in a result: an approval that rests on one fails its check unless a tool declares it; add a rule with in: result, or write unseen: allow for the type in guard.types", e.Name, e.Type))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			if !shown[e.Type][name] && !guard.optional(e.Type, name) {
				out = append(out, fmt.Sprintf("rule %q names the attribute %q of type %q, which no rule shows in a result: an approval that rests on one fails its check unless a tool declares it; add it to a rule with in: result, or, where only the plan has it, as a quantity, write optional: true for it in guard.drift", e.Name, name, e.Type))
			}
		}
	}
	return out
}

// unchosen names the rules with alternatives from which no action can choose.
func (c Config) unchosen() []string {
	var out []string
	for _, e := range c.Extract {
		named := slices.ContainsFunc(c.Extract, func(o ExtractConfig) bool { return o.In == graphsync.InAction && o.Tool != "" && o.Type == e.Type })
		if e.Alternatives && !named {
			out = append(out, fmt.Sprintf("rule %q says alternatives, and no rule with in: action finds the type %q: every entry counts, because no action names any; add such a rule over the tool that takes the chosen one", e.Name, e.Type))
		}
	}
	return out
}

// shown returns the attributes that rules show in results, by type.
func (c Config) shown() map[string]map[string]bool {
	shown := make(map[string]map[string]bool)
	for _, e := range c.Extract {
		if !e.shows() {
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
func (c *ExtractConfig) shows() bool { return c.readsResult() || c.Event == record.ToolCompleted }

// requires reports whether what a rule finds has to be unchanged.
func (g GuardConfig) requires(e ExtractConfig) bool {
	return e.In == graphsync.InAction || g.Require == safety.RequireEverything ||
		g.Require == safety.RequireListed && slices.Contains(g.Listed, e.Type)
}
