// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// manyThings is a guard over n entities whose checkers answer after a while, 16 at a time.
func manyThings(tb testing.TB, n int, takes time.Duration) *safety.Guard {
	tb.Helper()
	var things []entity.Canonical
	for i := range n {
		e := thing("Product", fmt.Sprint("P", i), strava.Attributes)
		e.LastSeen = time.Now()
		things = append(things, e)
	}
	p := safety.DefaultPolicy()
	p.Parallel = 16
	g, err := safety.NewGuard(safety.GuardConfig{
		Ledger: new(store.MemoryLedger), Policy: p,
		Evidence: evidenceFunc(func(context.Context) (safety.Snapshot, error) {
			return safety.Snapshot{Evidence: entity.Evidence{Entities: things}, Receipt: record.Receipt{Watermark: 1, RowsRead: 1, Version: "rules"}}, nil
		}),
		Checkers: map[string]safety.Checker{"Product": safety.CheckerFunc(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			time.Sleep(takes)
			return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
		})},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// BenchmarkCheck is a check of 100 entities, 16 at a time.
func BenchmarkCheck(b *testing.B) {
	for _, takes := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(fmt.Sprintf("100 entities, checkers of %v", takes), func(b *testing.B) {
			g := manyThings(b, 100, takes)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := g.Check(b.Context(), nike); err != nil || !r.IsSafeToApprove() {
					b.Fatal(err, r.Summary())
				}
			}
		})
	}
}
