// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// session records a session of turns. Each turn has 10 spans; three of them are tools that find entities. 100 turns
// have 1,000 spans and 2,000 entities. The last turn asks for an approval.
func session(b *testing.B, turns int) *recorder {
	r := &recorder{t: b}
	n := 0
	for turn := range turns {
		root, agent := fmt.Sprint("R", turn), fmt.Sprint("A", turn)
		r.turn(fmt.Sprint(turn), root)
		r.agent("root", agent, root)
		for step := range 3 {
			id := fmt.Sprintf("%d.%d", turn, step)
			r.llm("L"+id, agent, id+"=query_ad_inventory")
			var names []string
			for range 7 {
				n++
				names = append(names, fmt.Sprint("Product ", n%500))
			}
			r.tool("T"+id, agent, id+"=query_ad_inventory", m{}, placements(names...))
		}
		if turn < turns-1 {
			r.llm("E"+fmt.Sprint(turn), agent)
			r.add("STATE_DELTA", "root", "S"+fmt.Sprint(turn), agent, nil, nil)
		}
	}
	last := fmt.Sprint("A", turns-1)
	r.llm("last", last, "ask=provision_campaign")
	r.ask("T", last, "ask=provision_campaign", "H", "conf", m{"budget": 50000})
	return r
}

// BenchmarkFold folds a session that nobody asked for before.
func BenchmarkFold(b *testing.B) {
	for _, spans := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint("spans=", spans), func(b *testing.B) {
			ss := graphsync.NewSessions(graphsync.RowsOf(session(b, spans/10).rows), compile(b, adRules()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ss.Fold(b.Context(), testSession); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSelectOneMore selects the evidence after each row of a session in which every reading
// counts: of things of their own, or of one thing, by calls without a beginning.
func BenchmarkSelectOneMore(b *testing.B) {
	for _, things := range []string{"many", "one"} {
		for _, spans := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("things=%s/spans=%d", things, spans), func(b *testing.B) {
				r := &recorder{t: b, run: "1"}
				more := func() record.Event {
					n, name := len(r.rows), "a"
					if things == "many" {
						name = fmt.Sprint("p", n)
					}
					return *r.add(record.ToolCompleted, "", fmt.Sprint("T", n), "A", m{"tool": "find", "result": items(item(name, n))}, nil)
				}
				rows := new(growing)
				for range spans {
					rows.add(more())
				}
				ss := graphsync.NewSessions(rows, compile(b, priceRules()))
				if _, err := ss.Select(b.Context(), testSession, record.Decision{}); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					rows.add(more())
					b.StartTimer()
					sel, err := ss.Select(b.Context(), testSession, record.Decision{Answer: "none"})
					if seen := len(sel.Entities[0].Seen) * len(sel.Entities); err != nil || seen < spans {
						b.Fatalf("%d readings count, %v", seen, err)
					}
				}
			})
		}
	}
}

// longRun is one run of model calls with a tool each, every one of which finds another entity: a chain of
// two spans a call.
func longRun(t testing.TB, calls int) *recorder {
	r := &recorder{t: t}
	r.turn("1", "R")
	for i := range calls {
		call := fmt.Sprintf("c%d=query_ad_inventory", i)
		r.llm(fmt.Sprint("L", i), "R", call)
		r.tool(fmt.Sprint("T", i), "R", call, m{}, placements(fmt.Sprint("Product ", i)))
	}
	r.llm("last", "R", "ask=provision_campaign")
	r.ask("T", "R", "ask=provision_campaign", "H", "conf", m{"budget": 50000})
	return r
}
