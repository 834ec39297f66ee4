// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// bought is an entity that was evaluated and then named in the arguments of the
// action that asks in bench.request.
func bought(typ, value string, attributes, arguments values) entity.Canonical {
	return sighted(typ, value,
		entity.Entity{Attributes: attributes, Source: entity.SourceRule, TechNode: "node-0"},
		entity.Entity{Attributes: arguments, Source: entity.SourceAction, TechNode: "node-1"},
	)
}

func sighted(typ, value string, seen ...entity.Entity) entity.Canonical {
	for i := range seen {
		e := &seen[i]
		e.Type, e.Value, e.Confidence, e.SeenAt = typ, value, 0.95, epoch.Add(time.Duration(i-10)*time.Second)
	}
	return entity.Canonicalize(seen)[0]
}

func valuesOf(entities []safety.EntityResult) []string {
	out := []string{}
	for _, e := range entities {
		out = append(out, e.Value)
	}
	return out
}

func TestRequire(t *testing.T) {
	var (
		line      = bought("Product", "line", values{"price": usd("$1")}, nil)
		other     = thing("Product", "other", values{"price": usd("$2")})
		audience  = thing("Targeting", "audience", values{"reach": number(3)})
		earlier   = sighted("Product", "earlier", entity.Entity{Source: entity.SourceAction, TechNode: "node-0", Attributes: values{"price": usd("$4")}})
		named     = sighted("Product", "named", entity.Entity{Source: entity.SourceRule, TechNode: "node-1", Attributes: values{"price": usd("$5")}})
		lateLine  = bought("Product", "late line", values{"price": usd("$6")}, nil)
		lateOther = thing("Product", "late other", values{"price": usd("$7")})
	)
	asked := []entity.Canonical{line, other, audience, earlier, named}
	for _, test := range []struct {
		require safety.Requirement
		listed  []string
		asked   []string // shown to the approver
		checked []string // with what was found later
	}{
		{safety.RequireEverything, nil, []string{"line", "other", "audience", "earlier", "named"},
			[]string{"line", "other", "audience", "earlier", "named", "late line", "late other"}},
		{safety.RequireNamed, nil, []string{"line"}, []string{"line", "late line"}},
		{safety.RequireListed, []string{"Targeting"}, []string{"line", "audience"}, []string{"line", "audience", "late line"}},
		{safety.RequireListed, []string{"Product"}, []string{"line", "other", "earlier", "named"},
			[]string{"line", "other", "earlier", "named", "late line", "late other"}},
		{safety.RequireListed, []string{"Nothing"}, []string{"line"}, []string{"line", "late line"}},
	} {
		t.Run(strings.Join(append([]string{test.require.String()}, test.listed...), " "), func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Policy.Require, cfg.Policy.Listed = test.require, test.listed
			}, asked...)
			for _, e := range []entity.Canonical{lateLine, lateOther} {
				b.world.states[e.Key] = safety.State{Attributes: maps.Clone(e.Attributes)}
			}
			a := b.ask()
			var got []string
			for _, e := range a.Entities {
				got = append(got, e.Value)
			}
			if !slices.Equal(got, test.asked) || a.Fingerprint != safety.Fingerprint(a.Entities) {
				t.Errorf("asked with %v, want %v", got, test.asked)
			}
			wantSafe(t, b.check())

			b.record.snap.Entities = append(slices.Clone(b.record.snap.Entities), lateLine, lateOther)
			r := b.check()
			wantSafe(t, r)
			if got := valuesOf(r.Entities()); !slices.Equal(got, test.checked) {
				t.Errorf("checked %v, want %v", got, test.checked)
			}
			for i, e := range r.Entities() {
				if e.Unseen != (i >= len(test.asked)) {
					t.Errorf("%s: unseen %t", e.Value, e.Unseen)
				}
			}
			if r.Fingerprint() != a.Fingerprint {
				t.Error("what was found later changed the fingerprint")
			}
			// What is required counts, and nothing else.
			for _, e := range b.record.snap.Entities {
				before := b.world.states[e.Key]
				b.world.put(e, "availability", entity.Bool(false))
				if r, want := b.check(), !slices.Contains(test.checked, e.Value); r.IsSafeToApprove() != want {
					t.Errorf("%s is gone: safe %t, want %t", e.Value, r.IsSafeToApprove(), want)
				}
				b.world.states[e.Key] = before
			}
		})
	}
}

