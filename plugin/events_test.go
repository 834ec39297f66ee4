// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// recorded returns a runner of the agent whose rows are in the sink.
func recorded(t testing.TB, options recorder.Options, root agent.Agent) (*memory, *runner.Runner) {
	t.Helper()
	_, sink, r := recordedBeside(t, options, root)
	return sink, r
}

// recordedBeside has other plugins in the runner.
func recordedBeside(t testing.TB, options recorder.Options, root agent.Agent, others ...*plugin.Plugin) (*recorder.Recorder, *memory, *runner.Runner) {
	t.Helper()
	sink := &memory{}
	rec, err := recorder.New(recorder.Config{Sink: sink, Options: options, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), ArtifactService: artifact.InMemoryService(),
		AutoCreateSession: true, PluginConfig: rec.PluginConfig(others...),
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

// calls returns a model that first asks for the calls and then says done.
func calls(fcs ...*genai.FunctionCall) *adktest.Model {
	return &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Calls(fcs...), nil
	}}
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
func shapeOf(t testing.TB, e schema.Event, differ ...string) shape {
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
	for _, k := range []string{"started", "result", "read", "answer_of"} { // they have tests of their own
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

func shapesOf(t testing.TB, rows []schema.Event, differ ...string) (out []shape) {
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
func checkParents(t testing.TB, rows []schema.Event) {
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

func one(t testing.TB, sink *memory, typ string) schema.Event {
	t.Helper()
	rows := sink.of(typ)
	if len(rows) != 1 {
		t.Fatalf("%d rows of %s, want one", len(rows), typ)
	}
	return rows[0]
}

func graph(t testing.TB, rows []schema.Event) *graphsync.Graph {
	t.Helper()
	return graphsync.Build(rows, nil)
}

type m = map[string]any

func TestTransferRow(t *testing.T) {
	helper := llm(t, llmagent.Config{Name: "helper", Description: "helps", Model: says("helped")})
	root := llm(t, llmagent.Config{
		Name: "root", SubAgents: []agent.Agent{helper},
		Model: calls(&genai.FunctionCall{Name: "transfer_to_agent", Args: m{"agent_name": "helper"}}),
	})
	sink, r := recorded(t, recorder.Options{}, root)
	adktest.Run(t, r, "u", "s", adktest.UserText("hi"))
	e := one(t, sink, schema.AgentTransfer)
	diff(t, "row", shape{
		Type: schema.AgentTransfer, Agent: "root", Status: "OK",
		Content:    m{"from_agent": "root", "to_agent": "helper"},
		Attributes: m{"adk": m{"source_event_id": fresh, "node": m{"path": "root"}}, "source_event_id": fresh},
	}, shapeOf(t, e))
	if start := sink.of(schema.AgentStarting)[0]; e.SpanID != start.SpanID || e.ParentSpanID != start.ParentSpanID {
		t.Errorf("span %s, want the agent's %s", e.SpanID, start.SpanID)
	}
	// The delegate's answer comes through the root agent's node. It is the delegate's.
	answer := one(t, sink, schema.AgentResponse)
	if start := sink.of(schema.AgentStarting)[1]; answer.SpanID != start.SpanID || answer.Agent != "helper" {
		t.Errorf("the answer of %s stands on span %s, want the delegate's %s", answer.Agent, answer.SpanID, start.SpanID)
	}
	checkParents(t, sink.rows)
}

func TestLongRunningTool(t *testing.T) {
	order := functionTool(t, functiontool.Config{Name: "order", IsLongRunning: true}, func(agent.Context, struct {
		Item string `json:"item"`
	}) (map[string]any, error) {
		return m{"status": "pending"}, nil
	})
	sink, r := recorded(t, recorder.Options{}, llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{order},
		Model: calls(&genai.FunctionCall{ID: "call-1", Name: "order", Args: m{"item": "tea"}}),
	}))
	adktest.Run(t, r, "u", "s", adktest.UserText("order tea"))
	e := one(t, sink, schema.ToolPaused)
	diff(t, "pause", shape{
		Type: schema.ToolPaused, Agent: "root", Status: "OK",
		Content: m{"tool": "order", "args": m{"item": "tea"}},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "node": m{"path": "root"}, "pause_kind": "tool", "function_call_id": "call-1",
		}},
	}, shapeOf(t, e))
	if start := one(t, sink, schema.AgentStarting); e.SpanID != start.SpanID {
		t.Errorf("the pause stands on span %s, want the agent's %s", e.SpanID, start.SpanID)
	}

	adktest.Run(t, r, "u", "s", responds("call-1", "order", m{"status": "delivered"}))
	var resumed []schema.Event
	for _, e := range sink.of(schema.ToolCompleted) {
		if attribute(t, e, "adk", "pause_kind") != nil {
			resumed = append(resumed, e)
		}
	}
	diff(t, "resumed", []shape{{
		Type: schema.ToolCompleted, Agent: "root", Status: "OK",
		Content:    m{"tool": "order", "result": m{"status": "delivered"}},
		Attributes: m{"adk": m{"pause_kind": "tool", "call_id": "call-1", "function_call_id": "call-1", "waited_ms": fresh}},
	}}, shapesOf(t, resumed, "waited_ms"))
	checkParents(t, sink.rows)
}

// responds is a user message with one function response.
func responds(id, name string, response map[string]any) *genai.Content {
	return &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response},
	}}}
}

