// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/internal/replay"
)

// row is a journal row with its JSON columns decoded.
type row struct {
	record.Event
	content    map[string]any
	attributes map[string]any
}

// decodeRows decodes the JSON columns of events. A content that is not an
// object, such as the instruction of an agent, is left nil.
func decodeRows(t *testing.T, events []record.Event) []row {
	t.Helper()
	rows := make([]row, len(events))
	for i, e := range events {
		rows[i].Event = e
		var content any
		if e.Content != nil {
			if err := json.Unmarshal(e.Content, &content); err != nil {
				t.Fatalf("row %d %s: content %s: %v", e.Seq, e.EventType, e.Content, err)
			}
		}
		rows[i].content, _ = content.(map[string]any)
		if err := json.Unmarshal(e.Attributes, &rows[i].attributes); err != nil {
			t.Fatalf("row %d %s: attributes %s: %v", e.Seq, e.EventType, e.Attributes, err)
		}
	}
	return rows
}

// at returns the member of a JSON object that a path names, nil when there is
// none.
func at(object map[string]any, path ...string) any {
	var v any = object
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// ofType returns the rows of one of the given types, in the order recorded.
func ofType(rows []row, types ...string) []row {
	var out []row
	for _, r := range rows {
		for _, typ := range types {
			if r.EventType == typ {
				out = append(out, r)
			}
		}
	}
	return out
}

// pairs names, for each event that opens a span, those that end it.
var pairs = map[string][]string{
	record.InvocationStarting: {record.InvocationCompleted},
	record.AgentStarting:      {record.AgentCompleted},
	record.LLMRequest:         {record.LLMResponse, record.LLMError},
	record.ToolStarting:       {record.ToolCompleted, record.ToolError},
}

// checkColumns checks what every row must carry.
func checkColumns(t *testing.T, rows []row) {
	t.Helper()
	runs := make(map[string]int64)
	events := make(map[string]bool)
	for _, r := range rows {
		if r.Status != record.StatusOK && r.Status != record.StatusError {
			t.Errorf("row %d %s: status %q", r.Seq, r.EventType, r.Status)
		}
		if len(r.EventID) != 32 || events[r.EventID] {
			t.Errorf("row %d %s: event_id %q is not 32 digits or not unique", r.Seq, r.EventType, r.EventID)
		}
		events[r.EventID] = true
		if len(r.TraceID) != 32 || len(r.SpanID) != 16 {
			t.Errorf("row %d %s: trace_id %q, span_id %q", r.Seq, r.EventType, r.TraceID, r.SpanID)
		}
		if r.InvocationID == "" || r.Timestamp == 0 {
			t.Errorf("row %d %s: invocation_id %q, timestamp %d", r.Seq, r.EventType, r.InvocationID, r.Timestamp)
		}
		if r.IsTruncated {
			t.Errorf("row %d %s is truncated", r.Seq, r.EventType)
		}
		if got := at(r.attributes, "adk", "app_name"); got != appName {
			t.Errorf("row %d %s: attributes.adk.app_name = %v", r.Seq, r.EventType, got)
		}
		runs[r.RunID]++
		if r.RunSeq != runs[r.RunID] {
			t.Errorf("row %d %s: position %d in its run, want %d: a row is missing", r.Seq, r.EventType, r.RunSeq, runs[r.RunID])
		}
	}
}

// checkTree checks that the spans of every trace are one tree with one root, and
// that the rows that open and end a step share its span.
func checkTree(t *testing.T, rows []row, turns int) {
	t.Helper()
	parents := make(map[string]map[string]string) // trace -> span -> parent
	for _, r := range rows {
		if parents[r.TraceID] == nil {
			parents[r.TraceID] = make(map[string]string)
		}
		if parent, ok := parents[r.TraceID][r.SpanID]; ok && parent != r.ParentSpanID {
			t.Errorf("row %d %s: span %s has parents %q and %q", r.Seq, r.EventType, r.SpanID, parent, r.ParentSpanID)
		}
		parents[r.TraceID][r.SpanID] = r.ParentSpanID
	}
	if len(parents) != turns {
		t.Errorf("%d traces for %d turns", len(parents), turns)
	}
	for trace, spans := range parents {
		roots := 0
		for span, parent := range spans {
			if parent == "" {
				roots++
				continue
			}
			steps := 0
			for at := span; spans[at] != "" && steps <= len(spans); steps++ {
				if _, ok := spans[spans[at]]; !ok {
					t.Errorf("trace %s: parent %s of span %s has no row", trace, spans[at], at)
				}
				at = spans[at]
			}
			if steps > len(spans) {
				t.Errorf("trace %s: span %s is in a cycle", trace, span)
			}
		}
		if roots != 1 {
			t.Errorf("trace %s has %d roots", trace, roots)
		}
	}

	for start, ends := range pairs {
		open := make(map[string]int)
		for _, r := range ofType(rows, start) {
			open[r.SpanID]++
		}
		for _, r := range ofType(rows, ends...) {
			open[r.SpanID] -= 2
		}
		for span, n := range open {
			if n != -1 {
				t.Errorf("span %s: %s and its end are not one pair", span, start)
			}
		}
	}
}

// checkModelRows compares the model rows with the answers in the recording: the
// usage of each, and the calls it asked for.
func checkModelRows(t *testing.T, rows []row, played []replay.Exchange) {
	t.Helper()
	requests, responses := ofType(rows, record.LLMRequest), ofType(rows, record.LLMResponse)
	if len(requests) != len(played) || len(responses) != len(played) {
		t.Fatalf("%d LLM_REQUEST and %d LLM_RESPONSE rows for %d recorded answers", len(requests), len(responses), len(played))
	}
	for i, r := range responses {
		want := recordedAnswer(t, played[i].Response)
		if d := cmp.Diff(want.usage, at(r.content, "usage")); d != "" {
			t.Errorf("row %d: content.usage (-recorded +row):\n%s", r.Seq, d)
		}
		var calls []any
		got, _ := at(r.attributes, "function_calls").([]any)
		for _, c := range got {
			call, _ := c.(map[string]any)
			if id, _ := call["id"].(string); id == "" {
				t.Errorf("row %d: function call without id: %v", r.Seq, c)
			}
			calls = append(calls, map[string]any{"name": call["name"], "args": call["args"]})
		}
		if d := cmp.Diff(want.calls, calls); d != "" {
			t.Errorf("row %d: attributes.function_calls (-recorded +row):\n%s", r.Seq, d)
		}
		if got := at(requests[i].attributes, "model"); got == nil || !strings.Contains(played[i].Request, "/models/"+got.(string)+":") {
			t.Errorf("row %d: attributes.model = %v", requests[i].Seq, got)
		}
	}
}

// answer is what one recorded answer holds.
type answer struct {
	usage any
	calls []any
}

// recordedAnswer decodes a recorded answer, streamed or not. The usage of a
// streamed answer is that of its last chunk.
func recordedAnswer(t *testing.T, wire string) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(wire)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	chunks := []string{string(body)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		chunks = nil
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
				chunks = append(chunks, data)
			}
		}
	}
	var a answer
	for _, chunk := range chunks {
		var r genai.GenerateContentResponse
		if err := json.Unmarshal([]byte(chunk), &r); err != nil {
			t.Fatalf("recorded chunk %q: %v", chunk, err)
		}
		if u := r.UsageMetadata; u != nil {
			a.usage = map[string]any{
				"prompt":     float64(u.PromptTokenCount),
				"completion": float64(u.CandidatesTokenCount),
				"total":      float64(u.TotalTokenCount),
			}
		}
		for _, call := range r.FunctionCalls() {
			a.calls = append(a.calls, map[string]any{"name": call.Name, "args": any(call.Args)})
		}
	}
	if a.usage == nil {
		t.Fatal("the recorded answer has no usage")
	}
	return a
}

