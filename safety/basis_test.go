// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The sightings of the tests: what a tool showed and the model that asks had read, what
// it had not read, what repeats the arguments of its call, what somebody says, and what
// stands in the arguments of the action.
func readAt(v string) entity.Entity {
	e := unreadAt(v)
	e.Read = true
	return e
}

func unreadAt(v string) entity.Entity {
	return entity.Entity{Source: entity.SourceRule, Attributes: values{"price": usd(v)}}
}

func echoAt(v string) entity.Entity {
	e := readAt(v)
	e.Echoes = []string{"price"}
	return e
}

func saidBy(source entity.Source, attributes values) entity.Entity {
	return entity.Entity{Source: source, Attributes: attributes, TechNode: "node-1"}
}

func inArgs(attributes values) entity.Entity { return saidBy(entity.SourceAction, attributes) }

// item is the product x with the sightings, as they are.
func item(seen ...entity.Entity) entity.Canonical { return called("x", seen...) }

func called(value string, seen ...entity.Entity) entity.Canonical {
	list := slices.Clone(seen)
	for i := range list {
		e := &list[i]
		e.Type, e.Value, e.Confidence, e.SeenAt, e.EventID = "Product", value, 1, epoch, fmt.Sprint("event-", i)
	}
	return snapshotted(list...)
}

var priceRules = []entity.Shown{
	{Type: "Product", Attribute: "price", Rule: "offers", Tool: "search"},
	{Type: "Product", Attribute: "price", Rule: "offers", Tool: "search"},
	{Type: "Product", Attribute: "reach", Rule: "audience", Tool: "look_up"},
	{Type: "Product", Rule: "names", Tool: "list"},
	{Type: "Budget", Attribute: "price", Rule: "money", Tool: "budget"},
}

// A failure names the argument that a result only repeated.
func TestEchoedArgument(t *testing.T) {
	for _, attributes := range []values{nil, {"price": usd("$10")}} {
		seen := item(inArgs(attributes))
		if attributes != nil {
			seen = item(entity.Entity{Source: entity.SourceRule, Attributes: values{"reach": number(1)}}, inArgs(attributes))
		}
		b := newBench(t, nil, seen)
		b.record.snap.Expected = priceRules
		b.record.snap.Echoed = map[string]map[string]string{seen.Key: {"price": "asked\nprice"}}
		b.ask()
		const want = `A result only repeats price as its argument "asked price" says it: if the tool looked that up, write looked_up: true beside its path`
		if failures := b.check().Failures(); len(failures) == 0 || !strings.HasSuffix(failures[0].Detail, want) {
			t.Errorf("the failures are %v, want %q", failures, want)
		}
	}
}

