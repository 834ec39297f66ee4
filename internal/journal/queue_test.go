// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// sized returns row n with a payload of about the number of bytes.
func sized(n int64, typ string, bytes int) record.Event {
	e := event(testSession, "r", n, typ)
	e.Content = []byte(`"` + strings.Repeat("x", bytes) + `"`)
	return e
}

// TestQueueBounds fills queues of which nothing can leave: the writer is busy.
func TestQueueBounds(t *testing.T) {
	const (
		tool = record.ToolStarting
		hitl = record.HITLConfirmationRequest
		done = record.HITLConfirmationRequestCompleted
		wcc  = record.WorldChangeCheck
	)
	type lost = map[store.LossReason]uint64
	small := func(types ...string) (rows []record.Event) {
		for i, typ := range types {
			rows = append(rows, event(testSession, "r", int64(i+1), typ))
		}
		return rows
	}
	tests := []struct {
		name string
		cfg  journal.Config
		rows []record.Event
		want []int64 // the numbers of the rows that are stored in the end
		lost lost
	}{
		{"rows, oldest dropped", journal.Config{QueueRows: 3}, small(tool, tool, tool, tool, tool),
			[]int64{3, 4, 5}, lost{store.LostDroppedOldest: 2}},
		{"rows, newest dropped", journal.Config{QueueRows: 3, Journal: config.Journal{OnFull: config.Block}, BlockTimeout: 1}, small(tool, tool, tool, tool, tool),
			[]int64{1, 2, 3}, lost{store.LostQueueFull: 2}},
		{"bytes, oldest dropped", journal.Config{Journal: config.Journal{QueueBytes: 12 << 10}},
			[]record.Event{sized(1, tool, 5000), sized(2, tool, 5000), sized(3, tool, 5000), sized(4, tool, 5000)},
			[]int64{3, 4}, lost{store.LostDroppedOldest: 2}},
		{"one large row for several small ones", journal.Config{Journal: config.Journal{QueueBytes: 12 << 10}},
			[]record.Event{sized(1, tool, 2000), sized(2, tool, 2000), sized(3, tool, 2000), sized(4, tool, 8000)},
			[]int64{3, 4}, lost{store.LostDroppedOldest: 2}},
		{"a row larger than the queue drops no other", journal.Config{Journal: config.Journal{QueueBytes: 4 << 10}},
			[]record.Event{sized(1, tool, 100), sized(2, tool, 5000), sized(3, tool, 100)},
			[]int64{1, 3}, lost{store.LostQueueFull: 1}},
		{"a row larger than the queue does not wait", journal.Config{Journal: config.Journal{QueueBytes: 4 << 10, OnFull: config.Block}, BlockTimeout: time.Hour},
			[]record.Event{sized(1, tool, 100), sized(2, tool, 5000), sized(3, tool, 100)},
			[]int64{1, 3}, lost{store.LostQueueFull: 1}},
		{"approval rows stay, in order", journal.Config{QueueRows: 4}, small(hitl, tool, tool, done, tool, tool, wcc, tool),
			[]int64{1, 4, 7, 8}, lost{store.LostDroppedOldest: 4}},
		{"approval rows go beyond the bounds", journal.Config{QueueRows: 3}, small(hitl, hitl, hitl, hitl, tool, hitl),
			[]int64{1, 2, 3, 4, 6}, lost{store.LostQueueFull: 1}},
		{"but not for ever", journal.Config{QueueRows: 2}, small(hitl, hitl, hitl, hitl, hitl, tool),
			[]int64{1, 2, 3, 4}, lost{store.LostApprovalsFull: 1, store.LostQueueFull: 1}},
		{"nor in bytes", journal.Config{Journal: config.Journal{QueueBytes: 4 << 10}},
			[]record.Event{sized(1, hitl, 3000), sized(2, wcc, 3000), sized(3, done, 3000)},
			[]int64{1, 2}, lost{store.LostApprovalsFull: 1}},
		{"an approval row does not wait", journal.Config{QueueRows: 2, Journal: config.Journal{OnFull: config.Block}, BlockTimeout: time.Hour},
			small(tool, tool, hitl, wcc), []int64{1, 2, 3, 4}, nil},
		{"telemetry makes room for an approval row", journal.Config{QueueRows: 2}, small(tool, tool, hitl),
			[]int64{2, 3}, lost{store.LostDroppedOldest: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, func(c *journal.Config) {
				c.QueueRows, c.QueueBytes = tt.cfg.QueueRows, tt.cfg.QueueBytes
				c.OnFull, c.BlockTimeout = tt.cfg.OnFull, tt.cfg.BlockTimeout
			})
			holdWriter(t, j, func() {
				for _, e := range tt.rows {
					before := j.Stats()
					taken := j.Append(e)
					after := j.Stats()
					if refused := after.Refused() - before.Refused(); taken != (refused == 0) {
						t.Errorf("row %d: Append() = %v, %d rows counted as refused", e.RunSeq, taken, refused)
					}
					balance(t, j)
				}
			})
			flush(t, j)
			wantStored(t, j, tt.want...)
			got := j.Stats().Lost
			if len(got) == 0 {
				got = nil
			}
			if d := cmp.Diff(tt.lost, got); d != "" {
				t.Errorf("losses differ (-want +got):\n%s", d)
			}
			if n := j.Lost(testSession); n != len(tt.rows)-len(tt.want) {
				t.Errorf("Lost = %d, want %d", n, len(tt.rows)-len(tt.want))
			}
			if n := j.Lost(record.Session{ID: "other"}); n != 0 {
				t.Errorf("another session lost %d", n)
			}
			appendAll(t, j, event(testSession, "r", 99, tool))
		})
	}
}

