// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestRequire(t *testing.T) {
	price := values{"price": usd("$1")}
	byAction := func(node string) entity.Entity {
		return entity.Entity{Source: entity.SourceAction, TechNode: node, Attributes: price}
	}
	line, lateLine := bought("Product", "line", price, nil), bought("Product", "late-line", price, nil)
	other, lateOther := thing("Product", "other", price), thing("Product", "late-other", price)
	audience := thing("Targeting", "audience", values{"reach": number(3)})
	earlier := sighted("Product", "earlier", entity.Entity{Source: entity.SourceRule, Attributes: price}, byAction("node-0"))
	named := sighted("Product", "named", entity.Entity{Source: entity.SourceRule, TechNode: "node-1", Attributes: price})
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		asked  string // shown to the approver
		later  string // checked besides, of what was found later
	}{
		"everything":       {requiring(config.RequireEverything), "line other audience earlier named", " late-line late-other"},
		"named":            {requiring(config.RequireNamed), "line", " late-line"},
		"listed Targeting": {requiring(config.RequireListed, "Targeting"), "line audience", " late-line"},
		"listed Product":   {requiring(config.RequireListed, "Product"), "line other earlier named", " late-line late-other"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.change, line, other, audience, earlier, named)
			a := b.ask()
			var asked []string
			for _, e := range a.Entities {
				asked = append(asked, e.Value)
			}
			if strings.Join(asked, " ") != test.asked || a.Fingerprint != safety.Fingerprint(a.Entities) {
				t.Errorf("asked with %v, want %s", asked, test.asked)
			}
			b.record.snap.Entities = append(slices.Clone(b.record.snap.Entities), lateLine, lateOther)
			b.world.put(lateLine, "price", usd("$1"))
			b.world.put(lateOther, "price", usd("$1"))
			r := b.check()
			wantSafe(t, r)
			var checked []string
			for i, e := range r.Entities() {
				checked = append(checked, e.Value)
				if e.Unseen != (i >= len(asked)) {
					t.Errorf("%s: unseen %t", e.Value, e.Unseen)
				}
			}
			if strings.Join(checked, " ") != test.asked+test.later || r.Fingerprint() != a.Fingerprint {
				t.Errorf("checked %v, want %s; fingerprint %s, of the request %s", checked, test.asked+test.later, r.Fingerprint(), a.Fingerprint)
			}
		})
	}
}

// A listed type of which there is nothing fails.
func TestListedTypeWithoutAnEntity(t *testing.T) {
	for _, test := range []struct {
		listed []string
		seen   []entity.Canonical
		want   []string
	}{
		{[]string{"Product"}, []entity.Canonical{strava, budget}, nil},
		{[]string{"Product", "Budget"}, []entity.Canonical{strava, budget}, nil},
		{[]string{"Product", "Room", "Flight"}, []entity.Canonical{strava, budget},
			[]string{`no_entities: "Flight" is a listed type, and nothing of it was found`, `no_entities: "Room" is a listed type, and nothing of it was found`}},
		{[]string{"Room"}, []entity.Canonical{strava}, []string{`no_entities: the arguments of provision_campaign name no entity, and none of the listed types ["Room"] was found...`}},
		{[]string{"Product"}, []entity.Canonical{bought("Budget", "b", budget.Attributes, nil)}, []string{`no_entities: "Product" is a listed type ...`}},
	} {
		b := newBench(t, requiring(config.RequireListed, test.listed...), test.seen...)
		b.ask()
		said(t, b.check(), test.want...)
	}
}

// alternative is a product that was not chosen.
func alternative(value string) entity.Alternative {
	return entity.Alternative{Type: "Product", Value: value, Seen: values{"price": usd("$9"), "availability": entity.Bool(true)}, SeenAt: epoch}
}

// chosen is the product that the action names, and other one that it does not.
var (
	chosen = called("chosen", readAt("$10"), inArgs(nil))
	other  = called("other", readAt("$9"))
)