// TestBasis says which values count, and what is missing where none does.
func TestBasis(t *testing.T) {
	optional := func(name string) func(*safety.GuardConfig) { return ruled(name, config.Drift{Optional: true}) }
	tolerant := ruled("price", config.Drift{Tolerance: config.Tolerance{Percent: 10}})
	allow := all(ofType("Product", config.TypePolicy{Unseen: config.UnseenAllow}), optional("quantity"))
	const unseen = "waived: nothing on record shows it: ..."
	none := item(inArgs(nil))
	for _, test := range []struct {
		name   string
		change func(*safety.GuardConfig)
		seen   entity.Canonical
		others []entity.Canonical
		asked  bool
		rules  []entity.Shown
		now    values
		// What comes of it: "" for safe, else reason: detail of the failures, and before
		// -> after: recommendation of the alerts, of which each begins and ends so.
		want []string
	}{
		{name: "one reading", seen: item(unreadAt("$10")), now: values{"price": usd("$10")}},
		{name: "one reading that does not hold", seen: item(readAt("$10")), now: values{"price": usd("$12")},
			want: []string{"$10 -> $12: Plan again ... ask for approval of the new plan."}},
		{name: "two readings, of which the later holds", seen: item(readAt("$10"), readAt("$12")), now: values{"price": usd("$12")},
			want: []string{"$10 -> $12: Plan again ... price was read as $10 and as $12: read it again before asking."}},
		{name: "two readings, of which the earlier holds", seen: item(readAt("$12"), readAt("$10")), now: values{"price": usd("$12")},
			want: []string{"$10 -> $12: Plan again ... price was read as $10 and as $12: read it again before asking."}},
		{name: "two readings, of which none holds", seen: item(readAt("$10"), readAt("$12")), now: values{"price": usd("$14")},
			want: []string{"$12 -> $14: Plan again ... price was read as $12 and as $10: read it again before asking."}},
		{name: "two readings that can both be true", change: tolerant, seen: item(readAt("$10"), readAt("$10.50")), now: values{"price": usd("$10.90")}},
		{name: "two like readings that do not hold", change: tolerant, seen: item(readAt("$10"), readAt("$10.50")), now: values{"price": usd("$19")},
			want: []string{"$10.50 -> $19: Plan again ... approval of the new plan."}},
		{name: "the same reading three times", seen: item(readAt("$10"), readAt("$12"), readAt("$10")), now: values{"price": usd("$10")},
			want: []string{"$12 -> $10: Plan again ... price was read as $12 and as $10: read it again before asking."}},
		{name: "one covers the other", change: ruled("price", config.Drift{Direction: config.Rise}), seen: item(readAt("$12"), readAt("$10")), now: values{"price": usd("$11")}, want: []string{"$10 -> $11: Plan again ... approval of the new plan."}},
		{name: "readings of two kinds", seen: item(readAt("$10"), entity.Entity{Source: entity.SourceDeclared, Attributes: values{"price": number(10)}}), now: values{"price": usd("$10")},
			want: []string{"type_mismatch: price was seen as number and is now money in USD ... ; price was read as 10 and as $10: read it again before asking.", "nothing_compared: no attribute could be compared"}},
		{name: "readings of two kinds, and a change", seen: item(readAt("$10"), entity.Entity{Source: entity.SourceDeclared, Attributes: values{"price": number(10)}}), now: values{"price": usd("$11")},
			want: []string{"type_mismatch: price was seen as number ... read it again before asking.", "nothing_compared: ...", "$10 -> $11: Plan again ... price was read as $10 and as 10: read it again before asking."}},
		{name: "readings that differ of what is not in the answer", seen: item(readAt("$10"), readAt("$12")), now: values{"reach": number(1)},
			want: []string{"missing_attribute: price was seen as $12 and is not in the answer; price was read as $12 and as $10: read it again before asking.", "nothing_compared: ..."}},

		{name: "an echo", seen: item(echoAt("$10"), inArgs(nil)), now: values{"price": usd("$10")}, rules: priceRules,
			want: []string{`nothing_seen: nothing on record shows it: rule "offers" in the results of "search", or rule "audience" in the results of "look_up", or rule "names" in the results of "list" should have; look it up, then ask again`}},
		{name: "an echo of what was read", seen: item(readAt("$10"), echoAt("$99")), now: values{"price": usd("$10")}},
		{name: "an echo of one attribute", seen: item(entity.Entity{Source: entity.SourceRule, Echoes: []string{"id"}, Attributes: values{"id": entity.Text("7"), "price": usd("$10")}}),
			now: values{"id": entity.Text("7"), "price": usd("$10")}, rules: priceRules,
			want: []string{"nothing_seen: nothing on record shows id: no rule of the configuration shows it; ..."}},
		{name: "a claim", seen: item(saidBy(entity.SourceClaim, values{"price": usd("$10")})), now: values{"price": usd("$10")},
			want: []string{"nothing_seen: nothing on record shows it: no rule of the configuration shows it"}},
		{name: "what was given alone", seen: item(saidBy(entity.SourceGiven, values{"price": usd("$10")}), inArgs(nil)), now: values{"price": usd("$10")}, asked: true,
			want: []string{"nothing_seen: nothing on record shows it: ..."}},
		{name: "what was given besides has to hold", seen: item(readAt("$10"), saidBy(entity.SourceGiven, values{"price": usd("$12")})), now: values{"price": usd("$10")},
			want: []string{"$12 -> $10: Plan again ..."}},
		{name: "what was given and is not named has to hold", seen: item(saidBy(entity.SourceGiven, values{"price": usd("$10")})), others: []entity.Canonical{called("y", readAt("$1"))}, now: values{"price": usd("$12")},
			want: []string{"$10 -> $12: Plan again ..."}},
		{name: "nothing was shown to the model that asked", seen: item(unreadAt("$10")), now: values{"price": usd("$10")}, asked: true,
			want: []string{"nothing_read: the model that asked was shown nothing of what the call rests on: look it up, then ask again"}},
		{name: "without a model what was given alone", seen: item(saidBy(entity.SourceGiven, values{"price": usd("$10")})), now: values{"price": usd("$10")},
			want: []string{"nothing_read: ..."}},
		{name: "what a model found", seen: item(saidBy(entity.SourceModel, values{"price": usd("$10")})), now: values{"price": usd("$10")},
			want: []string{"nothing_seen: nothing on record shows it: ..."}},
		{name: "the arguments alone", seen: none, now: values{"availability": entity.Bool(true)},
			want: []string{"nothing_seen: nothing on record shows it: ..."}},
		{name: "the arguments alone, and it is gone", seen: none, now: values{"availability": entity.Bool(false)},
			want: []string{"nothing_seen: ...", "not seen -> unavailable: Replace ..."}},
		{name: "a price that only the arguments have", seen: item(entity.Entity{Source: entity.SourceRule, Attributes: values{"reach": number(1)}}, inArgs(values{"price": usd("$10")})),
			now: values{"price": usd("$10"), "reach": number(1)}, rules: priceRules,
			want: []string{`nothing_seen: nothing on record shows price: rule "offers" in the results of "search" should have; look it up, then ask again`}},
		{name: "a quantity that only the arguments have", change: optional("quantity"), seen: item(readAt("$10"), inArgs(values{"quantity": number(3)})),
			asked: true, now: values{"price": usd("$10"), "quantity": number(900)}},
		{name: "nothing but a quantity", change: optional("quantity"), seen: item(inArgs(values{"quantity": number(3)})), now: values{"price": usd("$10")},
			want: []string{"nothing_seen: ..."}},

		{name: "another spelling", seen: none, others: []entity.Canonical{called("X", readAt("$10"))}, now: values{"price": usd("$10")},
			want: []string{`nothing_seen: nothing on record shows it: ... ; "X" was read: name it by exactly that`}},
		{name: "a name that was redacted", seen: none, others: []entity.Canonical{called("Secret: [REDACTED]", readAt("$10"))}, now: values{"price": usd("$10")},
			want: []string{`nothing_seen: nothing on record shows it: ... ; "Secret: [REDACTED]" was read, whose name was redacted when it was recorded, as it looks like a secret: ...`}},
		{name: "another spelling that nobody read", seen: none, others: []entity.Canonical{called("X", echoAt("$10"))}, now: values{"price": usd("$10")},
			want: []string{"nothing_seen: nothing on record shows it: no rule of the configuration shows it", "nothing_seen: ..."}},
		{name: "another thing", seen: none, others: []entity.Canonical{called("y", readAt("$10"))}, now: values{"price": usd("$10")},
			want: []string{"nothing_seen: nothing on record shows it: no rule of the configuration shows it"}},

		{name: "read by the model that asked", seen: item(readAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}},
		{name: "not read by the model that asked", seen: item(unreadAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")},
			want: []string{"not_read: price is $10 on record, and the model that asked had not read it: read it, then ask again"}},
		{name: "not read, and not in the answer", seen: item(unreadAt("$10"), inArgs(nil)), asked: true, now: values{"reach": number(1)},
			want: []string{"not_read: ...", "missing_attribute: ...", "nothing_compared: ..."}},
		{name: "one of two read", seen: item(unreadAt("$10"), readAt("$10"), unreadAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}},
		{name: "not read, and no model asked", seen: item(unreadAt("$10"), inArgs(nil)), now: values{"price": usd("$10")}},
		{name: "not read, and optional", change: optional("price"), seen: item(unreadAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}},
		{name: "not read, and not named, beside what was read", seen: item(unreadAt("$10")), others: []entity.Canonical{called("y", readAt("$10"))}, asked: true, now: values{"price": usd("$10")}},
		{name: "not read, not named, and changed", seen: item(unreadAt("$10")), asked: true, now: values{"price": usd("$12")},
			want: []string{"nothing_read: ...", "$10 -> $12: ..."}},
		{name: "an echo that was read", seen: item(unreadAt("$10"), echoAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")},
			want: []string{"not_read: ..."}},

		{name: "the arguments say the same", seen: item(readAt("$10"), inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")}},
		{name: "the arguments differ", seen: item(readAt("$10"), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")},
			want: []string{"argument_differs: price is $9 in the arguments and was read as $10: plan with what was read, then ask again"}},
		{name: "the arguments differ within the tolerance", change: tolerant, seen: item(readAt("$10"), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")}},
		{name: "the arguments differ from an earlier reading", change: tolerant, seen: item(readAt("$8"), readAt("$8.80"), inArgs(values{"price": usd("$9.60")})), now: values{"price": usd("$8")}},
		{name: "the arguments differ in kind", seen: item(readAt("$10"), inArgs(values{"price": number(10)})), now: values{"price": usd("$10")},
			want: []string{"argument_differs: price is 10 in the arguments and was read as $10: ..."}},
		{name: "the arguments say two things", seen: item(readAt("$10"), inArgs(values{"price": usd("$10")}), inArgs(values{"price": usd("$9")}), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")},
			want: []string{"argument_differs: price is $9 ..."}},
		{name: "those of another action differ", seen: item(readAt("$10"), entity.Entity{Source: entity.SourceAction, TechNode: "node-0", Attributes: values{"price": usd("$9")}}), now: values{"price": usd("$10")}},
		{name: "what a person says differs", seen: item(readAt("$10"), saidBy(entity.SourceClaim, values{"price": usd("$9")})), now: values{"price": usd("$10")}},
		{name: "an optional attribute that was read differs", change: optional("price"), seen: item(readAt("$10"), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")},
			want: []string{"argument_differs: ..."}},

		{name: "it exists", seen: item(saidBy(entity.SourceRule, nil)), now: values{"exists": entity.Bool(true)}},
		{name: "its source knows it", seen: item(saidBy(entity.SourceRule, nil)), now: values{"reach": number(3)}},
		{name: "its source knows nothing", seen: item(saidBy(entity.SourceRule, nil)), now: values{"reach": {}},
			want: []string{"missing_attribute: exists was seen as true and is not in the answer", "nothing_compared: ..."}},
		{name: "it does not exist", seen: item(saidBy(entity.SourceRule, nil)), now: values{"exists": entity.Bool(false)},
			want: []string{"true -> false: Replace Product x ..."}},
		{name: "it does not exist, as was read", seen: item(saidBy(entity.SourceRule, values{"exists": entity.Bool(false)})), now: values{"exists": entity.Bool(false)},
			want: []string{"false -> false: Replace Product x ..."}},
		{name: "what did not exist does", seen: item(saidBy(entity.SourceRule, values{"exists": entity.Bool(false)})), now: values{"reach": number(3)},
			want: []string{"false -> true: ..."}},
		{name: "what has a price does not exist", seen: item(readAt("$10")), now: values{"price": usd("$10"), "exists": entity.Bool(false)},
			want: []string{"true -> false: Replace Product x ..."}},
		{name: "a text says that it exists", seen: item(saidBy(entity.SourceRule, nil)), now: values{"exists": entity.Text("true")},
			want: []string{"type_mismatch: exists was seen as boolean and is now text ...", "nothing_compared: ..."}},
		{name: "a text says that what has a price exists", seen: item(readAt("$10")), now: values{"price": usd("$10"), "exists": entity.Text("true")},
			want: []string{"type_mismatch: exists is a text where a boolean is expected"}},
		{name: "sold out, as was read", seen: item(saidBy(entity.SourceRule, values{"availability": entity.Bool(false)})), now: values{"availability": entity.Bool(false)},
			want: []string{"unavailable -> unavailable: Replace ..."}},
		{name: "sold out where a number was read", seen: item(saidBy(entity.SourceRule, values{"availability": number(3)})), now: values{"availability": entity.Bool(false)},
			want: []string{"type_mismatch: ...", "nothing_compared: ...", "3 -> unavailable: Replace ..."}},
		{name: "available and sold out where a number was read too", seen: item(saidBy(entity.SourceRule, values{"availability": entity.Bool(true)}), saidBy(entity.SourceRule, values{"availability": number(3)})),
			now: values{"availability": entity.Bool(false)}, want: []string{"type_mismatch: ...", "nothing_compared: ...", "available -> unavailable: Replace ... as available and as 3: read it again before asking."}},
		{name: "and the number was read first", seen: item(saidBy(entity.SourceRule, values{"availability": number(3)}), saidBy(entity.SourceRule, values{"availability": entity.Bool(true)})),
			now: values{"availability": entity.Bool(false)}, want: []string{"type_mismatch: ...", "nothing_compared: ...", "available -> unavailable: Replace ... as available and as 3: read it again before asking."}},

		// What a policy that lets claims pass makes of them.
		{name: "allowed: the arguments alone", change: allow, seen: item(inArgs(nil)), now: values{"reach": number(1)}, want: []string{unseen}},
		{name: "allowed: a price in the arguments", change: allow, seen: item(inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")}, want: []string{unseen}},
		{name: "allowed: another price in the arguments", change: allow, seen: item(inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")}, want: []string{"$9 -> $10: ...", unseen}},
		{name: "allowed: two prices in the arguments", change: allow, seen: item(inArgs(values{"price": usd("$9")}), inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")}, want: []string{"$9 -> $10: ...", unseen}},
		{name: "allowed: what a person says and the arguments do not", change: allow, seen: item(saidBy(entity.SourceClaim, values{"price": usd("$9")}), inArgs(values{"reach": number(1)})), now: values{"price": usd("$10"), "reach": number(1)}, want: []string{"$9 -> $10: ...", unseen}},
		{name: "allowed: what a person says besides", change: allow, seen: item(saidBy(entity.SourceClaim, values{"price": usd("$9")}), inArgs(values{"price": usd("$10")})), now: values{"price": usd("$10")}, want: []string{unseen}},
		{name: "allowed: a price that the answer lacks", change: allow, seen: item(inArgs(values{"price": usd("$9")})), now: values{"reach": number(1)}, want: []string{"missing_attribute: ...", "nothing_compared: ...", unseen}},
		{name: "allowed: one attribute", change: allow, seen: item(readAt("$10"), inArgs(values{"reach": number(1)})), now: values{"price": usd("$10"), "reach": number(1)}, want: []string{"waived: nothing on record shows reach: ..."}},
		{name: "allowed: one attribute that differs", change: allow, seen: item(readAt("$10"), inArgs(values{"reach": number(1)})), now: values{"price": usd("$10"), "reach": number(2)}, want: []string{"1 -> 2: ...", "waived: nothing on record shows reach: ..."}},
		{name: "allowed: nothing but a quantity", change: allow, seen: item(inArgs(values{"quantity": number(1)})), now: values{"quantity": number(1)}, want: []string{"nothing_compared: ...", unseen}},
		{name: "allowed: a quantity of what is available", change: allow, seen: item(inArgs(values{"quantity": number(1)})), now: values{"availability": entity.Bool(true)}, want: []string{unseen}},
		{name: "allowed: what was read", change: allow, seen: item(readAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}},
		{name: "allowed: what was not read", change: allow, seen: item(unreadAt("$10"), inArgs(nil)), asked: true, now: values{"price": usd("$10")}, want: []string{"not_read: ..."}},
		{name: "allowed: arguments that differ", change: allow, seen: item(readAt("$10"), inArgs(values{"price": usd("$9")})), now: values{"price": usd("$10")}, want: []string{"argument_differs: ..."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.change, append([]entity.Canonical{test.seen}, test.others...)...)
			b.record.snap.Asked, b.record.snap.Expected = test.asked, test.rules
			b.world.states[test.seen.Key] = safety.State{Attributes: test.now}
			b.ask()
			said(t, b.check(), test.want...)
		})
	}
}

// said compares the failures, the alerts and what was waived in a report with what they are to say;
// "..." stands for the rest, or what is between.
func said(t *testing.T, r safety.Report, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Failures() {
		got = append(got, strings.TrimSuffix(f.Reason+": "+f.Detail+"; "+f.Remedy, "; "))
	}
	for _, a := range r.Alerts() {
		got = append(got, a.Before+" -> "+a.After+": "+a.Recommendation)
	}
	safe := len(got) == 0
	for _, e := range r.Entities() {
		for _, f := range e.Waived {
			got = append(got, "waived: "+f.Detail)
		}
	}
	if !slices.EqualFunc(got, want, like) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if r.IsSafeToApprove() != safe {
		t.Errorf("safe %t\n%s", r.IsSafeToApprove(), r.Summary())
	}
}

// like reports whether a text is as a pattern, in which "..." stands for anything.
func like(text, pattern string) bool {
	head, rest, open := strings.Cut(pattern, "...")
	if !open {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, strings.TrimSpace(head))
	for open && ok {
		if head, rest, open = strings.Cut(rest, "..."); open {
			_, text, ok = strings.Cut(text, strings.TrimSpace(head))
		}
	}
	return ok && strings.HasSuffix(text, strings.TrimSpace(head))
}

// A report names what was waived.
func TestWaived(t *testing.T) {
	b := newBench(t, ofType("Product", config.TypePolicy{Unseen: config.UnseenAllow}), item(inArgs(nil)))
	b.ask()
	r := b.check()
	const detail = "nothing on record shows it: no rule of the configuration shows it"
	want := []safety.Failure{{EntityType: "Product", Entity: "x", Reason: safety.ReasonNothingSeen, Detail: detail}}
	r.Entities()[0].Waived[0].Reason = "spoilt"
	if diff := cmp.Diff(want, r.Entities()[0].Waived); diff != "" {
		t.Errorf("waived (-want +got):\n%s", diff)
	}
	if !strings.Contains(r.Summary(), "  Waived           : nothing_seen: Product x: not seen ("+detail) {
		t.Errorf("not in the summary:\n%s", r.Summary())
	}
	if data, err := json.Marshal(r); err != nil || !strings.Contains(string(data), `"waived":[{"entity_type":"Product","entity":"x","reason":"nothing_seen","detail":"`+detail) {
		t.Errorf("as JSON: %s, %v", data, err)
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
	b := newBench(t, ruled("reach", config.Drift{Effect: config.EffectWarn}), seen...)
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
	rule := fits
	rule.Cost.Quantity = "quantity"
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
			b := newBench(t, all(within(rule), ruled("quantity", config.Drift{Optional: true})), item(readAt("$10"), inArgs(values{"quantity": number(2)})), thing("Budget", "b", values{"amount": usd("$20")}))
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
