// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// bench is a recorder with the spans of its runs.
type bench struct {
	rec   *recorder.Recorder
	rows  *rowtest.Sink
	spans *tracetest.SpanRecorder
}

// newBench has the spans of the provider recorded; joined also gives the provider the
// recorder's processor.
func newBench(provider *sdktrace.TracerProvider, joined bool) *bench {
	b := &bench{rows: &rowtest.Sink{}, spans: tracetest.NewSpanRecorder()}
	b.rec = must(recorder.New(recorder.Config{Sink: b.rows, Logger: slog.New(slog.DiscardHandler)}))
	provider.RegisterSpanProcessor(b.spans)
	if joined {
		provider.RegisterSpanProcessor(b.rec.SpanProcessor(func(string) {}))
	}
	return b
}

// plugins returns the plugins of a runner without a gate.
func (b *bench) plugins() runner.PluginConfig {
	first := must(plugin.New(b.rec.Observer()))
	last := must(plugin.New(plugin.Config{Name: "admits", BeforeRunCallback: func(ctx agent.InvocationContext) (*genai.Content, error) {
		b.rec.Lookup(ctx).Admit()
		return nil, nil
	}}))
	return runner.PluginConfig{Plugins: []*plugin.Plugin{first, last}}
}

func (b *bench) runner(root agent.Agent) *runner.Runner {
	return must(runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: b.plugins(),
	}))
}

func (b *bench) run(t *testing.T, ctx context.Context, root agent.Agent, cfg agent.RunConfig) {
	t.Helper()
	for _, err := range b.runner(root).Run(ctx, "u", "s", adktest.UserText("go"), cfg) {
		if err != nil {
			t.Log(err)
		}
	}
}

// of returns the ended spans of the operation, without the one that ADK puts around
// parallel tools.
func (b *bench) of(operation string) (out []sdktrace.ReadOnlySpan) {
	for _, s := range b.spans.Ended() {
		if strings.HasPrefix(s.Name(), operation+" ") && s.Name() != "execute_tool (merged)" {
			out = append(out, s)
		}
	}
	return out
}

func attr(s sdktrace.ReadOnlySpan, key attribute.Key) any {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

// field reads a column, or into its JSON.
func field(t *testing.T, e record.Event, path ...string) any {
	t.Helper()
	switch path[0] {
	case "agent":
		return e.Agent
	case "session_id":
		return e.SessionID
	case "invocation_id":
		return e.InvocationID
	case "content":
		return rowtest.Field(t, e.Content, path[1:]...)
	}
	return rowtest.Field(t, e.Attributes, path[1:]...)
}

// rowsOf returns the rows that the span leads to, of the types.
func (b *bench) rowsOf(s sdktrace.ReadOnlySpan, types ...string) (out []record.Event) {
	for _, e := range b.rows.Rows() {
		if slices.Contains(types, e.EventType) && e.TraceID == attr(s, recorder.SpanTraceID) && e.SpanID == attr(s, recorder.SpanSpanID) &&
			e.RunID == attr(s, recorder.SpanRunID) && e.SessionID == attr(s, recorder.SpanSessionID) && e.AppName == attr(s, recorder.SpanAppName) {
			out = append(out, e)
		}
	}
	return out
}

// backs returns how many rows lead to the span of a model call.
func (b *bench) backs(t *testing.T) (n int) {
	t.Helper()
	for _, e := range b.rows.Rows() {
		if field(t, e, "attributes", "otel", "generate_content_span_id") != nil {
			n++
		}
	}
	return n
}

// check checks that each span of ADK leads to one step of the record and back.
func (b *bench) check(t *testing.T) (models, tools, agents int) {
	t.Helper()
	for _, s := range b.of("generate_content") {
		models++
		rows := b.rowsOf(s, record.LLMResponse, record.LLMError)
		if len(rows) != 1 || len(b.rowsOf(s, record.LLMRequest)) != 1 {
			t.Errorf("%s leads to %d answers and %d requests, want one of each", s.Name(), len(rows), len(b.rowsOf(s, record.LLMRequest)))
			continue
		}
		if got := field(t, rows[0], "attributes", "otel", "generate_content_span_id"); got != s.SpanContext().SpanID().String() {
			t.Errorf("%s %s leads back to span %v, want %s", rows[0].EventType, rows[0].SpanID, got, s.SpanContext().SpanID())
		}
		if got, want := field(t, rows[0], "attributes", "adk", "source_event_id"), attr(s, "gcp.vertex.agent.event_id"); got != want {
			t.Errorf("source_event_id = %v, want the span's %v", got, want)
		}
	}
	for operation, types := range map[string][]string{
		"execute_tool": {record.ToolStarting, record.ToolCompleted, record.ToolError}, "invoke_agent": {record.AgentStarting},
	} {
		for _, s := range b.of(operation) {
			if operation == "execute_tool" {
				tools++
			} else {
				agents++
			}
			rows := b.rowsOf(s, types...)
			if len(rows) != min(len(types), 2) {
				t.Errorf("%s leads to %d rows", s.Name(), len(rows))
			}
			for _, e := range rows {
				if got := field(t, e, "attributes", "otel", "span_id"); got != s.SpanContext().SpanID().String() {
					t.Errorf("%s leads back to span %v, want %s", e.EventType, got, s.SpanContext().SpanID())
				}
			}
		}
	}
	if n := b.backs(t); n != models {
		t.Errorf("%d rows lead to the span of a model call, want %d", n, models)
	}
	return models, tools, agents
}

// llm answers with tool calls first, then with text in chunks, all with usage.
type llm struct{ tools int }

func (llm) Name() string { return "scripted" }

func (m llm) GenerateContent(_ context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		usage := &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: 11, CandidatesTokenCount: 7, ThoughtsTokenCount: 5, CachedContentTokenCount: 3, TotalTokenCount: 23,
		}
		answer := adktest.Text("all of it")
		if m.tools > 0 && adktest.LastResponse(req) == nil {
			var calls []*genai.FunctionCall
			for i := range m.tools {
				calls = append(calls, &genai.FunctionCall{Name: "work", Args: map[string]any{"n": i}})
			}
			answer = adktest.Calls(calls...)
		} else if stream {
			for range 3 {
				if !yield(&model.LLMResponse{Partial: true, Content: genai.NewContentFromText("part", genai.RoleModel), UsageMetadata: usage}, nil) {
					return
				}
			}
		}
		answer.UsageMetadata = usage
		yield(answer, nil)
	}
}

