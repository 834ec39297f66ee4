// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
)

func TestInforms(t *testing.T) {
	tests := []struct {
		name string
		rows func(r *recorder)
		want []string
	}{
		{
			"call ids numbered anew in every step",
			func(r *recorder) {
				r.turn("1", "R")
				r.llm("L1", "R", "c1=t")
				r.tool("T1", "R", "c1=t", m{}, m{})
				r.llm("L2", "R", "c1=t")
				r.tool("T2", "R", "c1=t", m{}, m{})
			},
			[]string{"L1>T1", "L2>T2", "R>L1", "T1>L2"},
		},
		{
			"a resumed call whose id was used again in between",
			func(r *recorder) {
				r.turn("1", "R1")
				r.llm("L1", "R1", "c1=provision_campaign")
				r.ask("T1", "R1", "c1=provision_campaign", "H", "conf", m{})
				r.turn("2", "R2")
				r.llm("L2", "R2", "c1=t")
				r.tool("T2", "R2", "c1=t", m{}, m{})
				r.answer("3", "inv-1", "R3", "conf")
				r.tool("T3", "R3", "c1=provision_campaign", m{}, m{})
			},
			[]string{"L1>T1", "L1>T3", "L2>T2", "R1>L1", "R2>L2", "T1>L2"},
		},
		{
			"a model call that starts before a tool ends does not know its result",
			func(r *recorder) {
				r.turn("1", "R")
				r.llm("L1", "R", "c1=t")
				r.start("T1", "R", "c1=t", m{})
				r.llm("L2", "R")
				r.end("T1", "R", "c1=t", m{}, nil)
				r.llm("L3", "R")
			},
			[]string{"L1>L2", "L1>T1", "L2>L3", "R>L1", "T1>L3"},
		},
		{
			"a branch inside a branch",
			func(r *recorder) {
				r.turn("1", "R")
				r.llm("L0", "R", "c0=t")
				r.tool("T0", "R", "c0=t", m{}, m{})
				r.branch = "p"
				r.llm("La", "R")
				r.branch = "p.x"
				r.llm("Lx", "R")
				r.branch = "px" // not a branch of p
				r.llm("Lp", "R")
				r.branch = "p"
				r.llm("Lb", "R")
				r.branch = ""
				r.llm("L1", "R")
			},
			[]string{"L0>T0", "La>Lb", "La>Lx", "Lb>L1", "Lp>L1", "Lx>Lb", "R>L0", "T0>L1", "T0>La", "T0>Lp"},
		},
		{
			"runs of one trace without run ids",
			func(r *recorder) {
				r.trace, r.inv = "shared", "same"
				r.turn("", "R1")
				r.turn("", "R2")
				r.llm("L1", "R2")
			},
			[]string{"R2>L1"},
		},
		{
			"a run without a model call",
			func(r *recorder) {
				r.turn("1", "R1")
				r.turn("2", "R2")
				r.llm("L1", "R2")
			},
			[]string{"R2>L1"},
		},
		{
			"parallel agents from the start",
			func(r *recorder) {
				r.turn("1", "R")
				r.branch = "p.a"
				r.llm("La", "R")
				r.branch = "p.b"
				r.llm("Lb", "R")
			},
			[]string{"R>La", "R>Lb"},
		},
	}
	for _, tt := range tests {
		r := &recorder{t: t}
		tt.rows(r)
		diff(t, tt.name, tt.want, edges(graphsync.Fold(nil, r.rows).Graph(), graphsync.Informs))
	}
}

// Of two paths with the same number of hops the one with fewer edges counts.
func TestFewestEdges(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.llm("L0", "R", "c0=query_audience")
	r.tool("T0", "R", "c0=query_audience", m{}, m{"audience": "Runners"})
	r.llm("L1", "R", "c1=nested")
	r.start("T1", "R", "c1=nested", m{})
	r.llm("L2", "T1") // a model call inside the tool
	diff(t, "why", []string{"Targeting Runners 2: T0 > L1 > L2"}, why(t, build(t, r.rows), r.key("L2")))
}
