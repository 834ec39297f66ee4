// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"
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
	"github.com/adk-contextgraph/contextgraph/record"
)

type discard struct{ bytes int }

func (d *discard) Append(e record.Event) bool {
	d.bytes += len(e.Content) + len(e.Attributes)
	return true
}

func (*discard) Commit(context.Context, string) error { return nil }

type noArgs struct{}

func newTestRecorder(t testing.TB, sink Sink) *Recorder {
	t.Helper()
	rec, err := New(Config{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// inTool runs f inside a tool of a real run, with the context ADK gives a tool.
func inTool(b testing.TB, rec *Recorder, f func(agent.Context, tool.Tool)) {
	b.Helper()
	var self tool.Tool
	self, err := functiontool.New(functiontool.Config{Name: "query_ad_inventory"}, func(ctx agent.Context, _ noArgs) (map[string]any, error) {
		f(ctx, self)
		return map[string]any{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) != nil {
			return adktest.Text("done"), nil
		}
		return adktest.Call("query_ad_inventory", map[string]any{}), nil
	}}
	root, err := llmagent.New(llmagent.Config{Name: "media_planner", Model: m, Tools: []tool.Tool{self}})
	if err != nil {
		b.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "adcp", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: Plugins(rec),
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := adktest.TryRun(b.Context(), r, "u", "s", adktest.UserText("go")); err != nil {
		b.Fatal(err)
	}
}

// inventory is a tool result of about 0.8 KB.
func inventory() map[string]any {
	var placements []any
	for i := range 6 {
		placements = append(placements, map[string]any{
			"name": fmt.Sprintf("Placement number %d", i), "available": true, "price": 18000.5 + float64(i),
			"currency": "USD", "as_of": "2026-01-19T10:00:00Z", "format": "video",
		})
	}
	return map[string]any{"placements": placements, "brand": "ELF Cosmetics", "count": 6}
}

// request is a model request with n messages of about 230 bytes.
func request(n int) *model.LLMRequest {
	req := &model.LLMRequest{Model: "gemini-3-flash", Config: &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(strings.Repeat("You plan media. ", 20), genai.RoleUser),
	}}
	for i := range n {
		role := genai.Role(genai.RoleUser)
		if i%2 == 1 {
			role = genai.RoleModel
		}
		req.Contents = append(req.Contents, genai.NewContentFromText(strings.Repeat("a message of some words ", 10), role))
	}
	return req
}