// checkToolRows checks that every call the model asked for was started with its
// own arguments, runs times each, and how each execution ended.
func checkToolRows(t *testing.T, rows []row, s scenario) {
	t.Helper()
	ends := make(map[string]row)
	for _, r := range ofType(rows, record.ToolCompleted, record.ToolError) {
		ends[r.SpanID] = r
	}
	wantRuns := 1
	if s.answer != nil {
		wantRuns = 2 // once to ask, once resumed
	}
	asked := 0
	for _, response := range ofType(rows, record.LLMResponse) {
		calls, _ := at(response.attributes, "function_calls").([]any)
		for _, c := range calls {
			asked++
			call := c.(map[string]any)
			var starts []row
			for _, r := range ofType(rows, record.ToolStarting) {
				if at(r.attributes, "adk", "call_id") == call["id"] {
					starts = append(starts, r)
				}
			}
			if len(starts) != wantRuns {
				t.Errorf("call %v was started %d times, want %d", call["id"], len(starts), wantRuns)
			}
			for i, start := range starts {
				end := ends[start.SpanID]
				if start.Seq < response.Seq || end.Seq < start.Seq {
					t.Errorf("call %v: asked for in row %d, started in %d, ended in %d", call["id"], response.Seq, start.Seq, end.Seq)
				}
				for _, r := range []row{start, end} {
					if at(r.content, "tool") != call["name"] || at(r.attributes, "adk", "call_id") != call["id"] {
						t.Errorf("row %d %s: content %s, attributes %s, want call %v", r.Seq, r.EventType, r.Content, r.Attributes, call)
					}
				}
				if d := cmp.Diff(call["args"], at(start.content, "args")); d != "" {
					t.Errorf("row %d: args (-asked +started):\n%s", start.Seq, d)
				}
				checkToolEnd(t, end, s, i, call["args"])
			}
		}
	}
	if total := len(ofType(rows, record.ToolStarting)); total != asked*wantRuns {
		t.Errorf("%d TOOL_STARTING rows for %d calls", total, asked)
	}
}

