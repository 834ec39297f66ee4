// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
	"github.com/adk-contextgraph/contextgraph/safety/ledgertest"
)

// market is the evidence and the world of a guard: one product at a price.
type market struct {
	mu        sync.Mutex
	decisions []safety.Decision
	// now are the prices that the checks get, the last one again and again.
	now []float64
}

func (mk *market) Collect(_ context.Context, _ safety.Session, d safety.Decision) (safety.Snapshot, error) {
	mk.mu.Lock()
	defer mk.mu.Unlock()
	mk.decisions = append(mk.decisions, d)
	e := entity.Entity{
		Type: "Product", Value: "Strava", Attributes: map[string]entity.Value{"price": must(entity.Number(40000.0))},
		Source: entity.SourceRule, Confidence: 1, Read: true, SeenAt: time.Now(),
	}
	return safety.Snapshot{
		Entities: []entity.Canonical{{Key: e.Identity(), Type: e.Type, Value: e.Value, Attributes: e.Attributes, Confidence: 1, FirstSeen: e.SeenAt, LastSeen: e.SeenAt, Seen: []entity.Entity{e}}},
		Asked:    d.Answer != "", Receipt: safety.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"},
	}, nil
}

func (mk *market) Check(context.Context, entity.Canonical) (safety.State, error) {
	mk.mu.Lock()
	defer mk.mu.Unlock()
	now := 40000.0
	if len(mk.now) > 0 {
		if now = mk.now[0]; len(mk.now) > 1 {
			mk.now = mk.now[1:]
		}
	}
	return safety.State{Attributes: map[string]entity.Value{"price": must(entity.Number(now))}, AsOf: time.Now()}, nil
}

func (mk *market) guard() *safety.Guard {
	return must(safety.NewGuard(safety.GuardConfig{
		Ledger: new(ledgertest.MemoryLedger), Evidence: mk, Checkers: map[string]safety.Checker{"Product": mk}, Policy: safety.DefaultPolicy(),
	}))
}

// decided returns the decision that the guard was asked about first.
func (mk *market) decided(t testing.TB) safety.Decision {
	t.Helper()
	mk.mu.Lock()
	defer mk.mu.Unlock()
	if len(mk.decisions) == 0 {
		t.Fatal("nothing was asked")
	}
	for _, d := range mk.decisions {
		if d.Node != "" {
			return d
		}
	}
	return mk.decisions[0]
}

// guardedBy returns a runner of the agent behind the guard, whose rows are in the sink.
func guardedBy(t testing.TB, mk *market, cfg recorder.Config, root func(*recorder.Recorder) agent.Agent) (*memory, *runner.Runner) {
	t.Helper()
	sink := &memory{}
	cfg.Sink, cfg.Guard, cfg.Logger = sink, mk.guard(), slog.New(slog.NewTextHandler(io.Discard, nil))
	rec := must(recorder.New(cfg))
	return sink, must(runner.New(runner.Config{
		AppName: "app", Agent: root(rec), SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: rec.PluginConfig(),
	}))
}

// The guard is told which answer of a model asked, whoever put the call there.
func TestGuardIsToldWhichAnswerAsked(t *testing.T) {
	buys := func() *model.LLMResponse { return adktest.Calls(call("", "buy", m{"item": "Strava"})) }
	for name, tt := range map[string]struct {
		answers []*model.LLMResponse
		agent   func(*llmagent.Config)
		nth     int // of the model calls
	}{
		"the model": {answers: []*model.LLMResponse{adktest.Calls(call("", "search", nil)), buys(), adktest.Text("done")}, nth: 1},
		"one id twice": {answers: []*model.LLMResponse{
			adktest.Calls(call("x", "search", nil)), adktest.Calls(call("x", "buy", m{"item": "Strava"})), adktest.Text("done"),
		}, nth: 1},
		"a callback behind the model": {
			answers: []*model.LLMResponse{adktest.Calls(call("", "search", nil)), adktest.Text("no"), adktest.Text("done")}, nth: 1,
			agent: func(c *llmagent.Config) {
				c.AfterModelCallbacks = []llmagent.AfterModelCallback{func(_ agent.Context, resp *model.LLMResponse, _ error) (*model.LLMResponse, error) {
					if resp.Content.Parts[0].Text == "no" {
						return buys(), nil
					}
					return nil, nil
				}}
			},
		},
		"a callback in the place of the model": {
			answers: []*model.LLMResponse{adktest.Text("done")}, nth: 0,
			agent: func(c *llmagent.Config) {
				n := 0
				c.BeforeModelCallbacks = []llmagent.BeforeModelCallback{func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
					if n++; n == 1 {
						return buys(), nil
					}
					return nil, nil
				}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mk := &market{}
			sink, r := guardedBy(t, mk, recorder.Config{Tools: []string{"buy"}}, func(*recorder.Recorder) agent.Agent {
				cfg := llmagent.Config{Name: "root", Model: script(tt.answers...), Tools: []tool.Tool{prices(t, "search", 40000), prices(t, "buy", 1)}}
				if tt.agent != nil {
					tt.agent(&cfg)
				}
				return llm(t, cfg)
			})
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			d, want := mk.decided(t), sink.of(schema.LLMResponse)[tt.nth].EventID
			if d.Answer != want || d.After != "" {
				t.Errorf("answer %s, after %q; want answer %s", d.Answer, d.After, want)
			}
		})
	}
}

