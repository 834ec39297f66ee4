// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestUnseenAllow says what a policy that lets claims pass makes of them.
func TestUnseenAllow(t *testing.T) {
	for _, test := range []struct {
		name   string
		seen   entity.Canonical
		asked  bool
		now    values
		waived []string
		want   []string
	}{
		{name: "the arguments alone", seen: item(inArgs(nil)), now: values{"reach": number(1)}, waived: []string{"nothing on record shows it: ..."}},
		{name: "a price in the arguments", seen: item(inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")},
			waived: []string{"nothing on record shows it: ..."}},
		{name: "another price in the arguments", seen: item(inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")},
			waived: []string{"nothing on record shows it: ..."}, want: []string{"$9 -> $10: ..."}},
		{name: "two prices in the arguments", seen: item(inArgs(values{"price": usd("$9")}), inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")},
			waived: []string{"nothing on record shows it: ..."}, want: []string{"$9 -> $10: ..."}},
		{name: "what a person says and the arguments do not", seen: item(saidBy(entity.SourceClaim, values{"price": usd("$9")}), inArgs(values{"reach": number(1)})),
			now: values{"price": usd("$10"), "reach": number(1)}, waived: []string{"nothing on record shows it: ..."}, want: []string{"$9 -> $10: ..."}},
		{name: "what a person says besides", seen: item(saidBy(entity.SourceClaim, values{"price": usd("$9")}), inArgs(values{"price": usd("$10")})),
			now: values{"price": usd("$10")}, waived: []string{"nothing on record shows it: ..."}},
		{name: "a price that the answer lacks", seen: item(inArgs(values{"price": usd("$9")})), now: values{"reach": number(1)},
			waived: []string{"nothing on record shows it: ..."}, want: []string{"missing_attribute: ...", "nothing_compared: ..."}},
		{name: "one attribute", seen: item(readAt("$10"), inArgs(values{"reach": number(1)})), now: values{"price": usd("$10"), "reach": number(1)},
			waived: []string{"nothing on record shows reach: ..."}},
		{name: "one attribute that differs", seen: item(readAt("$10"), inArgs(values{"reach": number(1)})), now: values{"price": usd("$10"), "reach": number(2)},
			waived: []string{"nothing on record shows reach: ..."}, want: []string{"1 -> 2: ..."}},
		{name: "nothing but a quantity", seen: item(inArgs(values{"quantity": number(1)})), now: values{"quantity": number(1)},
			waived: []string{"nothing on record shows it: ..."}, want: []string{"nothing_compared: ..."}},
		{name: "a quantity of what is available", seen: item(inArgs(values{"quantity": number(1)})), now: values{"availability": entity.Bool(true)},
			waived: []string{"nothing on record shows it: ..."}},
		{name: "what was read", seen: item(readAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}},
		{name: "what was not read", seen: item(unreadAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}, want: []string{"not_read: ..."}},
		{name: "arguments that differ", seen: item(readAt("$10"), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")}, want: []string{"argument_differs: ..."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Unseen: safety.UnseenAllow}}
				cfg.Policy.Rules["quantity"] = safety.Rule{Drift: safety.Changed, Optional: true}
			}, test.seen)
			b.record.snap.Asked = test.asked
			b.world.states[test.seen.Key] = safety.State{Attributes: test.now}
			b.ask()
			r := b.check()
			said(t, r, test.want...)
			var got []string
			for _, f := range r.Entities()[0].Waived {
				got = append(got, f.Detail)
				if f.Reason != safety.ReasonNothingSeen || f.EntityType != "Product" || f.Entity != "x" {
					t.Errorf("waived %+v", f)
				}
			}
			if !slices.EqualFunc(got, test.waived, func(a, b string) bool { return strings.HasPrefix(a, strings.TrimSuffix(b, "...")) }) {
				t.Errorf("waived %q, want %q", got, test.waived)
			}
			for _, w := range test.waived {
				if line := "  Waived           : nothing_seen: Product: x: " + strings.TrimSuffix(w, "..."); !strings.Contains(r.Summary(), line) {
					t.Errorf("no %q in\n%s", line, r.Summary())
				}
			}
			var back struct {
				Entities []struct{ Waived []safety.Failure }
			}
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &back); err != nil || len(back.Entities[0].Waived) != len(test.waived) {
				t.Errorf("as JSON: %s, %v", data, err)
			}
			if list := r.Entities()[0].Waived; len(list) > 0 {
				list[0].Reason = "spoilt"
				if r.Entities()[0].Waived[0].Reason == "spoilt" {
					t.Error("the report can be changed")
				}
			}
		})
	}
}

// What is optional may be unseen: it is then skipped, and says so.
func TestUnseenOptional(t *testing.T) {
	named := item(inArgs(nil))
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]safety.TypePolicy{"Product": {Optional: true}}
	}, named, budget)
	b.ask()
	r := b.check()
	wantSafe(t, r)
	if e := r.Entities()[0]; e.Outcome != safety.EntitySkipped || len(e.Skipped) != 1 || e.Skipped[0].Reason != safety.ReasonNothingSeen {
		t.Errorf("%+v", e)
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
		b := newBench(t, func(cfg *safety.GuardConfig) {
			cfg.Policy.Require, cfg.Policy.Listed = safety.RequireListed, test.listed
		}, test.seen...)
		b.ask()
		said(t, b.check(), test.want...)
	}
}

