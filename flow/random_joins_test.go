// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// A branchPlan is a workflow of random branches side by side: a node each, or a workflow of branches of its own.
type branchPlan struct {
	name, kind string
	inside     []branchPlan
}

func newBranches(r *rand.Rand, prefix string, depth int) (plans []branchPlan) {
	kinds := []string{"done", "silent", "hands", "reruns", "agent"}
	for i := range 2 + r.IntN(3) {
		b := branchPlan{name: fmt.Sprintf("%s%d", prefix, i), kind: kinds[r.IntN(len(kinds))]}
		if depth > 0 && r.IntN(3) == 0 {
			b.kind, b.inside = "inside", newBranches(r, b.name+"x", depth-1)
		}
		plans = append(plans, b)
	}
	return plans
}

func (b branchPlan) node(w *world) workflow.Node {
	switch b.kind {
	case "done":
		return done(w, b.name)
	case "silent":
		return silent(w, b.name)
	case "hands":
		return hands(w, b.name)
	case "reruns":
		return reruns(w, b.name)
	case "agent":
		return flow.AgentNode(buyer(w, b.name))
	}
	n, err := flow.WorkflowNode(b.name, joinOf(w, b.name, b.inside))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// joinOf joins the branches in front of a node that logs.
func joinOf(w *world, name string, plans []branchPlan) []workflow.Edge {
	b := workflow.NewEdgeBuilder()
	j := workflow.NewJoinNode("J" + name)
	for _, plan := range plans {
		n := plan.node(w)
		b.Add(workflow.Start, n).Add(n, j)
	}
	return b.Add(j, done(w, "C"+name)).Build()
}

// wants are what has to have happened at the end, once each.
func wants(name string, plans []branchPlan) (did []string) {
	for _, b := range plans {
		switch b.kind {
		case "inside":
			did = append(did, wants(b.name, b.inside)...)
		case "hands":
			did = append(did, b.name+"?")
		case "reruns":
			did = append(did, b.name+"?", b.name)
		case "agent":
			did = append(did, b.name+"?", b.name+":buy")
		default:
			did = append(did, b.name)
		}
	}
	return append(did, "C"+name)
}

// TestRandomJoins answers the questions of random workflows in a random order, some at once, each message twice. Every
// node does its work once, and every join runs.
func TestRandomJoins(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		plans := newBranches(r, "n", 2)
		service := services()[[]string{"memory", "json"}[seed%2]]()
		w := newWorld(t, service, func(w *world) []workflow.Edge { return joinOf(w, "", plans) })
		if seed%3 == 0 {
			w.root = func(w *world) agent.Agent { return below(w, ours, joinOf(w, "", plans)) }
		}
		_, err := w.run(adktest.UserText("go"))
		var parts []*genai.Part
		for ; err == nil; _, err = w.run(answer(parts...)) {
			open := openQuestions(w)
			if len(parts) > 0 {
				if _, err := w.run(answer(parts...)); !errors.Is(err, flow.ErrAnswered) {
					t.Fatalf("seed %d: the same message again: %v", seed, err)
				}
			}
			if len(open) == 0 {
				break
			}
			r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			parts = open[:1+r.IntN(len(open))]
		}
		want := wants("", plans)
		slices.Sort(want)
		if got := w.take(); err != nil || got != strings.Join(want, " ") {
			t.Fatalf("seed %d: the nodes did %q, want %q; error %v", seed, got, strings.Join(want, " "), err)
		}
	}
}

// openQuestions returns answers to the questions of the session that have none.
func openQuestions(w *world) (parts []*genai.Part) {
	resp, err := w.service.Get(w.t.Context(), &session.GetRequest{AppName: "app", UserID: "alice", SessionID: "s1"})
	if err != nil {
		w.t.Fatal(err)
	}
	answered := make(map[string]bool)
	for ev := range resp.Session.Events().All() {
		if ev.Author == "user" && ev.Content != nil {
			for _, p := range ev.Content.Parts {
				if p.FunctionResponse != nil {
					answered[p.FunctionResponse.ID] = true
				}
			}
		}
	}
	for ev := range resp.Session.Events().All() {
		for _, id := range ev.LongRunningToolIDs {
			if answered[id] {
				continue
			}
			for _, p := range ev.Content.Parts {
				if p.FunctionCall != nil && p.FunctionCall.ID == id {
					part := pair(id, "yes")
					if part.FunctionResponse.Name = p.FunctionCall.Name; part.FunctionResponse.Name != workflow.WorkflowInputFunctionCallName {
						part.FunctionResponse.Response = map[string]any{"confirmed": true}
					}
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}