// TestTheWriterTakesLittle: what the writer has taken cannot be dropped any more.
func TestTheWriterTakesLittle(t *testing.T) {
	for name, row := range map[string]record.Event{
		"rows": event(testSession, "r", 1, "X"), "bytes": sized(1, "X", 30<<10), "large rows": sized(1, "X", 3<<20),
	} {
		j := journal.NewWithoutWriter(journal.Config{QueueRows: 1 << 20, Journal: config.Journal{QueueBytes: 1 << 30}})
		for range 20_000 {
			j.Append(row)
		}
		rows, bytes := j.Take()
		if rows == 0 || rows > 4096+128 || bytes > 8<<20 {
			t.Errorf("%s: the writer took %d rows of %d bytes, more than one transaction", name, rows, bytes)
		}
	}
}

// TestTheOldestAreDropped fills the queue while commits fail.
func TestTheOldestAreDropped(t *testing.T) {
	const bound = 8_000
	cfg := journal.Config{QueueRows: bound, Journal: config.Journal{QueueBytes: 1 << 30}}
	j := openImpatient(t, cfg)
	unlock := lockFile(t, j.Path())
	n := int64(0)
	add := func(rows int) {
		for range rows {
			n++
			appendAll(t, j, event(testSession, "r", n, "X"))
		}
	}
	add(6_000)
	if err := j.Flush(t.Context()); err == nil {
		t.Fatal("a locked file was written")
	}
	add(12_000)
	unlock()
	flush(t, j)
	rows, err := j.Events(t.Context(), testSession)
	if err != nil || len(rows) != bound {
		t.Fatalf("%d rows, %v, want %d", len(rows), err, bound)
	}
	// The writer holds some of the oldest rows; all others are the newest.
	inHand := 0
	for rows[inHand].RunSeq == int64(inHand+1) {
		inHand++
	}
	for i, e := range rows[inHand:] {
		if want := n - int64(len(rows)-inHand-i) + 1; e.RunSeq != want {
			t.Fatalf("row %d is number %d, want %d: not the oldest rows were dropped", i, e.RunSeq, want)
		}
	}
}

// TestASmallQueueDoesNotDrop fills a queue that is smaller than a group, slower than
// the disk is: nothing may be lost for want of a commit.
func TestASmallQueueDoesNotDrop(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) { c.QueueRows, c.CommitInterval = 8, time.Hour })
	for n := int64(1); n <= 100; n++ {
		appendAll(t, j, event(testSession, "r", n, "X"))
		waitFor(t, func() bool { return j.Stats().QueuedRows < 4 })
	}
	flush(t, j)
	if s := j.Stats(); s.Stored != 100 {
		t.Errorf("stats %+v: want 100 rows stored", s)
	}
}

func TestBlockWaitsForRoom(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) {
		c.QueueRows, c.OnFull, c.BlockTimeout = 4, config.Block, time.Hour
	})
	var wg sync.WaitGroup
	var taken atomic.Int64
	holdWriter(t, j, func() {
		for g := range int64(20) {
			wg.Go(func() {
				if j.Append(event(testSession, "r", g+1, "X")) {
					taken.Add(1)
				}
			})
		}
		// A row may be taken a moment before its caller knows.
		waitFor(t, func() bool { return j.Blocked() == 16 && taken.Load() == 4 })
	})
	wg.Wait()
	flush(t, j)
	if s := j.Stats(); s.Stored != 20 || len(s.Lost) != 0 {
		t.Errorf("stats %+v: want 20 rows stored, none lost", s)
	}
}

// TestBlockedRowHurriesTheWriter waits for room in a queue whose rows make no group yet.
func TestBlockedRowHurriesTheWriter(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) {
		c.QueueBytes, c.OnFull, c.BlockTimeout, c.CommitInterval = 16<<10, config.Block, 20*time.Second, time.Hour
	})
	for n := int64(1); n <= 3; n++ {
		appendAll(t, j, sized(2*n-1, "X", 5<<10), sized(2*n, "X", 12<<10))
	}
	flush(t, j)
	wantStored(t, j, 1, 2, 3, 4, 5, 6)
}

