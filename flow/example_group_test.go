// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
)

// show sends messages to a graph, each in a process of its own, and answers the question that is open with those that
// follow the first one. It prints the outputs of the nodes.
func show(build func() *flow.Graph, messages ...any) {
	service := session.InMemoryService()
	open := ""
	for i, m := range messages {
		root, err := build().Agent()
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := runner.New(runner.Config{AppName: "app", Agent: root, SessionService: service, AutoCreateSession: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		msg := genai.NewContentFromText(fmt.Sprint(m), genai.RoleUser)
		if i > 0 {
			fmt.Println("answer:", m)
			msg = answer(pair(open, m))
		}
		for ev, err := range r.Run(context.Background(), "alice", "s1", msg, agent.RunConfig{}) {
			if err != nil {
				fmt.Println("error:", err)
				return
			}
			if ev.RequestedInput != nil {
				open = ev.RequestedInput.InterruptID
				fmt.Println("question:", ev.RequestedInput.Message)
			}
			if ev.Output != nil && strings.Count(ev.NodeInfo.Path, "/") == 1 {
				fmt.Printf("%s: %v\n", strings.TrimSuffix(ev.NodeInfo.Path[strings.Index(ev.NodeInfo.Path, "/")+1:], "@1"), ev.Output)
			}
		}
	}
}

// outputs is a node with an output.
func outputs(output string) workflow.Node {
	return flow.FuncNode(func(agent.Context, any) (string, error) { return output, nil })
}

// slow is a node whose output takes a time.
func slow(output string, d time.Duration) workflow.Node {
	return flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
		select {
		case <-time.After(d):
			return output, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// A person looks at a draft before it is sent: has it written again, changes the state, and lets it pass.
func ExampleAfter() {
	show(func() *flow.Graph {
		g := flow.New("mail", flow.After("draft"))
		g.Node("draft", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
			return "a " + flow.Get[string](flow.StateOf(ctx), "tone") + " draft", nil
		}))
		g.Node("send", flow.FuncNode(func(_ agent.Context, draft string) (string, error) { return "sent " + draft, nil }))
		g.Edge(flow.Start, "draft")
		g.Edge("draft", "send")
		return g
	}, "write", map[string]any{"action": "rerun", "state": map[string]any{"tone": "formal"}}, "go_on")
	// Output:
	// question: The run pauses after "draft". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: map[action:rerun state:map[tone:formal]]
	// question: The run pauses after "draft". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: go_on
	// draft: a formal draft
	// send: sent a formal draft
}

// The answers to a pause: skip a node, and go back to an earlier one.
func ExampleBefore() {
	show(func() *flow.Graph {
		g := flow.New("trip", flow.Before("check", "book"))
		for _, name := range []string{"plan", "check", "book"} {
			g.Node(name, outputs(name+"ed"))
		}
		g.Edge(flow.Start, "plan")
		g.Edge("plan", "check")
		g.Edge("check", "book")
		return g
	}, "go", "skip", "go_back plan", "go_on", "go_on")
	// Output:
	// plan: planed
	// question: The run pauses before "check". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: skip
	// question: The run pauses before "book". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: go_back plan
	// plan: planed
	// question: The run pauses before "check". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: go_on
	// check: checked
	// question: The run pauses before "book". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: go_on
	// book: booked
}

// A hook decides whether a person is asked: here by a rule, elsewhere by a model.
func ExampleHook() {
	show(func() *flow.Graph {
		g := flow.New("order", flow.Hook(func(_ agent.Context, m flow.Moment) error {
			if m.When == "before" && m.Node == "pay" && flow.Get[int](m.State, "price") > 1000 {
				return flow.ErrPause
			}
			return nil
		}))
		g.Node("price", flow.FuncNode(func(agent.Context, any) (int, error) { return 1200, nil }))
		g.Node("pay", outputs("paid"))
		g.Edge(flow.Start, "price")
		g.Edge("price", "pay")
		return g
	}, "go", "cancel")
	// Output:
	// price: 1200
	// question: The run pauses before "pay". How does it go on: go_on, skip, go_back, rerun, cancel?
	// answer: cancel
}

// A hook watches the nodes of a run.
func ExampleMoment() {
	show(func() *flow.Graph {
		g := flow.New("watched", flow.Hook(func(_ agent.Context, m flow.Moment) error {
			fmt.Printf("%s %s %s, iteration %d\n", m.When, m.Node, m.To, m.Iteration())
			return nil
		}))
		g.Node("a", outputs("one"))
		g.Node("b", outputs("two"))
		g.Edge(flow.Start, "a")
		g.Edge("a", "b")
		return g
	}, "go")
	// Output:
	// before a , iteration 0
	// after a , iteration 0
	// edge a b, iteration 1
	// a: one
	// before b , iteration 1
	// after b , iteration 1
	// b: two
}

// All members of a group are waited for.
func ExampleWaitAll() {
	show(func() *flow.Graph {
		g := flow.New("research")
		g.Node("prices", slow("40", 2*time.Millisecond), flow.Into("facts", flow.Append))
		g.Node("stock", outputs("7"), flow.Into("facts", flow.Append))
		g.Node("report", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
			return fmt.Sprint(flow.Get[[]string](flow.StateOf(ctx), "facts")), nil
		}))
		g.Parallel("sources", flow.WaitAll(), "prices", "stock")
		g.Edge(flow.Start, "sources")
		g.Edge("sources", "report")
		return g
	}, "go")
	// Output:
	// sources: map[prices:40 stock:7]
	// report: [40 7]
}

