// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// calls has a call of each method that returns an error, but Close.
func calls(t *testing.T, ctx context.Context, s store.Store) map[string]func() error {
	l := s.Ledger()
	kept := store.NewSummary{Summary: store.Summary{Session: own}, Until: at(1)}
	all := map[string]func() error{
		"Flush":         func() error { return s.Flush(ctx) },
		"Commit":        func() error { return s.Commit(ctx, "first") },
		"Import":        func() error { return store.Import(ctx, s, []record.Event{row(own, "imported")}) },
		"RowsAfter":     func() error { _, err := s.RowsAfter(ctx, own, 0); return err },
		"Row":           func() error { _, _, err := s.Row(ctx, "first"); return err },
		"Stored":        func() error { _, err := s.Stored(ctx, "first"); return err },
		"Outline":       func() error { _, err := s.Outline(ctx, own); return err },
		"Losses":        func() error { _, err := s.Losses(ctx, own); return err },
		"Children":      func() error { _, err := s.Children(ctx, own); return err },
		"Session":       func() error { _, _, err := s.Session(ctx, own); return err },
		"Sessions":      func() error { _, err := s.Sessions(ctx, store.Query{}); return err },
		"Standings":     func() error { _, err := s.Standings(ctx, []record.Session{own}); return err },
		"OpenRequests":  func() error { _, err := s.OpenRequests(ctx, start, 1); return err },
		"Requested":     func() error { _, err := s.Requested(ctx, record.Session{}, "", 1); return err },
		"Summaries":     func() error { return s.Summaries(ctx, start, func(*store.Summary) {}) },
		"Stamp":         func() error { _, err := s.Stamp(ctx, own); return err },
		"KeepSummaries": func() error { return s.KeepSummaries(ctx, []store.NewSummary{kept}) },
		"Rules":         func() error { _, _, err := s.Rules(ctx, ""); return err },
		"SetRules":      func() error { return s.SetRules(ctx, "digest", []byte("[]")) },
		"Changes":       func() error { _, err := s.Changes(ctx); return err },

		"Create":     func() error { return l.Create(ctx, Pending(2)) },
		"Attach":     func() error { return l.Attach(ctx, Pending(1).ID, "confirmation") },
		"Transition": func() error { return reject(ctx, l, Pending(1)) },
		"History":    func() error { _, err := l.History(ctx, Pending(1).ID); return err },
		"List":       func() error { _, err := l.List(ctx, safety.Query{Session: session}); return err },
	}
	for _, of := range []reflect.Type{reflect.TypeFor[store.Store](), reflect.TypeFor[safety.Ledger]()} {
		for m := range of.NumMethod() {
			m := of.Method(m)
			last := m.Type.NumOut() - 1
			if m.Name != "Close" && last >= 0 && m.Type.Out(last) == reflect.TypeFor[error]() && all[m.Name] == nil {
				t.Errorf("%s is not called", m.Name)
			}
		}
	}
	return all
}

func reject(ctx context.Context, l safety.Ledger, a safety.Approval) error {
	_, err := l.Transition(ctx, Transition(a, safety.StateRejected))
	return err
}

// testClosed closes one handle: it does nothing any more, and the other goes on.
func testClosed(t *testing.T, a, b store.Store) {
	put(t, a, row(own, "first"))
	create(t, a.Ledger(), Pending(1))
	secret := a.Secret()
	all := calls(t, t.Context(), a)
	for range 2 {
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, call := range all {
			wantErr(t, name+" after Close", call(), store.ErrClosed)
		}
	}
	before := a.Stats()
	if a.Append(row(own, "late")) {
		t.Error("a closed store took a row")
	}
	if n := a.Stats().Lost[store.LostClosed]; n != before.Lost[store.LostClosed]+1 {
		t.Errorf("%d rows came too late, want one more than %d", n, before.Lost[store.LostClosed])
	}
	wantSame(t, "the secret after Close", nil, secret, a.Secret())

	put(t, b, row(own, "second"))
	wantSame(t, "the rows by the other handle", nil, []string{"first", "second"}, ids(events(t, b, own)))
	if err := reject(t.Context(), b.Ledger(), Pending(1)); err != nil {
		t.Errorf("a step by the other handle: %v", err)
	}
}

