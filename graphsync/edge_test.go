// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// play records the steps of a script, separated by ";" or in lines of their own. A step is the name of a
// method of the recorder and what it is given, without arguments and results of tools. What follows
// "branch B" is on that branch until the next turn; "-" is none.
func play(t testing.TB, script string) *recorder {
	t.Helper()
	r := &recorder{t: t}
	for step := range strings.SplitSeq(strings.ReplaceAll(script, "\n", ";"), ";") {
		switch f := strings.Fields(step); f[0] {
		case "turn":
			r.turn(f[1], f[2])
		case "branch":
			r.branch = strings.Trim(f[1], "-")
		case "agent":
			r.agent(f[1], f[2], f[3])
		case "llm":
			r.llm(f[1], f[2], f[3:]...)
		case "fails":
			r.add(record.LLMRequest, "root", f[1], f[2], nil, nil)
			r.add(record.LLMError, "root", f[1], f[2], nil, nil)
		case "start":
			r.start(f[1], f[2], f[3], m{})
		case "end":
			r.end(f[1], f[2], f[3], m{}, nil)
		case "tool":
			r.tool(f[1], f[2], f[3], m{}, m{})
		case "ask":
			r.ask(f[1], f[2], f[3], f[4], f[5], m{})
		case "answer":
			r.answer(f[1], f[2], f[3], f[4])
		default:
			t.Fatalf("no step is called %s", f[0])
		}
	}
	return r
}

func TestInforms(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"call ids numbered anew in every step": {
			"turn 1 R; llm L1 R c1=t; tool T1 R c1=t; llm L2 R c1=t; tool T2 R c1=t",
			"L1>T1 L2>T2 R>L1 T1>L2",
		},
		"a resumed call whose id was used again in between": {
			`turn 1 R1; llm L1 R1 c1=provision_campaign; ask T1 R1 c1=provision_campaign H conf
			turn 2 R2; llm L2 R2 c1=t; tool T2 R2 c1=t
			answer 3 inv-1 R3 conf; tool T3 R3 c1=provision_campaign`,
			"L1>T1 L1>T3 L2>T2 R1>L1 R2>L2 T1>L2",
		},
		"a model call that starts before a tool ends does not know its result": {
			"turn 1 R; llm L1 R c1=t; start T1 R c1=t; llm L2 R; end T1 R c1=t; llm L3 R",
			"L1>L2 L1>T1 L2>L3 R>L1 T1>L3",
		},
		"parallel calls": {
			"turn 1 R; llm L1 R a=t b=u; tool T1 R a=t; tool T2 R b=u",
			"L1>T1 L1>T2 R>L1",
		},
		"parallel agents from the start": {
			"turn 1 R; branch p.a; llm La R; branch p.b; llm Lb R",
			"R>La R>Lb",
		},
		"a branch inside a branch, and one that only looks so": {
			`turn 1 R; llm L0 R c0=t; tool T0 R c0=t
			branch p; llm La R; branch p.x; llm Lx R; branch px; llm Lp R
			branch p; llm Lb R; branch -; llm L1 R`,
			"L0>T0 La>Lb La>Lx Lb>L1 Lp>L1 Lx>Lb R>L0 T0>L1 T0>La T0>Lp",
		},
		// Each keeps to itself, also with call ids that models number alike. Both start from what was known
		// before, the main branch knows both, and a later turn takes nothing away.
		"parallel branches": {
			`turn 1 R; llm L0 R c0=t; tool T0 R c0=t
			branch par.a; llm La R c1=t
			branch par.b; llm Lb R c1=t; start Tb R c1=t
			branch par.a; start Ta R c1=t; end Ta R c1=t
			branch par.b; end Tb R c1=t; llm Lb2 R
			branch par.a; llm La2 R
			branch -; llm L1 R
			turn 2 R2; branch par.a; llm La3 R2`,
			"L0>T0 L1>La3 La2>L1 La2>La3 La>Ta Lb2>L1 Lb>Tb R2>La3 R>L0 T0>L1 T0>La T0>Lb Ta>La2 Tb>Lb2",
		},
		"a run without a model call": {
			"turn 1 R1; turn 2 R2; llm L1 R2",
			"R2>L1",
		},
		"a planner answers, and goes on in the next turn with call ids numbered anew": {
			`turn 1 R1; agent root A1 R1; llm L1 A1 c1=transfer_to_agent; tool X1 A1 c1=transfer_to_agent
			agent planner P1 A1; llm L2 P1 c2=t; tool T1 P1 c2=t; llm L3 P1
			turn 2 R2; agent planner P2 R2; llm L4 P2 c1=t; tool T2 P2 c1=t`,
			"L1>X1 L2>T1 L3>L4 L4>T2 R1>L1 R2>L4 T1>L3 X1>L2",
		},
		"steps that failed, crashed, or were refused": {
			`turn 1 R1; llm L1 R1 c1=t; tool T1 R1 c1=t; fails L2 R1
			turn 2 R2; llm L3 R2 c2=t; start T2 R2 c2=t
			turn 3 R3; llm L4 R3 c3=t`,
			"L1>T1 L2>L3 L3>L4 L3>T2 R1>L1 R2>L3 R3>L4 T1>L2",
		},
	} {
		diff(t, name, strings.Fields(test.want), edges(graphsync.Fold(nil, play(t, test.script).rows).Graph(), graphsync.Informs))
	}
}

func TestRunsOfOneTraceWithoutRunIDs(t *testing.T) {
	r := &recorder{t: t, trace: "shared", inv: "same"}
	r.turn("", "R1")
	r.turn("", "R2")
	r.llm("L1", "R2")
	diff(t, "edges", []string{"R2>L1"}, edges(graphsync.Fold(nil, r.rows).Graph(), graphsync.Informs))
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
