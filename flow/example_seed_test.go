// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
)

// The basic examples of GraphAgent for Python. Each message runs in a runner and a graph of its own, over sessions that
// are decoded from JSON: nothing but the session's events goes from one to the next.

// anotherProcess builds a graph and a runner, has them run, and prints each step.
func anotherProcess(service session.Service, build func(*flow.Graph), run func(context.Context, *runner.Runner) iter.Seq2[*session.Event, error]) {
	g := flow.New("g", flow.MaxIterations(8))
	build(g)
	root, err := g.Agent()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(runner.Config{AppName: "app", Agent: root, SessionService: service, AutoCreateSession: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range run(context.Background(), r) {
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		name := strings.TrimSuffix(path.Base(ev.NodeInfo.Path), "@1")
		step := ev.CustomMetadata[flow.MetadataKey].(map[string]any)
		switch {
		case ev.RequestedInput != nil:
			fmt.Printf("%s asks: %s\n", name, ev.RequestedInput.Message)
		case step["to"] == nil:
			fmt.Printf("%s: %v\n", name, ev.Output)
		case step["edge"] == nil:
			fmt.Printf("%s: %v → %v\n", name, ev.Output, step["to"])
		default:
			fmt.Printf("%s: %v → %v (%v)\n", name, ev.Output, step["to"], step["edge"])
		}
	}
}

// sendText sends a text, sendAnswer sends the answer to a question.
func sendText(text string) func(context.Context, *runner.Runner) iter.Seq2[*session.Event, error] {
	return sendContent(genai.NewContentFromText(text, genai.RoleUser))
}

func sendAnswer(id, value string) func(context.Context, *runner.Runner) iter.Seq2[*session.Event, error] {
	return sendContent(answer(pair(id, value)))
}

func sendContent(msg *genai.Content) func(context.Context, *runner.Runner) iter.Seq2[*session.Event, error] {
	return func(ctx context.Context, r *runner.Runner) iter.Seq2[*session.Event, error] {
		return r.Run(ctx, "alice", "s1", msg, agent.RunConfig{})
	}
}

// questionNode is a node that asks a person, under another id at each visit, and has the answer as its output.
func questionNode(name, text string) workflow.Node {
	return workflow.NewEmittingFunctionNode(name, func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		id := fmt.Sprintf("%s-%d", name, flow.StateOf(ctx).Visits(name)+1)
		return workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: id, Message: text})
	}, workflow.NodeConfig{RerunOnResume: new(true)})
}

// whenSaid is a condition: the state has the value.
func whenSaid(key, value string) flow.EdgeOption {
	return flow.When(value, func(s flow.State) bool { return flow.Get[string](s, key) == value })
}

func textNode(f func(in string) string) workflow.Node {
	return flow.FuncNode(func(_ agent.Context, in string) (string, error) { return f(in), nil })
}

// Example 01: steps one behind the other, the last one after a person's word.
func Example_basic() {
	build := func(g *flow.Graph) {
		g.Node("fetch", textNode(func(topic string) string { return "facts about " + topic }))
		g.Node("write", textNode(func(facts string) string { return "article with " + facts }))
		g.Node("approve", questionNode("approve", "Publish it?"))
		g.Node("publish", textNode(func(word string) string { return "published: " + word }))
		g.Edge(flow.Start, "fetch")
		g.Edge("fetch", "write")
		g.Edge("write", "approve")
		g.Edge("approve", "publish")
	}
	service := carry{session.InMemoryService()}
	anotherProcess(service, build, sendText("rivers"))
	anotherProcess(service, build, sendAnswer("approve-1", "yes"))
	// Output:
	// fetch: facts about rivers → write
	// write: article with facts about rivers → approve
	// approve asks: Publish it?
	// approve: yes → publish
	// publish: published: yes
}

// Example 02: the state decides where the run goes on, before and after a person's answer.
func Example_conditionalRouting() {
	build := func(g *flow.Graph) {
		g.Node("classify", textNode(func(request string) string {
			if strings.Contains(request, "money") {
				return "refund"
			}
			return "question"
		}), flow.Into("kind"))
		g.Node("ask", questionNode("ask", "How much?"), flow.Into("amount"))
		g.Node("pay", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
			s := flow.StateOf(ctx)
			return fmt.Sprintf("%s of %s for %q", flow.Get[string](s, "kind"), flow.Get[string](s, "amount"), s.Input()), nil
		}))
		g.Node("reply", textNode(func(string) string { return "an answer" }))
		g.Edge(flow.Start, "classify")
		g.Edge("classify", "ask", whenSaid("kind", "refund"))
		g.Edge("classify", "reply")
		g.Edge("ask", "reply", whenSaid("amount", "nothing"))
		g.Edge("ask", "pay")
	}
	service := carry{session.InMemoryService()}
	anotherProcess(service, build, sendText("where is it?"))
	anotherProcess(service, build, sendText("my money back"))
	anotherProcess(service, build, sendAnswer("ask-1", "forty dollars"))
	// Output:
	// classify: question → reply
	// reply: an answer
	// classify: refund → ask (refund)
	// ask asks: How much?
	// ask: forty dollars → pay
	// pay: refund of forty dollars for "my money back"
}

// Example 03: a loop, counted over all answers.
func Example_cyclicExecution() {
	build := func(g *flow.Graph) {
		g.Node("draft", flow.FuncNode(func(ctx agent.Context, _ any) (string, error) {
			return fmt.Sprintf("draft %d", flow.StateOf(ctx).Visits("draft")+1), nil
		}))
		g.Node("review", questionNode("review", "Good?"))
		g.Node("done", textNode(func(string) string { return "done" }))
		g.Edge(flow.Start, "draft")
		g.Edge("draft", "review")
		g.Edge("review", "done", whenSaid("review", "good"))
		g.Edge("review", "draft", flow.When("tries left", func(s flow.State) bool { return s.Visits("draft") < 3 }))
		g.Edge("review", "done")
	}
	service := carry{session.InMemoryService()}
	anotherProcess(service, build, sendText("go"))
	for visit := range 3 {
		anotherProcess(service, build, sendAnswer(fmt.Sprintf("review-%d", visit+1), "again"))
	}
	// Output:
	// draft: draft 1 → review
	// review asks: Good?
	// review: again → draft (tries left)
	// draft: draft 2 → review
	// review asks: Good?
	// review: again → draft (tries left)
	// draft: draft 3 → review
	// review asks: Good?
	// review: again → done
	// done: done
}

// Example 04: each step is stored, so a run that was cut off goes on at the step that was not.
func Example_checkpointing() {
	down := true
	build := func(g *flow.Graph) {
		g.Node("load", textNode(func(string) string { return "3 files" }))
		g.Node("convert", flow.FuncNode(func(_ agent.Context, in string) (string, error) {
			if down {
				return "", errors.New("no memory left")
			}
			return in + ", converted", nil
		}), flow.Idempotent())
		g.Node("store", textNode(func(in string) string { return in + ", stored" }))
		g.Edge(flow.Start, "load")
		g.Edge("load", "convert")
		g.Edge("convert", "store")
	}
	service := carry{session.InMemoryService()}
	anotherProcess(service, build, sendText("go"))
	down = false
	anotherProcess(service, build, func(ctx context.Context, r *runner.Runner) iter.Seq2[*session.Event, error] {
		return flow.Continue(ctx, r, "alice", "s1")
	})
	// Output:
	// load: 3 files → convert
	// error: flow: node "convert": no memory left
	// convert: 3 files, converted → store
	// store: 3 files, converted, stored
}
