// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Calls that come while one is at work wait, and share what the next one finds: it reads
// what all of them recorded.
func TestUpdatesThatWaitShareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		store := &memory{rows: delegate(t).rows, events: func() { <-gate }}
		s := graphsync.NewSyncer(store, compile(t, adRules()))
		var wg sync.WaitGroup
		var mu sync.Mutex
		graphs := make(map[*graphsync.Graph]int)
		call := func() {
			wg.Go(func() {
				g, receipt, err := s.Update(t.Context(), testSession)
				if err != nil || receipt.RowsRead != len(store.rows) {
					t.Error(receipt, err)
				}
				mu.Lock()
				defer mu.Unlock()
				graphs[g]++
			})
			synctest.Wait()
		}
		call() // at work
		for range 10 {
			call()
		}
		if len(store.calls) != 1 { // the flush of the first
			t.Errorf("calls of the store: %v", store.calls)
		}
		gate <- struct{}{}
		synctest.Wait() // the second is at work: it does not know what comes now
		call()
		call()
		close(gate)
		wg.Wait()
		var sizes []int
		for _, n := range graphs {
			sizes = append(sizes, n)
		}
		if len(sizes) != 3 || len(store.published) != 3 || graphs[nil] != 0 || sizes[0]*sizes[1]*sizes[2] != 1*10*2 {
			t.Errorf("%d publications, results shared by %v, want 1, 10 and 2", len(store.published), sizes)
		}
	})
}

// When the context of the one who does the work for others ends, or he panics, another of
// them does it. An error of the store is that of all.
func TestUpdateIsNotLostWithItsCaller(t *testing.T) {
	for _, end := range []string{"context while it waits", "context at work", "panic", "error"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate, broken := make(chan struct{}), false
				store := &memory{rows: delegate(t).rows}
				store.events = func() {
					<-gate
					if broken {
						broken = false
						panic("broken rows")
					}
				}
				s := graphsync.NewSyncer(store, nil)
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, _, err := s.Update(t.Context(), testSession); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				wg.Go(func() {
					defer func() {
						if p := recover(); (p != nil) != (end == "panic") {
							t.Errorf("panic: %v", p)
						}
					}()
					if _, _, err := s.Update(ctx, testSession); err == nil {
						t.Error("no error for the first of those that wait")
					}
				})
				synctest.Wait()
				var failed atomic.Int64
				for range 3 {
					wg.Go(func() {
						if _, _, err := s.Update(t.Context(), testSession); err != nil {
							failed.Add(1)
							if !strings.Contains(err.Error(), "sync session s1: read events: disk on fire") {
								t.Error(err)
							}
						}
					})
				}
				impatient, leave := context.WithCancel(t.Context())
				wg.Go(func() {
					if _, _, err := s.Update(impatient, testSession); !errors.Is(err, context.Canceled) {
						t.Errorf("who left got %v", err)
					}
				})
				synctest.Wait()
				leave()
				synctest.Wait()
				if end == "context while it waits" {
					cancel()
					synctest.Wait()
				}
				gate <- struct{}{} // the first is done
				synctest.Wait()
				switch end {
				case "context at work":
					cancel()
					store.fail = "publish" // what a store does whose context ended
				case "panic":
					broken = true
				case "error":
					store.fail = "events"
				}
				gate <- struct{}{}
				synctest.Wait()
				if end == "context at work" {
					store.fail = ""
				}
				close(gate)
				wg.Wait()
				if want := map[bool]int64{true: 3}[end == "error"]; failed.Load() != want {
					t.Errorf("%d of the others failed, want %d", failed.Load(), want)
				}
			})
		})
	}
}

// confused is a journal that returns other rows than those which were asked for.
type confused struct {
	*counted
	after func(rows []schema.Event) []schema.Event
}

func (c *confused) EventsAfter(ctx context.Context, s schema.Session, seq int64) ([]schema.Event, error) {
	rows, err := c.counted.EventsAfter(ctx, s, seq)
	return c.after(rows), err
}

