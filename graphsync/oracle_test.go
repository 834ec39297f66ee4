// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
)

// looked is one result of the oracle: an agent looked a thing up and got a value. at is its place, began that
// of the last result that was recorded when the call began.
type looked struct {
	thing, value, agent string
	at, began           int
}

// oracle has what the rule is about: the results, and which of them two requests showed. The request of the
// scout is that of a step whose output the deciding request shows, if it shows any.
type oracle struct {
	results        []looked
	decider, scout []int
	words          bool
}

// meant returns the results that a request showed, as the rule ties them: each to the earliest one with the same
// value that is not taken. A text tells whose result it is.
func (o *oracle) meant(shown []int, reader string) map[int]bool {
	taken := make(map[int]bool)
	for _, i := range shown {
		for j, r := range o.results {
			x := o.results[i]
			if r.thing == x.thing && r.value == x.value && (x.agent == reader || r.agent == x.agent) && !taken[j] {
				taken[j] = true
				break
			}
		}
	}
	return taken
}

// holds returns the values that have to hold, with * where the decider was shown them or knew them by words.
func (o *oracle) holds() []string {
	shown, known := o.meant(o.decider, "A"), map[int]bool{}
	if o.words {
		known = o.meant(o.scout, "B")
	}
	counts := make(map[string]string)
	for i, a := range o.results {
		replaced := slices.ContainsFunc(o.results, func(b looked) bool {
			return b.thing == a.thing && b.began >= a.at && (shown[b.at] || known[b.at] && !shown[i])
		})
		if replaced {
			continue
		}
		value := a.thing + " " + a.value
		if shown[i] || known[i] {
			counts[value] = "*"
		} else if counts[value] == "" {
			counts[value] = " "
		}
	}
	var list []string
	for value, read := range counts {
		list = append(list, value+read)
	}
	slices.Sort(list)
	return list
}

// folded returns what the fold says of the same.
func (o *oracle) folded(t *testing.T) []string {
	r := &recorder{t: t, run: "1"}
	starts := make([]*record.Event, len(o.results))
	begin := func(at int) {
		for i, x := range o.results {
			if x.began == at {
				starts[i] = r.add(record.ToolStarting, x.agent, fmt.Sprint("T", i), x.agent, m{"tool": "find", "args": m{}}, nil)
				e := *starts[i]
				starts[i] = &e
			}
		}
	}
	begin(-1)
	for i, x := range o.results {
		price := 1
		if x.value == "$2" {
			price = 2
		}
		r.add(record.ToolCompleted, x.agent, fmt.Sprint("T", i), x.agent, m{"tool": "find", "result": items(item(x.thing, price))},
			m{"adk.started": starts[i].EventID, "adk.result": x.thing + x.value})
		begin(i)
	}
	shown := func(list []int, reader string) (out []m) {
		for _, i := range list {
			x := o.results[i]
			one := m{"tool": "find", "result": x.thing + x.value}
			if x.agent != reader {
				one["by"] = x.agent
			}
			out = append(out, one)
		}
		return out
	}
	r.add(record.LLMResponse, "B", "S", "B", m{"response": "..."}, m{"adk.shown": m{"results": shown(o.scout, "B")}, "adk.said": []string{"all fine"}})
	var words []m
	if o.words {
		words = []m{{"by": "B", "said": "all fine"}}
	}
	last := r.add(record.LLMResponse, "A", "D", "A", m{"response": "..."}, m{"adk.shown": m{"results": shown(o.decider, "A"), "words": words}})
	got := make(map[string]bool)
	var list []string
	for _, e := range selectOf(t, priceRules(), record.Decision{Answer: last.EventID}, r.rows...).Entities {
		for _, s := range e.Seen {
			read := " "
			if s.Read {
				read = "*"
			}
			got[e.Value+" "+s.Attributes["price"].String()+read] = true
		}
	}
	for value := range got {
		if value[len(value)-1] == '*' || !got[value[:len(value)-1]+"*"] {
			list = append(list, value)
		}
	}
	slices.Sort(list)
	return list
}

// results returns the n-th list of results, each over two things, two values and two agents.
func results(count, n int) (list []looked) {
	for i := range count {
		x := looked{thing: "a", value: "$1", agent: "A", at: i, began: i - 1}
		for bit, set := range []func(){func() { x.thing = "b" }, func() { x.value = "$2" }, func() { x.agent = "B" }} {
			if n>>(3*i+bit)&1 == 1 {
				set()
			}
		}
		list = append(list, x)
	}
	return list
}

// members returns the numbers of the bits of n.
func members(n int) (list []int) {
	for i := 0; n>>i > 0; i++ {
		if n>>i&1 == 1 {
			list = append(list, i)
		}
	}
	return list
}

// The rule of what counts, word by word, against every session of a few results that two agents looked up.
func TestTheRuleOfWhatCounts(t *testing.T) {
	tried := 0
	try := func(o oracle) {
		t.Helper()
		tried++
		if want, got := o.holds(), o.folded(t); !slices.Equal(want, got) {
			t.Fatalf("%+v: %q has to hold, the fold says %q", o, want, got)
		}
	}
	all := func(count int) {
		for n := range 1 << (3 * count) {
			for decider := range 1 << count {
				for scout := range 1 << count {
					list := results(count, n)
					try(oracle{list, members(decider), members(scout), scout > 0})
				}
			}
		}
	}
	all(1)
	all(2)
	if testsize.Thorough() {
		for count := 3; count <= 5; count++ {
			all(count)
		}
	}
	for seed := range testsize.Seeds(t, 3000, 100_000) {
		random := rand.New(rand.NewPCG(seed, 43))
		count := 3 + random.IntN(3)
		list := results(count, random.IntN(1<<(3*count)))
		for i := range list { // a call may begin before earlier ones end
			list[i].began = i - 1 - random.IntN(2)*random.IntN(i+1)
		}
		o := oracle{list, members(random.IntN(1 << count)), members(random.IntN(1 << count)), random.IntN(2) == 0}
		random.Shuffle(len(o.decider), func(i, j int) { o.decider[i], o.decider[j] = o.decider[j], o.decider[i] })
		try(o)
	}
	t.Logf("%d sessions", tried)
}
