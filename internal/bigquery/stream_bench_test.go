// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkStreamAppend measures one connection with answers after 50 ms, without a
// replicator: requests of 1,000 rows of 1 KB, four of them without an answer at a time.
func BenchmarkStreamAppend(b *testing.B) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		b.Run(fmt.Sprint("answers=", delay), func(b *testing.B) {
			server := newServer(b, writefake.Options{DropRows: true})
			server.Schedule(func(writefake.Request) writefake.Answer { return writefake.Answer{Delay: delay} })
			stream := open(b, newTarget(b, server))
			batch := make([][]byte, 1000)
			size := 0
			for i := range batch {
				batch[i] = kilobyte(i)
				size += len(batch[i])
			}
			b.SetBytes(int64(size))
			var window []replicate.Pending
			began := time.Now()
			wait := func() {
				if err := window[0].Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
				window = window[1:]
			}
			for b.Loop() {
				if len(window) == 4 {
					wait()
				}
				p, err := stream.Append(b.Context(), batch)
				if err != nil {
					b.Fatal(err)
				}
				window = append(window, p)
			}
			for len(window) > 0 {
				wait()
			}
			b.ReportMetric(float64(len(batch)*b.N)/time.Since(began).Seconds(), "rows/s") // with the last answers
		})
	}
}

// memory is a source without a disk, for the throughput of what comes after it.
type memory struct {
	store.Outbox                // nil: nobody calls the rest
	events       []record.Event // Seq is the index and one

	mu     sync.Mutex
	cursor int64
}

func (m *memory) Acquire(context.Context, string, time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursor, nil
}

func (m *memory) Release(context.Context, string) error { return nil }

func (m *memory) Rows(_ context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	rows := m.events[after:]
	var size int64
	for i := range rows {
		size += int64(wire.RowOf(&rows[i]).Size())
		if i == maxRows || i > 0 && size > maxBytes {
			rows = rows[:i]
			break
		}
	}
	return slices.Clone(rows), nil // they are the caller's
}

func (m *memory) Advance(_ context.Context, _ string, to int64, _ []store.DeadLetter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cursor = to
	return nil
}

func (m *memory) Backlog(context.Context) (store.Backlog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return store.Backlog{Rows: int64(len(m.events)) - m.cursor, First: m.cursor + 1}, nil
}

func (m *memory) LastSeq(context.Context) (int64, error) { return int64(len(m.events)), nil }

func (m *memory) Changed(chan<- struct{}) (stop func()) { return func() {} }

// BenchmarkStream sends rows of 1 KB over one connection, through the replicator and the
// client library, to a server in the same process that decodes every one. rows/s counts
// from the start of the replicator to the last acknowledgement.
func BenchmarkStream(b *testing.B) {
	for _, bench := range []struct {
		name    string
		rows    int
		delay   time.Duration
		journal bool
	}{
		{"answers=50ms/rows=50000/source=memory", 50_000, 50 * time.Millisecond, false},
		{"answers=50ms/rows=50000/source=journal", 50_000, 50 * time.Millisecond, true},
		{"answers=200ms/rows=50000/source=memory", 50_000, 200 * time.Millisecond, false},
		{"answers=200ms/rows=50000/source=journal", 50_000, 200 * time.Millisecond, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			if testing.Short() {
				bench.rows /= 25
			}
			var j *journal.Journal
			events := make([]record.Event, bench.rows)
			var bytes int
			for i := range events {
				events[i] = newEvent(i, payload)
				events[i].Seq = int64(i + 1)
				bytes += len(wire.RowOf(&events[i]).Append(nil))
			}
			if bench.journal {
				j = newJournal(b, bench.rows, payload)
			}
			for b.Loop() {
				server := newServer(b, writefake.Options{DropRows: true})
				server.Schedule(func(writefake.Request) writefake.Answer { return writefake.Answer{Delay: bench.delay} })
				var source store.Outbox = &memory{events: events}
				if j != nil {
					source = j.Outbox("bigquery:" + server.Addr())
				}
				r := replicate.New(replicate.Config{Source: source, Target: newTarget(b, server), Logger: slog.New(slog.DiscardHandler)})
				r.Start()
				if err := r.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if n := server.Distinct(); n != bench.rows {
					b.Errorf("%d rows of %d landed", n, bench.rows)
				}
				if n := len(server.Connections()); n != 1 {
					b.Errorf("%d connections, want 1", n)
				}
				b.ReportMetric(float64(server.MaxUnanswered()), "peak-unanswered-B")
				closeReplicator(b, r)
				server.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(bench.rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(bytes)/float64(bench.rows), "B/row")
		})
	}
}
