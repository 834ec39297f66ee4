// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"context"
	"iter"
	"sync/atomic"

	"google.golang.org/adk/v2/session"
)

// BrittleSessions gives sessions of the service whose events panic when they are read. They do
// so once, when Countdown reaches zero: each time they are read it is one less. The zero
// Countdown never gets there.
type BrittleSessions struct {
	session.Service
	Countdown atomic.Int64
}

// Get implements [session.Service].
func (s *BrittleSessions) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	resp, err := s.Service.Get(ctx, req)
	if err == nil {
		resp.Session = &brittle{resp.Session, &s.Countdown}
	}
	return resp, err
}

// AppendEvent implements [session.Service].
func (s *BrittleSessions) AppendEvent(ctx context.Context, sess session.Session, ev *session.Event) error {
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
