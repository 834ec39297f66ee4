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

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// having gives an attribute of products a rule with a condition.
func having(name string, d config.Drift, more ...func(*config.TypePolicy, *config.Drift)) func(*safety.GuardConfig) {
	of := config.TypePolicy{Drift: map[string]config.Drift{}}
	for _, change := range more {
		change(&of, &d)
	}
	of.Drift[name] = d
	return ofType("Product", of)
}

// The keys of the conditions.
const (
	atLeast = "at_least"
	atMost  = "at_most"
	oneOf   = "one_of"
	equals  = "equals"
)

// conditioned gives a rule a condition.
func conditioned(d config.Drift, key string, v any) config.Drift {
	*map[string]*any{atLeast: &d.AtLeast, atMost: &d.AtMost, oneOf: &d.OneOf, equals: &d.Equals}[key] = v
	return d
}

func literal(key, text string) config.Drift {
	return conditioned(config.Drift{}, key, json.RawMessage(text))
}

func along(key, path string) config.Drift { return conditioned(config.Drift{}, key, path) }

func warns(_ *config.TypePolicy, r *config.Drift)          { r.Effect = config.EffectWarn }
func forgiven(_ *config.TypePolicy, r *config.Drift)       { r.Optional = true }
func ofOptional(of *config.TypePolicy, _ *config.Drift)    { of.Optional = true }
func unseenAllowed(of *config.TypePolicy, _ *config.Drift) { of.Unseen = config.UnseenAllow }

// reading is one reading of attributes that who asked had read.
func reading(attributes values) entity.Entity {
	return entity.Entity{Source: entity.SourceRule, Attributes: attributes, Read: true}
}

func free(n ...int64) entity.Canonical {
	var list []entity.Entity
	for _, n := range n {
		list = append(list, reading(values{"free": number(n)}))
	}
	return item(list...)
}

