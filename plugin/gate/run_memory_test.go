// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// Nothing of a run may stay behind it in the gate. The sessions and the rows go, and what the
// gate remembers of tools is bounded.
func TestNothingGrowsWithTheNumberOfRuns(t *testing.T) {
	_, g := newGate(recorder.Config{Sink: rowtest.Dropped{}}, gate.Config{Guard: unusedGuard(), Settings: config.Guard{Tools: config.Tools("buy")}})
	look := must(g.Replayable(gives("look", m{"price": 1})))
	tools := []tool.Tool{look, gives("buy", nil), g.Protect(gives("pay", nil))}
	batch := func(runs int) (heap uint64) {
		ctx := context.Background() // ADK leaves contexts uncancelled, which one that can be would remember
		args := m{"q": "x"}
		r := newRunner(asks("root", adktest.Forgetful{Script: adktest.CallsOnce(call("c1", "look", args), call("c2", "buy", args), call("c3", "pay", args))}, tools...), plugins(g))
		for i := range runs {
			for range r.Run(ctx, "u", fmt.Sprint("s", i%200), adktest.UserText("go"), agent.RunConfig{}) {
				if i%5 == 0 {
					break // a run that stops early
				}
			}
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const runs, bound = 500, uint64(256 << 10)
	batch(runs)
	before := batch(runs)
	if after := batch(runs); after > before+bound {
		t.Errorf("%d runs left %d KiB behind, want at most %d", runs, (after-before)>>10, bound>>10)
	}
}