// What was not chosen is named by the request and the report, and enters neither the
// fingerprint nor the verdict.
func TestNotChosenIsNamed(t *testing.T) {
	plain := newBench(t, nil, chosen)
	plain.ask()
	b := newBench(t, nil, chosen)
	b.record.snap.NotChosen = entity.NotChosen{Total: 7, Entities: []entity.Alternative{alternative("a"), alternative("b")}}
	a := b.ask()
	if a.Fingerprint != plain.approval.Fingerprint || len(a.Entities) != 1 {
		t.Errorf("the fingerprint is %s, want %s", a.Fingerprint, plain.approval.Fingerprint)
	}
	shown := map[string]any{"total": 7, "entities": []any{
		map[string]any{"type": "Product", "value": "a", "attributes": map[string]any{"price": "$9", "availability": "available"}, "seen_at": "2026-01-19T11:00:13Z", "age": "0s"},
		map[string]any{"type": "Product", "value": "b", "attributes": map[string]any{"price": "$9", "availability": "available"}, "seen_at": "2026-01-19T11:00:13Z", "age": "0s"},
	}}
	if diff := cmp.Diff(shown, a.Shown()["not_chosen"]); diff != "" {
		t.Errorf("Shown (-want +got):\n%s", diff)
	}
	if _, named := plain.approval.Shown()["not_chosen"]; named {
		t.Error("a request without alternatives shows some")
	}
	r := b.check()
	wantSafe(t, r)
	if diff := cmp.Diff(b.record.snap.NotChosen, r.NotChosen()); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.Summary(), "  Not chosen       : Product a, Product b, and 5 more\n") {
		t.Errorf("the summary does not name them:\n%s", r.Summary())
	}
	var report struct {
		NotChosen *entity.NotChosen `json:"not_chosen"`
	}
	if text, err := json.Marshal(r); err != nil || json.Unmarshal(text, &report) != nil || report.NotChosen == nil || report.NotChosen.Total != 7 {
		t.Errorf("%v, %s", err, text)
	}
	report.NotChosen = nil
	if text, err := json.Marshal(plain.check()); err != nil || json.Unmarshal(text, &report) != nil || report.NotChosen != nil {
		t.Errorf("%v, %s", err, text)
	}
	// Nothing is shared with whoever gets it.
	r.NotChosen().Entities[0].Seen["price"] = usd("$1")
	b.record.snap.NotChosen.Entities[1].Value = "spoilt"
	if got := r.NotChosen().Entities; got[0].Seen["price"] != usd("$9") || got[1].Value != "b" {
		t.Errorf("the report is spoilt: %+v", got)
	}
}

// A time that JSON cannot hold is none.
func TestNotChosenAtNoTime(t *testing.T) {
	b := newBench(t, nil, chosen)
	late := alternative("a")
	late.SeenAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	b.record.snap.NotChosen = entity.NotChosen{Total: 1, Entities: []entity.Alternative{late}}
	if a := b.ask(); !a.NotChosen.Entities[0].SeenAt.IsZero() {
		t.Errorf("it was seen at %v", a.NotChosen.Entities[0].SeenAt)
	}
	if _, err := json.Marshal(b.check()); err != nil {
		t.Error(err)
	}
}

