// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// alter changes the file of a journal behind its back.
func alter(t testing.TB, j *journal.Journal, statement string) {
	t.Helper()
	conn := connect(t, j.Path(), sqlite.OpenReadWrite)
	defer conn.Close()
	if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
		t.Fatal(err)
	}
}

// TestRejectedRow gives SQLite a row that it refuses: the others must not wait for it.
func TestRejectedRow(t *testing.T) {
	var log syncBuffer
	j := openJournal(t, func(c *journal.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	alter(t, j, `CREATE TRIGGER poison BEFORE INSERT ON agent_events WHEN NEW.event_type = 'POISON'
		BEGIN SELECT raise(ABORT, 'poison'); END`)
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "POISON"), event(testSession, "r", 3, "X"))
	flush(t, j)
	s := j.Stats()
	if s.Stored != 2 || s.Lost[journal.LostRejected] != 1 || s.QueuedRows != 0 || j.Lost(testSession) != 1 {
		t.Errorf("stats %+v, %d lost of the session: want 2 stored, 1 rejected", s, j.Lost(testSession))
	}
	if !strings.Contains(log.String(), "poison") {
		t.Errorf("the log does not say why:\n%s", log.String())
	}
	gaps, err := j.Gaps(t.Context(), testSession, []string{"r"})
	if err != nil || len(gaps) != 2 {
		t.Errorf("Gaps() = %q, %v, want the missing row and the drop", gaps, err)
	}
}

// TestFailureMidway fails a transaction after its rows are inserted.
func TestFailureMidway(t *testing.T) {
	j := openJournal(t, nil)
	alter(t, j, "ALTER TABLE sessions RENAME TO away")
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X"))
	if err := j.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Fatalf("Flush() = %v, want the missing table", err)
	}
	if n, err := j.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("Count() = %d, %v: half of a transaction is stored", n, err)
	}
	if err := j.Publish(t.Context(), publication(1)); err == nil {
		t.Error("a graph was published before the rows it rests on")
	}
	alter(t, j, "ALTER TABLE away RENAME TO sessions")
	flush(t, j)
	if n, err := j.Count(t.Context()); err != nil || n != 2 {
		t.Errorf("Count() = %d, %v, want 2", n, err)
	}
}

func TestBacklogIsStoredInOrder(t *testing.T) {
	const rows = 10_000
	j := openJournal(t, nil)
	unlock := lockFile(t, j.Path())
	for n := range int64(rows) {
		appendAll(t, j, event(testSession, "r", n+1, "X"))
	}
	unlock()
	flush(t, j)
	got, err := j.Events(t.Context(), testSession)
	if err != nil || len(got) != rows {
		t.Fatalf("%d rows, %v, want %d", len(got), err, rows)
	}
	for i, e := range got {
		if e.RunSeq != int64(i+1) {
			t.Fatalf("row %d has run_seq %d", i, e.RunSeq)
		}
	}
	if n := j.Stats().Commits; n < 3 {
		t.Errorf("%d transactions: another process could not write in between", n)
	}
}

// TestCloseOutlivesAnOutage closes a journal while its file is locked.
func TestCloseOutlivesAnOutage(t *testing.T) {
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, Logger: slog.New(slog.DiscardHandler)}
	j, err := journal.OpenImpatient(t.Context(), cfg, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	unlock := lockFile(t, j.Path())
	appendAll(t, j, event(testSession, "r", 1, "X"))
	closed := make(chan error)
	go func() { closed <- j.Close(t.Context()) }()
	waitFor(t, func() bool { return j.Stats().LastError != nil })
	unlock()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n, err := reopen(t, cfg).Count(t.Context()); err != nil || n != 1 {
		t.Errorf("Count() = %d, %v, want 1", n, err)
	}
}

