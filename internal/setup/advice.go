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
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Advice returns faults that code may still mend, so they are no errors. Left as they are, rules find
// nothing, parts of the configuration have no effect, or approvals fail. Code gives checkers for the
// types in coded.
func Advice(c config.Config, coded []string) []config.Problem {
	a := newAdvice(c, coded)
	for _, check := range [...]func(){a.unread, a.unlisted, func() { a.unused(c.Guard) }, a.unseen, a.unacted, a.unchosen, a.unmet, a.unchecked, a.unpaid, a.unasked, a.unpooled} {
		check()
	}
	return a.problems
}

// attributes holds names of attributes by type.
type attributes map[string]map[string]bool

// add adds attributes of a type, which then is there, also if it has none.
func (a attributes) add(typ string, names ...string) {
	if a[typ] == nil {
		a[typ] = make(map[string]bool)
	}
	for _, name := range names {
		a[typ][name] = true
	}
}

// advice is a configuration with its defaults, and what its parts say of attributes.
type advice struct {
	config.Config
	// coded are the types that code checks.
	coded []string
	// found is what rules find, shown what rules show in results, and answered what checkers answer.
	// Of a checker in code, or one that repeats a call, nobody knows the attributes.
	found, shown, answered attributes
	// checkers has the checkers of the configuration that count, by type.
	checkers map[string]config.Checker
	problems
}

func newAdvice(c config.Config, coded []string) *advice {
	a := &advice{
		Config: c.WithDefaults(), coded: coded,
		found: make(attributes), shown: make(attributes), answered: make(attributes), checkers: make(map[string]config.Checker),
	}
	for _, e := range a.Extract {
		names := slices.Collect(maps.Keys(e.Attributes))
		a.found.add(e.Type, names...)
		if shows(&e) {
			a.shown.add(e.Type, names...)
		}
	}
	for _, k := range a.Checkers {
		a.checkers[k.Type] = k
		a.answered.add(k.Type)
		if k.HTTP != nil {
			a.answered.add(k.Type, slices.Collect(maps.Keys(k.HTTP.Attributes))...)
		}
		if k.SQL != nil {
			a.answered.add(k.Type, slices.Collect(maps.Keys(k.SQL.Attributes))...)
		}
	}
	for _, typ := range a.coded {
		a.answered.add(typ)
		delete(a.checkers, typ) // code wins
	}
	return a
}

// problems are the faults that a check finds.
type problems []config.Problem

