// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/record"
)

const destination = "test:table"

func openJournal(tb testing.TB, path string) *journal.Journal {
	tb.Helper()
	j, err := journal.Open(tb.Context(), journal.Config{Journal: config.Journal{Path: path}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closeJournal(tb, j) })
	return j
}

func closeJournal(tb testing.TB, j *journal.Journal) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	if err := j.Close(ctx); err != nil {
		tb.Error(err)
	}
}

// recordRows commits rows.
func recordRows(tb testing.TB, j *journal.Journal, rows ...record.Event) {
	tb.Helper()
	for _, e := range rows {
		for !j.Append(e) {
			if err := j.Flush(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := j.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// patience bounds what a test waits for that must happen, however slow the machine is.
const patience = 5 * time.Minute

// soon returns a context for that.
func soon(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

func TestJournal(t *testing.T) {
	j := openJournal(t, journaltest.Path(t))
	recordRows(t, j, rows(3000, 500)...)
	table := newTable(t)
	table.respond = refuse(span(700, 702), true)
	r := start(t, j.Outbox(destination), table, func(c *replicate.Config) { c.BatchBytes = 100_000 })
	if err := r.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	wantRows(t, table, 2997, 2997)
	// New rows wake it.
	e := row("b", 1, 10)
	recordRows(t, j, e)
	if err := r.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	wantRows(t, table, 2998, 2998)
	// A status may be of a moment ago.
	ctx := soon(t)
	for s := r.Status(); s.LagRows != 0 || s.DeadLetters != 3 || !s.Active; s = r.Status() {
		if ctx.Err() != nil {
			t.Fatalf("Status() = %+v", s)
		}
		time.Sleep(time.Millisecond)
	}
	letters, err := j.Outbox(destination).DeadLetters(t.Context(), 0)
	if err != nil || len(letters) != 3 || letters[0].EventID != "a-000700" || letters[0].Reason != "bad JSON in a-000700" || letters[0].Session.ID != "a" {
		t.Errorf("DeadLetters() = %+v, %v", letters, err)
	}
	finish(t, r)

	// The next process begins where this one ended.
	recordRows(t, j, row("b", 2, 10))
	again := start(t, j.Outbox(destination), table, nil)
	if err := again.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	wantRows(t, table, 2999, 2999)
	finish(t, again)
}

// A burst of rows lands, each once, with answers after 20 ms.
func TestBurst(t *testing.T) {
	j := openJournal(t, journaltest.Path(t))
	table := newTable(t)
	table.respond = func(call) outcome { return taken(20 * time.Millisecond) }
	r := start(t, j.Outbox(destination), table, nil)
	n := testsize.Rounds(t, 5_000, 50_000)
	for i := range n {
		for e := row("a", i+1, 300); !j.Append(e); {
			if err := j.Flush(soon(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	wantRows(t, table, n, n)
	finish(t, r)
}

// lean is a target that answers after a time and keeps nothing.
type lean struct {
	delay time.Duration
	rows  int
}

func (l *lean) Open(context.Context) (replicate.Stream, error) { return l, nil }
func (l *lean) Upgrade(context.Context) error                  { return nil }
func (l *lean) Close() error                                   { return nil }

func (l *lean) Append(_ context.Context, rows [][]byte) (replicate.Pending, error) {
	l.rows += len(rows)
	return due(time.Now().Add(l.delay)), nil
}

type due time.Time

func (d due) Wait(context.Context) error {
	time.Sleep(time.Until(time.Time(d)))
	return nil
}
