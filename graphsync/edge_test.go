// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
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
		{
			// Each keeps to itself, also with call ids that models number alike. Both start from what was known
			// before, the main branch knows both, and a later turn takes nothing away.
			"parallel branches",
			func(r *recorder) {
				r.turn("1", "R")
				r.llm("L0", "R", "c0=t")
				r.tool("T0", "R", "c0=t", m{}, m{})
				r.branch = "par.a"
				r.llm("La", "R", "c1=t")
				r.branch = "par.b"
				r.llm("Lb", "R", "c1=t")
				r.start("Tb", "R", "c1=t", m{})
				r.branch = "par.a"
				r.start("Ta", "R", "c1=t", m{})
				r.end("Ta", "R", "c1=t", m{}, nil)
				r.branch = "par.b"
				r.end("Tb", "R", "c1=t", m{}, nil)
				r.llm("Lb2", "R")
				r.branch = "par.a"
				r.llm("La2", "R")
				r.branch = ""
				r.llm("L1", "R")
				r.turn("2", "R2")
				r.branch = "par.a"
				r.llm("La3", "R2")
			},
			[]string{"L0>T0", "L1>La3", "La2>L1", "La2>La3", "La>Ta", "Lb2>L1", "Lb>Tb", "R2>La3", "R>L0", "T0>L1", "T0>La", "T0>Lb", "Ta>La2", "Tb>Lb2"},
		},
		{
			"parallel calls",
			func(r *recorder) {
				r.turn("1", "R")
				r.llm("L1", "R", "a=t", "b=u")
				r.tool("T1", "R", "a=t", m{}, m{})
				r.tool("T2", "R", "b=u", m{}, m{})
			},
			[]string{"L1>T1", "L1>T2", "R>L1"},
		},
		{
			"a planner answers, and goes on in the next turn with call ids numbered anew",
			func(r *recorder) {
				r.turn("1", "R1")
				r.agent("root", "A1", "R1")
				r.llm("L1", "A1", "c1=transfer_to_agent")
				r.tool("X1", "A1", "c1=transfer_to_agent", m{}, m{})
				r.agent("planner", "P1", "A1")
				r.llm("L2", "P1", "c2=t")
				r.tool("T1", "P1", "c2=t", m{}, m{})
				r.llm("L3", "P1")
				r.turn("2", "R2")
				r.agent("planner", "P2", "R2")
				r.llm("L4", "P2", "c1=t")
				r.tool("T2", "P2", "c1=t", m{}, m{})
			},
			[]string{"L1>X1", "L2>T1", "L3>L4", "L4>T2", "R1>L1", "R2>L4", "T1>L3", "X1>L2"},
		},
		{
			"steps that failed, crashed, or were refused",
			func(r *recorder) {
				r.turn("1", "R1")
				r.llm("L1", "R1", "c1=t")
				r.tool("T1", "R1", "c1=t", m{}, m{})
				r.add(record.LLMRequest, "root", "L2", "R1", nil, nil)
				r.add(record.LLMError, "root", "L2", "R1", nil, nil)
				r.turn("2", "R2")
				r.llm("L3", "R2", "c2=t")
				r.start("T2", "R2", "c2=t", m{}) // the process died here
				r.turn("3", "R3")
				r.llm("L4", "R3", "c3=t")
			},
			[]string{"L1>T1", "L2>L3", "L3>L4", "L3>T2", "R1>L1", "R2>L3", "R3>L4", "T1>L2"},
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

// An answer leads back to its request, whatever was asked for.
func TestRequestsAreResumed(t *testing.T) {
	for _, tt := range []struct{ request, answer string }{
		{record.HITLInputRequest, record.HITLInputRequestCompleted},
		{record.HITLCredentialRequest, record.HITLCredentialRequestCompleted},
	} {
		r := &recorder{t: t}
		r.turn("1", "R1")
		r.add(tt.request, "root", "Q", "R1", m{"tool": "ask"}, m{"call_id": "c1"})
		from := r.key("Q")
		r.turn("2", "R2")
		r.add(tt.answer, "root", "R2", "", m{"tool": "ask"}, m{"call_id": "c1"})
		to := r.key("R2")
		want := graphsync.Edge{From: from, To: to, Kind: graphsync.Resumes}
		if edges := graphsync.Fold(nil, r.rows).Graph().Edges(); !slices.Contains(edges, want) {
			t.Errorf("%s: edges %v, want %v", tt.request, edges, want)
		}
	}
}