// event returns an event of a model with the calls.
func event(id string, longRunning []string, fcs ...*genai.FunctionCall) *session.Event {
	ev := &session.Event{ID: id, LongRunningToolIDs: longRunning}
	if len(fcs) > 0 {
		ev.Content = &genai.Content{Role: genai.RoleModel}
	}
	for _, fc := range fcs {
		ev.Content.Parts = append(ev.Content.Parts, &genai.Part{FunctionCall: fc})
	}
	return ev
}

// Credentials are asked for by the host's agents only: ADK-Go has the name of the
// call and no code that makes it.
func TestCredentialRequest(t *testing.T) {
	sink, r := recorded(t, recorder.Options{}, emits(t, "root", event("e1", []string{"cred-1"},
		&genai.FunctionCall{ID: "cred-1", Name: "adk_request_credential", Args: m{"scheme": "oauth2"}},
		&genai.FunctionCall{ID: "invented", Name: "adk_request_credential"},
	)))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	request, pause := one(t, sink, schema.HITLCredentialRequest), one(t, sink, schema.ToolPaused)
	content := m{"tool": "adk_request_credential", "args": m{"scheme": "oauth2"}}
	attrs := func(id string) m {
		return m{"adk": m{"source_event_id": fresh, "pause_kind": "hitl_credential", id: "cred-1"}}
	}
	diff(t, "request", shape{Type: schema.HITLCredentialRequest, Agent: "root", Status: "OK", Content: content, Attributes: attrs("call_id")}, shapeOf(t, request))
	diff(t, "pause", shape{Type: schema.ToolPaused, Agent: "root", Status: "OK", Content: content, Attributes: attrs("function_call_id")}, shapeOf(t, pause))
	start := one(t, sink, schema.AgentStarting)
	if request.SpanID != pause.SpanID || request.SpanID == start.SpanID || request.ParentSpanID != start.SpanID {
		t.Errorf("request on %s below %s, pause on %s; want one span of their own below %s", request.SpanID, request.ParentSpanID, pause.SpanID, start.SpanID)
	}

	adktest.Run(t, r, "u", "s", responds("cred-1", "adk_request_credential", m{"token": "hunter2", "ok": true}))
	completed := one(t, sink, schema.HITLCredentialRequestCompleted)
	diff(t, "completed", shape{
		Type: schema.HITLCredentialRequestCompleted, Agent: "root", Status: "OK",
		Content: m{"tool": "adk_request_credential", "result": m{"token": "[REDACTED]", "ok": true}},
		Attributes: m{"adk": m{
			"pause_kind": "hitl_credential", "call_id": "cred-1", "approver": "u", "waited_ms": fresh,
		}},
	}, shapeOf(t, completed, "waited_ms"))
	if n := len(sink.of(schema.ToolCompleted)); n != 0 {
		t.Errorf("%d rows of TOOL_COMPLETED, want none", n)
	}
	checkParents(t, sink.rows)
}

func TestPausesWithoutACall(t *testing.T) {
	asks := event("e1", []string{"gone"})
	asks.RequestedInput = &session.RequestInput{InterruptID: "in-1", Message: "how many?"}
	sink, r := recorded(t, recorder.Options{}, emits(t, "root", asks, &session.Event{
		ID: "e2", LLMResponse: model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{nil}}},
	}))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	diff(t, "pause", shape{
		Type: schema.ToolPaused, Agent: "root", Status: "OK", Content: m{"tool": nil, "args": nil},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "pause_kind": "tool", "function_call_id": "gone",
		}},
	}, shapeOf(t, one(t, sink, schema.ToolPaused)))
	diff(t, "request", shape{
		Type: schema.HITLInputRequest, Agent: "root", Status: "OK",
		Content: m{"tool": "adk_request_input", "args": m{"interruptId": "in-1", "message": "how many?", "payload": nil}},
		Attributes: m{"adk": m{
			"source_event_id": fresh, "pause_kind": "hitl_input", "call_id": "in-1", "interrupt_id": "in-1",
		}},
	}, shapeOf(t, one(t, sink, schema.HITLInputRequest)))
}

