// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// runs records a session in which others run as tools.
func runs(t testing.TB, s record.Session, children ...record.Session) []record.Event {
	r := &recorder{t: t}
	for i, child := range children {
		r.tooled("planner", m{"n": i}, m{}, m{"adk.child_session": childOf(child)})
	}
	return r.in(s)
}

func numbered(i int) record.Session {
	return record.Session{App: "ads", User: "u", ID: string(rune('a' + i))}
}

// Agents cannot run inside of each other. A record that says so is an error for all that ask,
// and none of them waits for another.
func TestSessionsThatNameEachOther(t *testing.T) {
	for _, round := range []int{2, 3} {
		var rows []record.Event
		for i := range round {
			next := numbered((i + 1) % round)
			rows = append(rows, runs(t, numbered(i), next, next, next)...)
		}
		ss := graphsync.NewSessions(graphsync.RowsOf(rows), nil)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s := numbered(i % round)
				_, err := ss.Select(t.Context(), s, record.Decision{})
				if err == nil || !strings.Contains(err.Error(), "which ran as a tool") || !strings.Contains(err.Error(), "deep") {
					t.Errorf("round of %d, Select: the error is %v", round, err)
				}
				if _, err := ss.Fold(t.Context(), s); err == nil || !strings.Contains(err.Error(), "deep") {
					t.Errorf("round of %d, Fold: the error is %v", round, err)
				}
			})
		}
		wg.Wait()
	}
}

// Agents run as tools of agents that run as tools, up to 16 of them.
func TestNestedAgentsAreBounded(t *testing.T) {
	for _, deep := range []int{1, 16, 17} {
		r := &recorder{t: t}
		r.find("c1", "d1", item("a", 40))
		rows := r.in(numbered(deep))
		for i := range deep {
			rows = append(rows, runs(t, numbered(i), numbered(i+1))...)
		}
		sel, err := graphsync.NewSessions(graphsync.RowsOf(rows), compile(t, priceRules())).Select(t.Context(), numbered(0), record.Decision{})
		if (err != nil) != (deep > 16) {
			t.Errorf("%d deep: the error is %v", deep, err)
		}
		if want := fmt.Sprint([]string{"a price $40*"}); err == nil && fmt.Sprint(tell(sel.Entities)) != want {
			t.Errorf("%d deep: %q, want %s", deep, tell(sel.Entities), want)
		}
	}
}
