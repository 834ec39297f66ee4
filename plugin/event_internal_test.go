// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

// Most events are no rows. They must not cost more than looking at them, and remembering
// what the next requests hold of them.
func TestEventsWithoutRowsAllocateLittle(t *testing.T) {
	if testsize.Race {
		t.Log("the race detector allocates; counted without it")
		return
	}
	rec := newTestRecorder(t, &discard{})
	content := func(p *genai.Part) model.LLMResponse {
		return model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{p}}}
	}
	inTool(t, rec, func(ctx agent.Context, _ tool.Tool) {
		ic := ctx.WithICDelta(nil)
		for name, ev := range map[string]*session.Event{
			"a chunk": {LLMResponse: model.LLMResponse{Partial: true, Content: genai.NewContentFromText("a", genai.RoleModel)}},
			"a call":  {Author: "media_planner", LLMResponse: content(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "1", Name: "a"}})},
			"words of an agent": {
				Author: "media_planner", NodeInfo: &session.NodeInfo{Path: "media_planner"},
				Actions:     session.EventActions{StateDelta: map[string]any{}, ArtifactDelta: map[string]int64{}},
				LLMResponse: content(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "1", Name: "media_planner"}}),
			},
			"nothing": {},
		} {
			before := rec.Stats().Rows
			got := testing.AllocsPerRun(100, func() { _, _ = rec.onEvent(ic, ev) })
			if rows := rec.Stats().Rows - before; rows != 0 {
				t.Errorf("%s: %d rows, want none", name, rows)
			}
			if goal := map[string]float64{"a call": 8, "words of an agent": 2}[name]; got > goal {
				t.Errorf("%s: %v allocations, want at most %v", name, got, goal)
			}
		}
	})
}

// An agent of the host's own may emit anything.
func TestEventsOfAnyShape(t *testing.T) {
	rec := newTestRecorder(t, &discard{})
	response := &genai.FunctionResponse{ID: "1", Name: credentialCallName}
	inTool(t, rec, func(ctx agent.Context, _ tool.Tool) {
		ic := ctx.WithICDelta(nil)
		for _, ev := range []*session.Event{
			nil,
			{LongRunningToolIDs: []string{"", "x", "x"}, LLMResponse: model.LLMResponse{Content: &genai.Content{Parts: []*genai.Part{nil, {}}}}},
			{RequestedInput: &session.RequestInput{}, NodeInfo: &session.NodeInfo{Path: "/"}},
			{NodeInfo: &session.NodeInfo{Path: "@/@"}, Output: (*session.Event)(nil)},
			{NodeInfo: &session.NodeInfo{Path: "a@1//b@2/"}, Output: func() {}},
			{NodeInfo: &session.NodeInfo{}, Output: 1},
			{IsolationScope: "/", Routes: []string{}, Actions: session.EventActions{TransferToAgent: "x"}},
			{LLMResponse: model.LLMResponse{Content: &genai.Content{Parts: []*genai.Part{nil, {FunctionResponse: response}}}}},
			{LLMResponse: model.LLMResponse{CustomMetadata: map[string]any{a2aResponse: nil}}},
			{LLMResponse: model.LLMResponse{CustomMetadata: map[string]any{a2aResponse: make(chan int)}}},
			{Actions: session.EventActions{ArtifactDelta: map[string]int64{"": -1}}},
		} {
			if got, err := rec.onEvent(ic, ev); got != nil || err != nil {
				t.Errorf("OnEvent returned %v, %v; want nothing, so that other plugins see the event", got, err)
			}
		}
	})
	if n := rec.Stats().Panics; n != 0 {
		t.Errorf("%d panics, want none", n)
	}
}

func TestScopeKind(t *testing.T) {
	for scope, want := range map[string]string{
		"wf@1/task@2": "node_run", "task@2": "node_run", "wf@1/task": "function_call", "adk-1234": "function_call",
	} {
		if got := scopeKind(scope); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}

func FuzzParseNode(f *testing.F) {
	for _, path := range []string{"root", "wf@1", "wf@1/ask@1", "wf@1/d@1/child@my-run", "/", "@", "a@1//b"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		n := parseNode(path)
		last := n.name
		if strings.Contains(lastSegment(path), "@") {
			last += "@" + n.run
		}
		if whole := strings.TrimPrefix(n.parent+"/"+last, "/"); whole != strings.TrimPrefix(path, "/") {
			t.Errorf("%q: parsed as %+v", path, n)
		}
		if strings.ContainsAny(n.run+n.parentRun, "/@") || len(n.parent) > 0 && len(n.parent) >= len(path) {
			t.Errorf("%q: parsed as %+v", path, n)
		}
	})
}
