// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// choiceRules find products in lists, of which find has two, in the results of get, in what
// users say, and in what buy buys.
func choiceRules() []config.Extract {
	rules := priceRules()
	rules[0].Alternatives = config.AlternativesTrue
	more, got := rules[0], rules[0]
	more.Name, more.Each = "more", "$.more[*]"
	got.Name, got.Tool, got.Alternatives = "got", "get", ""
	return append(rules, more, got,
		config.Extract{Name: "said", In: config.InContent, Event: record.UserMessageReceived, Type: "Product", Value: "$.name"},
		config.Extract{Name: "asked", Tool: "get", In: config.InArgs, Each: "$.of[*]", Type: "Product", Value: "$.name"},
	)
}

// buying is a decision that names products.
func buying(names ...string) record.Decision {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q}`, name))
	}
	return record.Decision{Node: "n", Tool: "buy", Args: `{"items":[` + strings.Join(list, ",") + `]}`}
}

// choose selects by the choiceRules.
func choose(t *testing.T, r *recorder, d record.Decision) graphsync.Selection {
	t.Helper()
	sel := selectOf(t, choiceRules(), d, r.rows...)
	if sel.Counts.Failed > 0 {
		t.Fatal(sel.Counts.Error)
	}
	return sel
}

func valuesOf(es []entity.Canonical) []string {
	out := []string{}
	for _, e := range es {
		out = append(out, e.Value)
	}
	return out
}

// leftOf returns the values of what was not chosen.
func leftOf(sel graphsync.Selection) []string {
	out := []string{}
	for _, e := range sel.NotChosen.Entities {
		out = append(out, e.Value)
	}
	return out
}

// tooled records a call of a tool that ended well. The entities in attrs have a row of their own.
func (r *recorder) tooled(name string, args, result any, attrs m) *record.Event {
	declared, _ := attrs["entities"].([]m)
	span, start := r.begun(name, args, declared)
	all := m{"adk.started": start, "adk.result": "d" + span, "function_call_id": "c" + span}
	for k, v := range attrs {
		if k != "entities" {
			all[k] = v
		}
	}
	return r.add(record.ToolCompleted, "", span, "A", m{"tool": name, "result": result}, all)
}

// failed records a call of a tool that declared a thing and failed, or that the gate refused with
// the present values of the thing.
func (r *recorder) failed(name string, drift bool, value string) *record.Event {
	declared, attrs := []m{declares(value)}, m{}
	if drift {
		declared, attrs = nil, m{"adk.drift": true, "entities": declared}
	}
	span, start := r.begun(name, m{}, declared)
	attrs["adk.started"] = start
	e := r.add(record.ToolError, "", span, "A", m{"tool": name, "args": m{}}, attrs)
	e.Status = record.StatusError
	return e
}

// begun records the beginning of a call and what its tool declares.
func (r *recorder) begun(name string, args any, declared []m) (span, start string) {
	span = fmt.Sprint("X", len(r.rows))
	start = r.add(record.ToolStarting, "", span, "A", m{"tool": name, "args": args}, nil).EventID
	if declared != nil {
		r.add(record.EntitiesDeclared, "", span, "A", m{"tool": name}, m{"adk.of": start, "entities": declared})
	}
	return span, start
}

func declares(value string) m { return m{"type": "Product", "value": value, "confidence": 1} }

// What is told of the things that were not chosen is bounded, their number is not.
func TestNotChosenIsBounded(t *testing.T) {
	r := &recorder{t: t, run: "1"}
	list := []m{item("a", 1)}
	for i := range 30 {
		list = append(list, item(fmt.Sprintf("b%02d", i), i))
	}
	r.tooled("find", m{}, items(list...), nil)
	sel := choose(t, r, buying("a"))
	if n := sel.NotChosen; n.Total != 30 || len(n.Entities) != 20 || n.Entities[19].Value != "b19" || len(sel.Entities) != 1 {
		t.Errorf("%d, of which %q; %q count", n.Total, leftOf(sel), valuesOf(sel.Entities))
	}
	if price := sel.NotChosen.Entities[3].Seen["price"]; price.String() != "$3" {
		t.Errorf("the price is %v", price)
	}
}

// Whatever a session has, a thing was not chosen exactly if the rule of Select says so. The
// oracle says it word by word.
func TestNotChosenIsWhatTheRuleSays(t *testing.T) {
	seeds, left := 0, 0
	for seed := range testsize.Seeds(t, 200, 15000) {
		seeds++
		random := rand.New(rand.NewPCG(seed, 12))
		r := &recorder{t: t, run: "1"}
		type sighting struct {
			row     int64
			rule    string // one with alternatives, or ""
			name    string
			reading bool
		}
		var all []sighting
		name := func() string { return []string{"a", "b", "c", "d"}[random.IntN(4)] }
		entries := func() (list []m, names []string) {
			for range random.IntN(4) {
				if n := name(); !slices.Contains(names, n) {
					names = append(names, n)
					list = append(list, item(n, int(n[0])))
				}
			}
			return list, names
		}
		for range 1 + random.IntN(6) {
			switch kind := random.IntN(18); kind {
			default: // a list, two of them in one row at times
				some, names := entries()
				more, others := entries()
				args, echo := m{}, ""
				if random.IntN(5) == 0 {
					echo = name()
					args["price"] = int(echo[0])
				}
				e := r.tooled("find", args, m{"items": some, "more": more}, nil)
				rewritten, words := random.IntN(8) == 0, random.IntN(8) == 0
				if words {
					e.Content = r.json(m{"tool": "find", "result": m{"items": some, "more": more}, "tool_origin": "SUB_AGENT"})
				}
				for rule, list := range map[string][]string{"found": names, "more": others} {
					for _, n := range list {
						all = append(all, sighting{e.Seq, rule, n, n != echo && !rewritten && !words})
					}
				}
				if of := e.EventID; rewritten {
					r.add(record.ToolResultRewritten, "", "", "", m{"tool": "find", "result": m{}}, m{"adk.of": of, "adk.result": "x"})
				}
			case 0:
				list, names := entries()
				row := r.tooled("get", m{}, items(list...), nil).Seq
				for _, n := range names {
					all = append(all, sighting{row, "", n, true})
				}
			case 1:
				n := name()
				all = append(all, sighting{r.add(record.UserMessageReceived, "", "R", "", m{"name": n}, nil).Seq, "", n, false})
			case 2:
				n := name()
				all = append(all, sighting{r.tooled("noop", m{}, m{}, m{"entities": []m{declares(n)}}).Seq, "", n, true})
			case 3:
				n := name()
				all = append(all, sighting{r.failed("noop", false, n).Seq, "", n, false})
			case 4:
				r.failed("buy", true, name())
			case 5:
				r.tooled("buy", items(item(name(), 1)), m{}, nil)
			case 6:
				if len(r.rows) > 0 && random.IntN(3) == 0 {
					e, n := r.rows[random.IntN(len(r.rows))], name()
					r.found(e.EventID, declares(n))
					all = append(all, sighting{e.Seq, "", n, false})
				}
			}
		}
		_, named := entries()
		d := buying(named...)
		if len(r.rows) > 0 && random.IntN(3) == 0 {
			d.UpTo = r.rows[random.IntN(len(r.rows))].Seq
		}
		before := slices.DeleteFunc(slices.Clone(all), func(s sighting) bool { return d.UpTo > 0 && s.row > d.UpTo })
		chosenIn := func(row int64, rule string) bool {
			return slices.ContainsFunc(before, func(s sighting) bool {
				return s.row == row && s.rule == rule && s.reading && slices.Contains(named, s.name)
			})
		}
		notChosen, counts := []string{}, []string{}
		for _, n := range []string{"a", "b", "c", "d"} {
			of := slices.DeleteFunc(slices.Clone(before), func(s sighting) bool { return s.name != n })
			against := slices.ContainsFunc(of, func(s sighting) bool { return s.rule == "" || !chosenIn(s.row, s.rule) })
			switch {
			case slices.Contains(named, n):
			case len(of) > 0 && !against:
				notChosen = append(notChosen, n)
			case len(of) > 0:
				counts = append(counts, "Product:text:"+n)
			}
		}
		sel := choose(t, r, d)
		diff(t, fmt.Sprint("seed ", seed), notChosen, leftOf(sel))
		why := []string{}
		for key := range sel.Counted {
			why = append(why, key)
		}
		slices.Sort(why)
		diff(t, fmt.Sprint("seed ", seed, ", why they count"), counts, why)
		for _, e := range sel.Entities {
			if slices.Contains(notChosen, e.Value) {
				t.Errorf("seed %d: %s counts all the same", seed, e.Value)
			}
		}
		left += len(notChosen)
	}
	if seeds > 1 && left < seeds/8 {
		t.Errorf("only %d things were not chosen: the test shows little", left)
	}
}

// What an agent that ran as a tool chose from is looked at in its own rows: all of them, and
// not only those that its last step rests on.
func TestNotChosenOfANestedSession(t *testing.T) {
	child := record.Session{App: "researcher", User: "u1", ID: "inner"}
	for name, test := range map[string]struct {
		rows  func(c *recorder)
		first func(r *recorder) // before the agent
		own   func(r *recorder) // after it
		want  []string
	}{
		"a list": {rows: func(c *recorder) { c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil) }, want: []string{"b"}},
		"a model found another in it": {rows: func(c *recorder) {
			c.found(c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil).EventID, declares("b"))
		}},
		"a list that a later one supersedes": {rows: func(c *recorder) { c.find("c1", "d1", item("b", 8)); c.find("c2", "d2", item("a", 40), item("b", 9)) }},
		"a user of the agent names it": {rows: func(c *recorder) {
			c.add(record.UserMessageReceived, "", "R", "", m{"name": "b"}, nil)
			c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil)
		}},
		"an action of the agent names it": {rows: func(c *recorder) {
			c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil)
			c.tooled("buy", items(item("b", 9)), m{}, nil)
		}, want: []string{"b"}},
		"the caller read it as well": {rows: func(c *recorder) { c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil) },
			own: func(r *recorder) { r.tooled("find", m{}, items(item("b", 9)), nil) }},
		"numbers that count in each session": {rows: func(c *recorder) { c.tooled("find", m{}, items(item("b", 9)), nil) },
			first: func(r *recorder) { r.tooled("find", m{}, items(item("a", 40)), nil) }},
		"the result of the agent is rewritten": {rows: func(c *recorder) { c.tooled("find", m{}, items(item("a", 40), item("b", 9)), nil) },
			own: func(r *recorder) {
				r.add(record.ToolResultRewritten, "", "", "", m{"tool": "researcher", "result": m{}}, m{"adk.of": r.rows[len(r.rows)-1].EventID, "adk.result": "x"})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &recorder{t: t, run: "c"}
			test.rows(c)
			for _, call := range []string{"c1=d1", "c2=d2"} {
				c.decide("L"+call, []string{call}, nil)
			}
			r := &recorder{t: t, run: "1"}
			if test.first != nil {
				test.first(r)
			}
			r.skip(len(c.rows) - len(r.rows))
			r.tooled("researcher", m{}, m{"result": "a is fine"}, m{"adk.child_session": childOf(child)})
			if test.own != nil {
				test.own(r)
			}
			sel := selectOf(t, choiceRules(), buying("a"), append(c.in(child), r.rows...)...)
			diff(t, "not chosen", append([]string{}, test.want...), leftOf(sel))
			if n := len(sel.Entities) + sel.NotChosen.Total; n != 2 {
				t.Errorf("%d things, want a and b", n)
			}
		})
	}
}
