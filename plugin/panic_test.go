// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestPanicOfTheSinkCostsNoRun(t *testing.T) {
	work, err := functiontool.New(functiontool.Config{Name: "work"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"done": true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Call("work", map[string]any{}), nil
	}}
	r := newRunner(t, recorder.Config{Sink: &rowtest.Broken{}}, llmagent.Config{Model: m, Tools: []tool.Tool{work}})
	events, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("go"))
	if err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	if got := adktest.Responses(events, "work"); len(got) != 1 || got[0]["done"] != true {
		t.Errorf("work answered %v", got)
	}
}

// What a panic kept from being recorded leaves a gap in the numbers of the run.
func TestPanicLeavesAGap(t *testing.T) {
	for _, typ := range []string{record.UserMessageReceived, record.AgentStarting, record.LLMRequest, record.LLMResponse, record.AgentResponse} {
		t.Run(typ, func(t *testing.T) {
			sink := &rowtest.Broken{On: typ}
			r := newRunner(t, recorder.Config{Sink: sink}, llmagent.Config{Model: adktest.Says("hello")})
			adktest.Run(t, r, "u", "s", adktest.UserText("hi"))
			last := sink.Rows()[len(sink.Rows())-1]
			if last.RunSeq <= int64(len(sink.Rows())) {
				t.Errorf("%d rows up to number %d, want a number left out", len(sink.Rows()), last.RunSeq)
			}
		})
	}
}

// panicky is a log handler that fails.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool { return true }

func (panicky) Handle(context.Context, slog.Record) error { panic("broken log") }

func (p panicky) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panicky) WithGroup(string) slog.Handler { return p }

func (p panicky) run(t *testing.T, sink recorder.Sink, tl tool.Tool) {
	rec, err := recorder.New(recorder.Config{Sink: sink, Logger: slog.New(p)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: recorder.Plugins(rec),
		Agent: llm(t, llmagent.Config{Name: "root", Model: adktest.CallsOnce(&genai.FunctionCall{ID: "c1", Name: tl.Name()}), Tools: []tool.Tool{tl}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := adktest.Run(t, r, "u", "s", adktest.UserText("go")); len(got) == 0 {
		t.Error("the run gave nothing")
	}
}

// A log that panics costs no run: neither where a panic is reported, nor in a tool
// callback, where it would end the process.
func TestPanicOfTheLogCostsNoRun(t *testing.T) {
	tl := functionTool(t, functiontool.Config{Name: "work", Description: "works"}, func(agent.Context, struct{}) (map[string]any, error) { return nil, nil })
	panicky{}.run(t, &rowtest.Sink{}, tl)
	panicky{}.run(t, &rowtest.Broken{}, tl)
}
