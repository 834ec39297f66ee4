// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// Many sessions at once on one gate, which is closed among them: no guarded tool runs, before
// or after, and every other one does.
func TestCloseBesideManySessions(t *testing.T) {
	sink := &rowtest.Sink{}
	rec, g := newGate(recorder.Config{Sink: sink}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Tools: config.Tools("buy")}})
	var looked atomic.Int64
	look := must(functiontool.New(functiontool.Config{Name: "look"}, func(agent.Context, struct{}) (map[string]any, error) {
		looked.Add(1)
		return m{"price": 1}, nil
	}))
	must(g.Replayable(look))
	ran := func(agent.Context, struct{}) (map[string]any, error) {
		t.Error("a guarded tool ran")
		return nil, nil
	}
	buy := must(functiontool.New(functiontool.Config{Name: "buy"}, ran))
	pay := g.Protect(must(functiontool.New(functiontool.Config{Name: "pay"}, ran)))
	r := newRunner(asks("root", adktest.CallsOnce(call("c1", "look", nil), call("c2", "buy", nil), call("c3", "pay", nil)), look, buy, pay), plugins(g))
	const sessions = 200
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			events := adktest.Run(t, r, "u", fmt.Sprint("s", i), adktest.UserText("go"))
			for _, name := range []string{"buy", "pay"} {
				if got := adktest.Responses(events, name); len(got) != 1 || got[0]["status"] != "blocked" {
					t.Errorf("%s answered %v, want one refusal", name, got)
				}
			}
			g.Stats()
			if i == sessions/2 {
				g.Close()
			}
		})
	}
	wg.Wait()
	if got := looked.Load(); got != sessions {
		t.Errorf("look ran %d times, want %d", got, sessions)
	}
	if got := rec.Stats().Panics; got != 0 {
		t.Errorf("%d panics of the recorder", got)
	}
	seq := make(map[string]int64)
	for _, e := range sink.Rows() {
		if seq[e.RunID]++; e.RunSeq != seq[e.RunID] {
			t.Fatalf("%s of run %s has number %d, want %d", e.EventType, e.RunID, e.RunSeq, seq[e.RunID])
		}
	}
}
