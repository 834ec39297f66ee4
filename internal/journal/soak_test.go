// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Load of BenchmarkSoak: each second every session takes one step, which gives three
// rows at once, as the end of a model call and a quick tool do.
const (
	soakSessions = 10_000
	soakRows     = 3
)

// BenchmarkSoak records 10,000 sessions at the same time, 30,000 rows of 0.8 KB per
// second, with a reader, for one second per iteration: -benchtime 60x is a minute. It
// fails when a row is lost or the heap outgrows the bounds of the queue.
func BenchmarkSoak(b *testing.B) {
	j := openJournal(b, nil)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	template := benchEvents(1, 1, timeOrdered)[0]
	template.RunSeq = 0
	peak := watch(j)
	stop := readSessions(b, j)

	b.ResetTimer()
	begin := time.Now()
	var number, late atomic.Int64
	var wg sync.WaitGroup
	for s := range soakSessions {
		wg.Go(func() {
			e := template
			e.SessionID = fmt.Sprint("session-", s)
			due := begin.Add(time.Second * time.Duration(s) / soakSessions)
			for range b.N {
				if d := time.Until(due); d > 0 {
					time.Sleep(d)
				} else if d < -time.Second {
					late.Add(1)
				}
				due = due.Add(time.Second)
				for range soakRows {
					e.EventID = timeOrdered(int(number.Add(1)))
					e.RunSeq++
					j.Append(e)
				}
			}
		})
	}
	wg.Wait()
	queued := j.Stats().QueuedRows
	flush(b, j)
	b.StopTimer()
	seconds := time.Since(begin).Seconds()
	reads := stop()
	heap, maxQueued := peak()

	s := j.Stats()
	rows := b.N * soakSessions * soakRows
	var lost uint64
	for _, n := range s.Lost {
		lost += n
	}
	if lost != 0 || s.Stored != uint64(rows) {
		b.Errorf("stats %+v: want %d rows stored, none lost", s, rows)
	}
	if n, err := j.Count(b.Context()); err != nil || n != int64(rows) {
		b.Errorf("Count() = %d, %v, want %d", n, err, rows)
	}
	some := record.Session{App: "shop", User: "ann", ID: "session-42"}
	if losses, err := j.Losses(b.Context(), some); err != nil || len(losses) != 0 {
		b.Errorf("Losses() = %q, %v", losses, err)
	}
	if stored, err := j.Events(b.Context(), some); err != nil || len(stored) != b.N*soakRows || stored[len(stored)-1].RunSeq != int64(len(stored)) {
		b.Errorf("%d rows of a session are stored, %v, want %d", len(stored), err, b.N*soakRows)
	}
	// Twice the queue, because garbage is collected only when the heap has doubled,
	// and the goroutines of the sessions.
	if limit := before.HeapInuse + 2*uint64(config.Default().Journal.QueueBytes) + 128<<20; heap > limit {
		b.Errorf("the heap grew to %d MiB, beyond %d MiB", heap>>20, limit>>20)
	}
	b.ReportMetric(float64(rows)/seconds, "rows/s")
	b.ReportMetric(float64(reads)/seconds, "reads/s")
	b.ReportMetric(float64(heap)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(maxQueued), "queued-max")
	b.ReportMetric(float64(queued), "queued-end")
	b.ReportMetric(float64(lost), "lost")
	b.ReportMetric(float64(late.Load()), "late")
}

// readSessions reads as a viewer does, 100 times per second one session and once per
// second the list, until the returned function is called, which returns how often
// that was.
func readSessions(b *testing.B, j *journal.Journal) (stop func() int64) {
	end, done := make(chan struct{}), make(chan error)
	var reads int64
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				done <- nil
				return
			case <-tick.C:
			}
			s := record.Session{App: "shop", User: "ann", ID: fmt.Sprint("session-", reads*37%soakSessions)}
			rows, err := j.Events(b.Context(), s)
			for i, e := range rows {
				if e.RunSeq != int64(i+1) {
					err = fmt.Errorf("row %d of %s is number %d", i+1, s.ID, e.RunSeq)
				}
			}
			if err == nil && reads%100 == 0 {
				_, err = j.Sessions(b.Context(), store.Query{})
			}
			if err != nil {
				done <- err
				return
			}
			reads++
		}
	}()
	return func() int64 {
		close(end)
		if err := <-done; err != nil {
			b.Error(err)
		}
		return reads
	}
}

// watch samples the heap and the queue until the returned function is called, which
// returns the largest values seen.
func watch(j *journal.Journal) (stop func() (heap uint64, queued int)) {
	end, done := make(chan struct{}), make(chan struct{})
	var heap uint64
	var queued int
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap, queued = max(heap, m.HeapInuse), max(queued, j.Stats().QueuedRows)
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return func() (uint64, int) {
		close(end)
		<-done
		return heap, queued
	}
}
