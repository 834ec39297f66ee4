// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func newRunner(t testing.TB, cfg recorder.Config, root llmagent.Config, others ...*plugin.Plugin) *runner.Runner {
	t.Helper()
	return newRunnerWith(t, cfg, root, func(c runner.PluginConfig) runner.PluginConfig { return c }, others...)
}

// newRunnerWith lets wire change the plugins.
func newRunnerWith(t testing.TB, cfg recorder.Config, root llmagent.Config, wire func(runner.PluginConfig) runner.PluginConfig, others ...*plugin.Plugin) *runner.Runner {
	t.Helper()
	_, r := wired(t, session.InMemoryService(), cfg, root, wire, others...)
	return r
}

func newRunnerOn(t testing.TB, svc session.Service, cfg recorder.Config, root llmagent.Config) *runner.Runner {
	t.Helper()
	_, r := wired(t, svc, cfg, root, func(c runner.PluginConfig) runner.PluginConfig { return c })
	return r
}

func recorderAndRunner(t testing.TB, cfg recorder.Config, root llmagent.Config) (*recorder.Recorder, *runner.Runner) {
	t.Helper()
	return wired(t, session.InMemoryService(), cfg, root, func(c runner.PluginConfig) runner.PluginConfig { return c })
}

func wired(t testing.TB, svc session.Service, cfg recorder.Config, root llmagent.Config, wire func(runner.PluginConfig) runner.PluginConfig, others ...*plugin.Plugin) (*recorder.Recorder, *runner.Runner) {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	rec, err := recorder.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if root.Name == "" {
		root.Name = "root"
	}
	root.Mode = llmagent.ModeChat // ADK would else set it in the first run, without a lock
	a, err := llmagent.New(root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: svc, AutoCreateSession: true,
		PluginConfig: wire(recorder.Plugins(rec, others...)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec, r
}

// recorded returns a runner of the agent whose rows are in the sink.
func recorded(t testing.TB, cfg recorder.Config, root agent.Agent) (*rowtest.Sink, *runner.Runner) {
	t.Helper()
	_, sink, r := recordedBeside(t, cfg, root)
	return sink, r
}

// recordedBeside has other plugins in the runner.
func recordedBeside(t testing.TB, cfg recorder.Config, root agent.Agent, others ...*plugin.Plugin) (*recorder.Recorder, *rowtest.Sink, *runner.Runner) {
	t.Helper()
	sink := &rowtest.Sink{}
	cfg.Sink, cfg.Logger = sink, slog.New(slog.NewTextHandler(io.Discard, nil))
	rec, err := recorder.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), ArtifactService: artifact.InMemoryService(),
		AutoCreateSession: true, PluginConfig: recorder.Plugins(rec, others...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return rec, sink, r
}

func llm(t testing.TB, cfg llmagent.Config) agent.Agent {
	t.Helper()
	a, err := llmagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func functionTool[In any](t testing.TB, cfg functiontool.Config, f func(agent.Context, In) (map[string]any, error)) tool.Tool {
	t.Helper()
	tl, err := functiontool.New(cfg, f)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// emits returns an agent that emits the events.
func emits(t testing.TB, name string, events ...*session.Event) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, ev := range events {
				ev.InvocationID, ev.Timestamp = ctx.InvocationID(), time.Now()
				if !yield(ev, nil) {
					return
				}
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// responds is a user message with one function response.
func responds(id, name string, response map[string]any) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response},
	}}}
}

type m = map[string]any

// bench is a recorder with a runner of one root agent.
type bench struct {
	rec    *recorder.Recorder
	runner *runner.Runner
	sink   *rowtest.Sink
}

func newBench(t *testing.T, root agent.Agent, others ...*plugin.Plugin) *bench {
	t.Helper()
	b := &bench{sink: &rowtest.Sink{}}
	var err error
	if b.rec, err = recorder.New(recorder.Config{Sink: b.sink, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	b.runner, err = runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: recorder.Plugins(b.rec, others...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func modelAgent(name string, m model.LLM, opts ...func(*llmagent.Config)) agent.Agent {
	cfg := llmagent.Config{Name: name, Description: "the agent " + name, Model: m}
	for _, o := range opts {
		o(&cfg)
	}
	return must(llmagent.New(cfg))
}

func sequential(name string, subs ...agent.Agent) agent.Agent {
	return must(sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: name, SubAgents: subs}}))
}

func codeAgent(name string, run func(agent.InvocationContext, func(*session.Event, error) bool), subs ...agent.Agent) agent.Agent {
	return must(agent.New(agent.Config{Name: name, SubAgents: subs, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { run(ctx, yield) }
	}}))
}

