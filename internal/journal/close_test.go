// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

func TestReadsAfterClose(t *testing.T) {
	j := openJournal(t, nil)
	closeJournal(t, j)
	for name, call := range map[string]func() error{
		"Events":  func() error { _, err := j.Events(t.Context(), testSession); return err },
		"Session": func() error { _, _, err := j.Session(t.Context(), testSession); return err },
		"Count":   func() error { _, err := j.Count(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}

func TestCloseTellsWhatIsLost(t *testing.T) {
	// Without the end of its context Close would wait for the lock as long as this.
	j, err := journal.OpenImpatient(t.Context(), journal.Config{
		Journal: config.Journal{Path: journaltest.Path(t)}, Logger: slog.New(slog.DiscardHandler),
	}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	j.SetCloseGrace(patience)
	unlock := lockFile(t, j.Path())
	defer unlock()
	for n := range int64(5) {
		appendAll(t, j, event(testSession, "r", n+1, "X"))
	}
	cause := errors.New("no patience")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	err = j.Close(ctx)
	if !errors.Is(err, journal.ErrUnwritten) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "holds the write lock") {
		t.Errorf("Close() = %v, want ErrUnwritten and why", err)
	}
	if n := j.Stats().Lost[store.LostUnwritten]; n != 5 || j.Lost(testSession) != 5 {
		t.Errorf("%d rows counted as unwritten, %d of the session, want 5", n, j.Lost(testSession))
	}
	if again := j.Close(t.Context()); !errors.Is(again, journal.ErrUnwritten) {
		t.Errorf("the second Close() = %v, want the result of the first", again)
	}
}

// A program that is told to stop often has nothing but a context that has ended.
func TestCloseWithEndedContext(t *testing.T) {
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t), CommitInterval: time.Hour}}
	j := reopen(t, cfg)
	j.SetCloseGrace(patience)
	appendAll(t, j, event(testSession, "r", 1, "X"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := reopen(t, cfg).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("Count() = %d, %v, want 1", n, err)
	}
}
