// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// newWorld returns a world whose root is a workflow of ours.
func newWorld(t *testing.T, service session.Service, edges func(*world) []workflow.Edge) *world {
	return &world{t: t, service: service, root: func(w *world) agent.Agent {
		a, err := flow.Agent(workflowagent.Config{Name: "w", Edges: edges(w)})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
}

// want runs a message and checks what the nodes did, and the error.
func (w *world) want(msg *genai.Content, did string, want error) []*session.Event {
	w.t.Helper()
	events, err := w.run(msg)
	if !errors.Is(err, want) {
		w.t.Fatalf("error %v, want %v", err, want)
	}
	if got := w.take(); got != did {
		w.t.Fatalf("the nodes did %q, want %q", got, did)
	}
	return events
}

// told returns what the flow says.
func said(events []*session.Event) string {
	var b strings.Builder
	for _, ev := range events {
		if ev.Content != nil {
			for _, p := range ev.Content.Parts {
				b.WriteString(p.Text)
			}
		}
	}
	return b.String()
}

func TestMessageWhileItWaits(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, service(), func(w *world) []workflow.Edge { return joined(w, done(w, "A"), reruns(w, "B")) })
			w.want(adktest.UserText("go"), "A B?", nil)
			events := w.want(adktest.UserText("yes"), "", nil)
			if got, want := said(events), `The flow waits for an answer: B? (question "B-1" of w@1/B@1)`; got != want {
				t.Errorf("the flow says %q, want %q", got, want)
			}
			w.want(answer(pair("B-1", "x")), `B C({"A":"A!","B":"x"})`, nil)
			w.want(adktest.UserText("another"), "A B?", nil) // a new run
			w.want(answer(pair("B-1", "y")), `B C({"A":"A!","B":"y"})`, nil)
			w.want(answer(pair("B-1", "y")), "", flow.ErrAnswered)
			w.want(answer(pair("nobody", "y")), "", workflow.ErrNothingToResume)
		})
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge { return joined(w, hands(w, "A"), reruns(w, "B")) })
	w.want(adktest.UserText("go"), "A? B?", nil)
	if got := said(w.want(answer(pair("B-1", flow.Cancel)), "", nil)); got != "The run is cancelled." {
		t.Errorf("the flow says %q", got)
	}
	w.want(answer(pair("A-1", "late")), "", flow.ErrAnswered)
	w.want(adktest.UserText("go"), "A? B?", nil)
}

func TestAnswerThatDoesNotFit(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, service(), func(w *world) []workflow.Edge {
				ask := workflow.NewEmittingFunctionNode("B", func(ctx agent.Context, in any, emit func(*session.Event) error) (any, error) {
					reply, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{
						InterruptID: "B-1", ResponseSchema: &jsonschema.Schema{Type: "object", Required: []string{"ok"}},
					})
					w.log("B")
					return reply, err
				}, workflow.NodeConfig{RerunOnResume: new(true)})
				return joined(w, done(w, "A"), ask)
			})
			w.want(adktest.UserText("go"), "A B", nil)
			w.want(answer(pair("B-1", "no object")), "", workflow.ErrInvalidResumeResponse)
			w.want(answer(pair("B-1", map[string]any{"ok": true})), `B C({"A":"A!","B":{"ok":true}})`, nil)
			w.want(answer(pair("B-1", map[string]any{"ok": true})), "", flow.ErrAnswered)
		})
	}
}

// A confirmation of another kind is no answer to a question for an input, and the other way round.
func TestAnswerOfAnotherKind(t *testing.T) {
	w := newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge { return joined(w, done(w, "A"), reruns(w, "B")) })
	w.want(adktest.UserText("go"), "A B?", nil)
	w.want(adktest.Answer("B-1", true), "", workflow.ErrInvalidResumeResponse)
	w.want(answer(pair("B-1", "x")), `B C({"A":"A!","B":"x"})`, nil)
}