// The approver is told what nothing has shown.
func TestUnseenIsShown(t *testing.T) {
	b := newBench(t, nil, item(inArgs(values{"price": usd("$1")})), called("y", readAt("$10"), inArgs(values{"reach": number(1), "note": entity.Text("a")})), called("z", readAt("$1")))
	got := b.ask().Shown()["warnings"]
	want := []any{
		"Nothing has shown Product x: unless the policy lets that pass, the request cannot be approved.",
		"Nothing has shown note of Product y: unless the policy lets that pass, the request cannot be approved.",
		"Nothing has shown reach of Product y: unless the policy lets that pass, the request cannot be approved.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The values that a check found in place of others are for the record.
func TestDrifted(t *testing.T) {
	amount := called("$5", entity.Entity{Source: entity.SourceRule, Norm: usd("$5"), Attributes: values{"price": usd("$5")}})
	seen := []entity.Canonical{
		called("dearer", entity.Entity{Source: entity.SourceRule, Attributes: values{"price": usd("$10"), "reach": number(1), "note": entity.Text("a")}}),
		called("gone", saidBy(entity.SourceRule, nil)),
		called("back", saidBy(entity.SourceRule, values{"exists": entity.Bool(false)})),
		called("sold out", readAt("$1")),
		called("unchanged", readAt("$1")),
		amount,
	}
	b := newBench(t, func(cfg *safety.GuardConfig) {
		cfg.Policy.Rules["reach"] = safety.Rule{Drift: safety.Changed, Effect: safety.Warn}
	}, seen...)
	b.world.put(seen[0], "price", usd("$12"))
	b.world.put(seen[0], "reach", number(2))
	b.world.put(seen[1], "exists", entity.Bool(false))
	b.world.states[seen[2].Key] = safety.State{Attributes: values{"reach": number(2)}}
	b.world.put(seen[3], "availability", entity.Bool(false))
	b.world.put(amount, "price", usd("$6"))
	b.ask()
	r := b.check()
	if len(r.Alerts()) != 5 {
		t.Fatalf("%s", r.Summary())
	}
	want := []entity.Entity{
		{Type: "Product", Value: "dearer", Attributes: values{"price": usd("$12")}},
		{Type: "Product", Value: "gone", Attributes: values{"exists": entity.Bool(false)}},
		{Type: "Product", Value: "sold out", Attributes: values{"availability": entity.Bool(false)}},
		{Type: "Product", Value: "$5", Norm: usd("$5"), Attributes: values{"price": usd("$6")}},
	}
	for range 2 {
		got := r.Drifted()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		got[0].Attributes["price"] = usd("$1")
	}

	beside := newBench(t, answering(safety.State{Attributes: values{"price": usd("$12")}, AsOf: epoch}, errInjected), item(readAt("$10")))
	r = beside.check()
	if len(r.Alerts()) != 1 || len(r.Drifted()) != 0 {
		t.Errorf("drifted %v\n%s", r.Drifted(), r.Summary())
	}
}

// What the record shows of a thing beyond what it showed to the approver has to hold too.
func TestReadingThatTheRequestLacks(t *testing.T) {
	b := newBench(t, nil, item(readAt("$10")))
	b.record.snap.Entities[0].Attributes, b.record.snap.Entities[0].Seen = nil, nil
	b.ask()
	b.record.snap.Entities[0] = item(readAt("$10"))
	b.world.states[b.record.snap.Entities[0].Key] = safety.State{Attributes: values{"price": usd("$12")}}
	wantDrift(t, b.check(), safety.PriceChanged)
	for _, test := range []struct {
		name  string
		later entity.Canonical
		want  []string
	}{
		{"the same", item(readAt("$10"), inArgs(values{"quantity": number(2)})), nil},
		{"less", item(readAt("$10")), nil},
		{"nothing", called("y", readAt("$10")), nil},
		{"in another order", func() entity.Canonical {
			e := item(readAt("$10"), inArgs(values{"quantity": number(2)}))
			slices.Reverse(e.Seen)
			return e
		}(), nil},
		{"another price", item(readAt("$10"), inArgs(values{"quantity": number(2)}), readAt("$9")), []string{"$9 -> $10: ..."}},
		{"the same row, another price", item(readAt("$9"), inArgs(values{"quantity": number(2)})), []string{"$9 -> $10: ..."}},
		{"another attribute", item(readAt("$10"), inArgs(values{"quantity": number(2)}), entity.Entity{Source: entity.SourceDeclared, Attributes: values{"reach": number(1)}}),
			[]string{"missing_attribute: reach ..."}},
		{"named once more", item(readAt("$10"), inArgs(values{"quantity": number(2)}), inArgs(values{"quantity": number(2)})),
			[]string{"policy: ... the action names Product x 2 times: it has to name it once, with its quantity"}},
		{"what was read is now a claim", item(saidBy(entity.SourceClaim, values{"price": usd("$7")}), inArgs(values{"quantity": number(2)})), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Policy.Rules["quantity"] = safety.Rule{Drift: safety.Changed, Optional: true}
				rule := fits
				rule.QuantityAttribute = "quantity"
				within(rule)(cfg)
			}, item(readAt("$10"), inArgs(values{"quantity": number(2)})), thing("Budget", "b", values{"amount": usd("$20")}))
			b.world.states[test.later.Key] = safety.State{Attributes: values{"price": usd("$10")}}
			a := b.ask()
			b.record.snap.Entities[0] = test.later
			r := b.check()
			said(t, r, test.want...)
			if r.Fingerprint() != a.Fingerprint {
				t.Error("the fingerprint changed")
			}
		})
	}
}
