// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestLaneOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &Recorder{log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		r := &Run{session: schema.Session{App: "a", User: "u", ID: "s"}}
		other := &Run{session: schema.Session{App: "a", User: "u", ID: "t"}}
		first, second, elsewhere := &Call{name: "buy"}, &Call{name: "buy"}, &Call{name: "buy"}
		for x, c := range map[*Run]*Call{r: first, other: elsewhere} {
			if denial := rec.queue(t.Context(), x, c); denial != nil {
				t.Fatalf("session %s: %v", x.session.ID, denial)
			}
		}

		refused := rec.queue(t.Context(), r, second)
		if refused["reason"] != safety.CodeCheckFailed || !strings.Contains(refused["message"].(string), "approve this one again") {
			t.Errorf("a call that waited too long: %v", refused)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if refused := rec.queue(ctx, r, second); refused["reason"] != safety.CodeCanceled {
			t.Errorf("a call whose client has gone: %v", refused)
		}
		second.depart() // it never had the lane

		passed := make(chan map[string]any)
		go func() { passed <- rec.queue(t.Context(), r, second) }()
		synctest.Wait()
		select {
		case <-passed:
			t.Error("two calls are in one lane")
		default:
		}
		first.depart()
		if refused := <-passed; refused != nil {
			t.Errorf("the lane is free: %v", refused)
		}
		first.depart() // again, which must not free the lane of another
		if refused := rec.queue(t.Context(), r, first); refused == nil {
			t.Error("two calls are in one lane")
		}
		second.depart()

		// The end of a run frees the lanes of its calls; one that comes later keeps none.
		r.over.Store(true)
		if refused := rec.queue(t.Context(), r, first); refused["reason"] != safety.CodeCanceled {
			t.Errorf("a call of a run that is over: %v", refused)
		}
		r.over.Store(false)
		if refused := rec.queue(t.Context(), r, second); refused != nil {
			t.Errorf("the lane is free: %v", refused)
		}
	})
}
