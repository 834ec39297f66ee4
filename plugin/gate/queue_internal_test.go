// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestLaneOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{log: slog.New(slog.DiscardHandler)}
		r := &run{Run: &plugin.Run{Session: record.Session{App: "a", User: "u", ID: "s"}}}
		other := &run{Run: &plugin.Run{Session: record.Session{App: "a", User: "u", ID: "t"}}}
		buy := &plugin.Call{Name: "buy"}
		first, second, elsewhere := &call{Call: buy}, &call{Call: buy}, &call{Call: buy}
		for x, c := range map[*run]*call{r: first, other: elsewhere} {
			if denial := g.queue(t.Context(), x, c); denial != nil {
				t.Fatalf("session %s: %v", x.Session.ID, denial)
			}
		}

		refused := g.queue(t.Context(), r, second)
		if refused["reason"] != safety.CodeCheckFailed || !strings.Contains(refused["message"].(string), "approve this one again") {
			t.Errorf("a call that waited too long: %v", refused)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if refused := g.queue(ctx, r, second); refused["reason"] != safety.CodeCanceled {
			t.Errorf("a call whose client has gone: %v", refused)
		}
		second.unlock() // it never had its turn

		passed := make(chan map[string]any)
		go func() { passed <- g.queue(t.Context(), r, second) }()
		synctest.Wait()
		select {
		case <-passed:
			t.Error("two calls have their turn at once")
		default:
		}
		first.unlock()
		if refused := <-passed; refused != nil {
			t.Errorf("no call is ahead: %v", refused)
		}
		first.unlock() // again, which must not end the turn of another
		if refused := g.queue(t.Context(), r, first); refused == nil {
			t.Error("two calls have their turn at once")
		}
		second.unlock()

	})
}

// The end of a run ends the turns of its calls. One that comes later, also while the last rows
// of the run are being written, keeps none.
func TestTurnWhileTheRunEnds(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	rec, err := plugin.New(plugin.Config{Sink: rowtest.Dropped{}, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Recorder: rec, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	session := record.Session{App: "a", User: "u", ID: "s"}
	begin := func(of *plugin.Run) (*run, *call) {
		r := g.of(of)
		return r, r.call(&plugin.Call{Name: "buy"})
	}
	late := func(r *run) {
		c := r.call(&plugin.Call{Name: "buy"})
		if refused := g.queue(t.Context(), r, c); refused["reason"] != safety.CodeCanceled {
			t.Errorf("a call of a run that is over: %v", refused)
			c.unlock()
		}
	}
	other, next := begin(rec.NoRun(session))
	goesOn := func() {
		if refused := g.queue(t.Context(), other, next); refused != nil {
			t.Errorf("no call is ahead: %v", refused)
		}
		next.unlock()
	}

	r, c := begin(rec.NoRun(session))
	if refused := g.queue(t.Context(), r, c); refused != nil {
		t.Fatalf("no call is ahead: %v", refused)
	}
	rec.TurnAway(t.Context(), r.Run, errors.New("over"))
	goesOn()
	late(r)
	goesOn()

	ending, told := rec.NoRun(session), false
	ending.AtEnd(func(context.Context, error, bool) { // the gate is told later
		told = true
		late(g.of(ending))
		goesOn()
	})
	_, _ = begin(ending)
	rec.TurnAway(t.Context(), ending, errors.New("over"))
	if !told {
		t.Error("the end was not told")
	}
}
