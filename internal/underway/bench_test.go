// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package underway_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/underway"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkRuns is the look of one approval at the runs of its session, beside so many live runs of
// other sessions and as many that ended just now. The goal is that their number does not matter.
func BenchmarkRuns(b *testing.B) {
	for _, others := range []int{0, 10_000, 50_000} {
		b.Run(fmt.Sprint("others=", others), func(b *testing.B) {
			var u underway.Register
			now := time.Now()
			u.Begin(one, "run")
			for i := range others {
				s := record.Session{App: "a", User: "u", ID: fmt.Sprint("other-", i)}
				u.Begin(s, "live")
				u.Begin(s, "over")
				u.End(s, "over", now)
			}
			b.ReportAllocs()
			for b.Loop() {
				if n := len(u.Runs(one, now)); n != 1 {
					b.Fatal(n)
				}
			}
		})
	}
}
