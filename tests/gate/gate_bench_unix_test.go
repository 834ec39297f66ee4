// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package gate_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// BenchmarkGate is a request for an approval, its answer and the call, through the real
// runner: two turns of a session, with the guard, with a guard that only watches, and
// without the plugin. The time is that of the processor, in milliseconds. The
// transactions are all that the journal committed, and those of them that waited for the disk.
func BenchmarkGate(b *testing.B) {
	bare := func(o *cgtest.Options) {
		o.Protect = false
		o.ChangeRunner = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	}
	for _, bench := range []struct {
		name string
		opt  cgtest.Option
	}{
		{"guarded", cgtest.Covered},
		{"observed", func(o *cgtest.Options) { o.Protect, o.Config.Guard.Mode = false, config.ModeObserve }},
		{"bare", bare},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := cgtest.New(b, cgtest.OnFile, bench.opt)
			before, start := h.CG.Stats().Journal, cgtest.CPUTime(b)
			b.ResetTimer()
			for n := range b.N {
				session := fmt.Sprint("session-", n)
				id, _ := h.Ask(session)
				if got := h.Answer(session, id, true); got["status"] != "bought" {
					b.Fatal(got)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(cgtest.CPUTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
			after := h.CG.Stats().Journal
			b.ReportMetric(float64(after.Transactions-before.Transactions)/float64(b.N), "transactions/op")
			b.ReportMetric(float64(after.Synced-before.Synced)/float64(b.N), "synced/op")
		})
	}
}
