// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestLaneOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{log: slog.New(slog.DiscardHandler)}
		r := &run{Run: &plugin.Run{Session: schema.Session{App: "a", User: "u", ID: "s"}}}
		other := &run{Run: &plugin.Run{Session: schema.Session{App: "a", User: "u", ID: "t"}}}
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
		second.depart() // it never had its turn

		passed := make(chan map[string]any)
		go func() { passed <- g.queue(t.Context(), r, second) }()
		synctest.Wait()
		select {
		case <-passed:
			t.Error("two calls have their turn at once")
		default:
		}
		first.depart()
		if refused := <-passed; refused != nil {
			t.Errorf("no call is ahead: %v", refused)
		}
		first.depart() // again, which must not end the turn of another
		if refused := g.queue(t.Context(), r, first); refused == nil {
			t.Error("two calls have their turn at once")
		}
		second.depart()

		// The end of a run ends the turns of its calls; one that comes later keeps none.
		r.over = true
		if refused := g.queue(t.Context(), r, first); refused["reason"] != safety.CodeCanceled {
			t.Errorf("a call of a run that is over: %v", refused)
		}
		r.over = false
		if refused := g.queue(t.Context(), r, second); refused != nil {
			t.Errorf("no call is ahead: %v", refused)
		}
	})
}
