// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// thousandSpans is a session of 100 turns, each with a tool that finds entities,
// whose last turn asks for an approval: 1,000 spans and 2,000 entities.
func thousandSpans(b *testing.B) *recorder { return session(b, 100) }

// session is thousandSpans with another number of turns, of 10 spans each.
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

func BenchmarkWhy1000Spans(b *testing.B) {
	r := thousandSpans(b)
	g := build(b, r.rows)
	if n := len(g.Nodes()); n < 1000 {
		b.Fatalf("%d spans", n)
	}
	decision := r.key("H")
	for name, hops := range map[string]int{"default": graphsync.DefaultHops, "whole": 10_000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if reasons, err := g.Why(decision, graphsync.WithHops(hops)); err != nil || len(reasons) < 50 {
					b.Fatalf("%d reasons, %v", len(reasons), err)
				}
			}
		})
	}
}

func BenchmarkBuild1000Spans(b *testing.B) {
	r := thousandSpans(b)
	found := compile(b, adRules()).Extract(r.rows)
	b.ReportAllocs()
	for b.Loop() {
		graphsync.Build(r.rows, found.Entities)
	}
}

func BenchmarkExtract1000Spans(b *testing.B) {
	r := thousandSpans(b)
	x := compile(b, adRules())
	b.ReportAllocs()
	for b.Loop() {
		x.Extract(r.rows)
	}
}

// BenchmarkSync brings the graph of a session up to date after each row.
func BenchmarkSync(b *testing.B) {
	for _, turns := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(10*turns, " spans"), func(b *testing.B) { benchmarkSync(b, session(b, turns)) })
	}
}

func benchmarkSync(b *testing.B, r *recorder) {
	j, err := journal.Open(b.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(b.TempDir(), "j.db"), CommitInterval: time.Millisecond}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close(context.Background()) }()
	record := func(rows []record.Event) {
		for _, e := range rows {
			if e.Seq = 0; !j.Append(e) {
				b.Fatal("row refused")
			}
		}
	}
	record(r.rows)
	s := graphsync.NewSyncer(j, compile(b, adRules()))
	if _, _, err := s.Sync(b.Context(), testSession); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.add("STATE_DELTA", "root", "more", "A0", nil, nil)
		record(r.rows[len(r.rows)-1:])
		if _, _, err := s.Sync(b.Context(), testSession); err != nil {
			b.Fatal(err)
		}
	}
}

// longRun is one run of 1,500 model calls with a tool each, every one of which
// finds another entity: 3,000 spans in one chain.
func longRun(b *testing.B) *recorder {
	r := &recorder{t: b}
	r.turn("1", "R")
	for i := range 1500 {
		call := fmt.Sprintf("c%d=query_ad_inventory", i)
		r.llm(fmt.Sprint("L", i), "R", call)
		r.tool(fmt.Sprint("T", i), "R", call, m{}, placements(fmt.Sprint("Product ", i)))
	}
	r.llm("last", "R", "ask=provision_campaign")
	r.ask("T", "R", "ask=provision_campaign", "H", "conf", m{"budget": 50000})
	return r
}

func BenchmarkWhy3000Spans(b *testing.B) {
	r := longRun(b)
	g := build(b, r.rows)
	if n := len(g.Nodes()); n < 3000 {
		b.Fatalf("%d spans", n)
	}
	decision := r.key("H")
	b.ReportAllocs()
	for b.Loop() {
		if reasons, err := g.Why(decision, graphsync.WithHops(10_000)); err != nil || len(reasons) != 1501 {
			b.Fatalf("%d reasons, %v", len(reasons), err)
		}
	}
}

// BenchmarkSelectAlternatives selects from a journal in which every step listed the same 20
// things. The action names one of them. The goal for 3,000 steps is 100 ms; without
// alternatives they should take no longer than ten.
func BenchmarkSelectAlternatives(b *testing.B) {
	for _, alternatives := range []bool{false, true} {
		for _, steps := range []int{10, 3_000} {
			b.Run(fmt.Sprintf("alternatives=%t/steps=%d", alternatives, steps), func(b *testing.B) {
				j, err := journal.Open(b.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(b.TempDir(), "j.db"), CommitInterval: time.Millisecond}})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = j.Close(context.Background()) }()
				var list []m
				for i := range 20 {
					list = append(list, item(fmt.Sprintf("p%02d", i), 40))
				}
				r := &recorder{t: b, run: "1"}
				last := ""
				for i := range steps {
					call := fmt.Sprint("c", i)
					r.find(call, "d", list...)
					read := m{"results": m{call: "d"}}
					if last != "" {
						read["base"] = "r:" + last
					}
					last = r.add(record.LLMResponse, "", fmt.Sprint("L", i), "A", m{"response": "..."}, m{"adk.read": read}).EventID
				}
				for _, e := range r.rows {
					if e.Seq = 0; !j.Append(e) {
						b.Fatal("row refused")
					}
				}
				rules := priceRules()
				rules[0].Alternatives = alternatives
				ev := graphsync.NewEvidence(j.Evidence(), compile(b, rules))
				if err := j.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := ev.CatchUp(b.Context(), testSession); err != nil {
					b.Fatal(err)
				}
				d := buying("p00")
				d.Answer = last
				b.ReportAllocs()
				for b.Loop() {
					sel, err := ev.Select(b.Context(), testSession, d, nil, nil)
					if err != nil || len(sel.Entities)+sel.NotChosen.Total != 20 || alternatives != (sel.NotChosen.Total == 19) {
						b.Fatalf("%d count, %d were not chosen, %v", len(sel.Entities), sel.NotChosen.Total, err)
					}
				}
			})
		}
	}
}
