// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// benchEvents returns rows with payloads of about 0.8 KB, of as many sessions, with
// the ids that id gives.
func benchEvents(n, sessions int, id func(i int) string) []record.Event {
	trace, span, parent := strings.Repeat("a", 32), strings.Repeat("b", 16), strings.Repeat("c", 16)
	content := []byte(`{"tool":"query","result":"` + strings.Repeat("x", 500) + `"}`)
	attributes := []byte(`{"adk":{"app_name":"shop","branch":"` + strings.Repeat("y", 200) + `"}}`)
	names := make([]string, sessions)
	for i := range names {
		names[i] = fmt.Sprint("session-", i)
	}
	rows := make([]record.Event, n)
	for i := range rows {
		rows[i] = record.Event{
			Timestamp: 1_700_000_000_000_000 + int64(i), EventID: id(i), EventType: record.ToolCompleted,
			AppName: "shop", UserID: "ann", SessionID: names[i%sessions], InvocationID: "inv-run", Agent: "buyer",
			RunID: "run", RunSeq: int64(i/sessions) + 1, Status: record.StatusOK,
			TraceID: trace, SpanID: span, ParentSpanID: parent,
			Content: content, Attributes: attributes, LatencyMS: []byte(`{"total_ms":12}`),
		}
	}
	return rows
}

// timeOrdered returns an event id as the recorder mints them: a UUID of version 7
// without its dashes, here with a millisecond for every 30 rows.
func timeOrdered(i int) string {
	return fmt.Sprintf("%012x7%03x8%015x", 1_700_000_000_000+i/30, rand.Uint32N(1<<12), rand.Uint64N(1<<60))
}

// random returns an event id without an order: a UUID of version 4.
func random(int) string {
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
}

// BenchmarkAppend measures what the caller pays. It also pays for emptying the queue,
// which the writer does otherwise.
func BenchmarkAppend(b *testing.B) {
	j := journal.NewWithoutWriter(journal.Config{})
	e := benchEvents(1, 1, timeOrdered)[0]
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%1024 == 1023 {
			j.Drain()
		}
		if !j.Append(e) {
			b.Fatal("row refused")
		}
	}
}

// BenchmarkSustained measures rows per second until they are committed, while a
// reader reads one session over and over.
func BenchmarkSustained(b *testing.B) {
	for _, bb := range []struct {
		level    config.Durability
		sessions int
		name     string
		id       func(int) string
	}{
		{config.DurabilityMemory, 50, "time-ordered", timeOrdered},
		{config.DurabilityJournal, 50, "time-ordered", timeOrdered},
		{config.DurabilityJournal, 50, "random", random},
		{config.DurabilityJournal, 10_000, "time-ordered", timeOrdered},
		{config.DurabilityJournal, 10_000, "random", random},
		{config.DurabilitySync, 50, "time-ordered", timeOrdered},
	} {
		b.Run(fmt.Sprintf("level=%s/sessions=%d/ids=%s", bb.level, bb.sessions, bb.name), func(b *testing.B) {
			j := openJournal(b, func(c *journal.Config) {
				c.Durability, c.OnFull, c.BlockTimeout = bb.level, config.Block, time.Minute
			})
			rows := benchEvents(b.N, bb.sessions, bb.id)
			stop := readAlong(b, j)
			b.ResetTimer()
			for i := range rows {
				if !j.Append(rows[i]) {
					b.Fatal("row refused")
				}
			}
			flush(b, j)
			b.StopTimer()
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(b.N)/seconds, "rows/s")
			b.ReportMetric(float64(stop())/seconds, "reads/s")
		})
	}
}

// readAlong reads a session of 200 rows over and over until the returned function is
// called, which returns how often that was.
func readAlong(b *testing.B, j *journal.Journal) (stop func() int64) {
	b.Helper()
	small := record.Session{App: "shop", User: "ann", ID: "read"}
	for n := range int64(200) {
		appendAll(b, j, event(small, "r", n+1, "X"))
	}
	flush(b, j)
	ctx, cancel := context.WithCancel(b.Context())
	var reads int64
	done := make(chan error)
	go func() {
		for ctx.Err() == nil {
			if rows, err := j.Events(b.Context(), small); err != nil || len(rows) != 200 {
				done <- fmt.Errorf("%d rows, %w", len(rows), err)
				return
			}
			reads++
		}
		done <- nil
	}()
	return func() int64 {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		return reads
	}
}
