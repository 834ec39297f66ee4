// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Only isError and is_error that are true, and the error of a classifier, make a result an error.
func TestResultsThatAreErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		result   m
		classify func(tool.Tool, map[string]any, map[string]any) error
		failed   string
		panics   uint64
	}{
		"is_error":                {result: m{"is_error": true}, failed: "the tool's result says that it is an error: is_error is true"},
		"isError in words":        {result: m{"isError": "true"}},
		"no error":                {result: m{"isError": false}},
		"nothing to a classifier": {result: m{"a": 1.0}, classify: func(tool.Tool, map[string]any, map[string]any) error { return nil }},
		"a classifier that panics": {result: m{"a": 1.0}, panics: 1,
			classify: func(tool.Tool, map[string]any, map[string]any) error { panic("no") }},
	} {
		t.Run(name, func(t *testing.T) {
			work := functionTool(t, functiontool.Config{Name: "work"}, func(agent.Context, struct{}) (map[string]any, error) { return tt.result, nil })
			rec, sink, r := recordedBeside(t, recorder.Config{Options: recorder.Options{Classify: tt.classify}}, llm(t, llmagent.Config{
				Name: "root", Model: adktest.CallsOnce(&genai.FunctionCall{ID: "call-1", Name: "work"}), Tools: []tool.Tool{work},
			}))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			typ := record.ToolCompleted
			if tt.failed != "" {
				typ = record.ToolError
			}
			if e := one(t, sink, typ); e.ErrorMessage != tt.failed {
				t.Errorf("the row says %q, want %q", e.ErrorMessage, tt.failed)
			}
			if got := rec.Stats().ClassifierFailed; got != tt.panics {
				t.Errorf("%d failures of the classifier, want %d", got, tt.panics)
			}
		})
	}
}