// llmAgent returns an agent with its mode set: the first runs of a runner would else set it, all
// at once.
func llmAgent(name string, m model.LLM) agent.Agent {
	work := must(functiontool.New(functiontool.Config{Name: "work"}, func(_ agent.Context, a struct {
		N int `json:"n"`
	}) (map[string]any, error) {
		if a.N == 1 {
			return nil, errors.New("out of order")
		}
		return map[string]any{"n": a.N}, nil
	}))
	return must(llmagent.New(llmagent.Config{Mode: llmagent.ModeChat, Name: name, Description: "works", Model: m, Tools: []tool.Tool{work}}))
}

func TestSpansLeadToRows(t *testing.T) {
	parallel := func(subs ...agent.Agent) agent.Agent {
		return must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "root", SubAgents: subs}}))
	}
	for _, tt := range []struct {
		name                  string
		root                  func(*bench) agent.Agent
		streaming             agent.StreamingMode
		models, tools, agents int
	}{
		{"answer", func(*bench) agent.Agent { return llmAgent("root", llm{}) }, "", 1, 0, 1},
		{"stream", func(*bench) agent.Agent { return llmAgent("root", llm{tools: 1}) }, agent.StreamingModeSSE, 2, 1, 1},
		{"parallel tools", func(*bench) agent.Agent { return llmAgent("root", llm{tools: 5}) }, "", 2, 5, 1},
		{"parallel agents", func(*bench) agent.Agent {
			return parallel(llmAgent("a", llm{tools: 2}), llmAgent("b", llm{tools: 3}), llmAgent("c", llm{}))
		}, agent.StreamingModeSSE, 5, 5, 4},
		{"agent as a tool", func(b *bench) agent.Agent {
			at := b.rec.AgentTool(llmAgent("inner", llm{tools: 2}), nil, b.plugins())
			return must(llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{at}, Model: &adktest.Model{
				Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if adktest.LastResponse(req) != nil {
						return adktest.Text("done"), nil
					}
					return adktest.Call("inner", map[string]any{"request": "x"}), nil
				},
			}}))
		}, "", 4, 3, 2},
		{"several answers", func(*bench) agent.Agent {
			return llmAgent("root", several{[]*model.LLMResponse{adktest.Text("0"), adktest.Text("1"), adktest.Text("2")}})
		}, "", 1, 0, 1},
		{"model fails", func(*bench) agent.Agent {
			return llmAgent("root", &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return nil, errors.New("offline") }})
		}, "", 1, 0, 1},
		{"tool that does not exist", func(*bench) agent.Agent {
			return llmAgent("root", &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if adktest.LastResponse(req) != nil {
					return adktest.Text("done"), nil
				}
				return adktest.Call("nosuchtool", nil), nil
			}})
		}, "", 2, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			provider := traceADK(t)
			b := newBench(provider, true)
			other := newBench(provider, true) // another recorder in the process
			ctx, caller := provider.Tracer("caller").Start(t.Context(), "request")
			b.run(t, ctx, tt.root(b), agent.RunConfig{StreamingMode: tt.streaming})
			caller.End()
			models, tools, agents := b.check(t)
			if models != tt.models || tools != tt.tools || agents != tt.agents {
				t.Errorf("%d model calls, %d tool calls, %d agents; want %d, %d, %d", models, tools, agents, tt.models, tt.tools, tt.agents)
			}
			b.checkTable(t)
			if got := attr(caller.(sdktrace.ReadOnlySpan), recorder.SpanSpanID); got != nil {
				t.Errorf("the caller's span got %v", got)
			}
			if n := len(other.rows.Rows()); n != 0 {
				t.Errorf("another recorder has %d rows", n)
			}
			for _, s := range b.spans.Started() {
				if scope := s.InstrumentationScope().Name; scope != "gcp.vertex.agent" && scope != "caller" {
					t.Errorf("span %s comes from %s; the recorder starts none", s.Name(), scope)
				}
			}
		})
	}
}

