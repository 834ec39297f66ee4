// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/plugin/retryandreflect"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestResultsThatAreErrors(t *testing.T) {
	failed := func(message string, attrs m) []shape {
		attrs["adk"] = m{"call_id": "call-1"}
		return []shape{{
			Type: record.ToolError, Agent: "root", Status: "ERROR", Message: message,
			Content: m{"tool": "work", "args": m{"q": "x"}, "tool_origin": "LOCAL"}, Attributes: attrs,
		}}
	}
	completed := func(result m) []shape {
		return []shape{{
			Type: record.ToolCompleted, Agent: "root", Status: "OK",
			Content:    m{"tool": "work", "result": result, "tool_origin": "LOCAL"},
			Attributes: m{"adk": m{"call_id": "call-1"}},
		}}
	}
	for _, tt := range []struct {
		name     string
		result   m
		err      error
		classify func(tool.Tool, map[string]any, map[string]any) error
		plugins  []*plugin.Plugin
		want     []shape
		panics   uint64
	}{
		{name: "a result", result: m{"a": 1.0}, want: completed(m{"a": 1.0})},
		{name: "an error", err: errors.New("offline"), want: failed("offline", m{})},
		{name: "isError", result: m{"isError": true, "content": "x"}, want: failed("the tool's result says that it is an error: isError is true", m{})},
		{name: "is_error", result: m{"is_error": true}, want: failed("the tool's result says that it is an error: is_error is true", m{})},
		{name: "isError in words", result: m{"isError": "true"}, want: completed(m{"isError": "true"})},
		{name: "no error", result: m{"isError": false}, want: completed(m{"isError": false})},
		{
			name: "a classifier's error", result: m{"status": "failed"},
			classify: func(tl tool.Tool, args, result map[string]any) error {
				return fmt.Errorf("%s of %v %v", tl.Name(), args["q"], result["status"])
			},
			want: failed("work of x failed", m{}),
		},
		{
			name: "nothing to a classifier", result: m{"a": 1.0},
			classify: func(tool.Tool, map[string]any, map[string]any) error { return nil }, want: completed(m{"a": 1.0}),
		},
		{
			name: "a classifier that panics", result: m{"a": 1.0}, panics: 1,
			classify: func(tool.Tool, map[string]any, map[string]any) error { panic("no") }, want: completed(m{"a": 1.0}),
		},
		{
			name: "an error that another plugin answered", err: errors.New("offline"),
			plugins: []*plugin.Plugin{retryandreflect.MustNew()},
			want:    failed("offline", m{"error_type": "*errors.errorString"}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := functionTool(t, functiontool.Config{Name: "work"}, func(agent.Context, struct {
				Q string `json:"q"`
			}) (map[string]any, error) {
				return tt.result, tt.err
			})
			rec, sink, r := recordedBeside(t, recorder.Config{Options: recorder.Options{Classify: tt.classify}}, llm(t, llmagent.Config{
				Name: "root", Model: adktest.CallsOnce(&genai.FunctionCall{ID: "call-1", Name: "work", Args: m{"q": "x"}}), Tools: []tool.Tool{work},
			}), tt.plugins...)
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			diff(t, "rows", tt.want, shapesOf(t, append(sink.Of(record.ToolCompleted), sink.Of(record.ToolError)...)))
			if got := rec.Stats().ClassifierFailed; got != tt.panics {
				t.Errorf("%d failures of the classifier, want %d", got, tt.panics)
			}
		})
	}
}
