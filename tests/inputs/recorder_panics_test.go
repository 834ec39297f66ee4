// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// brittleSessions gives sessions whose events cannot be read once the countdown is over:
// that time they panic.
type brittleSessions struct {
	session.Service
	countdown atomic.Int64
}

func (s *brittleSessions) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	resp, err := s.Service.Get(ctx, req)
	if err == nil {
		resp.Session = &brittle{resp.Session, &s.countdown}
	}
	return resp, err
}

func (s *brittleSessions) AppendEvent(ctx context.Context, sess session.Session, ev *session.Event) error {
	if b, ok := sess.(*brittle); ok {
		sess = b.Session
	}
	return s.Service.AppendEvent(ctx, sess, ev)
}

type brittle struct {
	session.Session
	countdown *atomic.Int64
}

func (s *brittle) Events() session.Events { return &brittleEvents{s.Session.Events(), s.countdown} }

type brittleEvents struct {
	session.Events
	countdown *atomic.Int64
}

func (e *brittleEvents) All() iter.Seq[*session.Event] {
	if e.countdown.Add(-1) == 0 {
		panic("the events cannot be read")
	}
	return e.Events.All()
}

// Wherever the recorder breaks down while it looks at a message, no answer to a guarded
// input gets past it. The world has changed here, so none may.
func TestInputWhileTheRecorderPanics(t *testing.T) {
	panics := 0
	for n := int64(1); ; n++ {
		w := cgtest.NewWorkflow(t)
		sessions := &brittleSessions{Service: w.Sessions}
		w.Sessions = sessions
		w.Build()
		w.AskInput()
		w.Shop.Set("$90,000", true)
		sessions.countdown.Store(n)
		if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err == nil {
			t.Errorf("panic %d: the run began", n)
		}
		w.WantBought(0)
		if sessions.countdown.Load() <= 0 {
			w.Shop.Set("$40,000", true)
			if err := w.Reply(cgtest.InputAnswer("review-1", "yes")); err != nil {
				t.Errorf("after panic %d: %v", n, err)
			}
			w.WantBought(1)
		}
		w.Rows(cgtest.SessionID)
		if gaps, err := w.CG.Journal().Gaps(t.Context(), cgtest.Key(cgtest.SessionID), nil); err != nil || len(gaps) > 0 {
			t.Errorf("after panic %d a refused message leaves gaps: %v, %v", n, gaps, err)
		}
		if sessions.countdown.Load() > 0 {
			break
		}
		panics++
	}
	if panics < 2 {
		t.Errorf("%d panics, want one before the gate and one in it", panics)
	}
}