// checkToolEnd checks how execution number run of a call ended.
func checkToolEnd(t *testing.T, end row, s scenario, run int, args any) {
	t.Helper()
	switch {
	case s.asks && run == 0:
		message, _ := at(end.content, "result", "error").(string)
		if end.EventType != record.ToolCompleted || !strings.Contains(message, "requires confirmation") {
			t.Errorf("row %d %s %s: want the request for a confirmation as the result", end.Seq, end.EventType, end.Content)
		}
	case s.asks && !*s.answer:
		message, _ := at(end.content, "result", "error").(string)
		if end.EventType != record.ToolCompleted || !strings.Contains(message, "rejected") {
			t.Errorf("row %d %s %s: want the rejection as the result", end.Seq, end.EventType, end.Content)
		}
	default:
		if end.EventType != record.ToolCompleted || end.Status != record.StatusOK {
			t.Errorf("row %d: %s %s %q, want TOOL_COMPLETED OK", end.Seq, end.EventType, end.Status, end.ErrorMessage)
		}
		if d := cmp.Diff(toolResult(args), at(end.content, "result")); d != "" {
			t.Errorf("row %d: result (-want +got):\n%s", end.Seq, d)
		}
	}
}

// toolResult returns what the tools of both agents answer.
func toolResult(args any) any {
	m := args.(map[string]any)
	if city, ok := m["city"]; ok {
		return map[string]any{"output": map[string]any{"weather_summary": `Today in "` + city.(string) + `" is sunny`}}
	}
	return map[string]any{"sum": m["a"].(float64) + m["b"].(float64)}
}

// checkConfirmation checks that the request for a confirmation and its answer
// are recorded once each and can be joined.
func checkConfirmation(t *testing.T, rows []row, s scenario) {
	t.Helper()
	requests := ofType(rows, record.HITLConfirmationRequest)
	answers := ofType(rows, record.HITLConfirmationRequestCompleted)
	wantAnswers := 0
	if s.answer != nil {
		wantAnswers = 1
	}
	if !s.asks {
		if len(requests)+len(answers) != 0 {
			t.Errorf("%d requests and %d answers without a confirmation", len(requests), len(answers))
		}
		return
	}
	if len(requests) != 1 || len(answers) != wantAnswers {
		t.Fatalf("%d HITL_CONFIRMATION_REQUEST and %d ..._COMPLETED rows, want 1 and %d", len(requests), len(answers), wantAnswers)
	}
	request := requests[0]
	var tool row
	for _, r := range ofType(rows, record.ToolStarting) {
		if r.SpanID == request.ParentSpanID {
			tool = r
		}
	}
	if tool.SpanID == "" || at(request.attributes, "adk", "call_id") != at(tool.attributes, "adk", "call_id") {
		t.Errorf("row %d: the parent of the request is not the span of the asking tool", request.Seq)
	}
	id, _ := at(request.attributes, "adk", "confirmation_id").(string)
	if id == "" {
		t.Errorf("row %d: no confirmation_id: %s", request.Seq, request.Attributes)
	}
	for _, a := range answers {
		for _, key := range []string{"confirmation_id", "call_id"} {
			if got, want := at(a.attributes, "adk", key), at(request.attributes, "adk", key); got != want {
				t.Errorf("row %d: attributes.adk.%s = %v, want %v as requested", a.Seq, key, got, want)
			}
		}
		if got := at(a.attributes, "adk", "confirmed"); got != *s.answer {
			t.Errorf("row %d: attributes.adk.confirmed = %v, want %v", a.Seq, got, *s.answer)
		}
		if a.ParentSpanID != "" || a.TraceID == request.TraceID {
			t.Errorf("row %d: the answer is not in the root span of a trace of its own", a.Seq)
		}
		if a.InvocationID != request.InvocationID {
			t.Errorf("row %d: invocation %s, want %s, which it resumes", a.Seq, a.InvocationID, request.InvocationID)
		}
	}
}

