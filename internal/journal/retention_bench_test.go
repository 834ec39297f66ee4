// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
)

// BenchmarkRetentionSession measures the removal of a session of 1,000 rows of
// 0.8 KB from a journal of 100,000, the pauses between its steps included, and how
// long others who want to write wait for a step.
func BenchmarkRetentionSession(b *testing.B) {
	j := openJournal(b, nil)
	for n := range 100 {
		appendAll(b, j, padded(aged(named(fmt.Sprint("kept-", n)), "r", 1000, 0), 800)...)
		flush(b, j)
	}
	var waits []time.Duration
	// What the kept sessions left in the WAL is not part of the measurement.
	alter(b, j, "PRAGMA wal_checkpoint(TRUNCATE)")
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		appendAll(b, j, padded(aged(named(fmt.Sprint("old-", n)), "r", 1000, 2*day), 800)...)
		flush(b, j)
		done := make(chan struct{})
		waited := make(chan []time.Duration)
		go func() {
			var own []time.Duration
			for {
				select {
				case <-done:
					waited <- own
					return
				default:
				}
				begin := time.Now()
				if err := j.Flush(b.Context()); err != nil {
					b.Error(err)
				}
				own = append(own, time.Since(begin))
				time.Sleep(time.Millisecond)
			}
		}()
		b.StartTimer()
		sweep(b, j, config.Retention{MaxAge: day})
		b.StopTimer()
		close(done)
		waits = append(waits, <-waited...)
		b.StartTimer()
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-wait-µs")
	b.ReportMetric(float64(waits[len(waits)-1].Microseconds()), "max-wait-µs")
}
