// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// brittleSessions gives sessions whose events panic when they are read next, once it is armed.
type brittleSessions struct {
	session.Service
	armed atomic.Bool
}

func (s *brittleSessions) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	resp, err := s.Service.Get(ctx, req)
	if err == nil {
		resp.Session = &brittle{resp.Session, &s.armed}
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
	armed *atomic.Bool
}

func (s *brittle) Events() session.Events { return &brittleEvents{s.Session.Events(), s.armed} }

type brittleEvents struct {
	session.Events
	armed *atomic.Bool
}

func (e *brittleEvents) All() iter.Seq[*session.Event] {
	if e.armed.CompareAndSwap(true, false) {
		panic("the events cannot be read")
	}
	return e.Events.All()
}

// No answer is taken while the recorder breaks down over its message: nobody could tell what
// the check goes by. The call does not run, and the request stays open.
func TestAnswerWhileTheRecorderPanics(t *testing.T) {
	for name, way := range map[string]cgtest.Option{"listed": cgtest.Listed, "protected": nil} {
		t.Run(name, func(t *testing.T) {
			sessions := &brittleSessions{}
			broken := false
			h := cgtest.New(t, way, func(o *cgtest.Options) {
				breaks := cgtest.NewPlugin(t, plugin.Config{Name: "breaks", OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
					sessions.armed.Store(broken)
					return nil, nil
				}})
				o.ChangeRunner = func(c *runner.Config) {
					sessions.Service = c.SessionService
					c.SessionService = sessions
					c.PluginConfig.Plugins = slices.Concat([]*plugin.Plugin{breaks}, c.PluginConfig.Plugins)
				}
			})
			id, _ := h.Ask(cgtest.SessionID)
			broken = true
			got := h.Answer(cgtest.SessionID, id, true)
			if sessions.armed.Load() {
				t.Fatal("nothing panicked")
			}
			h.WantBought(0)
			if got["reason"] != safety.CodeUnknownRequest {
				t.Errorf("the call came to %v", got)
			}
			for _, a := range h.Approvals(cgtest.SessionID) {
				if a.State != safety.StatePending {
					t.Errorf("the approval is %s", a.State)
				}
			}
			if n := len(cgtest.RowsOf(h.Rows(cgtest.SessionID), schema.WorldChangeCheck)); n != 0 {
				t.Errorf("%d checks were made", n)
			}
		})
	}
}
