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
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// priceRules find products with a price in the results of find, by name, and in the
// arguments of buy.
func priceRules() []config.Extract {
	price := map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}}
	return []config.Extract{
		{Name: "found", Tool: "find", Each: "$.items[*]", Type: "Product", Value: "$.name", Attributes: price},
		{Name: "bought", Tool: "buy", In: config.InAction, Each: "$.items[*]", Type: "Product", Value: "$.name"},
	}
}

func item(name string, price int) m { return m{"name": name, "price": price} }

func items(list ...m) m { return m{"items": list} }

// find records a call of the tool that finds, with the digest of its result.
func (r *recorder) find(call, digest string, list ...m) *record.Event {
	start := r.start("T"+call, "A", call+"=find", m{}).EventID
	return r.end("T"+call, "A", call+"=find", items(list...), m{"adk.started": start, "adk.result": digest})
}

// decide records a model call whose request showed results of find, each "call=digest", and the outputs of
// other model calls by their spans, and which asks for calls. A result that begins with ~ is of buy.
func (r *recorder) decide(span string, results, words []string, calls ...string) *record.Event {
	var shown, said, asked []m
	for _, result := range results {
		call, digest, _ := strings.Cut(result, "=")
		tool := "find"
		if after, is := strings.CutPrefix(call, "~"); is {
			call, tool = after, "buy"
		}
		shown = append(shown, m{"tool": tool, "call": call, "result": digest})
	}
	for _, w := range words {
		said = append(said, m{"said": w})
	}
	for _, c := range calls {
		asked = append(asked, m{"id": c, "name": "buy"})
	}
	return r.add(record.LLMResponse, "", span, "A", m{"response": "..."},
		m{"adk.shown": m{"results": shown, "words": said}, "adk.said": []string{span}, "function_calls": asked})
}

// findBy is find with the digest of the arguments.
func (r *recorder) findBy(call, args, digest string, list ...m) {
	e := r.find(call, digest, list...)
	e.Attributes = r.json(m{"adk": m{"call_id": call, "started": r.rows[len(r.rows)-2].EventID, "result": digest, "args_digest": args}})
}

// readAs records the result of a call as models read it.
func (r *recorder) readAs(of, started, digest, tool string, result any) {
	call := "c2"
	r.add(record.ToolResultRewritten, "", "", "A", m{"tool": tool, "result": result}, m{"adk.of": of, "adk.started": started, "call_id": call, "adk.result": digest})
}

// rises records that a costs $40 in the result d1 of the call c1, and then $52 in the result d2 of c2.
func (r *recorder) rises() {
	r.find("c1", "d1", item("a", 40))
	r.find("c2", "d2", item("a", 52))
}

// decided records a model call that had read results, and returns the decision that it made.
func (r *recorder) decided(results ...string) record.Decision {
	return record.Decision{Answer: r.decide("L", results, nil).EventID}
}

// selected tells the readings that count: name, attribute, value, and * where it was read.
func selected(t *testing.T, r *recorder, d record.Decision) []string {
	t.Helper()
	return tell(selectOf(t, priceRules(), d, r.rows...).Entities)
}

func tell(es []entity.Canonical) []string {
	out := []string{}
	for _, e := range es {
		for _, s := range e.Seen {
			for _, name := range sortedNames(s.Attributes) {
				read := ""
				if s.Read {
					read = "*"
				}
				out = append(out, fmt.Sprintf("%s %s %s%s", e.Value, name, s.Attributes[name], read))
			}
			if s.Source == entity.SourceAction {
				out = append(out, e.Value+" named")
			}
		}
		if len(e.Seen) == 0 {
			out = append(out, e.Value+" unseen")
		}
	}
	return out
}

