// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestModelCallAnsweredByACallback(t *testing.T) {
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{
		Model: adktest.Says("never"),
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return adktest.Text("from the cache"), nil
		}},
	})
	adktest.Run(t, r, "u", "s", adktest.UserText("hi"))
	requests, responses := sink.Of(record.LLMRequest), sink.Of(record.LLMResponse)
	if len(requests) != 1 || len(responses) != 1 || requests[0].SpanID != responses[0].SpanID {
		t.Fatalf("%d requests and %d responses, want one of each on one span", len(requests), len(responses))
	}
	if rowtest.Attribute(t, responses[0], "adk", "short_circuited") != true {
		t.Errorf("attributes = %s, want short_circuited", responses[0].Attributes)
	}
}

// A user message that another plugin refuses ends the run before AfterRun. The
// record of that run is closed when the next one starts a while later.
func TestRefusedUserMessageIsClosedLater(t *testing.T) {
	sink := &rowtest.Sink{}
	now := time.Now()
	refuse := true
	guard, err := plugin.New(plugin.Config{Name: "refuses", OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
		if refuse {
			return nil, errors.New("no")
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, recorder.Config{Sink: sink, Now: func() time.Time { return now }}, llmagent.Config{Model: adktest.Says("hello")}, guard)
	if _, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("hi")); err == nil {
		t.Fatal("the run did not fail")
	}
	if got := len(sink.Of(record.InvocationCompleted)) + len(sink.Of(record.InvocationError)); got != 0 {
		t.Fatalf("%d rows end a run so far, want none", got)
	}
	refuse = false
	now = now.Add(11 * time.Minute)
	adktest.Run(t, r, "u", "s", adktest.UserText("hi"))
	refused, completed := sink.Of(record.InvocationError), sink.Of(record.InvocationCompleted)
	if len(refused) != 1 || len(completed) != 1 {
		t.Fatalf("%d INVOCATION_ERROR and %d INVOCATION_COMPLETED rows, want one for each run", len(refused), len(completed))
	}
	if refused[0].Status != record.StatusError || refused[0].RunID == completed[0].RunID {
		t.Errorf("the refused run ended with status %s in run %s", refused[0].Status, refused[0].RunID)
	}
}

func TestRunsOfOneInvocationIDStayApart(t *testing.T) {
	sink := &rowtest.Sink{}
	ask, err := functiontool.New(functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"done": true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Call("ask", map[string]any{}), nil
	}}
	r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: m, Tools: []tool.Tool{ask}})
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		t.Fatalf("%d confirmations, want 1", len(calls))
	}
	adktest.Run(t, r, "u", "s", adktest.Answer(calls[0].ID, true))
	starts := sink.Of(record.ToolStarting)
	if len(starts) != 2 {
		t.Fatalf("%d TOOL_STARTING rows, want 2", len(starts))
	}
	a, b := starts[0], starts[1]
	if a.InvocationID != b.InvocationID {
		t.Fatalf("the resumed run has invocation id %s, the first %s; ADK reuses it", b.InvocationID, a.InvocationID)
	}
	if a.SpanID == b.SpanID || a.TraceID == b.TraceID || a.RunID == b.RunID {
		t.Errorf("the two runs share a span, a trace or a run id: %+v / %+v", a, b)
	}
	for run, want := range map[string]int64{a.RunID: 0, b.RunID: 0} {
		for _, e := range sink.Rows() {
			if e.RunID == run {
				want++
				if e.RunSeq != want {
					t.Errorf("row %s of run %s has number %d, want %d", e.EventType, run, e.RunSeq, want)
				}
			}
		}
	}
}

func TestCallerTraceIsKept(t *testing.T) {
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: adktest.Says("hello")})
	ctx, traceID := withTrace(context.Background())
	if _, err := adktest.TryRun(ctx, r, "u", "s", adktest.UserText("hi")); err != nil {
		t.Fatal(err)
	}
	for _, e := range sink.Rows() {
		if e.TraceID != traceID {
			t.Errorf("%s: trace %s, want the caller's %s", e.EventType, e.TraceID, traceID)
		}
		if got := rowtest.Attribute(t, e, "otel", "trace_id"); got != traceID {
			t.Errorf("%s: attributes.otel.trace_id = %v", e.EventType, got)
		}
		if e.SpanID == "00f067aa0ba902b7" {
			t.Errorf("%s: span id is the caller's, want one of our own", e.EventType)
		}
	}
}

// withTrace returns a context as an instrumented caller passes it.
func withTrace(ctx context.Context) (context.Context, string) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		SpanID:     trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
		TraceFlags: trace.FlagsSampled,
	})
	return trace.ContextWithSpanContext(ctx, sc), sc.TraceID().String()
}

// Whatever a user, a model or a tool hands over, a row stays near its limit.
func TestRowsAreBounded(t *testing.T) {
	const limit = 1_000_000 + 64<<10
	big := strings.Repeat("\x01", 600_000)
	dump, err := functiontool.New(functiontool.Config{Name: "dump"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"a": big, "b": big, "bytes": []byte(big)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if last := adktest.LastResponse(req); last != nil {
			return adktest.Text(big), nil
		}
		calls := make([]*genai.FunctionCall, 400)
		for i := range calls {
			calls[i] = &genai.FunctionCall{Name: "nosuchtool", Args: map[string]any{"x": strings.Repeat("y", 1000)}}
		}
		calls[0] = &genai.FunctionCall{Name: "dump"}
		return adktest.Calls(calls...), nil
	}}
	sink := &rowtest.Sink{}
	r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: m, Tools: []tool.Tool{dump}})
	message := &genai.Content{Role: genai.RoleUser}
	for range 5_000 {
		message.Parts = append(message.Parts, &genai.Part{Text: "a part of a message"})
	}
	adktest.Run(t, r, "u", "s", message)
	truncated := make(map[string]bool)
	for _, e := range sink.Rows() {
		size := len(e.Content) + len(e.ContentParts) + len(e.Attributes) + len(e.LatencyMS) + len(e.ErrorMessage)
		if size > limit {
			t.Errorf("%s: %d bytes, want at most %d", e.EventType, size, limit)
		}
		for _, doc := range [][]byte{e.Content, e.ContentParts, e.Attributes, e.LatencyMS} {
			if doc != nil && !json.Valid(doc) {
				t.Errorf("%s: a column is not JSON: %.80s", e.EventType, doc)
			}
		}
		truncated[e.EventType] = truncated[e.EventType] || e.IsTruncated
	}
	for _, typ := range []string{record.UserMessageReceived, record.ToolCompleted, record.LLMResponse} {
		if !truncated[typ] {
			t.Errorf("no row of %s says that it is truncated", typ)
		}
	}
}