// checkTable checks that the spans and the rows say the same, by the table.
func (b *bench) checkTable(t *testing.T) {
	t.Helper()
	for _, a := range recorder.SpanAttributes() {
		for _, s := range b.of(a.Span) {
			got := attr(s, a.Name)
			for _, e := range b.rowsOf(s, a.EventType) {
				want := sum(t, e, a.Paths)
				if list, ok := got.([]string); ok && len(list) == 1 {
					got = list[0]
				}
				if n, ok := got.(int64); ok {
					got = float64(n)
					if want == nil && n == 0 {
						want = 0.0 // a count of zero is not written
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s of %s mismatch with %s (-row +span):\n%s", a.Name, s.Name(), a.EventType, diff)
				}
			}
		}
	}
}

func sum(t *testing.T, e record.Event, paths [][]string) any {
	if len(paths) == 1 {
		return field(t, e, paths[0]...)
	}
	total := 0.0
	for _, p := range paths {
		n, _ := field(t, e, p...).(float64)
		total += n
	}
	return total
}

// Without the processor, the spans that the callbacks see still lead to their rows.
func TestWithoutTheProcessor(t *testing.T) {
	b := newBench(traceADK(t), false)
	b.run(t, t.Context(), llmAgent("root", llm{tools: 2}), agent.RunConfig{})
	for _, s := range slices.Concat(b.of("execute_tool"), b.of("invoke_agent")) {
		if attr(s, recorder.SpanSpanID) == nil {
			t.Errorf("%s leads to no row", s.Name())
		}
	}
	for _, s := range b.of("generate_content") {
		if attr(s, recorder.SpanSpanID) != nil {
			t.Errorf("%s leads to a row, but nobody told of it", s.Name())
		}
	}
}

// A trace that is not sampled is not exported: rows do not lead there.
func TestSampledOut(t *testing.T) {
	b := newBench(traceADK(t), true)
	ctx := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true,
	}))
	b.run(t, ctx, llmAgent("root", llm{tools: 1}), agent.RunConfig{})
	if n := len(b.spans.Ended()); n != 0 {
		t.Fatalf("%d spans were recorded", n)
	}
	if answers, backs := len(b.rows.Of(record.LLMResponse)), b.backs(t); answers != 2 || backs != 0 {
		t.Errorf("%d answers are recorded, want 2; %d lead to a span that is not exported", answers, backs)
	}
}

// Many runs at once, with one processor.
func TestManyRunsAtOnce(t *testing.T) {
	provider := traceADK(t)
	b := newBench(provider, true)
	exporter := sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter(), sdktrace.WithBatchTimeout(time.Microsecond))
	provider.RegisterSpanProcessor(exporter) // reads the spans at the same time
	r := b.runner(llmAgent("root", llm{tools: 3}))
	const runs = 20
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			for _, err := range r.Run(t.Context(), "u", fmt.Sprint(i), adktest.UserText("go"), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if models, tools, agents := b.check(t); models != 2*runs || tools != 3*runs || agents != runs {
		t.Errorf("%d model calls, %d tool calls, %d agents", models, tools, agents)
	}
	b.checkTable(t)
	for _, a := range recorder.SpanAttributes() {
		if !slices.ContainsFunc(b.of(a.Span), func(s sdktrace.ReadOnlySpan) bool { return attr(s, a.Name) != nil }) {
			t.Errorf("no %s span has %s, which the table names", a.Span, a.Name)
		}
	}
}