func sortedNames(attributes map[string]entity.Value) []string {
	var out []string
	for name := range attributes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestSelect(t *testing.T) {
	tests := []struct {
		name string
		rows func(r *recorder) record.Decision
		want []string
	}{
		{"a reading that was read supersedes those before its call", func(r *recorder) record.Decision {
			r.rises()
			return r.decided("c2=d2")
		}, []string{"a price $52*"}},
		{"one that was not read supersedes nothing", func(r *recorder) record.Decision {
			r.rises()
			return r.decided("c1=d1")
		}, []string{"a price $40*", "a price $52"}},
		{"a call that began before another ended does not supersede it", func(r *recorder) record.Decision {
			start := r.start("T2", "A", "c2=find", m{}).EventID
			r.find("c1", "d1", item("a", 40))
			r.end("T2", "A", "c2=find", items(item("a", 52)), m{"adk.started": start, "adk.result": "d2"})
			return r.decided("c1=d1", "c2=d2")
		}, []string{"a price $40*", "a price $52*"}},
		{"nothing counts after the decision", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			d := r.decided("c1=d1")
			d.UpTo = r.rows[len(r.rows)-1].Seq
			r.find("c2", "d2", item("a", 52), item("b", 1))
			return d
		}, []string{"a price $40*"}},
		{"what a step was shown is known by its output", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c2=d2"}, nil)
			return record.Decision{Answer: r.decide("L2", nil, []string{"L1"}).EventID}
		}, []string{"a price $52*"}},
		{"but not what that step knew by the output of another", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c2=d2"}, nil)
			r.decide("L2", nil, []string{"L1"})
			return record.Decision{Answer: r.decide("L3", nil, []string{"L2"}).EventID}
		}, []string{"a price $40", "a price $52"}},
		{"what the request showed is not superseded by what only others were shown", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c1=d1", "c2=d2"}, nil)
			return record.Decision{Answer: r.decide("L2", []string{"c1=d1"}, []string{"L1"}).EventID}
		}, []string{"a price $40*", "a price $52*"}},
		{"but by what the requests showed before", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			first := r.decide("L1", []string{"c1=d1"}, nil, "c2").EventID
			r.find("c2", "d2", item("a", 52))
			last := r.decide("L2", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"base": first, "results": []m{{"tool": "find", "call": "c2", "result": "d2"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $52*"}},
		{"an output of steps that were shown different results is nobody's", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c2=d2"}, nil)
			r.decide("L1", []string{"c1=d1"}, nil)
			return record.Decision{Answer: r.decide("L3", nil, []string{"L1"}).EventID}
		}, []string{"a price $40", "a price $52"}},
		{"two answers that ask for one call decide nothing", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c2=d2"}, nil, "c3")
			r.decide("L2", []string{"c1=d1"}, nil, "c3")
			return record.Decision{Answer: "c:c3"}
		}, []string{"a price $40", "a price $52"}},
		{"one answer may name its call twice", func(r *recorder) record.Decision {
			r.rises()
			r.decide("L1", []string{"c2=d2"}, nil, "c3", "c3")
			return record.Decision{Answer: "c:c3"}
		}, []string{"a price $52*"}},
		{"another value under the same call id was not read", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.find("c1", "d2", item("a", 52))
			return r.decided("c1=d1")
		}, []string{"a price $40*", "a price $52"}},
		{"of two results with one value the earliest is meant", func(r *recorder) record.Decision {
			r.rises()
			r.find("c1", "d1", item("a", 40))
			return r.decided("c1=d1")
		}, []string{"a price $40*", "a price $52", "a price $40"}},
		{"and both if the request shows it twice", func(r *recorder) record.Decision {
			r.rises()
			r.find("c1", "d1", item("a", 40))
			return r.decided("c1=d1", "c1=d1")
		}, []string{"a price $40*"}},
		{"nobody can tell which was meant, of calls with other arguments", func(r *recorder) record.Decision {
			r.findBy("c1", "q1", "d1", item("a", 40))
			r.findBy("c1", "q2", "d1", item("a", 52))
			return r.decided("c1=d1")
		}, []string{"a price $40", "a price $52"}},
		{"unless the request shows the arguments", func(r *recorder) record.Decision {
			r.findBy("c1", "q1", "d1", item("a", 40))
			r.findBy("c1", "q2", "d1", item("a", 52))
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "args": "q2", "result": "d1"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $52*"}},
		{"a result in a text is its caller's", func(r *recorder) record.Decision {
			r.rises()
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "by": "B", "result": "d2"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40", "a price $52"}},
		{"a text may stand behind the call of another run of its caller", func(r *recorder) record.Decision {
			r.findBy("c1", "q1", "d1", item("a", 40))
			r.rows[len(r.rows)-1].Agent = "B"
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "by": "B", "args": "q2", "result": "d1"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40*"}},
		{"but nobody can tell which was meant, of calls with other arguments", func(r *recorder) record.Decision {
			for call, args := range map[string]string{"c1": "q1", "c2": "q2"} {
				r.findBy(call, args, "d1", item("a", 40))
				r.rows[len(r.rows)-1].Agent = "B"
			}
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "by": "B", "args": "q3", "result": "d1"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40"}},
		{"and a result in its own form is of the call before it", func(r *recorder) record.Decision {
			r.findBy("c1", "q1", "d1", item("a", 40))
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "args": "q2", "result": "d1"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40"}},
		{"the present values in a refusal are true, in whatever words", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			start := r.start("T0", "A", "c2=buy", m{}).EventID
			of := r.add(record.ToolError, "", "T0", "A", m{"tool": "buy", "args": items()}, m{
				"call_id": "c2", "adk.started": start, "adk.result": "d2", "adk.drift": true, "entities": []m{priced("a", "52")},
			}).EventID
			r.readAs(of, start, "d3", "buy", m{})
			return r.decided("c1=d1", "~c2=d3")
		}, []string{"a price $40*", "a price $52"}},
		{"a result and what models read of it have to hold", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			of := r.find("c2", "d2", item("a", 52))
			r.readAs(of.EventID, r.rows[len(r.rows)-2].EventID, "d3", "find", items(item("a", 60), m{"name": "b"}))
			return r.decided("c2=d3")
		}, []string{"a price $52", "a price $60*"}},
		{"what was given has to hold, and supersedes nothing", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.add(record.ToolResultRewritten, "", "G", "A", m{"tool": "find", "result": items(item("a", 60))}, m{"adk.given": "request", "call_id": "c2", "adk.result": "d2"})
			return r.decided("c1=d1", "c2=d2")
		}, []string{"a price $40*", "a price $60"}},
		{"so has a result whose beginning is lost", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.end("Tc2", "A", "c2=find", items(item("a", 60)), m{"adk.started": "gone", "adk.result": "d2"})
			return r.decided("c1=d1", "c2=d2")
		}, []string{"a price $40*", "a price $60"}},
		{"a client's result is not the tool's", func(r *recorder) record.Decision {
			r.rises()
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "call": "c2", "result": "d2", "client": true}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40", "a price $52"}},
		{"a call that no callback told of began at the answer that asked", func(r *recorder) record.Decision {
			first := r.decide("L1", nil, nil, "c1").EventID
			r.find("c0", "d0", item("a", 40))
			start := r.start("Tc1", "A", "c1=find", m{}).EventID
			r.end("Tc1", "A", "c1=find", items(item("a", 52)), m{"adk.started": start, "adk.asked": first, "adk.result": "d1"})
			return r.decided("c1=d1")
		}, []string{"a price $40", "a price $52*"}},
		{"the output of a node is read where a request shows it", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.add(record.NodeOutput, "N", "N", "A", items(item("a", 52)), m{"adk.node": m{"path": "w/n@1"}, "adk.result": "L0"})
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"words": []m{{"said": "L0"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40"}},
		{"without a model, what the run had recorded before the step was read", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40), item("b", 1))
			r.run = "2"
			r.find("c2", "d2", item("a", 52))
			after := r.add(record.NodeOutput, "", "N", "A", m{}, m{"adk.node": m{"path": "w/n@1"}}).EventID
			r.find("c3", "d3", item("a", 60))
			return record.Decision{Run: "2", After: after}
		}, []string{"a price $52*", "a price $60", "b price $1"}},
		{"without a decision the latest counts", func(r *recorder) record.Decision {
			r.rises()
			return record.Decision{}
		}, []string{"a price $52*"}},
		{"what the request names is read from the request", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			d := buying("b")
			d.Answer = r.decide("L", []string{"c1=d1"}, nil, "c2").EventID
			r.start("Tc2", "A", "c2=buy", items(m{"name": "the usual"}))
			return d
		}, []string{"a price $40*", "b named"}},
		{"the same value twice is one reading", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.find("c2", "d2", item("a", 40))
			r.find("c3", "d3", item("a", 40))
			return r.decided("c1=d1")
		}, []string{"a price $40*", "a price $40"}},
		{"that it was read counts, if another value is the latest", func(r *recorder) record.Decision {
			r.find("c1", "d1", item("a", 40))
			r.find("c2", "d2", item("a", 40))
			r.find("c3", "d3", item("a", 52))
			return r.decided("c1=d1")
		}, []string{"a price $40*", "a price $52"}},
		{"what the tool declared stays where its result is rewritten", func(r *recorder) record.Decision {
			of := r.tooled("find", m{}, items(item("a", 40)), m{"entities": []m{priced("a", "41")}}).EventID
			r.readAs(of, r.rows[len(r.rows)-3].EventID, "d3", "find", m{"hidden": true})
			last := r.decide("L", nil, nil)
			last.Attributes = r.json(m{"adk": m{"shown": m{"results": []m{{"tool": "find", "result": "d3"}}}}})
			return record.Decision{Answer: last.EventID}
		}, []string{"a price $40", "a price $41*"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			diff(t, "readings", test.want, selected(t, r, test.rows(r)))
		})
	}
}

// Whatever was read, in whatever order calls overlap: a reading counts unless one that was
// read began after it. The oracle says so word by word.
func TestSelectIsWhatTheRuleSays(t *testing.T) {
	for seed := range testsize.Seeds(t, 60, 4000) {
		random := rand.New(rand.NewPCG(seed, 7))
		r := &recorder{t: t, run: "1"}
		type reading struct {
			name         string
			price        int
			start, row   int64
			call, digest string
		}
		var readings []reading
		open := make(map[int]*record.Event)
		for n := range 5 + random.IntN(40) {
			if len(open) > 0 && random.IntN(2) == 0 {
				for call, start := range open {
					x := reading{[]string{"a", "b", "c"}[random.IntN(3)], random.IntN(3), start.Seq, 0, fmt.Sprint("c", call), fmt.Sprint("d", call)}
					x.row = r.end(fmt.Sprint("T", call), "A", x.call+"=find", items(item(x.name, x.price)), m{"adk.started": start.EventID, "adk.result": x.digest}).Seq
					readings = append(readings, x)
					delete(open, call)
					break
				}
				continue
			}
			e := *r.add(record.ToolStarting, "", fmt.Sprint("T", n), "A", m{"tool": "find", "args": m{}}, nil)
			open[n] = &e
		}
		var read []string
		had := make(map[string]bool)
		for _, x := range readings {
			if random.IntN(2) == 0 {
				read = append(read, x.call+"="+x.digest)
				had[x.call] = true
			}
		}
		d := record.Decision{Answer: r.decide("L", read, nil).EventID}
		want := make(map[string]bool)
		for _, a := range readings {
			counts := true
			for _, b := range readings {
				counts = counts && !(b.name == a.name && had[b.call] && b.start > a.row)
			}
			if counts {
				want[fmt.Sprintf("%s price $%d", a.name, a.price)] = true
			}
		}
		got := make(map[string]bool)
		for _, s := range selected(t, r, d) {
			got[strings.TrimSuffix(s, "*")] = true
		}
		diff(t, fmt.Sprint("seed ", seed), want, got)
	}
}

// What an agent that ran as a tool saw counts from its own rows, before what its caller saw meanwhile.
func TestSelectBesideANestedSession(t *testing.T) {
	child := record.Session{App: "researcher", User: "u1", ID: "inner"}
	c := &recorder{t: t, run: "c"}
	c.find("c1", "d1", item("a", 40), item("b", 9))
	r := &recorder{t: t, run: "1"}
	r.skip(len(c.rows))
	began := r.start("T", "A", "c9=researcher", m{}).EventID
	last := r.start("T2", "A", "c8=find", m{}).EventID
	r.find("c7", "d7", item("a", 50))
	r.end("T", "A", "c9=researcher", m{}, m{"adk.started": began, "adk.child_session": childOf(child)})
	r.end("T2", "A", "c8=find", items(item("a", 60)), m{"adk.started": last})
	sel := selectOf(t, priceRules(), record.Decision{}, append(c.in(child), r.rows...)...)
	diff(t, "readings", []string{"a price $50*", "a price $60*", "b price $9*"}, tell(sel.Entities))
}

// A thing that many rows show is one, with all that each of them shows.
func TestSelectManyReadings(t *testing.T) {
	const rows = 40
	rules := priceRules()
	rules[0].Attributes["reach"] = config.Attribute{Path: "$.reach", Type: entity.KindNumber}
	r := &recorder{t: t}
	for i := range rows { // no beginning is on record, so none supersedes another
		r.add(record.ToolCompleted, "", fmt.Sprint("T", i), "A", m{"tool": "find", "result": items(m{"name": "a", "price": i, "reach": i})}, nil)
	}
	sel := selectOf(t, rules, record.Decision{}, r.rows...)
	if len(sel.Entities) != 1 || len(sel.Entities[0].Seen) != rows {
		t.Fatalf("%q", tell(sel.Entities))
	}
	for i, s := range sel.Entities[0].Seen {
		if s.EventID != r.rows[i].EventID || s.Attributes["price"].String() != fmt.Sprint("$", i) || s.Attributes["reach"].String() != fmt.Sprint(i) {
			t.Errorf("sighting %d is %+v", i, s)
		}
	}
}

// What an agent that ran as a tool rests on is what its last step rests on.
func TestSelectNestedSession(t *testing.T) {
	child := record.Session{App: "researcher", User: "u1", ID: "inner"}
	for name, test := range map[string]struct {
		decide func(c *recorder)
		want   []string // before its caller read the result
	}{
		"what it read":                 {func(c *recorder) { c.decide("L", []string{"c2=d2"}, nil) }, []string{"a price $52", "b price $9"}},
		"of what it read, and did not": {func(c *recorder) { c.decide("L", []string{"c1=d1"}, nil) }, []string{"a price $40", "a price $52", "b price $9"}},
		"of what it and others read": {func(c *recorder) {
			const other = "L1"
			c.decide(other, []string{"c1=d1", "c2=d2"}, nil)
			c.decide("L2", []string{"c1=d1"}, []string{other})
		}, []string{"a price $40", "a price $52", "b price $9"}},
		"without a model all of it": {func(*recorder) {}, []string{"a price $52", "b price $9"}},
	} {
		c := &recorder{t: t, run: "c"}
		c.find("c1", "d1", item("a", 40))
		c.find("c2", "d2", item("a", 52), item("b", 9))
		test.decide(c)
		r := &recorder{t: t, run: "1"}
		r.skip(len(c.rows))
		start := r.start("T", "A", "c9=researcher", m{"request": "find a"})
		r.add(record.ToolCompleted, "", "T", "A", m{"tool": "researcher", "result": m{"result": "a is 80"}, "tool_origin": "SUB_AGENT"},
			m{"call_id": "c9", "adk.started": start.EventID, "adk.result": "d9", "adk.child_session": childOf(child)})
		unread := record.Decision{Answer: r.decide("L1", nil, nil).EventID}
		rows := append(c.in(child), r.rows...)
		diff(t, name, test.want, tell(selectOf(t, priceRules(), unread, rows...).Entities))
	}
}

// The history of a session has a result that no row had when requests showed it. The row that a later run writes
// stands before the look-ups of that run. But a request that shows the old value is not corrected by the words of an
// agent that knew a newer one.
func TestResultOfTheHistoryThatRequestsShowed(t *testing.T) {
	for name, tt := range map[string]struct {
		shown []m // by the deciding request
		want  []string
	}{
		"not shown":               {nil, []string{"$2"}},
		"shown":                   {[]m{{"tool": "find", "result": "old"}}, []string{"$1", "$2"}},
		"shown with its argument": {[]m{{"tool": "find", "args": "of it", "result": "old"}}, []string{"$1", "$2"}},
		"shown, and the new one":  {[]m{{"tool": "find", "result": "old"}, {"tool": "find", "result": "new"}}, []string{"$2"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "2"}
			first := r.add(record.InvocationStarting, "A", "I", "", nil, nil).EventID
			r.find("1", "new", item("a", 2))
			r.add(record.LLMResponse, "B", "S", "B", m{"response": "..."},
				m{"adk.shown": m{"results": []m{{"tool": "find", "result": "new"}}}, "adk.said": []string{"all fine"}})
			last := r.add(record.LLMResponse, "A", "D", "A", m{"response": "..."},
				m{"adk.shown": m{"results": tt.shown, "words": []m{{"by": "B", "said": "all fine"}}}}).EventID
			r.add(record.ToolResultRewritten, "A", "I", "", m{"tool": "find", "result": items(item("a", 1))},
				m{"call_id": "0", "adk.given": "history", "adk.place": first, "adk.result": "old", "adk.args_digest": "of it"})
			sel := selectOf(t, priceRules(), record.Decision{Answer: last}, r.rows...)
			var got []string
			for _, s := range sel.Entities[0].Seen {
				got = append(got, s.Attributes["price"].String())
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) || len(sel.NoRow) > 0 {
				t.Errorf("%q hold, want %q; without a row %v", got, tt.want, sel.NoRow)
			}
		})
	}
}
