// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// burst returns n rows of a burst: requests of models and their answers, of many sessions, with so
// much payload in all.
func burst(n, sessions int, payload int64) []record.Event {
	rows := benchEvents(n, sessions, timeOrdered)
	content := make([]byte, payload/int64(n)-int64(len(rows[0].Attributes)))
	for i := range rows {
		rows[i].EventType = []string{record.LLMRequest, record.LLMResponse}[i%2]
		rows[i].Content = content
	}
	return rows
}

// TestBurstsAreKept shows what a queue holds that nobody empties. Nothing is dropped below 256 MiB
// of payload.
func TestBurstsAreKept(t *testing.T) {
	for _, test := range []struct {
		name           string
		rows, sessions int
		payload        int64
	}{
		{"50,000 requests of models and their answers", 100_000, 50, 250 << 20},
		{"small ones", 100_000, 50, 100_000 * 1400},
		{"10,000 sessions begin", 120_000, 10_000, 120_000 * 800},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := journal.NewWithoutWriter(journal.Config{})
			for _, e := range burst(test.rows, test.sessions, test.payload) {
				if !j.Append(e) {
					t.Fatal("a row was refused")
				}
			}
			if s := j.QueueStats(); s.QueuedRows != test.rows || len(s.Lost) > 0 {
				t.Errorf("%d rows wait and %v are lost, want %d and none", s.QueuedRows, s.Lost, test.rows)
			}
		})
	}
}

// BenchmarkBurst appends 50,000 requests of models and their answers at once, from eight
// goroutines, and waits until they are stored. It fails if one is lost.
func BenchmarkBurst(b *testing.B) {
	for _, sessions := range []int{50, 10_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			const writers = 8
			size := 100_000
			if testing.Short() {
				size = 20_000
			}
			var appended, landed time.Duration
			for b.Loop() {
				b.StopTimer()
				j := openJournal(b, nil)
				rows := burst(size, sessions, int64(size)*1400)
				b.StartTimer()
				begin := time.Now()
				var wg sync.WaitGroup
				for w := range writers {
					wg.Go(func() {
						for i := w; i < len(rows); i += writers {
							j.Append(rows[i])
						}
					})
				}
				wg.Wait()
				appended += time.Since(begin)
				flush(b, j)
				landed += time.Since(begin)
				if s := j.Stats(); s.Stored != uint64(len(rows)) {
					b.Errorf("stats %+v: want %d rows stored", s, len(rows))
				}
			}
			b.ReportMetric(appended.Seconds()/float64(b.N), "s-to-append")
			b.ReportMetric(landed.Seconds()/float64(b.N), "s-to-land")
		})
	}
}

// TestAgentsAreListedAgain: the writer knows which agents of sessions the file has, until they may
// have been removed.
func TestAgentsAreListedAgain(t *testing.T) {
	path := journaltest.Path(t)
	cfg := journal.Config{Journal: config.Journal{Path: path}}
	j, other := reopen(t, cfg), reopen(t, cfg)
	agents := func() []string {
		t.Helper()
		list, err := j.Sessions(t.Context(), store.Query{})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].Agents
	}
	for n, remover := range []*journal.Journal{j, other} {
		appendAll(t, j, aged(testSession, fmt.Sprint("old", n), 2, 2*day)...)
		flush(t, j)
		appendAll(t, j, aged(testSession, fmt.Sprint("older", n), 2, 2*day)...) // its agent is known now
		flush(t, j)
		sweep(t, remover, config.Retention{MaxAge: day})
		appendAll(t, j, aged(testSession, fmt.Sprint("new", n), 2, 2*day)...)
		flush(t, j)
		if d := cmp.Diff([]string{"buyer"}, agents()); d != "" {
			t.Errorf("removed by %d: agents differ (-want +got):\n%s", n, d)
		}
	}

	// A step of an approval that fails takes the rows before it back, and they are stored again.
	last := aged(testSession, "last", 1, 2*day)
	last[0].Agent = "late"
	appendAll(t, j, last...)
	if err := j.Ledger().Attach(t.Context(), "unknown", "confirmation"); !errors.Is(err, safety.ErrNotFound) {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"buyer", "late"}, agents()); d != "" {
		t.Errorf("after a failed step, agents differ (-want +got):\n%s", d)
	}
}
