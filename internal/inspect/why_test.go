// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the arguments of an action name is a link of its own, and why leads past it to where
// the thing was learned, or says in words that no result showed it.
func TestWhyOfWhatAnActionNames(t *testing.T) {
	s := newScript(t).start("r1").
		row(record.UserMessageReceived, "root", "", content(m{"text_summary": "Deploy v2 to eu", "versions": []m{{"id": "v2"}, {"id": "v3"}}})).
		row(record.InvocationStarting, "root", "")
	calls := []struct {
		tool         string
		args, result m
	}{
		{"list", m{}, m{"versions": []m{{"id": "v1", "status": "passed"}, {"id": "v2", "status": "passed"}}}},
		{"echo", m{"status": "passed"}, m{"versions": []m{{"id": "v4", "status": "passed"}}}},
		{"deploy", m{"versions": []m{{"id": "v2", "status": "revoked"}, {"id": "v3"}, {"id": "v9"}}}, m{"error": "requires confirmation"}},
	}
	for i, c := range calls {
		id := fmt.Sprintf("c%d", i)
		s.row(record.LLMRequest, "llm"+id, "root").
			row(record.LLMResponse, "llm"+id, "root", attributes(m{"function_calls": []m{{"id": id, "name": c.tool}}})).
			row(record.ToolStarting, c.tool, "root", content(m{"tool": c.tool, "args": c.args}), adk(m{"function_call_id": id})).
			row(record.ToolCompleted, c.tool, "root", content(m{"tool": c.tool, "result": c.result}), adk(m{"function_call_id": id}))
	}
	s.row(record.HITLConfirmationRequest, "hitl", "deploy", content(m{"tool": "adk_request_confirmation", "args": m{
		"originalFunctionCall": m{"id": "c2", "name": "deploy"},
	}}), adk(m{"function_call_id": "c2", "confirmation_id": "q1"}))

	versions := func(name, tool string, in config.In, event string) config.Extract {
		return config.Extract{
			Name: name, Tool: tool, In: in, Event: event, Each: "$.versions[*]", Type: "Version", Value: "$.id",
			Attributes: map[string]config.Attribute{"status": {Path: "$.status", Optional: true}},
		}
	}
	x, err := graphsync.Compile([]config.Extract{
		versions("listed", "list", config.InResult, ""), versions("echoed", "echo", config.InResult, ""),
		versions("said", "", config.InContent, record.UserMessageReceived), versions("deployed", "deploy", config.InAction, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	found := x.Extract(s.rows)
	if len(found.Failed) > 0 {
		t.Fatal(found.Failed)
	}
	page, err := inspect.New(inspect.Record{Session: s.session, Rows: s.rows, Entities: found.Entities}, at(60))
	if err != nil {
		t.Fatal(err)
	}
	span := make(map[string]string)
	for _, sp := range page.Spans {
		span[sp.Key] = sp.SpanID
	}
	var got []string
	for _, e := range page.Entities {
		line := fmt.Sprintf("%s %s:", e.Value, e.Attributes["status"])
		for _, seen := range e.Evaluated {
			line += fmt.Sprintf(" %s in %s", seen.Link, span[seen.Span])
		}
		got = append(got, line)
	}
	for _, w := range page.Approvals[0].Why {
		var path []string
		for _, step := range w.Path {
			path = append(path, span[step.Span])
		}
		got = append(got, fmt.Sprintf("%s, %d hops, %s: %s %s", w.Value, w.Hops, w.Origin, strings.Join(path, " "), w.Note))
	}
	const none = "; no result in the 20 steps before the request shows it"
	want := []string{
		"v1 passed: evaluated in list",
		"v2 passed: named in root evaluated in list named in deploy",
		"v3 : named in root named in deploy",
		"v4 passed: named in echo",
		"v9 : named in deploy",
		"v3, 0 hops, named: root deploy hitl only named there" + none,
		"v9, 0 hops, action: hitl named by the action" + none,
		"v4, 2 hops, named: echo llmc2 deploy hitl only named there" + none,
		"v1, 4 hops, result: list llmc1 echo llmc2 deploy hitl ",
		"v2, 4 hops, result: list llmc1 echo llmc2 deploy hitl ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}
