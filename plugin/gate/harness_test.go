// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// m is an object of JSON.
type m = map[string]any

// newGate returns a recorder and the gate that stands on it, with the logger and the clock of
// the recorder.
func newGate(rc recorder.Config, gc gate.Config) (*recorder.Recorder, *gate.Gate) {
	if rc.Logger == nil {
		rc.Logger = slog.New(slog.DiscardHandler)
	}
	rc.Options.IsApproval = schema.IsApproval
	rec := must(recorder.New(rc))
	gc.Recorder, gc.Logger, gc.Now = rec, rc.Logger, rc.Now
	return rec, must(gate.New(gc))
}

// plugins returns the plugins of a runner in their order: that which records first, the
// others, and the gate last.
func plugins(g *gate.Gate, others ...*plugin.Plugin) runner.PluginConfig {
	first, last, err := g.Plugins()
	if err != nil {
		panic(err)
	}
	all := others
	if first != nil {
		all = slices.Concat([]*plugin.Plugin{first}, others)
	}
	return runner.PluginConfig{Plugins: append(all[:len(all):len(all)], last)}
}

// newRunner returns a runner of the agent with the plugins, on sessions in memory.
func newRunner(root agent.Agent, plugins runner.PluginConfig) *runner.Runner {
	return must(runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: plugins,
	}))
}

// unusedGuard is a guard that must not be needed: its ledger panics.
func unusedGuard() *safety.Guard {
	return must(safety.NewGuard(safety.GuardConfig{
		Ledger: struct{ safety.Ledger }{}, Evidence: struct{ safety.Evidence }{},
	}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", what, d)
	}
}

// asks returns an agent with a model and tools. Its mode is set: ADK would else set it in the
// first run of a runner, without a lock.
func asks(name string, mdl model.LLM, tools ...tool.Tool) agent.Agent {
	return must(llmagent.New(llmagent.Config{Mode: llmagent.ModeChat, Name: name, Description: name, Model: mdl, Tools: tools}))
}

func call(id, name string, args m) *genai.FunctionCall {
	return &genai.FunctionCall{ID: id, Name: name, Args: args}
}

// gives returns a tool that gives the result, whatever it is called with.
func gives(name string, result m) tool.Tool {
	return must(functiontool.New(functiontool.Config{Name: name, Description: name}, func(agent.Context, m) (map[string]any, error) {
		return result, nil
	}))
}

// actsOnNothing is a policy by which no call has to name anything.
var actsOnNothing = config.Guard{Tools: map[string]config.ToolSettings{"*": {ActsOn: config.ActsOnNothing}}}

// market is the evidence and the world of a guard: one product at a price.
type market struct {
	mu        sync.Mutex
	decisions []record.Decision
	// now are the prices that the checks get, the last one again and again.
	now    []float64
	before *bool // whether requests are checked before anybody is asked
}

func (mk *market) Collect(_ context.Context, _ record.Session, d record.Decision) (safety.Snapshot, error) {
	mk.mu.Lock()
	defer mk.mu.Unlock()
	mk.decisions = append(mk.decisions, d)
	e := entity.Entity{
		Type: "Product", Value: "Strava", Attributes: map[string]entity.Value{"price": must(entity.Number(40000.0))},
		Source: entity.SourceRule, Confidence: 1, Read: true, SeenAt: time.Now(),
	}
	return safety.Snapshot{
		Evidence: entity.Evidence{Asked: d.Answer != "", Entities: []entity.Canonical{{Key: e.Identity(), Type: e.Type, Value: e.Value, Attributes: e.Attributes, Confidence: 1, FirstSeen: e.SeenAt, LastSeen: e.SeenAt, Seen: []entity.Entity{e}}}},
		Receipt:  record.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"},
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
	policy := actsOnNothing
	policy.CheckBeforeAsking = mk.before
	return must(safety.NewGuard(safety.GuardConfig{
		Ledger: new(store.Memory).Open().Ledger(), Evidence: mk, Checkers: map[string]safety.Checker{"Product": mk}, Policy: policy,
	}))
}

// decided returns the decision that the guard was asked about first.
func (mk *market) decided(t testing.TB) record.Decision {
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

// guardedBy returns a runner of the agent behind the guard. The sink gets the rows of its runs.
func guardedBy(mk *market, cfg gate.Config, root func(*gate.Gate) agent.Agent) (*rowtest.Sink, *runner.Runner) {
	sink := &rowtest.Sink{}
	cfg.Guard = mk.guard()
	_, g := newGate(recorder.Config{Sink: sink}, cfg)
	return sink, newRunner(root(g), plugins(g))
}