// TestCondition says what comes of a present value that meets a condition or does not, of what
// was read, and of conditions that cannot be evaluated.
func TestCondition(t *testing.T) {
	const unseen = "waived: nothing on record shows it: ..."
	atLeast8 := literal(atLeast, "8")
	day := func(n int) entity.Value { return entity.Time(epoch.AddDate(0, 0, n)) }
	date := fmt.Sprintf("%q", epoch.Format(time.RFC3339))
	acting := item(reading(values{"free": number(64)}), inArgs(nil))
	sparing := item(reading(values{"free": number(4)}), inArgs(nil))
	for _, test := range []struct {
		name   string
		change func(*safety.GuardConfig)
		seen   entity.Canonical
		now    values
		args   map[string]any
		places []string // of the entity
		want   []string // as in TestBasis
	}{
		{name: "less, and enough", change: having("free", atLeast8), seen: free(64), now: values{"free": number(63)}},
		{name: "more", change: having("free", atLeast8), seen: free(64), now: values{"free": number(65)}},
		{name: "just enough", change: having("free", atLeast8), seen: free(64), now: values{"free": number(8)}},
		{name: "too little", change: having("free", atLeast8), seen: free(64), now: values{"free": number(7)},
			want: []string{"64 -> 7: free of Product x is 7 now, and has to be at least 8: plan with one that meets that, and ask for approval of the new plan."}},
		{name: "too little, by a hair", change: having("free", atLeast8), seen: free(64), now: values{"free": must(entity.ParseNumber("7.999999999999999999999"))},
			want: []string{"64 -> 7.999999999999999999999: ..."}},
		{name: "minus zero", change: having("free", literal(atLeast, "-0")), seen: free(0), now: values{"free": must(entity.ParseNumber("-0"))}},
		{name: "less than nothing", change: having("free", literal(atLeast, "-0")), seen: free(0), now: values{"free": number(-1)}, want: []string{"0 -> -1: ..."}},
		{name: "at most", change: having("free", literal(atMost, "8")), seen: free(1), now: values{"free": number(8)}},
		{name: "more than at most", change: having("free", literal(atMost, "8")), seen: free(1), now: values{"free": number(9)}, want: []string{"1 -> 9: ... at most 8: ..."}},
		{name: "exactly", change: having("free", literal(equals, "8.0")), seen: free(8), now: values{"free": number(8)}},
		{name: "more than exactly", change: having("free", literal(equals, "8")), seen: free(8), now: values{"free": number(9)}, want: []string{"8 -> 9: ... exactly 8: ..."}},
		{name: "less than exactly", change: having("free", literal(equals, "8")), seen: free(8), now: values{"free": number(7)}, want: []string{"8 -> 7: ..."}},
		{name: "one of texts", change: having("state", literal(oneOf, `["passed","skipped"]`)), seen: item(reading(values{"state": entity.Text("passed")})), now: values{"state": entity.Text("skipped")}},
		{name: "none of texts", change: having("state", literal(oneOf, `["passed","skipped"]`)), seen: item(reading(values{"state": entity.Text("passed")})), now: values{"state": entity.Text("Passed")},
			want: []string{"passed -> Passed: state of Product x is Passed now, and has to be one of passed, skipped: ..."}},
		{name: "none of numbers between", change: having("free", literal(oneOf, "[2, 4]")), seen: free(2), now: values{"free": number(3)}, want: []string{"2 -> 3: ... one of 2, 4: ..."}},
		{name: "a number as a text", change: having("free", literal(atLeast, `"1,024"`)), seen: free(2000), now: values{"free": number(1024)}},
		{name: "a boolean", change: having("open", literal(equals, "true")), seen: item(reading(values{"open": entity.Bool(true)})), now: values{"open": entity.Bool(false)},
			want: []string{"true -> false: ... exactly true: ..."}},
		{name: "later", change: having("until", literal(atLeast, date)), seen: item(reading(values{"until": day(9)})), now: values{"until": day(1)}},
		{name: "earlier", change: having("until", literal(atLeast, date)), seen: item(reading(values{"until": day(9)})), now: values{"until": day(-1)}, want: []string{"... -> 2026-...: ..."}},
		{name: "at most a time", change: having("until", literal(atMost, date)), seen: item(reading(values{"until": day(-9)})), now: values{"until": day(1)}, want: []string{"... -> 2026-...: ..."}},

		// Money: an amount without a currency is one in that of the reading.
		{name: "an amount", change: having("price", literal(atMost, "50")), seen: item(readAt("$40")), now: values{"price": usd("$50")}},
		{name: "an amount with its sign", change: having("price", literal(atMost, `"$50"`)), seen: item(readAt("$40")), now: values{"price": usd("$50.01")}, want: []string{"$40 -> $50.01: ... at most $50: ..."}},
		{name: "an amount in another currency", change: having("price", literal(atMost, `"€50"`)), seen: item(readAt("$40")), now: values{"price": usd("$40")},
			want: []string{"policy: price has to be at most €50, which cannot be evaluated: money in EUR cannot be compared with money in USD"}},
		{name: "now in another currency", change: having("price", literal(atMost, "50")), seen: item(readAt("$40")), now: values{"price": usd("€30")},
			want: []string{"type_mismatch: price was seen as money in USD and is now money in EUR, which cannot be compared", "nothing_compared: ...", "$40 -> €30: ..."}},
		{name: "now more in another currency", change: having("price", literal(atLeast, "30")), seen: item(readAt("$40")), now: values{"price": usd("€60")},
			want: []string{"type_mismatch: ...", "nothing_compared: ...", "$40 -> €60: ..."}},
		{name: "now without a currency", change: having("price", literal(atMost, "50")), seen: item(readAt("$40")), now: values{"price": must(entity.Money("40", ""))},
			want: []string{"type_mismatch: ... give the one without a currency its currency, where it is read", "nothing_compared: ..."}},
		{name: "exactly an amount, in another currency", change: having("price", literal(oneOf, `["$40","€40"]`)), seen: item(readAt("$40")), now: values{"price": usd("€40")}},
		{name: "another amount in another currency", change: having("price", literal(equals, "40")), seen: item(readAt("$40")), now: values{"price": usd("€40")}, want: []string{"$40 -> €40: ..."}},

		// The reading is required as before, and has to have met it.
		{name: "a reading that did not meet it", change: having("free", atLeast8), seen: free(7), now: values{"free": number(64)},
			want: []string{"condition_unmet: free is 7 on record, and has to be at least 8: plan with one that meets that, or read it again, then ask again"}},
		{name: "neither met it", change: having("free", atLeast8), seen: free(7), now: values{"free": number(7)}, want: []string{"condition_unmet: ..."}},
		{name: "neither met it, and it changed", change: having("free", atLeast8), seen: free(7), now: values{"free": number(6)}, want: []string{"condition_unmet: ...", "7 -> 6: ... of the new plan."}},
		{name: "several readings met it", change: having("free", atLeast8), seen: free(9, 64, 8), now: values{"free": number(10)}},
		{name: "one of several did not", change: having("free", atLeast8), seen: free(64, 7, 32), now: values{"free": number(10)}, want: []string{"condition_unmet: free is 7 on record...then ask again"}},
		{name: "two readings and too little now", change: having("free", atLeast8), seen: free(64, 32), now: values{"free": number(1)}, want: []string{"32 -> 1: ... of the new plan."}},
		{name: "a reading of another kind", change: having("free", atLeast8), seen: item(reading(values{"free": entity.Text("64")}), reading(values{"free": number(64)})), now: values{"free": number(64)},
			want: []string{"condition_unmet: free is 64 on record...", "type_mismatch: ...", "nothing_compared: ..."}},
		{name: "a reading in another currency", change: having("price", literal(atMost, "50")), seen: item(readAt("€40"), readAt("$40")), now: values{"price": usd("$40")},
			want: []string{"condition_unmet: price is €40 on record, and has to be at most $50: ...", "type_mismatch: price was seen as money in EUR and is now money in USD, which cannot be compared", "nothing_compared: ..."}},
		{name: "now of another kind", change: having("free", atLeast8), seen: free(64), now: values{"free": entity.Text("64")}, want: []string{"type_mismatch: ...", "nothing_compared: ..."}},
		{name: "not in the answer", change: having("free", atLeast8), seen: free(64), now: values{"reach": number(1)}, want: []string{"missing_attribute: ...", "nothing_compared: ..."}},
		{name: "never read", change: having("free", atLeast8), seen: item(readAt("$10")), now: values{"free": number(64), "price": usd("$10")},
			want: []string{"nothing_seen: nothing on record shows free, on which there is a condition: no rule of the configuration shows it"}},
		{name: "never read, and named alone", change: having("free", atLeast8), seen: item(inArgs(nil)), now: values{"free": number(64)},
			want: []string{"nothing_seen: nothing on record shows it: ...", "nothing_seen: nothing on record shows free, ..."}},
		{name: "an echo", change: having("free", atLeast8), seen: item(entity.Entity{Source: entity.SourceRule, Attributes: values{"free": number(64)}, Echoes: []string{"free"}}), now: values{"free": number(64)},
			want: []string{"nothing_seen: ..."}},
		{name: "sold out", change: having("availability", literal(oneOf, "[true, false]")), seen: item(reading(values{"availability": entity.Bool(true)})), now: values{"availability": entity.Bool(false)},
			want: []string{"available -> unavailable: Replace Product x with one that is available, ..."}},
		{name: "gone, and enough", change: having("free", atLeast8), seen: free(64), now: values{"free": number(64), "exists": entity.Bool(false)}, want: []string{"true -> false: ..."}},

		// What the arguments of the action say of the attribute has to meet it too.
		{name: "the arguments meet it", change: having("free", atLeast8), seen: item(reading(values{"free": number(64)}), inArgs(values{"free": number(10)})), now: values{"free": number(64)}, places: []string{"$"}},
		{name: "the arguments do not", change: having("free", atLeast8), seen: item(reading(values{"free": number(64)}), inArgs(values{"free": number(7)})), now: values{"free": number(64)}, places: []string{"$"},
			want: []string{"argument_differs: free is 7 in the arguments, was read as 64 and has to be at least 8: plan with one that meets that, then ask again"}},
		{name: "the arguments say another kind", change: having("free", literal(equals, "64")), seen: item(reading(values{"free": number(64)}), inArgs(values{"free": entity.Text("64")})), now: values{"free": number(64)}, places: []string{"$"},
			want: []string{"argument_differs: ..."}},

		// Rules that are laxer otherwise.
		{name: "a warning", change: having("free", atLeast8, warns), seen: free(64), now: values{"free": number(7)}},
		{name: "a warning, and a reading that did not meet it", change: having("free", atLeast8, warns), seen: free(7), now: values{"free": number(64)}, want: []string{"condition_unmet: ..."}},
		{name: "optional and not in the answer", change: having("free", atLeast8, forgiven), seen: item(reading(values{"free": number(64), "price": usd("$1")})), now: values{"price": usd("$1")}},
		{name: "optional and never read", change: having("free", atLeast8, forgiven), seen: item(readAt("$10")), now: values{"price": usd("$10"), "free": number(1)}},
		{name: "optional and too little", change: having("free", atLeast8, forgiven), seen: free(64), now: values{"free": number(7)}, want: []string{"64 -> 7: ..."}},
		{name: "optional and the path selects nothing", change: having("free", along(atLeast, "$.cpus"), forgiven), seen: free(64), now: values{"free": number(64)}, want: []string{"policy: ..."}},
		{name: "an optional type and too little", change: having("free", atLeast8, ofOptional), seen: free(64), now: values{"free": number(7)}, want: []string{"64 -> 7: ..."}},
		{name: "an optional type and a reading that did not meet it", change: having("free", atLeast8, ofOptional), seen: free(7), now: values{"free": number(64)}, want: []string{"condition_unmet: ..."}},
		{name: "an optional type and a path that selects nothing", change: having("free", along(atLeast, "$.cpus"), ofOptional), seen: free(64), now: values{"free": number(7)}, want: []string{"policy: ..."}},
		{name: "an optional type that lacks something else", change: having("free", atLeast8, ofOptional), seen: item(reading(values{"free": number(64), "reach": number(1)})), now: values{"free": number(64)},
			want: []string{"no_entities: nothing is left to check: ..."}},
		{name: "an optional type with two conditions, one not met by what was read", change: having("free", atLeast8, ofOptional, func(of *config.TypePolicy, _ *config.Drift) {
			of.Drift["cores"] = atLeast8
		}), seen: item(reading(values{"free": number(64), "cores": number(7)})), now: values{"free": number(64), "cores": number(8)}, want: []string{"condition_unmet: cores is 7 on record..."}},
		{name: "unseen, and the arguments meet it", change: having("free", atLeast8, unseenAllowed), seen: item(inArgs(values{"free": number(9)})), now: values{"free": number(64)}, places: []string{"$"}, want: []string{unseen}},
		{name: "unseen, and the arguments do not", change: having("free", atLeast8, unseenAllowed), seen: item(inArgs(values{"free": number(7)})), now: values{"free": number(64)}, places: []string{"$"},
			want: []string{"condition_unmet: free is 7 on record...", unseen}},
		{name: "unseen, and nobody says it", change: having("free", atLeast8, unseenAllowed), seen: item(inArgs(nil)), now: values{"free": number(64)}, places: []string{"$"},
			want: []string{"nothing_seen: nothing on record shows free, on which there is a condition: ...", unseen}},
		{name: "unseen, and too little now", change: having("free", atLeast8, unseenAllowed), seen: item(inArgs(values{"free": number(9)})), now: values{"free": number(7)}, places: []string{"$"}, want: []string{"9 -> 7: ...", unseen}},

		// Literals that are no values of the kind that was read.
		{name: "a text has no order", change: having("state", literal(atLeast, `"b"`)), seen: item(reading(values{"state": entity.Text("c")})), now: values{"state": entity.Text("c")},
			want: []string{"policy: state has to be at least b, which cannot be evaluated: a text has no order; use one_of or equals"}},
		{name: "a boolean has no order", change: having("open", literal(atMost, "true")), seen: item(reading(values{"open": entity.Bool(true)})), now: values{"open": entity.Bool(true)}, want: []string{"policy: ... a boolean has no order; use one_of or equals"}},
		{name: "a word is no number", change: having("free", literal(atLeast, `"plenty"`)), seen: free(64), now: values{"free": number(64)},
			want: []string{`policy: free has to be at least plenty, which cannot be evaluated: "plenty" is not a decimal number...`}},
		{name: "gone, where it cannot be evaluated", change: having("availability", literal(equals, `"yes"`)), seen: item(reading(values{"availability": entity.Bool(true)})), now: values{"availability": entity.Bool(false)},
			want: []string{"policy: ...", "available -> unavailable: Replace Product x with one that is available, ..."}},

		// Paths.
		{name: "from the root", change: having("free", along(atLeast, "$.plan.cpus")), seen: free(64), now: values{"free": number(8)}, args: map[string]any{"plan": map[string]any{"cpus": 8}}},
		{name: "from the root, not met", change: having("free", along(atLeast, "$.plan.cpus")), seen: free(64), now: values{"free": number(7)}, args: map[string]any{"plan": map[string]any{"cpus": 8}},
			want: []string{"64 -> 7: ... at least 8: ..."}},
		{name: "from its node", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(8)}, places: []string{"$['jobs'][1]"},
			args: map[string]any{"cpus": 99, "jobs": []any{map[string]any{"cpus": 99}, map[string]any{"cpus": 8}}}},
		{name: "from both of its nodes", change: having("free", along(atMost, "$.cpus")), seen: sparing, now: values{"free": number(9)}, places: []string{"$['jobs'][0]", "$['jobs'][1]", "$['jobs'][2]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 8}, map[string]any{"cpus": 16}, map[string]any{"cpus": 8.0}}}, want: []string{"4 -> 9: ... at most 8 and at most 16: ..."}},
		{name: "one of its nodes does not say", change: having("free", along(atMost, "$.cpus")), seen: sparing, now: values{"free": number(4)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 8}, map[string]any{}}},
			want: []string{"policy: free has to be at most $.cpus, which cannot be evaluated: $.cpus from $['jobs'][1] in the arguments: it selects nothing, or null; have the call say it there, or change the path in guard.types.Product.drift"}},
		{name: "one of its nodes says no number", change: having("free", along(atMost, "$.cpus")), seen: sparing, now: values{"free": number(9)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 8}, map[string]any{"cpus": "all"}}},
			want: []string{`policy: free has to be at most 8 and at most all, which cannot be evaluated: "all" is not ...`, "4 -> 9: ..."}},
		{name: "needs add up", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(24)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 8}, map[string]any{"cpus": 16}}}},
		{name: "needs add up to more", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(15)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 8}, map[string]any{"cpus": 8}}}, want: []string{"64 -> 15: free of Product x is 15 now, and has to be at least 16 in all: ..."}},
		{name: "needs add up to more than was read", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(99)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 33}, map[string]any{"cpus": "32"}}}, want: []string{"condition_unmet: free is 64 on record, and has to be at least 65 in all: ..."}},
		{name: "amounts that are needed add up", change: having("price", along(atLeast, "$.n")), seen: item(readAt("$40"), inArgs(nil)), now: values{"price": usd("$39")}, places: []string{"$['a']", "$['b']"},
			args: map[string]any{"a": map[string]any{"n": 20}, "b": map[string]any{"n": "$20"}}, want: []string{"$40 -> $39: ... at least $40 in all: ..."}},
		{name: "a need takes nothing off another", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(64)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"cpus": 80}, map[string]any{"cpus": -20}}},
			want: []string{"policy: free has to be at least 80 and at least -20, which cannot be evaluated: the action names it 2 times, and what it needs cannot be added up, for one need is negative: -20: have the call name it once, in one spelling", "condition_unmet: ..."}},
		{name: "times do not add up", change: having("until", along(atLeast, "$.day")), seen: item(reading(values{"until": day(9)}), inArgs(nil)), now: values{"until": day(9)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"},
			args: map[string]any{"jobs": []any{map[string]any{"day": epoch.Format(time.RFC3339)}, map[string]any{"day": epoch.Format(time.RFC3339)}}},
			want: []string{"policy: ... for one need is a time where a number is expected: ..."}},
		{name: "a literal, named twice", change: having("free", atLeast8), seen: acting, now: values{"free": number(63)}, places: []string{"$['jobs'][0]", "$['jobs'][1]"}},
		{name: "the whole argument", change: having("free", along(atLeast, "$")), seen: acting, now: values{"free": number(8)}, places: []string{"$['cpus']"}, args: map[string]any{"cpus": 8}},
		{name: "a list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(4)}, args: map[string]any{"any": []any{2, 4, 8}}},
		{name: "a list without it", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(3)}, args: map[string]any{"any": []any{2, 4}}, want: []string{"2 -> 3: ... one of 2, 4: ..."}},
		{name: "no list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": 2}, want: []string{"policy: ... it is not a list, which one_of needs; ..."}},
		{name: "several instead of a list", change: having("free", along(oneOf, "$.any[*]")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": []any{2, 4}}, want: []string{"policy: ... 2 values where one is expected; ..."}},
		{name: "an empty list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": []any{}}, want: []string{"policy: ... the list is empty, ..."}},
		{name: "the longest list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": slices.Repeat([]any{2}, 100)}},
		{name: "a longer list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": slices.Repeat([]any{2}, 101)},
			want: []string{"policy: ... the list has 101 values; use at most 100; ..."}},
		{name: "a list with a list", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": []any{2, []any{3}}}, want: []string{"policy: ... a list is no value to compare with; ..."}},
		{name: "a list with null", change: having("free", along(oneOf, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": []any{2, nil}}, want: []string{"policy: ... null is no value; ..."}},
		{name: "a list for one value", change: having("free", along(atLeast, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": []any{2}}, want: []string{"policy: ... a list is no value to compare with; ..."}},
		{name: "an object", change: having("free", along(atLeast, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": map[string]any{"n": 2}}, want: []string{"policy: ... an object is no value to compare with; ..."}},
		{name: "null", change: having("free", along(atLeast, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": nil}, want: []string{"policy: ... it selects nothing, or null; ..."}},
		{name: "a boolean for a number", change: having("free", along(atLeast, "$.any")), seen: free(2), now: values{"free": number(2)}, args: map[string]any{"any": true}, want: []string{"policy: ... true is a boolean, not a number"}},
		{name: "a key that folds", change: having("free", along(atLeast, "$.cpus")), seen: free(64), now: values{"free": number(64)}, args: map[string]any{"CPUS": 1, "\u017fpus": 1}, want: []string{"policy: ..."}},
		{name: "two that a path selects", change: having("free", along(atLeast, "$..cpus")), seen: free(64), now: values{"free": number(64)}, args: map[string]any{"cpus": 1, "a": map[string]any{"cpus": 9}}, want: []string{"policy: ... 2 values where one is expected; ..."}},
		{name: "one that a filter selects", change: having("free", along(atLeast, "$.jobs[?length(@.name) == 1].cpus")), seen: free(64), now: values{"free": number(8)},
			args: map[string]any{"jobs": []any{map[string]any{"name": "a", "cpus": 9}, map[string]any{"name": "bb", "cpus": 1}}}, want: []string{"64 -> 8: ... at least 9: ..."}},
		{name: "an action that is not placed", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(64)}, args: map[string]any{"cpus": 1},
			want: []string{"policy: ... the record does not say where the action names the entity"}},
		{name: "a place that is none", change: having("free", along(atLeast, "$.cpus")), seen: acting, now: values{"free": number(64)}, places: []string{"$["}, args: map[string]any{"cpus": 1}, want: []string{"policy: ..."}},
		{name: "a place that is many", change: having("free", along(atLeast, "$")), seen: acting, now: values{"free": number(64)}, places: []string{"$.*"}, args: map[string]any{"a": 1, "b": 1}, want: []string{"policy: ... 2 values where one is expected; ..."}},
		{name: "a place that is missing", change: having("free", along(atLeast, "$")), seen: acting, now: values{"free": number(64)}, places: []string{"$['jobs']"}, args: map[string]any{"a": 1}, want: []string{"policy: ..."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.change, test.seen)
			b.record.snap.Places = map[string][]string{test.seen.Key: test.places}
			b.world.states[test.seen.Key] = safety.State{Attributes: test.now}
			if test.args != nil {
				b.args = test.args
			}
			b.ask()
			said(t, b.check(), test.want...)
		})
	}
}

// Without a request there are no arguments.
func TestConditionOfASession(t *testing.T) {
	b := newBench(t, having("free", along(atLeast, "$.cpus")), free(64))
	said(t, b.check(), "policy: free has to be at least $.cpus, which cannot be evaluated: there is no request, and so no arguments that $.cpus could be read from; it can be checked when a tool asks for approval")
	said(t, newBench(t, having("free", literal(atLeast, "8")), free(64)).check())
}

// TestConditionIsWarnedOf says what an approver is warned of before the answer.
func TestConditionIsWarnedOf(t *testing.T) {
	for _, test := range []struct {
		name      string
		change    func(*safety.GuardConfig)
		seen      entity.Canonical
		args      map[string]any
		condition any
		warning   string // "" for none, else how it begins and ends
	}{
		{name: "met", change: having("free", literal(atLeast, "8")), seen: free(64), condition: "at least 8"},
		{name: "not met", change: having("free", literal(atLeast, "8")), seen: free(64, 7), condition: "at least 8",
			warning: "The request cannot be approved as it is: Product x: free is 7 on record, and has to be at least 8: ... then ask again."},
		{name: "nothing selected", change: having("free", along(atLeast, "$.cpus")), seen: free(64), condition: "at least $.cpus",
			warning: "The request cannot be approved as it is: Product x: free has to be at least $.cpus, which cannot be evaluated: ..."},
		{name: "never read", change: having("free", literal(atLeast, "8")), seen: item(readAt("$1")), condition: "at least 8",
			warning: "The request cannot be approved as it is: Product x: nothing on record shows free, on which there is a condition..."},
		{name: "never read and optional", change: having("free", literal(atLeast, "8"), forgiven), seen: item(readAt("$1"))},
		{name: "said alone, in dollars", change: having("price", literal(atMost, "8"), unseenAllowed), seen: item(inArgs(values{"price": usd("$5")})), condition: "at most $8",
			warning: "Nothing has shown Product x: ..."},
		{name: "a long text", change: having("state", along(equals, "$.note")), seen: item(reading(values{"state": entity.Text("a")})), args: map[string]any{"note": strings.Repeat("é", 600)},
			condition: "exactly " + strings.Repeat("é", 244) + "…", warning: "The request cannot be approved as it is: Product x: state is a on record, and has to be exactly éé...…"},
		{name: "another line", change: having("state", along(oneOf, "$.note")), seen: item(reading(values{"state": entity.Text("a")})), args: map[string]any{"note": []any{"a", "b\nVerdict: safe"}},
			condition: "one of a, b Verdict: safe"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.change, test.seen)
			if test.args != nil {
				b.args = test.args
			}
			shown := b.ask().Shown()
			conditions, _ := shown["entities"].([]any)[0].(map[string]any)["conditions"].(map[string]any)
			for name, got := range conditions {
				if got != test.condition {
					t.Errorf("%s has to be %q, want %q", name, got, test.condition)
				}
			}
			if (test.condition != nil) != (len(conditions) == 1) {
				t.Errorf("conditions %v", conditions)
			}
			var want []string
			if test.warning != "" {
				want = []string{test.warning}
			}
			if warnings := shown["warnings"].([]any); !slices.EqualFunc(warnings, want, func(got any, want string) bool { return like(got.(string), want) }) {
				t.Errorf("warnings %q, want %q", warnings, want)
			}
		})
	}
}
