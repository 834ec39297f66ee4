// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// longJournal opens a journal with some 50 rows a session: 120,000 rows, with -short 24,000, or with
// CONTEXTGRAPH_BENCH_JOURNAL 1,000,000, which are kept there.
func longJournal(b *testing.B) *journal.Journal {
	b.Helper()
	path := os.Getenv("CONTEXTGRAPH_BENCH_JOURNAL")
	fresh, longSessions := path == "", 20_500
	if fresh {
		longSessions = 2_500
		if testing.Short() {
			longSessions = 500
		}
		path = journaltest.Path(b)
	} else if _, err := os.Stat(path); err != nil {
		fresh = true
	}
	j, err := journal.Open(b.Context(), journal.Config{Journal: config.Journal{Path: path, QueueBytes: 1 << 30}, QueueRows: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close(b.Context()) })
	if !fresh {
		return j
	}
	prompt := strings.Repeat("a long prompt ", 80)
	const some = 500
	for first := 0; first < longSessions; first += some {
		var all []record.Event
		for _, e := range sessionsFrom(b, first, first+some) {
			all = append(all, e)
			if e.EventType != record.UserMessageReceived || e.SpanID != "root1" {
				continue
			}
			for n := range 44 {
				more := e
				more.EventType, more.SpanID, more.EventID = record.LLMRequest, fmt.Sprintf("m%d", n/2), fmt.Sprintf("%s-%d", e.EventID, n)
				more.Content, more.Attributes = encode(m{"prompt": prompt}), encode(m{"model": "gemini", "tools": prompt})
				if n%2 == 1 {
					more.EventType, more.Content = record.LLMResponse, encode(m{"response": "text: 'x'", "usage": m{"prompt": 1, "completion": 1, "total": 2}})
				}
				all = append(all, more)
			}
		}
		put(b, j, all)
	}
	// Of half of the requests the ledger knows as well; some of them wait.
	for i := 0; i < longSessions; i += 20 {
		expires := at(3600)
		if i%1000 == 0 {
			expires = time.Now().Add(24 * time.Hour)
		}
		err := j.Ledger().Create(b.Context(), safety.Approval{
			ID: fmt.Sprintf("a-%d", i), Session: record.Session{App: []string{"shop", "desk"}[i%2], User: []string{"ann", "bob", "cy"}[i%3], ID: fmt.Sprintf("s-%05d", i)},
			CallID: "c1", RunID: "r", Tool: "buy", State: safety.StatePending, RequestedAt: at(7), ExpiresAt: expires,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return j
}

// summed makes the summaries of a long journal, and returns its source.
func summed(b *testing.B, j *journal.Journal) inspect.Source {
	b.Helper()
	src := inspect.NewJournal(j)
	if err := inspect.KeepSummaries(b.Context(), src, time.Now()); err != nil {
		b.Fatal(err)
	}
	return src
}

// BenchmarkSessions reads the list of a long journal that has summaries.
func BenchmarkSessions(b *testing.B) {
	src := summed(b, longJournal(b))
	first, err := src.Sessions(b.Context(), inspect.Query{})
	if err != nil || len(first.Sessions) != 50 {
		b.Fatalf("%d sessions, %v", len(first.Sessions), err)
	}
	for _, bb := range []struct {
		name  string
		query inspect.Query
	}{
		{"page", inspect.Query{}},
		{"next", inspect.Query{After: first.Next}},
		{"status", inspect.Query{Status: []inspect.Status{inspect.StatusDrift}}},
		{"status_none_has", inspect.Query{Status: []inspect.Status{inspect.StatusInDoubt}}},
		{"search", inspect.Query{Search: "question 99"}},
		{"search_none_has", inspect.Query{Search: "nothing has this"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := src.Sessions(b.Context(), bb.query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCount counts a long journal that has summaries, as the command stats does.
func BenchmarkCount(b *testing.B) {
	src := summed(b, longJournal(b))
	for b.Loop() {
		if _, err := inspect.Count(b.Context(), src, inspect.Query{}, time.Now(), noNote); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSummaries makes and keeps the summary of every session of a long journal.
func BenchmarkSummaries(b *testing.B) {
	j := longJournal(b)
	for b.Loop() {
		b.StopTimer()
		alter(b, j.Path(), "DELETE FROM summaries")
		b.StartTimer()
		summed(b, j)
	}
}

// BenchmarkExamine examines a long journal, as the command doctor does.
func BenchmarkExamine(b *testing.B) {
	j := longJournal(b)
	for b.Loop() {
		if _, err := journal.Examine(b.Context(), j.Path(), false); err != nil {
			b.Fatal(err)
		}
	}
}