// A node of ADK that cannot go on where it asked tells so before anybody is asked in vain.
func TestStockNodes(t *testing.T) {
	for name, c := range map[string]struct {
		node func(w *world) workflow.Node
		use  string
	}{
		"agent": {func(w *world) workflow.Node { return stock.node(buyer(w, "B")) }, "flow.AgentNode"},
		"workflow": {func(w *world) workflow.Node {
			n, err := stock.nested("B", workflow.Chain(workflow.Start, hands(w, "I")))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}, "flow.WorkflowNode"},
		"parallel worker": {func(w *world) workflow.Node {
			n, err := workflow.NewParallelWorker("B", hands(w, "I"), 0, workflow.NodeConfig{})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}, "before or behind"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge {
				items := workflow.NewFunctionNode("items", func(agent.Context, any) ([]string, error) { return []string{"a"}, nil }, workflow.NodeConfig{})
				return workflow.Chain(workflow.Start, items, c.node(w))
			})
			events, err := w.run(adktest.UserText("go"))
			if !errors.Is(err, flow.ErrStockNode) || !strings.Contains(err.Error(), c.use) || !strings.Contains(err.Error(), `"B"`) {
				t.Errorf("error %v, want ErrStockNode that names B and %s", err, c.use)
			}
			for _, ev := range events {
				if len(ev.LongRunningToolIDs) > 0 {
					t.Errorf("somebody was asked: %v", ev.LongRunningToolIDs)
				}
			}
		})
	}
}

// A graph that has lost the node which asked cannot take its answer.
func TestNodeIsGone(t *testing.T) {
	name := "B"
	w := newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge { return joined(w, done(w, "A"), reruns(w, name)) })
	w.want(adktest.UserText("go"), "A B?", nil)
	name = "B2"
	w.want(answer(pair("B-1", "x")), "", flow.ErrChanged)
}

// An agent that asked for two confirmations goes on with each answer, and has not ended before the last.
func TestTwoConfirmationsOfOneAgent(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, service(), func(w *world) []workflow.Edge {
				return joined(w, done(w, "A"), flow.AgentNode(buyerOf(w, "B", 2)))
			})
			events := w.want(adktest.UserText("go"), "A B?", nil)
			both := yes(events, true)
			w.want(answer(both.Parts[0]), "B:buy", nil)
			w.want(answer(both.Parts[0]), "", flow.ErrAnswered)
			w.want(answer(both.Parts[1]), `B:buy C({"A":"A!","B":"Bought."})`, nil)
			w.want(both, "", flow.ErrAnswered)
		})
	}
}

// A tool that runs long is answered by its own name.
func TestLongRunningTool(t *testing.T) {
	for where, service := range services() {
		t.Run(where, func(t *testing.T) {
			w := newWorld(t, service(), func(w *world) []workflow.Edge {
				book, err := functiontool.New(functiontool.Config{Name: "book", Description: "book", IsLongRunning: true},
					func(agent.Context, struct{}) (map[string]any, error) {
						w.log("book")
						return map[string]any{"status": "pending"}, nil
					})
				if err != nil {
					t.Fatal(err)
				}
				a, err := llmagent.New(llmagent.Config{Name: "B", Tools: []tool.Tool{book}, Model: &adktest.Model{
					Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
						last := adktest.LastResponse(req)
						switch {
						case last == nil:
							return adktest.Call("book", nil), nil
						case last.Response["status"] == "pending":
							return adktest.Text("Wait."), nil
						}
						return adktest.Text("Booked."), nil
					}}})
				if err != nil {
					t.Fatal(err)
				}
				return joined(w, done(w, "A"), flow.AgentNode(a))
			})
			events := w.want(adktest.UserText("go"), "A book", nil)
			var id string
			for _, ev := range events {
				if len(ev.LongRunningToolIDs) > 0 {
					id = ev.LongRunningToolIDs[0]
				}
			}
			msg := answer(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "book", Response: map[string]any{"status": "booked"}}})
			w.want(msg, `C({"A":"A!","B":"Booked."})`, nil)
			w.want(msg, "", flow.ErrAnswered)
		})
	}
}

// The nodes also work in a workflow of ADK, and an agent of one flow in a node of another says what to use.
func TestElsewhere(t *testing.T) {
	w := &world{t: t, service: session.InMemoryService(), root: func(w *world) agent.Agent {
		a, err := workflowagent.New(workflowagent.Config{Name: "w", Edges: workflow.Chain(workflow.Start, flow.AgentNode(buyer(w, "B")))})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}}
	w.want(adktest.UserText("go"), "B?", nil)
	w = newWorld(t, session.InMemoryService(), func(w *world) []workflow.Edge {
		inner, err := flow.Agent(workflowagent.Config{Name: "inner", Edges: workflow.Chain(workflow.Start, done(w, "a"))})
		if err != nil {
			t.Fatal(err)
		}
		return workflow.Chain(workflow.Start, flow.AgentNode(inner))
	})
	if _, err := w.run(adktest.UserText("go")); err == nil || !strings.Contains(err.Error(), "use Nested or WorkflowNode there") {
		t.Errorf("error %v", err)
	}
}
