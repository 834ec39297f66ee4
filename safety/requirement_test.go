// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func valuesOf(entities []safety.EntityResult) []string {
	out := []string{}
	for _, e := range entities {
		out = append(out, e.Value)
	}
	return out
}

func TestRequire(t *testing.T) {
	var (
		line     = bought("Product", "line", values{"price": usd("$1")}, nil)
		other    = thing("Product", "other", values{"price": usd("$2")})
		audience = thing("Targeting", "audience", values{"reach": number(3)})
		earlier  = sighted("Product", "earlier", entity.Entity{Source: entity.SourceRule, Attributes: values{"price": usd("$4")}},
			entity.Entity{Source: entity.SourceAction, TechNode: "node-0", Attributes: values{"price": usd("$4")}})
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
	} {
		t.Run(strings.Join(append([]string{test.require.String()}, test.listed...), " "), func(t *testing.T) {
			b := newBench(t, requiring(test.require, test.listed...), asked...)
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
		change func(*safety.GuardConfig)
		want   string
	}{
		{requiring(safety.RequireNamed), "no_entities: ... the arguments of provision_campaign name no entity: add a rule with in: action..."},
		{requiring(safety.RequireListed, "Room"), `no_entities: ... none of the listed types ["Room"] was found...`},
	} {
		b := newBench(t, test.change, strava)
		b.ask()
		out := b.answer(true)
		said(t, out.Report, test.want)
		if warnings := b.approval.Shown()["warnings"].([]any); len(warnings) != 1 || out.Reason != safety.CodeCheckFailed {
			t.Errorf("%s; the approver is told %v", out.Reason, warnings)
		}
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
		{[]string{"Product", "Room", "Room", "Flight"}, []entity.Canonical{strava, budget},
			[]string{`no_entities: "Flight" is a listed type, and nothing of it was found`, `no_entities: "Room" is a listed type, and nothing of it was found`}},
		{[]string{"Room"}, []entity.Canonical{strava}, []string{`no_entities: the arguments of provision_campaign name no entity, and none of the listed types ["Room"] was found...`}},
		{[]string{"Product"}, []entity.Canonical{bought("Budget", "b", budget.Attributes, nil)}, []string{`no_entities: "Product" is a listed type ...`}},
	} {
		b := newBench(t, requiring(safety.RequireListed, test.listed...), test.seen...)
		b.ask()
		said(t, b.check(), test.want...)
	}
}

// Without a request there is no action.
func TestRequireWithoutARequest(t *testing.T) {
	line := bought("Product", "line", values{"price": usd("$1")}, nil)
	line.Seen[1].TechNode = ""
	said(t, newBench(t, requiring(safety.RequireListed, "Targeting"), line).check(), "no_entities: ... there is no request...")
}