// Where no model asked the guard is told behind which row the step began.
func TestGuardIsToldWhenANodeBegan(t *testing.T) {
	first, other := constant("first", "x"), constant("other", "y")
	ask := func() workflow.Node {
		return workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (m, error) {
			return nil, emit(workflow.NewRequestInputEvent(ctx, session.RequestInput{InterruptID: "in-1", Message: "buy?"}))
		}, workflow.NodeConfig{})
	}
	for name, tt := range map[string]struct {
		edges func(workflow.Node) []workflow.Edge
		after string
	}{
		"one after the other": {func(n workflow.Node) []workflow.Edge { return workflow.Chain(workflow.Start, first, other, n) }, "wf@1/other@1"},
		"nothing before":      {func(n workflow.Node) []workflow.Edge { return workflow.Chain(workflow.Start, n) }, ""},
		"side by side": {func(n workflow.Node) []workflow.Edge {
			join := workflow.NewJoinNode("both")
			return workflow.NewEdgeBuilder().AddFanOut(workflow.Start, first, other).AddFanIn(join, first, other).Add(join, n).Build()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mk := &market{}
			sink, r := guardedBy(t, mk, recorder.Config{Inputs: []string{"ask"}}, func(*recorder.Recorder) agent.Agent {
				return workflowOf(t, tt.edges(ask()))
			})
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			want := ""
			for _, e := range sink.of(schema.NodeOutput) {
				if tt.after != "" && attribute(t, e, "adk", "node", "path") == tt.after {
					want = e.EventID
				}
			}
			if d := mk.decided(t); d.Answer != "" || d.After != want || (want == "") != (tt.after == "") {
				t.Errorf("answer %q, after %q, want after %q", d.Answer, d.After, want)
			}
		})
	}
}

// What a refused call is told of the world stands in its row, once.
func TestRefusalDeclaresWhatChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		now     []float64
		protect bool
	}{
		"at the answer":               {now: []float64{80000}},
		"before the call":             {now: []float64{40000, 80000}},
		"before the call, by Protect": {now: []float64{40000, 80000}, protect: true},
	} {
		t.Run(name, func(t *testing.T) {
			mk := &market{now: tt.now}
			buys := call("c1", "buy", m{"item": "Strava"})
			sink, r := guardedBy(t, mk, recorder.Config{Tools: []string{"buy"}}, func(rec *recorder.Recorder) agent.Agent {
				buy := prices(t, "buy", 1)
				if tt.protect {
					buy = rec.Protect(buy)
				}
				return asks(t, "root", script(adktest.Calls(buys), adktest.Text("wait"), adktest.Calls(call("c2", "buy", m{"item": "Strava"})), adktest.Text("done"), adktest.Text("done")), buy)
			})
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			asked := adktest.Confirmations(events)
			if len(asked) != 1 {
				t.Fatalf("%d requests", len(asked))
			}
			adktest.Run(t, r, "u", "s", adktest.Answer(asked[0].ID, true))
			declared := 0
			for _, e := range sink.of(schema.ToolError) {
				entities, _ := attribute(t, e, "entities").([]any)
				if len(entities) == 0 {
					continue
				}
				declared++
				diff(t, "entities", []any{map[string]any{"type": "Product", "value": "Strava", "confidence": 1.0,
					"attributes": map[string]any{"price": attributeOf(entities[0], "price")}}}, entities)
				if text := string(e.Attributes); !strings.Contains(text, "80000") {
					t.Errorf("the row does not hold the present price: %s", text)
				}
			}
			if declared != 1 {
				t.Errorf("%d rows declare what changed, want one", declared)
			}
		})
	}
}

func attributeOf(e any, name string) any {
	m, _ := e.(map[string]any)
	attributes, _ := m["attributes"].(map[string]any)
	return attributes[name]
}