// TestCloseLeavesAStuckWriter closes a journal whose writer does not come back.
func TestCloseLeavesAStuckWriter(t *testing.T) {
	cfg := journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}, Logger: slog.New(slog.DiscardHandler)}
	j, err := journal.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	j.SetCloseGrace(10 * time.Millisecond)
	result := make(chan error)
	go func() {
		result <- j.Write(context.Background(), func(*sqlite.Conn) error {
			close(stuck)
			<-release
			return nil
		})
	}()
	<-stuck
	appendAll(t, j, event(testSession, "r", 1, "X"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// It returns, although the writer does not before it is released.
	if err := j.Close(ctx); !errors.Is(err, journal.ErrUnwritten) || !errors.Is(err, context.Canceled) {
		t.Errorf("Close() = %v, want ErrUnwritten", err)
	}
	close(release)
	if err := <-result; err == nil {
		t.Error("a transaction was committed after its connection was interrupted")
	}
	if err := j.Close(t.Context()); !errors.Is(err, journal.ErrUnwritten) {
		t.Errorf("Close() = %v, want ErrUnwritten", err)
	}
	if n := j.Stats().Lost[journal.LostUnwritten]; n != 1 {
		t.Errorf("%d rows counted as unwritten, want 1", n)
	}
}

func TestReadsEndWithTheirContext(t *testing.T) {
	j := openJournal(t, nil)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := j.Events(ctx, testSession); !errors.Is(err, cause) {
		t.Errorf("Events() = %v, want %v", err, cause)
	}
	if err := j.Publish(ctx, publication(1)); !errors.Is(err, cause) {
		t.Errorf("Publish() = %v, want %v", err, cause)
	}
	if _, found, err := j.LastReceipt(t.Context(), testSession); found || err != nil {
		t.Errorf("something was published, %v", err)
	}
}

func TestDamagedGraphIsAnError(t *testing.T) {
	reads := map[string]func(*journal.Journal) error{
		"nodes":    func(j *journal.Journal) error { _, err := j.Nodes(t.Context(), testSession); return err },
		"entities": func(j *journal.Journal) error { _, err := j.Entities(t.Context(), testSession); return err },
		"receipt":  func(j *journal.Journal) error { _, _, err := j.LastReceipt(t.Context(), testSession); return err },
	}
	for statement, read := range map[string]string{
		"UPDATE tech_nodes SET event_ids = '{'":                         "nodes",
		"UPDATE tech_nodes SET event_types = '7'":                       "nodes",
		"UPDATE extracted_biz_nodes SET norm = '{\"kind\":\"colour\"}'": "entities",
		"UPDATE extracted_biz_nodes SET attributes = '[]'":              "entities",
		"UPDATE extractions SET errors = 'x'":                           "receipt",
	} {
		t.Run(statement, func(t *testing.T) {
			j := openJournal(t, nil)
			publish(t, j, publication(1, found("Product", "A", "a", "e1", entity.SourceRule)))
			alter(t, j, statement)
			if err := reads[read](j); err == nil {
				t.Errorf("%s: damage was not noticed", read)
			}
		})
	}
}

// TestPublishFailures breaks one table after the other: nothing of the publication
// may be left behind.
func TestPublishFailures(t *testing.T) {
	for _, table := range []string{"tech_nodes", "caused_edges", "extracted_biz_nodes", "context_cross_links", "extractions"} {
		for _, action := range []string{"INSERT", "DELETE"} {
			if action == "DELETE" && (table == "context_cross_links" || table == "extractions") {
				continue // goes by cascade, or never
			}
			t.Run(fmt.Sprint(action, " ", table), func(t *testing.T) {
				j := openJournal(t, nil)
				publish(t, j, publication(5, found("Product", "A", "a", "e1", entity.SourceRule)))
				old := names(graphOf(t, j).Entities)
				alter(t, j, fmt.Sprintf("CREATE TRIGGER broken BEFORE %s ON %s BEGIN SELECT raise(ABORT, 'broken'); END", action, table))
				p := publication(6, found("Product", "B", "b", "e2", entity.SourceRule))
				p.Nodes, p.Edges = append(p.Nodes[:1:1], node("c")), nil
				p.Edges = append(p.Edges, edge("a", "c", "contains"))
				p.Extracted = []string{"e1"}
				if err := j.Publish(t.Context(), p); err == nil || !strings.Contains(err.Error(), "broken") && !strings.Contains(err.Error(), "unknown node") {
					t.Fatalf("Publish() = %v", err)
				}
				got := graphOf(t, j)
				if fmt.Sprint(names(got.Entities)) != fmt.Sprint(old) || len(got.Nodes) != 2 || len(got.Edges) != 1 || got.Receipt.Watermark != 5 {
					t.Errorf("a failed publication left a trace: %+v", got)
				}
			})
		}
	}
}

func TestSessionWithoutName(t *testing.T) {
	j := openJournal(t, nil)
	appendAll(t, j, event(record.Session{}, "r", 1, "X"))
	flush(t, j)
	if got, err := j.Events(t.Context(), record.Session{}); err != nil || len(got) != 1 {
		t.Errorf("%d rows, %v, want 1", len(got), err)
	}
}

// TestRowsInHandCount fills the queue while the writer cannot get rid of the rows
// it has taken.
func TestRowsInHandCount(t *testing.T) {
	// Two rows are no group yet, so both wait for Flush.
	j := openImpatient(t, journal.Config{QueueRows: 6, Journal: config.Journal{CommitInterval: time.Hour}})
	unlock := lockFile(t, j.Path())
	appendAll(t, j, event(testSession, "r", 1, "X"), event(testSession, "r", 2, "X"))
	if err := j.Flush(t.Context()); err == nil {
		t.Fatal("a locked file was written")
	}
	for n := int64(3); n <= 7; n++ {
		appendAll(t, j, event(testSession, "r", n, "X"))
	}
	if s := j.Stats(); s.QueuedRows != 6 || s.Lost[journal.LostDroppedOldest] != 1 {
		t.Errorf("stats %+v: want six rows queued, one dropped", s)
	}
	unlock()
	flush(t, j)
	wantStored(t, j, 1, 2, 4, 5, 6, 7) // rows in hand are not dropped
}
