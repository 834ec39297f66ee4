// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package contextgraph_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph"
)

// BenchmarkGate is a request for an approval, its answer and the call, through the real
// runner: two turns of a session, with the guard, with a guard that only watches, and
// without the plugin. The time is that of the processor, in milliseconds. The commits are
// those of rows; what the ledger commits beside them is counted by BenchmarkGate of the
// journal.
func BenchmarkGate(b *testing.B) {
	bare := func(o *options) {
		o.protect = false
		o.wrapRunnerCfg = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	}
	for _, bench := range []struct {
		name string
		opt  option
	}{
		{"guarded", covered},
		{"observed", func(o *options) { o.protect, o.cfg.Guard.Mode = false, contextgraph.ModeObserve }},
		{"bare", bare},
	} {
		b.Run(bench.name, func(b *testing.B) {
			h := newHarness(b, bench.opt)
			before, start := h.cg.Journal().Stats().Commits, cpuTime(b)
			b.ResetTimer()
			for n := range b.N {
				session := fmt.Sprint("session-", n)
				id, _ := h.ask(session)
				if got := h.answer(session, id, true); got["status"] != "bought" {
					b.Fatal(got)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(h.cg.Journal().Stats().Commits-before)/float64(b.N), "row-commits/op")
		})
	}
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