// add adds a problem of the value at a path.
func (p *problems) add(path, remedy, format string, args ...any) {
	*p = append(*p, config.Problem{Path: path, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// rule is the path of the i-th rule.
func rule(i int) string { return config.Index("extract", i) }

// meant is a remedy for a word: the known word that was probably meant, if there is one.
func meant(word string, known []string, otherwise string) string {
	if near := text.Nearest(word, known); near != "" && near != word {
		return fmt.Sprintf("did you mean %q? Else %s", near, otherwise)
	}
	return otherwise
}

// fails is what comes of an entity that no check can find unchanged.
const fails = "an approval that rests on one fails its check"

// unread names the rules that can never find anything.
func (a *advice) unread() {
	types := record.EventTypes()
	for i, e := range a.Extract {
		event := e.Event
		switch {
		case event != "":
		case e.In == config.InResult:
			event = record.ToolCompleted
		default:
			event = record.ToolStarting
		}
		if !slices.Contains(types, event) {
			a.add(rule(i)+".event", meant(strings.ToUpper(event), types, "write the type of an event that is recorded"), "rule %q reads events of type %q, which are never recorded: it finds nothing", e.Name, event)
		} else if key := hides(&a.Record, event); key != "" {
			a.add(rule(i), "record it, or remove the rule", "rule %q reads the content of %s, which %s leaves out: it finds nothing", e.Name, event, key)
		}
	}
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

// unlisted names the types that have to be unchanged by guard.listed and are found by no rule.
func (a *advice) unlisted() {
	for i, typ := range a.Guard.Listed {
		if a.found[typ] == nil {
			a.add(config.Index("guard.listed", i), meant(typ, slices.Sorted(maps.Keys(a.found)), "add a rule that finds it"),
				"guard.listed requires the type %q, which no rule finds: every check fails unless a tool declares one", typ)
		}
	}
}

// unused names the types and attributes of checkers and of the policy that nothing gives: no rule
// finds them, no checker answers them. A tool may still declare one. A checker is therefore named
// only if its type looks misspelt, and so is an attribute that a checker in code may answer. The
// attributes of the default policy are never named.
func (a *advice) unused(written config.Guard) {
	const remedy = "add a rule that finds it, or remove this"
	given := make(attributes)
	all := make(map[string]bool)
	for _, of := range []attributes{a.found, a.answered} {
		for typ, names := range of {
			given.add(typ, slices.Collect(maps.Keys(names))...)
			maps.Copy(all, names)
		}
	}
	for typ := range a.found {
		given.add(typ, entity.Exists)
		all[entity.Exists] = true
	}
	drift := func(path string, of map[string]config.Drift, known map[string]bool, coded bool) {
		words := slices.Sorted(maps.Keys(known))
		for _, name := range slices.Sorted(maps.Keys(of)) {
			d := of[name]
			_, standard := config.Default().Guard.Drift[name]
			if standard || known[name] || len(known) == 0 || len(d.Operands()) > 0 || coded && text.Nearest(name, words) == "" {
				continue // unmet names conditions
			}
			a.add(config.Entry(path, name), meant(name, words, remedy), "no rule finds the attribute %q: this has no effect unless a tool declares one", name)
		}
	}
	ruled, types := slices.Sorted(maps.Keys(a.found)), slices.Sorted(maps.Keys(given))
	for i, k := range a.Checkers {
		if a.found[k.Type] == nil && text.Nearest(k.Type, ruled) != "" {
			a.add(config.Index("checkers", i)+".type", meant(k.Type, ruled, remedy), "no rule finds the type %q: this has no effect unless a tool declares one", k.Type)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(written.Types)) {
		path := config.Entry("guard.types", typ)
		if given[typ] == nil {
			a.add(path, meant(typ, types, remedy), "no rule finds the type %q: this has no effect unless a tool declares one", typ)
			continue
		}
		drift(path+".drift", written.Types[typ].Drift, given[typ], slices.Contains(a.coded, typ))
	}
	drift("guard.drift", written.Drift, all, len(a.coded) > 0)
}

// unseen names the rules that name what no rule shows in a result: nobody can compare it.
func (a *advice) unseen() {
	for i, e := range a.Extract {
		t := a.Guard.Types[e.Type]
		if shows(&e) || t.Optional || t.Unseen == config.UnseenAllow || !a.requires(e) {
			continue
		}
		if a.shown[e.Type] == nil {
			a.add(rule(i), "add a rule with in: result, or write unseen: allow for the type in guard.types",
				"rule %q names entities of type %q, which no rule shows in a result: %s unless a tool declares it", e.Name, e.Type, fails)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			if !a.shown[e.Type][name] && !a.optional(e.Type, name) {
				a.add(config.Entry(rule(i)+".attributes", name), "add it to a rule with in: result, or, where only the plan has it, as a quantity, write optional: true for it in guard.drift",
					"rule %q names the attribute %q of type %q, which no rule shows in a result: %s unless a tool declares it", e.Name, name, e.Type, fails)
			}
		}
	}
}

// unacted names the guarded tools whose calls name nothing that a rule reads.
func (a *advice) unacted() {
	for _, name := range slices.Sorted(maps.Keys(a.Guard.Tools)) {
		reads := func(e config.Extract) bool { return e.In == config.InAction && e.Tool == name }
		if !strings.ContainsAny(name, `*?[\`) && a.Guard.NamesThings(name) && !slices.ContainsFunc(a.Extract, reads) {
			a.add(config.Entry("guard.tools", name), "add a rule with in: action for each argument that says what it acts on, or write acts_on: nothing if a call names nothing",
				"no rule reads the arguments of %s: each of its calls fails its check", name)
		}
	}
}

// shows reports whether what the rule finds was looked up, and is not only named.
func shows(e *config.Extract) bool { return e.ReadsResult() || e.Event == record.ToolCompleted }

// requires reports whether what a rule finds has to be unchanged.
func (a *advice) requires(e config.Extract) bool {
	return e.In == config.InAction || a.Guard.Require == config.RequireEverything ||
		a.Guard.Require == config.RequireListed && slices.Contains(a.Guard.Listed, e.Type)
}

// optional reports whether an answer may lack the attribute.
func (a *advice) optional(typ, attribute string) bool {
	for _, name := range []string{attribute, config.Other} {
		for _, drift := range []map[string]config.Drift{a.Guard.Types[typ].Drift, a.Guard.Drift} {
			if d, ok := drift[name]; ok {
				return d.Optional
			}
		}
	}
	return false
}

// unchosen names the rules with alternatives that no action can choose from.
func (a *advice) unchosen() {
	for i, e := range a.Extract {
		named := slices.ContainsFunc(a.Extract, func(o config.Extract) bool { return o.In == config.InAction && o.Tool != "" && o.Type == e.Type })
		if e.Alternatives != "" && !named {
			a.add(rule(i)+".alternatives", "add such a rule over the tool that takes the chosen one",
				"rule %q says alternatives, and no rule with in: action finds the type %q: every entry counts, because no action names any", e.Name, e.Type)
		}
	}
}

// unmet names the conditions that no check can meet: no rule shows their attribute in a
// result, and a check needs a reading of it.
func (a *advice) unmet() {
	for _, typ := range slices.Sorted(maps.Keys(a.Guard.Types)) {
		t := a.Guard.Types[typ]
		for _, name := range slices.Sorted(maps.Keys(t.Drift)) {
			d := t.Drift[name]
			given := d.Operands()
			if len(given) == 0 || a.shown[typ][name] || d.Optional || t.Optional {
				continue
			}
			a.add(config.Entry(config.Entry("guard.types", typ)+".drift", name)+"."+given[0].Key, meant(name, slices.Sorted(maps.Keys(a.shown[typ])), "add it to a rule with in: result"),
				"this is a condition, and no rule shows %q of type %q in a result: %s unless a tool declares it", name, typ, fails)
		}
	}
}

// unchecked names what rules find and no checker can find unchanged. A check passes without what is
// optional.
func (a *advice) unchecked() {
	reported := make(map[string]bool)
	for i, e := range a.Extract {
		k, ours := a.checkers[e.Type]
		switch {
		case a.Guard.Types[e.Type].Optional:
		case a.answered[e.Type] == nil && !reported[e.Type]:
			reported[e.Type] = true
			a.add(rule(i)+".type", meant(e.Type, slices.Sorted(maps.Keys(a.answered)), "give the type a checker"),
				"rule %q finds entities of type %q, which no checker checks: %s", e.Name, e.Type, fails)
		case !ours:
		case k.Replay == nil:
			a.unanswered(i, &k)
		case e.ReadsResult() && k.Replay.Tool != "" && k.Replay.Tool != e.Tool:
			// What a rule reads elsewhere needs no answer of its own: the call whose result showed the
			// entity is repeated.
			a.add(rule(i)+".tool", "have the checker repeat that tool",
				"rule %q reads the result of %s, and only %s is called again, so that no call can be repeated for what it finds of type %q: %s", e.Name, e.Tool, k.Replay.Tool, e.Type, fails)
		}
	}
}

// unanswered names the attributes of a rule that a checker does not answer, or answers as another
// type.
func (a *advice) unanswered(i int, k *config.Checker) {
	e := a.Extract[i]
	found := e.Attributes
	if len(found) == 0 && len(a.shown[e.Type]) == 0 {
		found = map[string]config.Attribute{entity.Exists: {Type: entity.KindBool}}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		path := config.Entry(rule(i)+".attributes", name)
		seen := cmp.Or(found[name].Type, entity.KindText)
		now, currency, answered := k.Answers(name)
		switch {
		case !answered && name == entity.Exists: // whatever else it answers confirms it
		case !answered && !a.optional(e.Type, name):
			a.add(path, "have the checker answer it, or, where only the plan has it, as a quantity, write optional: true for it in guard.drift",
				"rule %q finds the attribute %q of type %q, which its checker does not answer: %s", e.Name, name, e.Type, fails)
		case answered && now != seen:
			a.add(path+".type", "give both the same type",
				"rule %q finds the attribute %q of type %q as %s, and its checker answers it as %s: %s", e.Name, name, e.Type, seen, now, fails)
		case answered && now == entity.KindMoney && currency != found[name].Currency:
			const none = "one without any"
			a.add(path+".currency", "write the same currency in both",
				"rule %q takes an amount of %q without a currency for %s, and the checker of %q for %s: the same amount is then never equal",
				e.Name, name, cmp.Or(found[name].Currency, none), e.Type, cmp.Or(currency, none))
		}
	}
}

// unpooled names a mode of statements with which a database fails behind PgBouncer.
func (a *advice) unpooled() {
	if strings.Contains(string(a.Store.Postgres.DSN), "default_query_exec_mode=cache_statement") {
		a.add("store.postgres.dsn", "remove default_query_exec_mode, unless no pool of connections stands before the server",
			"it asks for prepared statements, which a pool of transactions loses")
	}
}