// A request for a confirmation and its pause are one step, below the call that asks.
func TestPauseOfAConfirmation(t *testing.T) {
	ask := functionTool(t, functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
		return m{"done": true}, nil
	})
	sink, r := recorded(t, recorder.Options{}, llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{ask}, Model: calls(&genai.FunctionCall{ID: "call-1", Name: "ask"}),
	}))
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	id := adktest.Confirmations(events)[0].ID
	request, pause := one(t, sink, schema.HITLConfirmationRequest), one(t, sink, schema.ToolPaused)
	if pause.SpanID != request.SpanID || pause.ParentSpanID != request.ParentSpanID {
		t.Errorf("the pause stands on span %s, want the request's %s", pause.SpanID, request.SpanID)
	}
	for _, tt := range []struct {
		e              schema.Event
		call, function any
	}{{request, "call-1", nil}, {pause, nil, id}} {
		if got := attribute(t, tt.e, "adk", "confirmation_id"); got != id {
			t.Errorf("%s: confirmation_id = %v, want %s", tt.e.EventType, got, id)
		}
		if got := attribute(t, tt.e, "adk", "call_id"); got != tt.call {
			t.Errorf("%s: call_id = %v, want %v", tt.e.EventType, got, tt.call)
		}
		if got := attribute(t, tt.e, "adk", "function_call_id"); got != tt.function {
			t.Errorf("%s: function_call_id = %v, want %v", tt.e.EventType, got, tt.function)
		}
	}
	checkParents(t, sink.rows)
}

// What an agent says in an event is not the answer of a human.
func TestAnswersInEvents(t *testing.T) {
	ev := &session.Event{ID: "e1"}
	for _, name := range []string{"adk_request_confirmation", "adk_request_input", "other"} {
		ev.LLMResponse.Content = responds("id-1", name, m{"confirmed": true})
		ev.LLMResponse.Content.Role = genai.RoleModel
		t.Run(name, func(t *testing.T) {
			one := *ev
			sink, r := recorded(t, recorder.Options{}, emits(t, "root", &one))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			var got []shape
			for _, typ := range []string{schema.HITLConfirmationRequestCompleted, schema.HITLInputRequestCompleted, schema.ToolCompleted} {
				got = append(got, shapesOf(t, sink.of(typ))...)
			}
			content := m{"tool": name, "result": m{"confirmed": true}}
			want := map[string][]shape{
				"adk_request_confirmation": {{
					Type: schema.HITLConfirmationRequestCompleted, Agent: "root", Status: "OK", Content: content,
					Attributes: m{"adk": m{
						"source_event_id": fresh, "pause_kind": "hitl_confirmation",
						"confirmation_id": "id-1", "confirmed": true, "accepted": false,
					}},
				}},
				"adk_request_input": {{
					Type: schema.HITLInputRequestCompleted, Agent: "root", Status: "OK", Content: content,
					Attributes: m{"adk": m{
						"source_event_id": fresh, "pause_kind": "hitl_input", "call_id": "id-1", "interrupt_id": "id-1",
					}},
				}},
			}
			diff(t, "rows", want[name], got)
		})
	}
}

func TestEventAttributes(t *testing.T) {
	ev := &session.Event{
		ID: "e1", Branch: "a.b", IsolationScope: "wf@1/task@2", Routes: []string{"yes", "no"},
		LLMResponse: model.LLMResponse{CustomMetadata: m{"tenant": "t1", "trace:id": 7.0, "other": "x"}},
		Actions:     session.EventActions{StateDelta: m{"k": "v"}},
	}
	sink, r := recorded(t, recorder.Options{Metadata: []string{"tenant", "trace:*"}}, emits(t, "root", ev))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	diff(t, "row", shape{
		Type: schema.StateDelta, Agent: "root", Status: "OK",
		Attributes: m{
			"adk": m{
				"source_event_id": fresh, "branch": "a.b",
				"scope": m{"id": "wf@1/task@2", "kind": "node_run"}, "route": []any{"yes", "no"},
			},
			"state_delta":     m{"k": "v"},
			"custom_metadata": m{"tenant": "t1", "trace:id": 7.0},
		},
	}, shapeOf(t, one(t, sink, schema.StateDelta)))
}

// A policy that leaves a payload out leaves it out where it stands under attributes.
func TestPolicyOfEventRows(t *testing.T) {
	ev := &session.Event{
		ID: "e1", Actions: session.EventActions{StateDelta: m{"secretplan": "v"}},
		LLMResponse: model.LLMResponse{
			Content:        genai.NewContentFromText("secretplan", genai.RoleModel),
			CustomMetadata: m{"a2a:request": m{"secretplan": 1}, "a2a:response": m{"secretplan": 2}, "a2a:task_id": "t1"},
		},
	}
	none := recorder.ContentNone
	sink, r := recorded(t, recorder.Options{Content: map[string]recorder.ContentPolicy{
		schema.StateDelta: none, schema.AgentResponse: none, schema.A2AInteraction: none,
	}}, emits(t, "root", ev))
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	for _, typ := range []string{schema.StateDelta, schema.AgentResponse, schema.A2AInteraction} {
		e := one(t, sink, typ)
		if s := string(e.Content) + string(e.Attributes); len(e.Content) > 0 || strings.Contains(s, "secretplan") {
			t.Errorf("%s: content %s, attributes %s; want no payload", typ, e.Content, e.Attributes)
		}
	}
}
