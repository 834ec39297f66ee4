// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

// What people do with an agent every day needs no index of the session: turns with and without
// tools, several calls at once, a call that waits for a yes, one that ends after other turns.
func TestEverydayRequestsAreFollowed(t *testing.T) {
	price := 0
	named := func(cfg functiontool.Config) tool.Tool {
		made, err := functiontool.New(cfg, func(agent.Context, map[string]any) (map[string]any, error) {
			price++
			return map[string]any{"list": []any{map[string]any{"price": price}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	calls := func(names string) *model.LLMResponse {
		var calls []*genai.FunctionCall
		for i, name := range strings.Fields(names) {
			calls = append(calls, &genai.FunctionCall{Name: name, Args: map[string]any{"i": i}})
		}
		return adktest.Calls(calls...)
	}
	rec := newTestRecorder(t, &discard{})
	asked, indexed := 0, 0
	eye, err := plugin.New(plugin.Config{Name: "eye", AfterModelCallback: func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
		asked++
		if rec.runs.lookup(ctx).past.index != nil {
			indexed++
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{
		named(functiontool.Config{Name: "look"}), named(functiontool.Config{Name: "buy", RequireConfirmation: true}),
		named(functiontool.Config{Name: "order", IsLongRunning: true}),
	}, Model: adktest.Script(
		adktest.Text("hello"),
		calls("look"), calls("look"), adktest.Text("looked twice"),
		calls("look look"), adktest.Text("looked at two"),
		calls("buy"), adktest.Text("bought"),
		calls("look buy"), adktest.Text("bought it too"),
		calls("order"), adktest.Text("ordered"), adktest.Text("wait"), adktest.Text("it came"),
		adktest.Text("bye"),
	)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "a", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: Plugins(rec, eye),
	})
	if err != nil {
		t.Fatal(err)
	}
	turn := func(what string, msg *genai.Content, requests, notFollowed int) (events []*session.Event) {
		t.Helper()
		asked, indexed = 0, 0
		if events = adktest.Run(t, r, "u", "s", msg); asked != requests || indexed != notFollowed {
			t.Errorf("%s: %d requests, want %d; %d with an index of the session, want %d", what, asked, requests, indexed, notFollowed)
		}
		return events
	}
	say := func(text string, requests int) []*session.Event {
		t.Helper()
		return turn(text, adktest.UserText(text), requests, 0)
	}
	say("hi", 1)
	say("look twice", 3)
	say("look at two", 2)
	for _, text := range []string{"buy", "look and buy"} {
		waits := adktest.Confirmations(say(text, 1))
		turn("yes, "+text, adktest.Answer(waits[0].ID, true), 1, 0)
	}
	var order string
	for _, ev := range say("order", 2) {
		if len(ev.LongRunningToolIDs) > 0 {
			order = ev.LongRunningToolIDs[0]
		}
	}
	say("and?", 1)
	// ADK leaves out of this request what was said between the call and its late result.
	turn("it is there", &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: order, Name: "order", Response: map[string]any{"status": "there"}},
	}}}, 1, 1)
	say("bye", 1)
}

// A callback that changes a new result from the inside changes the session too, so the two still
// agree. The model has not read what the row has.
func TestResultChangedInside(t *testing.T) {
	search, err := functiontool.New(functiontool.Config{Name: "search"}, func(agent.Context, map[string]any) (map[string]any, error) {
		return map[string]any{"list": []any{map[string]any{"price": 40000}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := newTestRecorder(t, &discard{})
	var got []held
	hide := func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
		if fr := adktest.LastResponse(req); fr != nil {
			fr.Response["list"].([]any)[0].(map[string]any)["price"] = "hidden"
		}
		return nil, nil
	}
	var contents []*genai.Content
	eye, err := plugin.New(plugin.Config{
		Name: "eye",
		AfterModelCallback: func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			p := rec.runs.lookup(ctx).past
			p.mu.Lock()
			defer p.mu.Unlock()
			got = append(got, p.held(contents, readerOf(ctx), nil))
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{
		Name: "root", Model: adktest.Script(adktest.Calls(&genai.FunctionCall{Name: "search"}), adktest.Text("done")), Tools: []tool.Tool{search},
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{hide, func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			contents = req.Contents
			return nil, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "a", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: Plugins(rec, eye),
	})
	if err != nil {
		t.Fatal(err)
	}
	adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	last := got[len(got)-1]
	for _, h := range last.parts {
		if h.part != anAnswer {
			t.Errorf("the request counts as holding the result %d of event %d", h.part, h.at)
		}
	}
	if last.unmatched != 1 {
		t.Errorf("%d results unmatched, want 1", last.unmatched)
	}
}