func TestRequireNothingFound(t *testing.T) {
	for _, test := range []struct {
		require safety.Requirement
		listed  []string
		want    string
	}{
		{safety.RequireEverything, nil, ""},
		{safety.RequireNamed, nil, "the arguments of provision_campaign name no entity: add a rule with in: action"},
		{safety.RequireListed, []string{"Room"}, `none of the listed types ["Room"] was evaluated`},
	} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Require, cfg.Policy.Listed = test.require, test.listed
		}, strava)
		b.ask()
		out := b.answer(true)
		if test.want == "" {
			wantSafe(t, out.Report)
			continue
		}
		wantFailure(t, out.Report, safety.ReasonNoEntities)
		if f := out.Report.Failures()[0]; !strings.Contains(f.Detail, test.want) || out.Reason != safety.CodeCheckFailed {
			t.Errorf("%s: %s, want %s", out.Reason, f, test.want)
		}
		if warnings := b.approval.Shown()["warnings"].([]any); len(warnings) != 1 {
			t.Errorf("the approver is told %v", warnings)
		}
	}
}

// Without a request there is no action.
func TestRequireWithoutARequest(t *testing.T) {
	line := bought("Product", "line", values{"price": usd("$1")}, nil)
	line.Seen[1].TechNode = ""
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Require, cfg.Policy.Listed = safety.RequireListed, []string{"Targeting"}
	}, line)
	r := b.check()
	wantFailure(t, r, safety.ReasonNoEntities)
	if f := r.Failures()[0]; !strings.Contains(f.Detail, "there is no request") {
		t.Errorf("%s", f)
	}
}

// What the arguments call by another name than the results is not safe because it is
// there: the price that was seen stands under the other name.
func TestNameInArgumentsOnly(t *testing.T) {
	action := func(attributes values) entity.Canonical {
		return sighted("Product", "Strava", entity.Entity{Attributes: attributes, Source: entity.SourceAction, TechNode: "node-1"})
	}
	other := func(source entity.Source) entity.Canonical {
		return sighted("Product", "p-17", entity.Entity{Attributes: values{"price": usd("$1")}, Source: source, TechNode: "node-0"})
	}
	quantity := values{"quantity": number(2)}
	for _, test := range []struct {
		name    string
		require safety.Requirement
		listed  []string
		named   entity.Canonical
		seen    []entity.Canonical
		safe    bool
	}{
		{"an id in the results", safety.RequireNamed, nil, action(nil), []entity.Canonical{other(entity.SourceRule)}, false},
		{"with a quantity", safety.RequireNamed, nil, action(quantity), []entity.Canonical{other(entity.SourceRule)}, false},
		{"declared", safety.RequireNamed, nil, action(nil), []entity.Canonical{other(entity.SourceDeclared)}, false},
		{"not listed", safety.RequireListed, []string{"Budget"}, action(nil), []entity.Canonical{other(entity.SourceRule)}, false},
		{"listed", safety.RequireListed, []string{"Product"}, action(nil), []entity.Canonical{other(entity.SourceRule)}, true},
		{"evaluated", safety.RequireEverything, nil, action(nil), []entity.Canonical{other(entity.SourceRule)}, true},
		{"the same name", safety.RequireNamed, nil, bought("Product", "Strava", values{"price": usd("$1")}, nil), []entity.Canonical{other(entity.SourceRule)}, true},
		{"the same name, nothing seen", safety.RequireNamed, nil, bought("Product", "Strava", nil, nil), []entity.Canonical{other(entity.SourceRule)}, true},
		{"the price in the arguments", safety.RequireNamed, nil, action(values{"price": usd("$1")}), []entity.Canonical{other(entity.SourceRule)}, true},
		{"nothing seen", safety.RequireNamed, nil, action(nil), nil, true},
		{"of another action", safety.RequireNamed, nil, action(nil), []entity.Canonical{other(entity.SourceAction)}, true},
		{"of another type", safety.RequireNamed, nil, action(nil), []entity.Canonical{thing("Targeting", "p-17", values{"reach": number(1)})}, true},
	} {
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Require, cfg.Policy.Listed = test.require, test.listed
			cfg.Policy.Rules["quantity"] = safety.Rule{Drift: "changed", Optional: true}
		}, append([]entity.Canonical{test.named}, test.seen...)...)
		b.world.states[test.named.Key] = safety.State{Attributes: values{"price": usd("$1"), "availability": entity.Bool(true)}}
		b.ask()
		r := b.check()
		if test.safe != r.IsSafeToApprove() {
			t.Errorf("%s: %s\n%s", test.name, r.Verdict(), r.Summary())
		}
		if !test.safe {
			wantFailure(t, r, safety.ReasonNothingCompared)
			if f := r.Failures()[0]; !strings.Contains(f.Detail, `"p-17"`) || !strings.Contains(f.Detail, "same value") {
				t.Errorf("%s: %s", test.name, f)
			}
		}
	}
}