// What does not follow what is known is no reason to guess.
func TestUpdateReadsAllWhenRowsDoNotFollow(t *testing.T) {
	r := delegate(t)
	for name, after := range map[string]func([]schema.Event) []schema.Event{
		"a row again": func(rows []schema.Event) []schema.Event {
			rows[0].EventID = r.rows[0].EventID
			return rows
		},
		"an old number":       func(rows []schema.Event) []schema.Event { rows[0].Seq = 3; return rows },
		"no number":           func(rows []schema.Event) []schema.Event { rows[0].Seq = 0; return rows },
		"no id":               func(rows []schema.Event) []schema.Event { rows[0].EventID = ""; return rows },
		"one number twice":    func(rows []schema.Event) []schema.Event { rows[1].Seq = rows[0].Seq; return rows },
		"a row of them twice": func(rows []schema.Event) []schema.Event { return append(rows, rows[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t, filepath.Join(t.TempDir(), "j.db"))
			s := graphsync.NewSyncer(&confused{j, after}, compile(t, adRules()))
			for _, rows := range [][]schema.Event{r.rows[:10], r.rows[10:]} {
				record(t, j, rows)
				_, receipt, err := s.Update(t.Context(), testSession)
				if err != nil || j.changes.Load() != 0 {
					t.Fatal(receipt, err, j.changes.Load())
				}
			}
			if n := j.whole.Load(); n != 2 {
				t.Errorf("read as a whole %d times, want 2", n)
			}
		})
	}
}

// What a Syncer remembers is bounded: the sessions that were brought up to date last.
func TestSyncerRemembersTheLast(t *testing.T) {
	j := openJournal(t, filepath.Join(t.TempDir(), "j.db"))
	s := graphsync.NewSyncer(j, nil)
	session := func(n int) schema.Session { return schema.Session{App: "ads", User: "u1", ID: fmt.Sprint(n)} }
	update := func(n int) {
		t.Helper()
		if _, _, err := s.Update(t.Context(), session(n)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 5 {
		for i := range 9 { // with one for the session itself: a weight of ten
			record(t, j, []schema.Event{{
				AppName: "ads", UserID: "u1", SessionID: fmt.Sprint(n), EventID: fmt.Sprintf("%d-%d", n, i),
				EventType: schema.StateDelta, Status: schema.StatusOK, SpanID: "S", Timestamp: baseTime,
			}})
		}
	}
	graphsync.SetRemembered(s, 35)
	for _, n := range []int{0, 1, 2, 0, 3} {
		update(n)
	}
	for n, want := range []bool{true, false, true, true, false} {
		if weight, known := graphsync.Remembered(s, session(n)); known != want || weight != 30 {
			t.Errorf("session %d is remembered: %t, weight of all %d, want %t and 30", n, known, weight, want)
		}
	}
	if n := j.changes.Load(); n != 1 {
		t.Errorf("%d updates, want 1: that of the session which came again", n)
	}
	graphsync.SetRemembered(s, 5) // one session alone is too large
	update(3)
	if _, known := graphsync.Remembered(s, session(3)); known {
		t.Error("a session beyond the bound is remembered")
	}
}

// A span sees again what it saw before, or what a model found in it: entities of other
// rows move to other places, and what the model found is no more.
func TestUpdateWhereASpanSeesAgain(t *testing.T) {
	for name, first := range map[string]m{
		"one of two":         placements("A", "B"),
		"what a model found": placements("B"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			oncePath, path := filepath.Join(dir, "once.db"), filepath.Join(dir, "j.db")
			once, j := openJournal(t, oncePath), openJournal(t, path)
			s := graphsync.NewSyncer(j, compile(t, adRules()))
			r := &recorder{t: t}
			r.turn("1", "R")
			r.tool("T", "R", "c=query_ad_inventory", m{}, first)
			row := r.rows[len(r.rows)-1]
			model := []entity.Entity{{
				Type: "Product", Value: "A", Source: entity.SourceModel, Confidence: 0.99, EventID: row.EventID,
				TechNode: graphsync.RowNodeKey(&row), SpanID: row.SpanID, SeenAt: time.UnixMicro(row.Timestamp).UTC(),
			}}
			recorded := 0
			for step := range 3 {
				if step == 2 {
					r.end("T", "R", "c=query_ad_inventory", placements("A"), nil)
				}
				added := r.rows[recorded:]
				recorded = len(r.rows)
				for _, to := range []*counted{j, once} {
					record(t, to, added)
					if step == 1 {
						if err := to.AddEntities(t.Context(), testSession, model); err != nil {
							t.Fatal(err)
						}
					}
				}
				got, gotReceipt, err := s.Update(t.Context(), testSession)
				if err != nil {
					t.Fatal(err)
				}
				want, wantReceipt, err := graphsync.NewSyncer(once, compile(t, adRules())).Sync(t.Context(), testSession)
				if err != nil {
					t.Fatal(err)
				}
				sameText(t, "graph", answers(t, want, wantReceipt), answers(t, got, gotReceipt))
				sameText(t, "tables", tables(t, oncePath), tables(t, path))
			}
			if n := j.changes.Load(); n != 1 {
				t.Errorf("%d updates, want the last to be one", n)
			}
		})
	}
}