func TestNotChosenInALine(t *testing.T) {
	var many []entity.Alternative
	for i := range 6 {
		many = append(many, alternative(fmt.Sprint("p", i)))
	}
	for want, n := range map[string]entity.NotChosen{
		"":                       {},
		"3":                      {Total: 3},
		"1":                      {Total: 1},
		"Product p0":             {Total: 1, Entities: many[:1]},
		"Product p0, and 1 more": {Total: 2, Entities: many[:1]},
		"Product p0, Product p1": {Total: 1, Entities: many[:2]},
		"Product a b":            {Total: 1, Entities: []entity.Alternative{alternative("a\nb")}},
		"Product p0, Product p1, Product p2, Product p3, Product p4":             {Total: 5, Entities: many[:5]},
		"Product p0, Product p1, Product p2, Product p3, Product p4, and 1 more": {Total: 6, Entities: many},
	} {
		if got := safety.NotChosenNames(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An entity that counted at the request is checked, even if a later selection leaves it out.
// The report does not name it as not chosen.
func TestWhatCountedStaysRequired(t *testing.T) {
	b := newBench(t, nil, chosen, other)
	b.ask()
	b.record.snap.Entities = b.record.snap.Entities[:1]
	last := alternative("other")
	b.record.snap.NotChosen = entity.NotChosen{Total: 1, Entities: []entity.Alternative{last}}
	b.world.put(other, "price", usd("$19"))
	r := b.check()
	wantDrift(t, r, safety.PriceChanged)
	if diff := cmp.Diff(entity.NotChosen{}, r.NotChosen()); diff != "" {
		t.Errorf("what is checked was not chosen (-want +got):\n%s", diff)
	}
	of := last
	of.Type = "Budget"
	b.record.snap.NotChosen = entity.NotChosen{Total: 3, Entities: []entity.Alternative{last, alternative("a"), of}}
	if n := b.check().NotChosen(); n.Total != 2 || len(n.Entities) != 2 || n.Entities[0].Value != "a" || n.Entities[1].Type != "Budget" {
		t.Errorf("not chosen: %+v", n)
	}
}

// What is wrong with an entity that the action does not name says what would keep it out,
// or why that did not.
func TestRemedyOfWhatIsNotNamed(t *testing.T) {
	offers := entity.Shown{Type: "Product", Attribute: "price", Rule: "offers", Tool: "search", Place: "c.yaml:12"}
	named := `"provision_campaign" does not name it`
	nor := named + `, nor any other Product: if these are only a choice, add a rule with in: action that finds the chosen one in the arguments`
	write := `if these are only a choice, write alternatives: true in rule "offers" (c.yaml:12).`
	said := called("other", saidBy(entity.SourceClaim, values{"price": usd("$9")}), saidBy(entity.SourceDeclared, values{"price": usd("$9")}))
	for name, test := range map[string]struct {
		chosen, other entity.Canonical
		rules         []entity.Shown
		counted       *entity.Counted
		want          string
	}{
		"a rule": {chosen, other, []entity.Shown{offers}, nil, named + ": " + write},
		"a rule of a program": {chosen, other, []entity.Shown{{Type: "Product", Rule: "offers", Tool: "search"}}, nil,
			named + `: if these are only a choice, write alternatives: true in rule "offers".`},
		"its attributes are one rule": {chosen, other, []entity.Shown{offers, {Type: "Product", Attribute: "reach", Rule: "offers", Tool: "search", Place: "c.yaml:12"}}, nil, named + ": " + write},
		"two rules": {chosen, other, priceRules[:3], nil,
			named + `: if these are only a choice, write alternatives: true in rule "offers" and rule "audience".`},
		"three rules": {chosen, other, priceRules[:4], nil,
			named + `: if these are only a choice, write alternatives: true in rule "offers" and rule "audience" and 1 more rule.`},
		"four rules": {chosen, other, append([]entity.Shown{offers}, priceRules[:4]...), nil,
			named + `: if these are only a choice, write alternatives: true in rule "offers" (c.yaml:12) and rule "offers" and 2 more rules.`},
		"no rule over a result":       {chosen, other, []entity.Shown{{Type: "Product", Rule: "rows"}}, nil, ""},
		"only a rule of another type": {chosen, other, priceRules[4:], nil, ""},
		"no rule shows it":            {chosen, said, []entity.Shown{offers}, nil, ""},
		"the action names nothing":    {called("chosen", readAt("$10")), other, []entity.Shown{offers}, nil, nor + `, and write alternatives: true in rule "offers" (c.yaml:12).`},
		"the action names another type": {snapshotted(entity.Entity{Type: "Budget", Value: "b", Confidence: 1, SeenAt: epoch, EventID: "e", Source: entity.SourceAction, TechNode: "node-1"}),
			other, []entity.Shown{offers}, nil, nor + `, and write alternatives: true in rule "offers" (c.yaml:12).`},
		"another sighting by a rule over results": {chosen, other, []entity.Shown{offers, {Type: "Product", Rule: "got", Tool: "get"}}, &entity.Counted{Row: 7, Rule: "got", Place: "c.yaml:20", Result: true},
			named + `, and it counts because of row 7: if these are only a choice, write alternatives: true in rule "got" (c.yaml:20).`},
		"another sighting in words": {chosen, other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "said", Place: "c.yaml:20"},
			named + `, and it counts because rule "said" (c.yaml:20) names it in row 7.`},
		"another sighting by no rule": {chosen, said, []entity.Shown{offers}, &entity.Counted{Row: 7},
			named + `, and it counts because a tool declared it, or a model found it, in row 7.`},
		"a row without the chosen": {chosen, other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "offers", Place: "c.yaml:12", Result: true, Alternatives: true},
			named + `, and it counts although rule "offers" (c.yaml:12) says alternatives: row 7 shows nothing by this rule that "provision_campaign" names; if all results of this rule are one choice, write alternatives: session in rule "offers" (c.yaml:12).`},
		"the look-up names it": {chosen, other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "offers", Result: true, Alternatives: true, Asked: true},
			named + `, and it counts although rule "offers" says alternatives: the arguments of the look-up that ended in row 7 name it; if all results of this rule are one choice, write alternatives: session in rule "offers".`},
		"all results of a session": {chosen, other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "offers", Result: true, Alternatives: true, Session: true},
			named + `, and it counts although rule "offers" says alternatives: this rule shows nothing that "provision_campaign" names.`},
		"alternatives, and the action names nothing": {called("chosen", readAt("$10")), other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "offers", Place: "c.yaml:12", Result: true, Alternatives: true},
			nor + "."},
		"words, and the action names nothing": {called("chosen", readAt("$10")), other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "said"},
			nor + "."},
		"a result, and the action names nothing": {called("chosen", readAt("$10")), other, []entity.Shown{offers}, &entity.Counted{Row: 7, Rule: "got", Result: true},
			nor + `, and write alternatives: true in rule "got".`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, test.chosen, test.other)
			b.record.snap.Expected = test.rules
			if test.counted != nil {
				b.record.snap.Counted = map[string]entity.Counted{test.other.Key: *test.counted}
			}
			b.world.states[test.other.Key] = safety.State{Attributes: values{"price": usd("$19"), "availability": entity.Text("x")}}
			b.ask()
			r := b.check()
			if len(r.Alerts()) == 0 || len(r.Failures()) == 0 {
				t.Fatalf("want an alert and a failure:\n%s", r.Summary())
			}
			for _, a := range r.Alerts() {
				if got := a.Recommendation; test.want == "" && strings.Contains(got, named) || !strings.HasSuffix(got, test.want) || test.want != "" && a.Entity != "other" {
					t.Errorf("the alert says %q, want %q at the end", got, test.want)
				}
			}
			for _, f := range r.Failures() {
				if got := f.Remedy; f.Entity == "other" && (test.want == "" && strings.Contains(got, named) || test.want != "" && got != test.want) {
					t.Errorf("the failure says %q, want %q at the end", got, test.want)
				}
			}
		})
	}
}
