// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkOutboxRows measures reading rows with payloads of 1 KB of 50 sessions in the
// batches of a sender, from a journal of 50,000.
func BenchmarkOutboxRows(b *testing.B) {
	j := openJournal(b, nil)
	rows := benchEvents(50_000, 50, timeOrdered)
	for i := range rows {
		rows[i].Content = []byte(`{"tool":"query","result":"` + strings.Repeat("x", 745) + `"}`)
		appendAll(b, j, rows[i])
	}
	flush(b, j)
	o := j.Outbox("bench")
	b.ReportAllocs()
	var read int
	var after int64
	for b.Loop() {
		got, err := o.Rows(b.Context(), after, 2000, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		if after = 0; len(got) > 0 {
			after = got[len(got)-1].Seq
		}
		read += len(got)
	}
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(read)/float64(b.N), "rows/op")
}

// BenchmarkOutboxAdvance measures the acknowledgement of one batch.
func BenchmarkOutboxAdvance(b *testing.B) {
	for _, level := range []config.Durability{config.DurabilityJournal, config.DurabilitySync} {
		b.Run("level="+string(level), func(b *testing.B) {
			j := openJournal(b, func(c *journal.Config) { c.Durability = level })
			appendAll(b, j, event(testSession, "r", 1, "X"))
			flush(b, j)
			o := j.Outbox("bench")
			if _, err := o.Acquire(b.Context(), "owner", time.Hour); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := o.Advance(b.Context(), "owner", 1, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOutboxBacklog measures a look at a backlog of 50,000 rows.
func BenchmarkOutboxBacklog(b *testing.B) {
	j := openJournal(b, nil)
	appendAll(b, j, benchEvents(50_000, 50, timeOrdered)...)
	flush(b, j)
	o := j.Outbox("bench")
	for b.Loop() {
		if l, err := o.Backlog(b.Context()); err != nil || l.Rows != 50_000 {
			b.Fatal(l, err)
		}
	}
}

// BenchmarkRetentionNothingReplicated measures a look at a journal of 10,000 sessions
// that are all due and all wait for a destination.
func BenchmarkRetentionNothingReplicated(b *testing.B) {
	j := openJournal(b, nil)
	for n := range 10_000 {
		appendAll(b, j, aged(record.Session{App: "shop", User: "ann", ID: fmt.Sprint("s-", n)}, "r", 2, 2*day)...)
	}
	flush(b, j)
	if _, err := j.Outbox("down").Acquire(b.Context(), "owner", time.Hour); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		sweep(b, j, config.Retention{MaxAge: day})
	}
	if n := j.Stats().HeldSessions; n != 1000 {
		b.Errorf("%d sessions are held, want 1000 counted", n)
	}
}
