// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		damage func(*script)
		kind   string
		rows   []int
		says   string
	}{
		"parent":     {func(s *script) { s.rows[4].ParentSpanID = "gone"; s.rows[5].ParentSpanID = "gone" }, "missing_parent", []int{4, 5}, "2 rows are inside of spans that are not on record"},
		"no span":    {func(s *script) { s.rows[2].SpanID = "" }, "no_span", []int{2}, "1 row has no span"},
		"no trace":   {func(s *script) { s.rows[7].TraceID = ""; s.rows[7].ParentSpanID = "" }, "no_trace", []int{7}, "1 row has no trace"},
		"content":    {func(s *script) { s.rows[0].Content = []byte("{") }, "bad_content", []int{0}, "not JSON"},
		"latency":    {func(s *script) { s.rows[0].LatencyMS = []byte("{") }, "bad_content", []int{0}, "not JSON"},
		"attributes": {func(s *script) { s.rows[1].Attributes = []byte("[]") }, "bad_attributes", []int{1}, "no JSON object"},
		"tool":       {func(s *script) { s.rows[5].EventType = record.StateDelta }, "unanswered_call", []int{4}, "1 call has no end"},
		"model":      {func(s *script) { s.rows[3].EventType, s.rows[3].Attributes = record.StateDelta, nil }, "unanswered_call", []int{2}, "no end although the run is over"},
		"call": {func(s *script) {
			s.rows[3].Attributes = []byte(`{"function_calls":[{"id":"c1"},{"id":"c8"},{"id":"c9"}]}`)
		}, "unanswered_call", []int{3}, "2 calls have no end"},
		"answer": {func(s *script) {
			s.rows[0].Attributes = []byte(`{"adk":{"confirmation_id":"forged","confirmed":true,"accepted":false,"reason":"unknown_request"}}`)
		}, "unknown_request", []int{0}, "1 answer is to no request of this session"},
		"truncated": {func(s *script) { s.rows[3].IsTruncated = true }, "truncated", []int{3}, "1 row lost content"},
		"duplicate": {func(s *script) { s.rows = append(s.rows, s.rows[3]) }, "duplicate_event", nil, "1 row was left out"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).asks()
			if got := s.see(at(60)).Problems; len(got) != 0 {
				t.Fatalf("problems of a good record: %+v", got)
			}
			tt.damage(s)
			var found *inspect.Problem
			got := s.see(at(60))
			for i := range got.Problems {
				if got.Problems[i].Kind == tt.kind {
					found = &got.Problems[i]
				}
			}
			if found == nil {
				t.Fatalf("%s was not found: %+v", tt.kind, got.Problems)
			}
			if d := cmp.Diff(tt.rows, found.Rows); d != "" || !strings.Contains(found.Detail, tt.says) {
				t.Errorf("%q (want it to say %q), rows (-want +got):\n%s", found.Detail, tt.says, d)
			}
		})
	}
	t.Run("a run under way", func(t *testing.T) {
		s := newScript(t).asks()
		s.rows = s.rows[:5]
		if got := s.see(at(60)).Problems; len(got) != 0 {
			t.Errorf("problems of a run that is not over: %+v", got)
		}
	})
	t.Run("gaps", func(t *testing.T) {
		got, err := inspect.New(inspect.Record{Session: session, Rows: newScript(t).asks().rows, Gaps: []string{"2 rows were dropped"}}, at(60))
		if err != nil || len(got.Problems) != 1 || got.Problems[0].Kind != "missing_rows" || got.Problems[0].Detail != "2 rows were dropped" {
			t.Errorf("%+v, %v", got.Problems, err)
		}
	})
	t.Run("many", func(t *testing.T) {
		s := newScript(t).start("r")
		for range 30 {
			s.row(record.StateDelta, "", "")
		}
		if p := s.see(at(60)).Problems[0]; p.Kind != "no_span" || p.Count != 30 || len(p.Rows) != 20 {
			t.Errorf("%s: %d rows named of %d, want 20 of 30", p.Kind, len(p.Rows), p.Count)
		}
	})
}

// TestCyclicParents holds that spans that name each other as parents make a tree.
func TestCyclicParents(t *testing.T) {
	s := newScript(t).start("r")
	s.row(record.AgentStarting, "b", "a").row(record.AgentStarting, "a", "c").row(record.AgentStarting, "c", "b").row(record.AgentStarting, "self", "self")
	got := s.see(at(60))
	sound(t, got)
	if len(got.Spans) != 4 {
		t.Errorf("%d spans, want 4", len(got.Spans))
	}
}