// testEndedContext calls with a context that has ended. Only what commits rows may have done so.
func testEndedContext(t *testing.T, a, b store.Store) {
	put(t, a, row(own, "first"))
	create(t, a.Ledger(), Pending(1))
	cause := errors.New("no time left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if !a.Append(row(own, "waiting")) {
		t.Fatal("a row was refused")
	}
	commits := map[string]string{"Flush": "waiting", "Import": "imported"}
	for name, call := range calls(t, ctx, a) {
		err := call()
		if id := commits[name]; id == "" || err != nil {
			wantErr(t, name, err, cause)
		} else if stored, err := b.Stored(t.Context(), id); err != nil || !stored {
			t.Errorf("%s returned nil and row %s is not stored: %v", name, id, err)
		}
	}
	if got, err := safety.Get(t.Context(), b.Ledger(), Pending(1).ID); err != nil || got.State != safety.StatePending || got.ConfirmationID != "" {
		t.Errorf("an approval that nobody changed is %s with confirmation %q, %v", got.State, got.ConfirmationID, err)
	}
	put(t, a, row(own, "second"))
}

// testAtOnce appends and reads over both handles at once.
func testAtOnce(t *testing.T, a, b store.Store) {
	const appenders, each = 6, 60
	all := []store.Store{a, b}
	sessions := []record.Session{own, {App: own.App, User: own.User, ID: "other"}}
	var writing, reading sync.WaitGroup
	for w := range appenders {
		s := all[w%2]
		writing.Go(func() {
			for n := range each {
				e := row(sessions[n%2], fmt.Sprintf("%d/%d", w, n))
				if n%5 == 0 { // both handles append it
					e.EventID = fmt.Sprintf("shared/%d/%d", w/2, n)
				}
				e.RunID, e.RunSeq = fmt.Sprint(w), int64(n)
				if !s.Append(e) {
					t.Errorf("row %s was refused", e.EventID)
				}
				if n%16 != 0 {
					continue
				}
				if err := s.Commit(t.Context(), e.EventID); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
			if err := s.Flush(t.Context()); err != nil {
				t.Errorf("Flush: %v", err)
			}
		})
	}
	done := make(chan struct{})
	for r := range 4 {
		reading.Go(func() {
			var seen []string
			for last, over := int64(0), false; ; {
				select {
				case <-done:
					over = true
				default:
				}
				rows, err := all[r%2].RowsAfter(t.Context(), sessions[r/2], last)
				if err != nil {
					t.Error(err)
				}
				seen = append(seen, ids(rows)...)
				if len(rows) > 0 {
					last = rows[len(rows)-1].Seq
				} else if over {
					break
				}
			}
			// Whoever reads on from the last row has missed none.
			rows, err := store.Events(t.Context(), all[r%2], sessions[r/2])
			wantSame(t, "read on", err, ids(rows), seen)
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	found := make(map[string]bool)
	total := 0
	for _, s := range sessions {
		newest := make(map[string]int64)
		for _, e := range events(t, a, s) {
			total++
			found[e.EventID] = true
			if seq, ok := newest[e.RunID]; ok && seq >= e.RunSeq {
				t.Errorf("row %d of goroutine %s stands after row %d", e.RunSeq, e.RunID, seq)
			}
			newest[e.RunID] = e.RunSeq
		}
	}
	want := appenders*each - appenders/2*each/5
	one, two := a.Stats(), b.Stats()
	if total != want || len(found) != want || one.Stored+two.Stored != uint64(want) || one.Accepted+two.Accepted != appenders*each {
		t.Errorf("%d rows with %d ids, want %d; stats %+v and %+v", total, len(found), want, one, two)
	}
}