// What was sold out when the plan was made, and is still, is no change where the plan left it
// out. Where the plan has it, or nobody knows what the plan has, it is an alert.
func TestSoldOutAndLeftOut(t *testing.T) {
	soldOut, toBeHad := values{"availability": entity.Bool(false)}, values{"availability": entity.Bool(true)}
	for _, test := range []struct {
		name  string
		plan  []entity.Canonical
		seen  values // of the placement that is sold out now
		bench func(*bench)
		want  safety.Verdict
	}{
		{"left out", []entity.Canonical{bought("Product", "Strava", toBeHad, nil)}, soldOut, nil, safety.Safe},
		{"sold out since", []entity.Canonical{bought("Product", "Strava", toBeHad, nil)}, toBeHad, nil, safety.Drift},
		{"not seen then", []entity.Canonical{bought("Product", "Strava", toBeHad, nil)}, values{"price": usd("$1")}, nil, safety.Drift},
		{"in the plan", []entity.Canonical{bought("Product", "Strava", toBeHad, nil), bought("Product", "Yahoo", soldOut, nil)}, nil, nil, safety.Drift},
		{"a plan of other things", []entity.Canonical{bought("Budget", "$1", values{"amount": usd("$1")}, nil)}, soldOut, nil, safety.Drift},
		{"a plan of nothing", nil, soldOut, nil, safety.Drift},
		{"for sale again", []entity.Canonical{bought("Product", "Strava", toBeHad, nil)}, soldOut,
			func(b *bench) { b.world.put(thing("Product", "Yahoo", soldOut), "availability", entity.Bool(true)) }, safety.Drift},
	} {
		entities := test.plan
		if test.seen != nil {
			entities = append(entities, thing("Product", "Yahoo", test.seen))
		}
		b := newBench(t, nil, entities...)
		b.ask()
		b.world.put(thing("Product", "Yahoo", test.seen), "availability", entity.Bool(false))
		if test.bench != nil {
			test.bench(b)
		}
		r := b.check()
		if r.Verdict() != test.want {
			t.Errorf("%s: %s, want %s\n%s", test.name, r.Verdict(), test.want, r.Summary())
		}
		// The advice to leave out what is left out would help nobody.
		if test.name == "sold out since" && !strings.Contains(r.Alerts()[0].Recommendation, "look it up again") {
			t.Errorf("recommendation %q", r.Alerts()[0].Recommendation)
		}
	}
}
