// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

func TestFlushIsABarrier(t *testing.T) {
	// An interval that never ends: only Flush commits.
	j := openJournal(t, func(c *journal.Config) { c.CommitInterval = time.Hour })
	for n := int64(1); n <= 20; n++ {
		appendAll(t, j, event(testSession, "r", n, "X"))
		if n == 1 {
			if got := selectInt(t, connect(t, j.Path()), "SELECT count(*) FROM agent_events"); got != 0 {
				t.Fatalf("%d rows are stored before their interval is over", got)
			}
		}
		flush(t, j)
		conn := connect(t, j.Path())
		if got := selectInt(t, conn, "SELECT count(*) FROM agent_events"); got != n {
			t.Fatalf("another process sees %d rows after Flush, want %d", got, n)
		}
		conn.Close()
	}
}

// Commit tells of the one row, whatever Flush says of all.
func TestCommitOfALostRow(t *testing.T) {
	const rows = 10
	one := event(testSession, "r", 1, "POISON")
	for name, tt := range map[string]struct {
		append func(t *testing.T, j *journal.Journal)
		want   string
	}{
		"dropped for a newer one": {func(t *testing.T, j *journal.Journal) {
			defer lockFile(t, j.Path())()
			appendAll(t, j, event(testSession, "r", 2, "X"))
			if err := j.Flush(t.Context()); err == nil {
				t.Fatal("a locked file was written")
			}
			appendAll(t, j, one)
			for n := range int64(rows) {
				appendAll(t, j, event(testSession, "r", n+3, "X"))
			}
		}, "was dropped"},
		"refused by SQLite": {func(t *testing.T, j *journal.Journal) {
			alter(t, j, `CREATE TRIGGER poison BEFORE INSERT ON agent_events WHEN NEW.event_type = 'POISON' BEGIN SELECT raise(ABORT, 'poison'); END`)
			appendAll(t, j, one)
		}, "SQLite refused it"},
	} {
		t.Run(name, func(t *testing.T) {
			j := openImpatient(t, journal.Config{Journal: config.Journal{CommitInterval: time.Hour}, QueueRows: rows})
			tt.append(t, j)
			err := j.Commit(t.Context(), one.EventID)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Commit() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestGroupCommit(t *testing.T) {
	tests := []struct {
		name     string
		rows     int
		bytes    int
		interval time.Duration
	}{
		{"by rows", 1024, 10, time.Hour},
		{"by bytes", 2, 600 << 10, time.Hour},
		{"by time", 1, 10, time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, func(c *journal.Config) { c.CommitInterval = tt.interval })
			for n := range int64(tt.rows) {
				e := event(testSession, "r", n+1, "X")
				e.Content = []byte(`"` + strings.Repeat("x", tt.bytes) + `"`)
				appendAll(t, j, e)
			}
			waitFor(t, func() bool { return j.Stats().Stored == uint64(tt.rows) })
			if s := j.Stats(); s.Commits != 1 || s.QueuedRows != 0 || s.QueuedBytes != 0 {
				t.Errorf("stats %+v: want one commit and an empty queue", s)
			}
		})
	}
}

// waitFor polls a condition that the writer's goroutine brings about.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatal("it did not happen")
		case <-tick.C:
		}
	}
}

// TestFlushWhileTheDiskHangs flushes while the writer does not come back from the
// disk: Append goes on, Flush ends with its context.
func TestFlushWhileTheDiskHangs(t *testing.T) {
	j := openJournal(t, nil)
	holdWriter(t, j, func() {
		appendAll(t, j, event(testSession, "r", 1, "X"))
		cause := errors.New("no patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
		defer cancel()
		if err := j.Flush(ctx); !errors.Is(err, cause) {
			t.Errorf("Flush() = %v, want %v", err, cause)
		}
		appendAll(t, j, event(testSession, "r", 2, "X"))
		balance(t, j)
	})
	flush(t, j)
	wantStored(t, j, 1, 2)
}

func TestDropsAreLoggedOncePerMinute(t *testing.T) {
	var log syncBuffer
	var now atomic.Int64
	now.Store(1_700_000_000)
	j := openJournal(t, func(c *journal.Config) {
		c.QueueRows, c.CommitInterval = 2, time.Hour
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	})
	row := int64(0)
	overload := func() {
		holdWriter(t, j, func() { // what it takes could not be dropped
			for range 10 {
				row++
				j.Append(event(testSession, "r", row, "X"))
			}
		})
		flush(t, j)
	}
	for range 3 {
		overload()
	}
	flush(t, j)
	if n := strings.Count(log.String(), "rows were dropped"); n != 1 {
		t.Errorf("drops were logged %d times in one minute, want once:\n%s", n, log.String())
	}
	now.Add(60)
	flush(t, j)
	overload()
	if n := strings.Count(log.String(), "rows were dropped"); n != 2 || !strings.Contains(log.String(), "suppressed=") {
		t.Errorf("drops were logged %d times, want 2 and how many lines were held back:\n%s", n, log.String())
	}
	if n := strings.Count(log.String(), "dropped_oldest="); n != 2 {
		t.Errorf("the reason is named %d times, want 2:\n%s", n, log.String())
	}
}

// syncBuffer is a buffer that a logger may write to while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