// TestBlockTimeout runs on the clock of a bubble: nothing takes from the queue.
func TestBlockTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.NewWithoutWriter(journal.Config{QueueRows: 1, Journal: config.Journal{QueueBytes: 1 << 20, OnFull: config.Block}, BlockTimeout: 250 * time.Millisecond})
		if !j.Append(event(testSession, "r", 1, "X")) {
			t.Fatal("an empty queue refused a row")
		}
		begin := time.Now()
		if j.Append(event(testSession, "r", 2, "X")) {
			t.Error("a full queue took a row")
		}
		if d := time.Since(begin); d != 250*time.Millisecond {
			t.Errorf("Append waited %v, want 250ms", d)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if !j.Append(event(testSession, "r", 3, "X")) {
				t.Error("there was room in time, but the row was refused")
			}
		})
		time.Sleep(200 * time.Millisecond)
		j.Drain()
		wg.Wait()
		if n := j.Lost(testSession); n != 1 {
			t.Errorf("%d rows lost, want 1", n)
		}
	})
}

// TestCloseFreesBlockedAppends closes a journal while rows wait for room.
func TestCloseFreesBlockedAppends(t *testing.T) {
	j := openJournal(t, func(c *journal.Config) {
		c.QueueRows, c.OnFull, c.BlockTimeout = 1, config.Block, time.Hour
	})
	var wg sync.WaitGroup
	closed := make(chan struct{})
	holdWriter(t, j, func() {
		appendAll(t, j, event(testSession, "r", 1, "X"))
		wg.Go(func() {
			if j.Append(event(testSession, "r", 2, "X")) {
				t.Error("a closed journal took a row")
			}
		})
		waitFor(t, func() bool { return j.Blocked() == 1 })
		go func() {
			defer close(closed)
			closeJournal(t, j)
		}()
		wg.Wait()
	})
	<-closed
	if n := j.Stats().Lost[store.LostClosed]; n != 1 {
		t.Errorf("%d rows counted as late, want 1", n)
	}
}

// Losses are remembered for a bounded number of sessions; the others must not look
// complete.
func TestLossesOfManySessions(t *testing.T) {
	j := journal.NewWithoutWriter(journal.Config{QueueRows: 1, Journal: config.Journal{QueueBytes: 1 << 10}})
	e := sized(1, "X", 2<<10)
	for n := range 1<<16 + 10 {
		e.SessionID = fmt.Sprint("s-", n)
		if j.Append(e) {
			t.Fatal("a row larger than the queue was taken")
		}
	}
	for session, want := range map[string]int{"s-0": 1, "s-65535": 1, "s-65536": 10, "s-65545": 10, "unheard of": 10} {
		if got := j.Lost(record.Session{App: e.AppName, User: e.UserID, ID: session}); got != want {
			t.Errorf("Lost(%s) = %d, want %d", session, got, want)
		}
	}
}

// Waiting returns what is in the queue, also the approval rows that others made room for.
func TestWaiting(t *testing.T) {
	const hitl = record.HITLConfirmationRequest
	another := named("another")
	rows := func(n int64) (list []record.Event) {
		for i := range n {
			list = append(list, event(testSession, "r", i+1, "X"))
		}
		return list
	}
	first, second := event(testSession, "r", 1, hitl), event(testSession, "r", 2, "X")
	for name, tt := range map[string]struct {
		queue int
		rows  []record.Event
		take  bool
		want  []record.Event
		known bool
	}{
		"an empty queue":           {0, nil, false, nil, true},
		"of one session":           {0, []record.Event{first, event(another, "r", 1, "X"), second}, false, []record.Event{first, second}, true},
		"of another session":       {0, []record.Event{event(another, "r", 1, "X")}, false, nil, true},
		"others were dropped":      {2, []record.Event{first, event(another, "r", 1, "X"), second}, false, []record.Event{first, second}, true},
		"the writer has taken one": {0, []record.Event{first}, true, nil, false},
		"a queue that is not long": {0, rows(256), false, rows(256), true},
		"a long queue":             {0, rows(257), false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := journal.NewWithoutWriter(journal.Config{QueueRows: tt.queue})
			appendAll(t, j, tt.rows...)
			if tt.take {
				j.Take()
			}
			got, known := j.Waiting(testSession)
			if d := cmp.Diff(tt.want, got); d != "" || known != tt.known {
				t.Errorf("known is %t, want %t; rows differ (-want +got):\n%s", known, tt.known, d)
			}
		})
	}
}