// The first source that answers is enough. The others are cancelled.
func ExampleWaitAny() {
	show(func() *flow.Graph {
		g := flow.New("fastest")
		g.Node("near", outputs("near"))
		g.Node("far", slow("far", time.Hour))
		g.Parallel("sources", flow.WaitAny(), "far", "near")
		g.Edge(flow.Start, "sources")
		return g
	}, "go")
	// Output:
	// sources: map[near:near]
}

// Two of three are enough, and one that fails is not counted.
func ExampleWaitN() {
	show(func() *flow.Graph {
		g := flow.New("quorum")
		g.Node("a", outputs("yes"))
		g.Node("b", flow.FuncNode(func(agent.Context, any) (string, error) { return "", errors.New("no answer") }))
		g.Node("c", slow("yes", time.Millisecond))
		g.Node("d", slow("no", time.Hour))
		g.Parallel("votes", flow.WaitN(2, flow.OnError(flow.Collect)), "a", "b", "c", "d")
		g.Edge(flow.Start, "votes")
		return g
	}, "go")
	// Output:
	// votes: map[a:yes c:yes]
}

// A member of a group asks a person; the others have ended when the answer comes.
func ExampleGraph_Parallel() {
	show(func() *flow.Graph {
		g := flow.New("campaign")
		g.Node("audience", outputs("sailors"))
		g.Node("budget", workflow.NewEmittingFunctionNode("budget", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
			return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "budget", Message: "How much?"})
		}, workflow.NodeConfig{}))
		g.Node("plan", flow.FuncNode(func(_ agent.Context, in map[string]any) (string, error) {
			return fmt.Sprintf("%v for %v", in["budget"], in["audience"]), nil
		}))
		g.Parallel("research", flow.WaitAll(), "audience", "budget")
		g.Edge(flow.Start, "research")
		g.Edge("research", "plan")
		return g
	}, "go", 500)
	// Output:
	// question: How much?
	// answer: 500
	// research: map[audience:sailors budget:500]
	// plan: 500 for sailors
}

// Edges by priority and weight, with a fallback. The draw stands in the event.
func ExamplePriority() {
	for _, urgent := range []bool{true, false} {
		g := flow.New("tickets")
		g.Node("triage", flow.FuncNode(func(agent.Context, any) (bool, error) { return urgent, nil }))
		for _, n := range []string{"urgent", "east", "west", "nobody"} {
			g.Node(n, outputs(n))
		}
		g.Edge(flow.Start, "triage")
		g.Edge("triage", "nobody")
		g.Edge("triage", "east", flow.Priority(1), flow.Weight(0.5))
		g.Edge("triage", "west", flow.Priority(1), flow.Weight(0.5))
		g.Edge("triage", "urgent", flow.Priority(2), flow.When("urgent", func(s flow.State) bool { return flow.Get[bool](s, "triage") }))
		root, err := g.Agent()
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := runner.NewInMemory("app", root)
		if err != nil {
			fmt.Println(err)
			return
		}
		for ev, err := range r.Run(context.Background(), "alice", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			step := ev.CustomMetadata[flow.MetadataKey].(map[string]any)
			if to := step["to"]; to == "east" || to == "west" {
				fmt.Println("drawn of", step["draw"].(map[string]any)["of"])
			} else if to != nil {
				fmt.Println(to, "as", step["edge"])
			}
		}
	}
	// Output:
	// urgent as urgent
	// drawn of 1
}