func textEvent(ctx agent.InvocationContext, text string) *session.Event {
	ev := session.NewEvent(ctx, ctx.InvocationID())
	ev.Author, ev.Branch = ctx.Agent().Name(), ctx.Branch()
	ev.Content = genai.NewContentFromText(text, genai.RoleModel)
	return ev
}

var errModel = errors.New("model offline")

func broken() *adktest.Model {
	return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return nil, errModel }}
}

func refusing(t *testing.T, cfg plugin.Config) *plugin.Plugin {
	t.Helper()
	cfg.Name = "refuses"
	return must(plugin.New(cfg))
}

func call(id, name string, args m) *genai.FunctionCall {
	return &genai.FunctionCall{ID: id, Name: name, Args: args}
}

// prices is a tool that gives the next price of an item, the last one again and again.
func prices(t testing.TB, name string, next ...any) tool.Tool {
	var mu sync.Mutex
	return functionTool(t, functiontool.Config{Name: name, Description: "gives the price"}, func(_ agent.Context, args m) (map[string]any, error) {
		mu.Lock()
		defer mu.Unlock()
		price := next[0]
		if len(next) > 1 {
			next = next[1:]
		}
		return m{"price": price}, nil
	})
}

// asks returns an agent with the tools whose model follows the script.
func asks(t testing.TB, name string, mdl model.LLM, tools ...tool.Tool) agent.Agent {
	return llm(t, llmagent.Config{Name: name, Description: name, Model: mdl, Tools: tools})
}

// shape is what of a row its event type decides.
type shape struct {
	Type, Agent, Status, Message string
	Content                      any
	Attributes                   map[string]any
}

// fresh stands for an id or a time that each run has its own of.
const fresh = "<fresh>"

// shapeOf returns the shape of a row without what every row has. The named members of
// attributes.adk, and ids of events, differ from run to run.
func shapeOf(t testing.TB, e record.Event, differ ...string) shape {
	t.Helper()
	var attrs map[string]any
	if err := json.Unmarshal(e.Attributes, &attrs); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"root_agent_name", "session_metadata", "otel"} {
		delete(attrs, k)
	}
	adk := attrs["adk"].(map[string]any)
	delete(adk, "schema_version")
	delete(adk, "app_name")
	for _, k := range []string{"started", "result", "args_digest", "shown", "said", "asked", "answer_of"} { // they have tests of their own
		delete(adk, k)
	}
	for _, k := range append(differ, "source_event_id") {
		if _, ok := adk[k]; ok {
			adk[k] = fresh
		}
	}
	if _, ok := attrs["source_event_id"]; ok {
		attrs["source_event_id"] = fresh
	}
	if len(adk) == 0 {
		delete(attrs, "adk")
	}
	var content any
	if e.Content != nil {
		if err := json.Unmarshal(e.Content, &content); err != nil {
			t.Fatal(err)
		}
	}
	return shape{Type: e.EventType, Agent: e.Agent, Status: e.Status, Message: e.ErrorMessage, Content: content, Attributes: attrs}
}

func shapesOf(t testing.TB, rows []record.Event, differ ...string) (out []shape) {
	t.Helper()
	for _, e := range rows {
		out = append(out, shapeOf(t, e, differ...))
	}
	return out
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", what, d)
	}
}

// checkParents checks that every parent is a row of the trace.
func checkParents(t testing.TB, rows []record.Event) {
	t.Helper()
	spans := make(map[string]bool)
	for _, e := range rows {
		spans[e.TraceID+e.SpanID] = true
	}
	for _, e := range rows {
		if e.ParentSpanID != "" && !spans[e.TraceID+e.ParentSpanID] {
			t.Errorf("%s of %s: parent %s is no row", e.EventType, e.Agent, e.ParentSpanID)
		}
		if e.ParentSpanID == e.SpanID {
			t.Errorf("%s of %s is its own parent", e.EventType, e.Agent)
		}
	}
}

func one(t testing.TB, sink *rowtest.Sink, typ string) record.Event {
	t.Helper()
	rows := sink.Of(typ)
	if len(rows) != 1 {
		t.Fatalf("%d rows of %s, want one", len(rows), typ)
	}
	return rows[0]
}

func workflowOf(t testing.TB, edges []workflow.Edge, agents ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := workflowagent.New(workflowagent.Config{Name: "wf", Edges: edges, SubAgents: agents})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// constant returns a node with one output.
func constant(name, out string) workflow.Node {
	return workflow.NewFunctionNode(name, func(agent.Context, any) (m, error) { return m{"is": out}, nil }, workflow.NodeConfig{})
}
