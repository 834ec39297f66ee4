// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// talk is a session of an agent whose service can go back.
type talk struct {
	cg       *contextgraph.Instance
	cps      *checkpoint.Checkpoints
	sessions session.Service
	runner   *runner.Runner
	dir      string
}

// with is the session of the examples.
var with = record.Session{App: "app", User: "alice", ID: "s1"}

// newTalk opens what every program opens once.
func newTalk() *talk {
	dir, err := os.MkdirTemp("", "talk")
	if err != nil {
		log.Fatal(err)
	}
	cfg := contextgraph.Config{Journal: config.Journal{Path: filepath.Join(dir, "contextgraph.db")}}
	cg, err := contextgraph.Open(context.Background(), cfg, contextgraph.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	cps := checkpoint.New(cg)
	return &talk{cg: cg, cps: cps, sessions: cps.Sessions(session.InMemoryService()), dir: dir}
}

func (t *talk) close() {
	if err := t.cg.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	_ = os.RemoveAll(t.dir)
}

// serve makes a runner, as every program does.
func (t *talk) serve(root agent.Agent, err error) {
	if err == nil {
		t.runner, err = runner.New(runner.Config{
			AppName: with.App, Agent: root, SessionService: t.sessions, PluginConfig: t.cg.PluginConfig(), AutoCreateSession: true,
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serveWorkflow serves a workflow of ADK.
func (t *talk) serveWorkflow(nodes ...workflow.Node) {
	edges := workflow.Chain(append([]workflow.Node{workflow.Start}, nodes...)...)
	t.serve(workflowagent.New(workflowagent.Config{Name: "flow", Edges: edges}))
}

// send runs a turn, and prints the questions and the texts of the agent.
func (t *talk) send(msg *genai.Content) {
	for ev, err := range t.runner.Run(context.Background(), with.User, with.ID, msg, agent.RunConfig{}) {
		if err != nil {
			log.Fatal(err)
		}
		if ev.RequestedInput != nil {
			fmt.Println("question:", ev.RequestedInput.Message)
		}
		if ev.Content != nil && ev.Content.Parts[0].Text != "" {
			fmt.Println("agent:", ev.Content.Parts[0].Text)
		}
	}
}

func (t *talk) say(text string) {
	fmt.Println("alice:", text)
	t.send(adktest.UserText(text))
}

// list returns the checkpoints, the newest first.
func (t *talk) list() []checkpoint.Checkpoint {
	list, err := t.cps.List(context.Background(), with)
	if err != nil {
		log.Fatal(err)
	}
	return list
}

// before returns the checkpoint before a message, or that of a name.
func (t *talk) before(what string) checkpoint.Checkpoint {
	list := t.list()
	i := slices.IndexFunc(list, func(cp checkpoint.Checkpoint) bool { return cp.Name == what || cp.Name == "" && cp.Message == what })
	if i < 0 {
		log.Fatalf("no checkpoint %q", what)
	}
	return list[i]
}

func (t *talk) rewind(to checkpoint.Checkpoint) {
	result, err := t.cps.Rewind(context.Background(), with, to.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("back:", result.Events, "events are left")
}

// state returns a value of the state of the session.
func (t *talk) state(key string) any {
	got, err := t.sessions.Get(context.Background(), &session.GetRequest{AppName: with.App, UserID: with.User, SessionID: with.ID})
	if err != nil {
		log.Fatal(err)
	}
	value, _ := got.Session.State().Get(key) // nil if there is none
	return value
}

// said returns the text of the message of a turn.
func said(ctx agent.Context) string { return ctx.UserContent().Parts[0].Text }

// sets returns the event with which a node of a workflow changes the state.
func sets(ctx agent.Context, key string, value any) *session.Event {
	ev := session.NewEvent(ctx, ctx.InvocationID())
	ev.Output, ev.Actions.StateDelta = value, map[string]any{key: value}
	return ev
}

// collect is a workflow of two nodes: one reads a number from the message, one adds it to the state.
func collect() []workflow.Node {
	read := cgtest.FunctionNode("read", func(ctx agent.Context, _ any) (int, error) { return strconv.Atoi(said(ctx)) })
	add := cgtest.FunctionNode("add", func(ctx agent.Context, n int) (*session.Event, error) {
		before, _ := ctx.State().Get("sum")
		sum, _ := before.(int)
		return sets(ctx, "sum", sum+n), nil
	})
	return []workflow.Node{read, add}
}

// Each message to a workflow is a checkpoint with the state of its moment. Nothing is configured for it, and nothing copied.
func Example_workflow() {
	t := newTalk()
	defer t.close()
	t.serveWorkflow(collect()...)
	t.say("1")
	t.say("20")
	t.say("300")
	for _, cp := range t.list() {
		cp, err := t.cps.Get(context.Background(), with, cp.ID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("before %q: sum %v\n", cp.Message, cp.State["sum"])
	}
	fmt.Println("now: sum", t.state("sum"))
	// Output:
	// alice: 1
	// alice: 20
	// alice: 300
	// before "300": sum 21
	// before "20": sum 1
	// before "1": sum <nil>
	// now: sum 321
}

// A workflow goes back to before a message that was wrong, and goes on with another one.
func ExampleCheckpoints_Rewind() {
	t := newTalk()
	defer t.close()
	t.serveWorkflow(collect()...)
	t.say("1")
	t.say("2000") // 20 was meant
	t.say("300")
	fmt.Println("sum", t.state("sum"))

	t.rewind(t.before("2000"))
	fmt.Println("sum", t.state("sum"))
	t.say("20")
	t.say("300")
	fmt.Println("sum", t.state("sum"))
	// Output:
	// alice: 1
	// alice: 2000
	// alice: 300
	// sum 2301
	// back: 6 events are left
	// sum 1
	// alice: 20
	// alice: 300
	// sum 321
}

// The model decides when a position gets a name.
func ExampleCheckpoints_Tool() {
	t := newTalk()
	defer t.close()
	name, err := t.cps.Tool()
	if err != nil {
		log.Fatal(err)
	}
	llm := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		last := req.Contents[len(req.Contents)-1].Parts[0]
		switch {
		case last.FunctionResponse != nil:
			return adktest.Text("The plan stands."), nil
		case strings.HasPrefix(last.Text, "plan"):
			return adktest.Call(name.Name(), map[string]any{"name": "the plan"}), nil
		}
		return adktest.Text(fmt.Sprint("I have read ", len(req.Contents), " contents.")), nil
	}}
	t.serve(llmagent.New(llmagent.Config{Name: "planner", Mode: llmagent.ModeChat, Model: llm, Tools: []tool.Tool{name}}))
	t.say("hello")
	t.say("plan a week in Lisbon")
	t.say("with a flight at night")

	t.rewind(t.before("the plan"))
	t.say("with a train")
	// Output:
	// alice: hello
	// agent: I have read 1 contents.
	// alice: plan a week in Lisbon
	// agent: The plan stands.
	// alice: with a flight at night
	// agent: I have read 7 contents.
	// back: 2 events are left
	// alice: with a train
	// agent: I have read 7 contents.
}

// A node names the position before a step that is a risk, and asks. A small sum passes without both.
func ExampleCheckpoints_Create() {
	t := newTalk()
	defer t.close()
	const question = "large sum"
	assess := workflow.NewEmittingFunctionNode("assess", func(ctx agent.Context, _ any, emit func(*session.Event) error) (any, error) {
		sum, err := strconv.Atoi(said(ctx))
		if err != nil || sum < 1000 {
			return true, err
		}
		if _, err := t.cps.Create(ctx, with, "before the answer about "+said(ctx)); err != nil {
			return nil, err
		}
		ask := session.RequestInput{InterruptID: question, Message: "Is it to be paid?"}
		if err := emit(workflow.NewRequestInputEvent(ctx, ask)); err != nil {
			return nil, err
		}
		return nil, workflow.ErrNodeInterrupted
	}, workflow.NodeConfig{})
	pay := cgtest.FunctionNode("pay", func(ctx agent.Context, answer any) (*session.Event, error) {
		return sets(ctx, "paid", answer != "no"), nil
	})
	t.serveWorkflow(assess, pay)
	answer := func(text string) {
		fmt.Println("alice:", text)
		t.send(cgtest.InputAnswer(question, text))
		fmt.Println("paid:", t.state("paid"))
	}
	t.say("20")
	fmt.Println("paid:", t.state("paid"))
	t.say("5000")
	answer("no")
	for _, cp := range t.list() {
		if cp.Name != "" {
			fmt.Println("checkpoint:", cp.Name)
		}
	}

	t.rewind(t.before("before the answer about 5000"))
	answer("yes")
	// Output:
	// alice: 20
	// paid: true
	// alice: 5000
	// question: Is it to be paid?
	// alice: no
	// paid: false
	// checkpoint: before the answer about 5000
	// back: 2 events are left
	// alice: yes
	// paid: true
}
