// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Nothing of a run may stay behind it. The sessions and the rows go, and what the recorder
// remembers of sessions is bounded.
func TestNothingGrowsWithTheNumberOfRuns(t *testing.T) {
	var clock atomic.Int64
	now := func() time.Time { return time.Unix(0, clock.Add(int64(10*time.Millisecond))) }
	note := functionTool(t, functiontool.Config{Name: "note", Description: "notes"}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		ctx.Actions().StateDelta["k"] = "v"
		return map[string]any{"ok": true}, nil
	})
	sub := llm(t, llmagent.Config{Name: "sub", Description: "answers", Model: adktest.Forgetful{Script: adktest.Says("answer")}, Mode: llmagent.ModeSingleTurn})
	root := llm(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{note}, SubAgents: []agent.Agent{sub},
		Model: adktest.Forgetful{Script: adktest.CallsOnce(&genai.FunctionCall{ID: "c1", Name: "note"}, &genai.FunctionCall{ID: "c2", Name: "sub", Args: map[string]any{"request": "go"}})},
	})
	refuse, err := plugin.New(plugin.Config{Name: "refuse", OnUserMessageCallback: func(_ agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
		if msg.Parts[0].Text == "no" {
			return nil, fmt.Errorf("no")
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recorder.New(recorder.Config{Sink: rowtest.Dropped{}, Now: now, Record: config.Record{PromptHistory: config.PromptDelta}})
	if err != nil {
		t.Fatal(err)
	}
	batch := func(runs int) (heap uint64) {
		// ADK leaves contexts uncancelled, which a context that can be would remember,
		// and its service in memory keeps something of each session that it deletes.
		ctx := context.Background()
		r, err := runner.New(runner.Config{
			AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: recorder.Plugins(rec, refuse),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			id := fmt.Sprint("s", i%200)
			text := "go"
			if i%5 == 0 {
				text = "no" // a run that never begins, and whose end nobody tells
			}
			for _, err := range r.Run(ctx, "u", id, adktest.UserText(text), agent.RunConfig{}) {
				if err != nil {
					break
				}
			}
		}
		clock.Add(int64(time.Hour)) // the next run closes those that never began
		for range r.Run(ctx, "u", "last", adktest.UserText("no"), agent.RunConfig{}) {
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runs, bound := 1000, uint64(256<<10)
	batch(runs)
	before := batch(runs)
	if after := batch(runs); after > before+bound {
		t.Errorf("%d runs left %d KiB behind, want at most %d", runs, (after-before)>>10, bound>>10)
	}
	if n := rec.Running(record.Session{App: "app", User: "u", ID: "s1"}); len(n) != 0 {
		t.Errorf("%d runs count as under way", len(n))
	}
}
