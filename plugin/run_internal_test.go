// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/record"
)

// typesSink keeps the types of its rows.
type typesSink []string

func (s *typesSink) Append(e record.Event) bool { *s = append(*s, e.EventType); return true }

func (*typesSink) Commit(context.Context, string) error { return nil }

// A call that goes on when its run ends, as one of a branch that nobody waits for, is
// closed once and does not begin again.
func TestCallBesideTheEndOfItsRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		early bool // the run ends before the call begins
	}{{"ends", false}, {"begins", true}} {
		t.Run(tt.name, func(t *testing.T) {
			sink := &typesSink{}
			rec := newTestRecorder(t, sink)
			inTool(t, rec, func(ctx agent.Context, tl tool.Tool) {
				r := rec.runs.lookup(ctx)
				rec.finish(ctx, r)
				n := len(*sink)
				if tt.early {
					rec.startTool(ctx, r, tl, nil, "")
					if got, want := (*sink)[n:], []string{record.ToolStarting, record.ToolError}; !slices.Equal(got, want) {
						t.Errorf("rows of the call: %v, want %v", got, want)
					}
					n = len(*sink)
				}
				if _, err := rec.afterTool(ctx, tl, nil, nil, nil); err != nil {
					t.Error(err)
				}
				if _, err := rec.beforeAgent(ctx); err != nil {
					t.Error(err)
				}
				if got := (*sink)[n:]; len(got) > 0 {
					t.Errorf("rows after the end: %v", got)
				}
			})
		})
	}
}

// A run with any number of steps remembers a bounded number of agents that ended.
func TestEndedAgentsAreBounded(t *testing.T) {
	r := &Run{closed: make(map[agentKey]*agentSpan), RootSpan: newSpanID()}
	for i := range 10 * maxClosed {
		key := agentKey{"a", fmt.Sprint("a@", i)}
		a := &agentSpan{agentKey: key}
		r.mu.Lock()
		r.agents = append(r.agents, a)
		r.mu.Unlock()
		r.closeAgent(key.name, key.branch)
	}
	if len(r.closed) != maxClosed || len(r.closing) != maxClosed {
		t.Errorf("%d agents are remembered in an order of %d, want %d", len(r.closed), len(r.closing), maxClosed)
	}
	if r.agent("a", fmt.Sprint("a@", 10*maxClosed-1)) == nil {
		t.Error("the last agent is forgotten")
	}
}

// Of two calls of one agent at once nobody can tell which one an activation belongs to.
func TestDelegatingCall(t *testing.T) {
	root := &agentSpan{agentKey: agentKey{name: "root"}}
	first, second := &Call{Name: "expert", Agent: "root"}, &Call{Name: "expert", Agent: "root"}
	r := &Run{calls: map[*session.EventActions]*Call{{}: {Name: "other", Agent: "root"}, {SkipSummarization: true}: first}}
	key := agentKey{"expert", "expert@1"}
	if got := r.delegating(root, key); got != first {
		t.Errorf("one call: got %+v", got)
	}
	if got := r.delegating(root, agentKey{"expert", ""}); got != nil {
		t.Errorf("an agent on the branch of its caller was reached in another way, got %+v", got)
	}
	r.calls[&session.EventActions{}] = second
	if got := r.delegating(root, key); got != nil {
		t.Errorf("two calls: got %+v", got)
	}
	first.claimed = true
	if got := r.delegating(root, key); got != second {
		t.Errorf("one call that is left: got %+v", got)
	}
}

// Runs that ended are forgotten, and those that never began are found.
func TestRunsAreForgotten(t *testing.T) {
	var rs runs
	now := time.Unix(1000, 0)
	for i := range 1000 {
		r := &Run{key: runKey{invocation: fmt.Sprint(i)}, ID: fmt.Sprint(i)}
		r.rest(now)
		for _, old := range rs.add(r, now) {
			if !old.abandoned(now) || rs.get(old.key) != nil {
				t.Fatalf("run %s is not abandoned or still found", old.ID)
			}
			rs.end(old)
		}
		if i%2 == 0 {
			rs.end(r)
		}
		now = now.Add(10 * time.Second)
	}
	most := int((abandonedAfter + sweepEvery) / (10 * time.Second))
	if live := len(rs.live[record.Session{}]); len(rs.m) > most || live != len(rs.m) {
		t.Errorf("%d runs are found and %d under way, want the same and at most %d", len(rs.m), live, most)
	}
}