// TestChildFirst holds that a parent is before its children although a row of a child
// was recorded before it.
func TestChildFirst(t *testing.T) {
	s := newScript(t).start("r").row(record.LLMRequest, "l", "a").row(record.AgentStarting, "a", "u").row(record.InvocationStarting, "u", "")
	var got []string
	for _, sp := range s.see(at(60)).Spans {
		got = append(got, fmt.Sprintf("%s %d", sp.SpanID, sp.Depth))
	}
	if want := []string{"u 0", "a 1", "l 2"}; !cmp.Equal(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
}

func TestSummary(t *testing.T) {
	s := newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolError, toolErr).over("r2")
	got := s.see(at(60)).Summary
	want := inspect.Summary{
		Session: session, Title: "Buy ads", Status: inspect.StatusFailed, Start: at(1), End: at(15), Agents: []string{"buyer"}, Models: []string{"gemini"},
		Turns: 2, Events: 15, Errors: 1, Approvals: 1, Tokens: inspect.Tokens{Prompt: 10, Completion: 5, Total: 15}, WaitedMS: 3000,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
	long := newScript(t).start("r").row(record.UserMessageReceived, "u", "", content(m{"text_summary": "\n \t" + strings.Repeat("ä ", 200) + "\nnext"}))
	// What only answers calls is not what the session is about.
	for text, want := range map[string]string{
		"Function response: buy": "Buy ads", "Function response: a.b | Function response: mcp:c-d": "Buy ads",
		"Function response: buy | and this": "Function response: buy | and this", "Function response: is what I want": "Function response: is what I want",
	} {
		s := newScript(t).start("r0").row(record.UserMessageReceived, "u", "", content(m{"text_summary": text})).asks()
		if title := s.see(at(60)).Title; title != want {
			t.Errorf("title %q of a session that begins with %q, want %q", title, text, want)
		}
	}
	if title := []rune(long.see(at(60)).Title); len(title) != 120 || title[119] != '…' {
		t.Errorf("title of %d characters, want 120 with an ellipsis: %s", len(title), string(title))
	}
}

// TestTokens holds that parts of a streamed answer are not counted twice.
func TestTokens(t *testing.T) {
	used := func(n int) func(*record.Event) {
		return content(m{"usage": m{"prompt": 10, "completion": n, "total": 10 + n}})
	}
	s := newScript(t).start("r").
		row(record.LLMRequest, "l", "").row(record.LLMResponse, "l", "", used(1)).row(record.LLMResponse, "l", "", used(4)).row(record.LLMResponse, "l", "").
		row(record.LLMRequest, "l", "").row(record.LLMResponse, "l", "", attributes(m{"usage_metadata": m{"prompt_token_count": 2, "candidates_token_count": 3}}))
	want := inspect.Tokens{Prompt: 12, Completion: 7, Total: 19}
	if got := s.see(at(60)); got.Tokens != want || got.Spans[0].Tokens != want {
		t.Errorf("tokens %+v, of the span %+v, want %+v", got.Tokens, got.Spans[0].Tokens, want)
	}
}

func TestNotFound(t *testing.T) {
	_, err := inspect.New(inspect.Record{Session: session}, time.Now())
	if !errors.Is(err, inspect.ErrNotFound) || !strings.Contains(err.Error(), "s-1") {
		t.Errorf("error %v, want ErrNotFound with the session", err)
	}
}

// TestEmptyLists holds that there is a list in the JSON where there is nothing in it.
func TestEmptyLists(t *testing.T) {
	data, err := json.Marshal(newScript(t).start("r").row(record.HITLConfirmationRequest, "x", "").see(at(60)))
	if err != nil {
		t.Fatal(err)
	}
	for _, null := range []string{"edges", "entities", "problems", "answers", "checks", "warnings", "why", "critical_path", "nodes"} {
		if strings.Contains(string(data), `"`+null+`":null`) {
			t.Errorf("%s is null", null)
		}
	}
}

// BenchmarkNew makes a session of 2,000 spans with an approval.
func BenchmarkNew(b *testing.B) {
	s := newScript(b).start("r").row(record.UserMessageReceived, "u", "", content(m{"text_summary": "x"}))
	for i := range 1000 {
		llm, tool, id := fmt.Sprintf("l%d", i), fmt.Sprintf("t%d", i), fmt.Sprintf("c%d-%d", i, i)
		s.row(record.LLMRequest, llm, "u", attributes(m{"model": "gemini"})).
			row(record.LLMResponse, llm, "u", content(m{"response": "call: look"}), attributes(m{"function_calls": []m{{"id": id, "name": "look"}}})).
			row(record.ToolStarting, tool, "u", content(m{"tool": "look"}), adk(m{"call_id": id})).
			row(record.ToolCompleted, tool, "u", content(m{"tool": "look", "result": m{"n": i}}), attributes(m{"adk": m{"call_id": id},
				"entities": []m{{"type": "Product", "value": fmt.Sprintf("p%d", i%100), "confidence": 1}}}))
	}
	s.asks()
	for b.Loop() {
		s.see(at(60))
	}
}
