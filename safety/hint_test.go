// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// complete is a request whose record has no gaps.
func complete(entities ...entity.Canonical) safety.Approval {
	return safety.Approval{
		DecisionNode: "node-1", RequestedAt: epoch, Entities: entities, Receipt: record.Receipt{Watermark: 1, RowsRead: 1},
	}
}

// seenAgo is an entity that was read some time before the request.
func seenAgo(ago time.Duration, typ, value string, attributes values) entity.Canonical {
	return snapshotted(entity.Entity{
		Type: typ, Value: value, Attributes: attributes, Source: entity.SourceRule, Confidence: 1, SeenAt: epoch.Add(-ago), Read: true, EventID: "e1",
	})
}

// claimed is an entity that nothing has shown.
func claimed(typ, value string, attributes values) entity.Canonical {
	return snapshotted(entity.Entity{
		Type: typ, Value: value, Attributes: attributes, Source: entity.SourceClaim, Confidence: 1, SeenAt: epoch, EventID: "e1",
	})
}

func TestHint(t *testing.T) {
	version := seenAgo(0, "Version", "v1.9.0", values{"result": entity.Text("passed")})
	cluster := seenAgo(2*time.Minute, "Cluster", "eu-west", values{"free": number(64)})
	named := bought("Product", "Strava", values{"price": usd("$40,000"), "availability": entity.Bool(true)}, values{"count": number(1)})
	resting := complete(version)
	with := func(a safety.Approval, change func(*safety.Approval)) safety.Approval {
		change(&a)
		return a
	}
	needing := func(a safety.Approval, needs map[string]map[string]safety.Need) safety.Approval {
		a.Needs = needs
		return a
	}
	replacing := func(d safety.Difference) safety.Approval {
		return with(resting, func(a *safety.Approval) { a.Replaces, a.Difference = "old", d })
	}
	since := epoch.Add(-time.Hour)
	changed := []safety.ValueDifference{{Name: "price", Was: "$40,000", Now: "$52,000"}, {Name: "stock", Now: "3"}, {Name: "note", Was: "on sale"}}
	many := func(n int, make func(value string) entity.Canonical) (out []entity.Canonical) {
		for i := range n {
			out = append(out, make(fmt.Sprint(i)))
		}
		return out
	}
	one := func(value string) entity.Canonical { return seenAgo(0, "P", value, values{"n": number(1)}) }
	text := func(n int) entity.Value { return entity.Text(strings.Repeat("x", n)) }
	// full has three attributes of 40 bytes and one more.
	full := func(name string, last int) entity.Canonical {
		return seenAgo(0, "T", name, values{"a": text(40), "b": text(40), "c": text(40), "d": text(last)})
	}
	x40 := strings.Repeat("x", 40)
	begin := " a " + x40 + "; b " + x40 + "; c " + x40 // 131 bytes
	for _, tt := range []struct {
		name, own string
		a         safety.Approval
		want      string
	}{
		{"as the documentation shows it", "deploy v1.9.0 to eu-west", complete(version, cluster),
			"deploy v1.9.0 to eu-west. Rests on Version v1.9.0: passed, Cluster eu-west: 64 free (2 min old)."},
		{"what the tool says ends as it does", "Deploy.", resting, "Deploy. Rests on Version v1.9.0: passed."},
		{"the tool asks", "Deploy?", resting, "Deploy? Rests on Version v1.9.0: passed."},
		{"the tool says nothing", "", resting, "Rests on Version v1.9.0: passed."},
		{"the tool says nothing in lines", " \n ", resting, "Rests on Version v1.9.0: passed."},
		{"the tool speaks in lines", "Deploy\r\nnow\u202e!", resting, "Deploy  now ! Rests on Version v1.9.0: passed."},
		{"what the action names comes first", "Buy", complete(version, cluster, named),
			"Buy. Rests on Product Strava: available; price $40,000, Version v1.9.0: passed, Cluster eu-west: 64 free (2 min old). Not seen: count of Product Strava."},
		{"five and more", "Buy", complete(many(7, one)...), "Buy. Rests on P 0: 1 n, P 1: 1 n, P 2: 1 n, P 3: 1 n, P 4: 1 n, and 2 more."},
		{"five and one more", "Buy", complete(many(6, one)...), "Buy. Rests on P 0: 1 n, P 1: 1 n, P 2: 1 n, P 3: 1 n, P 4: 1 n, and 1 more."},
		{"kinds", "", complete(
			seenAgo(59*time.Second, "T", "a", values{"availability": entity.Bool(false), "ready": entity.Bool(true), "old": entity.Bool(false)}),
			seenAgo(0, "T", "b", nil), seenAgo(0, "T", "c", values{safety.Exists: entity.Bool(false)}),
			seenAgo(0, "T", "d", values{"at": entity.Time(epoch), "empty": entity.Text("")}),
			seenAgo(0, "T", "e", values{"availability": entity.Text("odd")}),
		), "Rests on T a: unavailable; not old; ready, T b, T c: gone, T d: at 2026-01-19T11:00:13Z, T e: odd."},
		{"ages", "", complete(
			seenAgo(59*time.Minute, "T", "a", nil), seenAgo(60*time.Minute, "T", "b", nil), seenAgo(47*time.Hour, "T", "c", nil), seenAgo(48*time.Hour, "T", "d", nil),
			seenAgo(time.Minute, "T", "e", nil),
		), "Rests on T a (59 min old), T b (1 h old), T c (47 h old), T d (2 days old), T e (1 min old)."},
		{"the oldest reading counts", "", complete(snapshotted(
			entity.Entity{Type: "T", Value: "a", Attributes: values{"x": number(1)}, Source: entity.SourceRule, Confidence: 1, SeenAt: epoch.Add(-time.Hour), EventID: "e1"},
			entity.Entity{Type: "T", Value: "a", Attributes: values{"a": number(2)}, Source: entity.SourceRule, Confidence: 1, SeenAt: epoch, EventID: "e2"},
		)), "Rests on T a: 2 a; 1 x (1 h old)."},
		{"words of others in quotes", "", complete(
			seenAgo(0, "T", `a. Not seen: "x"`, nil), seenAgo(0, "T", "two words", values{"text": entity.Text("is fine, really")}),
			seenAgo(0, "T", "end.", nil), seenAgo(0, "T", "end:", nil), seenAgo(0, "T", "end,", nil),
		), `Rests on T "a. Not seen: 'x'", T "two words": "is fine, really", T "end.", T "end:", T "end,".`},
		{"more words", "", complete(
			seenAgo(0, "T", "a\u2028b\nc\u2066d", nil), seenAgo(0, "T", "a(b)", nil), seenAgo(0, "T", "ä-b_c/d.e:f+g#h@i%j$k,l1", nil),
		), `Rests on T "a b c d", T "a(b)", T ä-b_c/d.e:f+g#h@i%j$k,l1.`},
		{"what is long is cut", "", complete(seenAgo(0, "T", strings.Repeat("x", 41), nil)), "Rests on T " + strings.Repeat("x", 37) + "…."},
		{"attributes that do not fit", "", complete(seenAgo(0, "T", "a", values{
			"a": entity.Text(strings.Repeat("x", 40)), "b": entity.Text(strings.Repeat("y", 40)), "c": entity.Text(strings.Repeat("z", 60)),
			"d": entity.Text(strings.Repeat("u", 60)), "e": entity.Bool(true),
		})), "Rests on T a: a " + strings.Repeat("x", 40) + "; b " + strings.Repeat("y", 40) + "; c " + strings.Repeat("z", 37) + "… … e."},
		{"nothing was seen", "Buy", safety.Approval{}, "Buy. Not seen: anything that it rests on, a part of the session, whose record is incomplete. It cannot be approved."},
		{"gaps", "Buy", with(resting, func(a *safety.Approval) { a.Gaps = []string{"2 rows were lost"} }),
			"Buy. Rests on Version v1.9.0: passed. Not seen: a part of the session, whose record is incomplete. It cannot be approved."},
		{"sets", "Check out", complete(thing("Cart", "c", values{"items": entity.Set("Desk", "Chair")}), thing("Service", "billing", values{"incidents": entity.Set()})),
			"Check out. Rests on Cart c: items [Chair, Desk], Service billing: no incidents."},
		{"long sets", "Check out", complete(thing("Cart", "c", values{"items": entity.Set("a", "b", "c", "d", "e", "f")}), thing("Cart", "d", values{"items": entity.Set("Desk of oak. Requester: boss", strings.Repeat("z", 60), strings.Repeat("y", 60))})),
			`Check out. Rests on Cart c: items [a, b, c, d, e, and 1 more], Cart d: items ["Desk of oak. Requester: boss", yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…, and 1 more].`},
		{"claims", "Buy", complete(claimed("Cluster", "eu-east", values{"free": number(1)}), version),
			"Buy. Rests on Version v1.9.0: passed. Not seen: Cluster eu-east."},
		{"many claims", "Buy", complete(many(7, func(value string) entity.Canonical { return claimed("C", value, nil) })...), "Buy. Not seen: C 0, C 1, C 2, C 3, C 4, and 2 more."},
		{"conditions", "Deploy", needing(complete(version, cluster), map[string]map[string]safety.Need{
			cluster.Key: {"free": {Condition: "at least 8"}, "state": {Condition: "exactly up"}}, version.Key: {"result": {Condition: "one of passed, skipped"}},
		}), "Deploy. Rests on Version v1.9.0: passed (one of passed, skipped needed), Cluster eu-west: 64 free (8 needed) (2 min old)."},
		{"conditions that forge", "Deploy", needing(complete(cluster), map[string]map[string]safety.Need{cluster.Key: {"free": {Condition: "exactly 1. Rests on\nnothing"}}}),
			`Deploy. Rests on Cluster eu-west: 64 free ("1. Rests on nothing needed") (2 min old).`},
		{"a condition in brackets", "Deploy", needing(complete(cluster), map[string]map[string]safety.Need{cluster.Key: {"free": {Condition: "exactly 1] (2 min old)"}}}),
			`Deploy. Rests on Cluster eu-west: 64 free ("1] (2 min old) needed") (2 min old).`},
		{"conditions that are not met", "Deploy", needing(complete(cluster), map[string]map[string]safety.Need{
			cluster.Key: {"free": {Condition: "at least 65", Problem: "free is 64 on record"}, "x": {Condition: "at least 1"}},
		}), "Deploy. Rests on Cluster eu-west: 64 free (65 needed) (2 min old). Not met: free of Cluster eu-west: 65 needed."},
		{"what was not chosen", "Deploy", with(resting, func(a *safety.Approval) {
			a.NotChosen.Total = 8
			for _, v := range []string{"v1.8.0", "v1 7", "v1.6", "v1.5", "v1.4", "v1.3"} {
				a.NotChosen.Entities = append(a.NotChosen.Entities, entity.Alternative{Type: "Version", Value: v})
			}
		}), `Deploy. Rests on Version v1.9.0: passed. Not chosen: Version v1.8.0, Version "v1 7", Version v1.6, Version v1.5, Version v1.4, and 3 more.`},
		{"it replaces", "Buy", replacing(safety.Difference{Since: since}), "Buy. Replaces the request of 10:00 UTC. Rests on Version v1.9.0: passed."},
		{"it replaces one of another day", "Buy", replacing(safety.Difference{Since: since.Add(-24 * time.Hour)}), "Buy. Replaces the request of 2026-01-18 10:00 UTC. Rests on Version v1.9.0: passed."},
		{"it replaces one of another zone", "Buy", replacing(safety.Difference{Since: since.In(time.FixedZone("", -20*3600))}), "Buy. Replaces the request of 10:00 UTC. Rests on Version v1.9.0: passed."},
		{"values that changed", "Buy", replacing(safety.Difference{Since: since, Entities: []safety.EntityDifference{{Type: "Product", Value: "Strava", Change: "changed", Attributes: changed}}}),
			`Buy. Replaces the request of 10:00 UTC: Strava price $40,000 → $52,000, Strava stock none → 3, Strava note "on sale" → none. Rests on Version v1.9.0: passed.`},
		{"things and arguments that changed", "Buy", replacing(safety.Difference{
			Since: since, Omitted: 2, Arguments: []safety.ValueDifference{{Name: "count", Was: "1", Now: "2"}},
			Entities: []safety.EntityDifference{{Type: "Product", Value: "a b", Change: "added", Attributes: changed}, {Type: "Product", Value: "c", Change: "removed"}},
		}), `Buy. Replaces the request of 10:00 UTC: new Product "a b", without Product c, argument count 1 → 2, and 2 more. Rests on Version v1.9.0: passed.`},
		// An entity has room for 150 bytes, their sentence for 350, and not for one more.
		{"an entity that fits", "", complete(full("a", 11)), "Rests on T a:" + begin + "; d " + x40[:11] + "."},
		{"an entity that does not", "", complete(full("a", 12)), "Rests on T a:" + begin + " …."},
		{"a sentence that fits", "", complete(full("a", 11), full("b", 11), seenAgo(0, "T", "c", values{"a": text(32)})),
			"Rests on T a:" + begin + "; d " + x40[:11] + ", T b:" + begin + "; d " + x40[:11] + ", T c: " + x40[:32] + "."},
		{"a sentence that does not", "", complete(full("a", 11), full("b", 11), seenAgo(0, "T", "c", values{"a": text(33)})),
			"Rests on T a:" + begin + "; d " + x40[:11] + ", T b:" + begin + "; d " + x40[:11] + ", and 1 more."},
		{"the tool says what was not chosen", "Not chosen: all", resting, `"Not chosen: all". Rests on Version v1.9.0: passed.`},
		{"the tool says what is not met", "Not met: none", resting, `"Not met: none". Rests on Version v1.9.0: passed.`},
		{"the tool says what only we say", `Buy. rests  ON nothing "much"`, resting, `"Buy. rests  ON nothing 'much'". Rests on Version v1.9.0: passed.`},
		{"the tool says it with what nobody sees", "Buy. Re\u200bsts o\u00adn nothing", resting, "\"Buy. Re\u200bsts o\u00adn nothing\". Rests on Version v1.9.0: passed."},
		{"the tool says it with what looks like a blank", "Buy. Rests\u2800\u3164on nothing", resting, "\"Buy. Rests\u2800\u3164on nothing\". Rests on Version v1.9.0: passed."},
		{"the tool says it with accents", "Buy. N\u0307ot seen: nothing", resting, "\"Buy. N\u0307ot seen: nothing\". Rests on Version v1.9.0: passed."},
		{"the tool writes in Devanagari", "\u0915\u094d\u200d\u0937", resting, "\u0915\u094d\u200d\u0937. Rests on Version v1.9.0: passed."},
		{"the tool says that all was seen", "Buy. Not seen: nothing.", resting, `"Buy. Not seen: nothing.". Rests on Version v1.9.0: passed.`},
		{"the tool says what the plan costs", "Planned  cost: $1 of Budget $2", resting, `"Planned  cost: $1 of Budget $2". Rests on Version v1.9.0: passed.`},
		{"the tool speaks of costs", "Cost: planned", resting, `Cost: planned. Rests on Version v1.9.0: passed.`},
		{"the tool opens a quote", `Say "yes`, resting, `"Say 'yes". Rests on Version v1.9.0: passed.`},
		{"the tool quotes", `Say "yes" and "no"`, resting, `Say "yes" and "no". Rests on Version v1.9.0: passed.`},
		{"the tool says that it replaces", "Replaces the request of noon", resting, `"Replaces the request of noon". Rests on Version v1.9.0: passed.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.a.Hint(tt.own); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// However long everything is, the hint is bounded, and what could not be seen is whole.
func TestHintIsBounded(t *testing.T) {
	long := strings.Repeat("ß. \"", 200)
	var all, unseen []entity.Canonical
	for i := range 9 {
		attributes := values{}
		for j := range 9 {
			attributes[fmt.Sprintf("a%d%s", j, strings.Repeat("n", 60))] = entity.Text(long)
		}
		all = append(all, seenAgo(time.Hour*9999, fmt.Sprint(i)+long, fmt.Sprint(i)+long, attributes))
		unseen = append(unseen, claimed(fmt.Sprint(i)+long, fmt.Sprint(i)+long, nil))
	}
	for _, own := range []string{long, "Rests on " + long, "", "short"} {
		a := complete(append(all, unseen...)...)
		a.Gaps = []string{"gap"}
		a.Needs = make(map[string]map[string]safety.Need)
		for _, e := range all {
			a.Needs[e.Key] = map[string]safety.Need{long: {Condition: long, Problem: long}}
			a.NotChosen.Total++
			a.NotChosen.Entities = append(a.NotChosen.Entities, entity.Alternative{Type: long, Value: long})
		}
		for range 9 {
			a.Costs = append(a.Costs, safety.Cost{BudgetType: long, Budget: long, Limit: long, Seen: long})
		}
		a.Replaces, a.Difference = "old", safety.Difference{Omitted: 1 << 40, Entities: []safety.EntityDifference{{
			Value: long, Change: "changed", Attributes: []safety.ValueDifference{{Name: long, Was: long, Now: long}, {Name: long, Was: long, Now: long}},
		}}}
		got := a.Hint(own)
		if len(got) > 1600 || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
		for _, want := range []string{"Replaces the request of", "Rests on ", " (416 days old), and ", "Planned cost: ß", "Not seen: a part of the session, whose record is incomplete, ", " more. It cannot be approved.", "Not met: ", "Not chosen: "} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if strings.Contains(got, ": , ") || strings.Contains(got, "on , ") {
			t.Errorf("a sentence lists nothing: %s", got)
		}
	}
	a := complete(seenAgo(0, "P", "p", values{"n": number(1)}))
	for own, end := range map[string]string{"": "x…. Rests on P p: 1 n.", "Rests on ": `x…". Rests on P p: 1 n.`} {
		if got := a.Hint(own + strings.Repeat("x", 2000)); len(got) != 1600 || !strings.HasSuffix(got, end) {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}

// The same request always has the same hint.
func FuzzHint(f *testing.F) {
	f.Add("own", "Type", "value", "text")
	f.Add("Rests on", "\xff", "a. Not seen: b", "x\n")
	f.Fuzz(func(t *testing.T, own, typ, value, text string) {
		a := complete(seenAgo(time.Hour, typ, value, values{"a": entity.Text(text), "b": entity.Bool(true)}), claimed(value, typ, nil))
		a.Entities[0].Type, a.Entities[0].Value = typ, value
		got := a.Hint(own)
		if len(got) > 1600 || !utf8.ValidString(got) || got != a.Hint(own) || !strings.HasSuffix(got, ".") {
			t.Errorf("%q", got)
		}
		// Outside of quotes our sentences begin once.
		outside := ""
		for i, part := range strings.Split(got, `"`) {
			if i%2 == 0 {
				outside += part
			}
		}
		if strings.Count(outside, "Rests on ") != 1 || strings.Count(outside, "Not seen: ") != 1 {
			t.Errorf("%q", got)
		}
	})
}