// checkVerdict checks that an answer was checked against the world and its verdict
// recorded: without rules nothing is known, so the check fails; without a guarded
// tool that blocks nothing.
func checkVerdict(t *testing.T, rows []row, s scenario) {
	t.Helper()
	checks := ofType(rows, record.WorldChangeCheck)
	want := 0
	if s.answer != nil && *s.answer {
		want = 1
	}
	if len(checks) != want {
		t.Errorf("%d WORLD_CHANGE_CHECK rows, want %d", len(checks), want)
	}
	for _, c := range checks {
		if got := at(c.content, "verdict"); got != "check_failed" || c.Status != record.StatusError {
			t.Errorf("row %d: verdict %v, status %s, want a failed check", c.Seq, got, c.Status)
		}
		if at(c.content, "safe_to_approve") != false {
			t.Errorf("row %d: a check of nothing is safe to approve: %s", c.Seq, c.Content)
		}
	}
}

// checkAnswer checks that the last answer of the agent is recorded as it was given.
func checkAnswer(t *testing.T, rows []row, text string) {
	t.Helper()
	answers := ofType(rows, record.AgentResponse)
	if len(answers) == 0 {
		if text != "" {
			t.Errorf("the answer %q is not recorded", text)
		}
		return
	}
	last := answers[len(answers)-1]
	if got := at(last.attributes, "response_text"); got != text {
		t.Errorf("row %d: attributes.response_text = %q, want %q", last.Seq, got, text)
	}
	if got := at(last.content, "response"); got != "text: '"+text+"'" {
		t.Errorf("row %d: content.response = %q", last.Seq, got)
	}
}

// checkGraph checks the graph made from the rows: every tool call is caused by the
// model call that asked for it, and the answer to a request by the request.
func checkGraph(t *testing.T, g *graphsync.Graph, rows []row, s scenario) {
	t.Helper()
	spans := make(map[string]bool)
	for _, r := range rows {
		spans[r.TraceID+r.SpanID] = true
	}
	nodes := make(map[string]graphsync.TechNode)
	for _, n := range g.Nodes() {
		nodes[n.Key] = n
	}
	if len(nodes) != len(spans) {
		t.Errorf("%d nodes for %d spans", len(nodes), len(spans))
	}
	resumes := 0
	askedBy := make(map[string]int)
	for _, e := range g.Edges() {
		from, ok := nodes[e.From]
		to, ok2 := nodes[e.To]
		if !ok || !ok2 {
			t.Errorf("edge %v has an end that is not a node", e)
		}
		switch {
		case e.Kind == graphsync.Resumes:
			resumes++
		case e.Kind == graphsync.Informs && from.Kind == graphsync.KindLLM && to.Kind == graphsync.KindTool:
			askedBy[e.To]++
		}
	}
	for key, n := range nodes {
		if n.Kind == graphsync.KindTool && askedBy[key] != 1 {
			t.Errorf("tool call %s is caused by %d model calls, want 1", n.CallID, askedBy[key])
		}
	}
	if want := s.turns() - len(s.messages); resumes != want {
		t.Errorf("%d resumes edges, want %d", resumes, want)
	}
	if _, ok := g.Decision(); ok != s.asks {
		t.Errorf("the graph has a decision: %t, want %t", ok, s.asks)
	}
}
