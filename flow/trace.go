// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"iter"
	"maps"
	"strings"

	"google.golang.org/adk/v2/session"
)

// A Run says what one run of a flow did: for tests and evaluations.
type Run struct {
	Path   []string       // the nodes in the order in which they ended; in a nested graph or a group as "group/member"
	Visits map[string]int // how often each has ended
	State  map[string]any // what the run wrote
}

// Trace returns what the last run in the events did, as session.Session has them: Trace(s.Events().All()).
func Trace(events iter.Seq[*session.Event]) Run {
	r, last := Run{}, ""
	for ev := range events {
		run := noted(ev, keyRun)
		if run == "" || ev.Partial {
			continue
		}
		if run != last {
			r, last = Run{Visits: make(map[string]int), State: make(map[string]any)}, run
		}
		maps.Copy(r.State, ev.Actions.StateDelta)
		_, path, below := strings.Cut(pathOf(ev), "/")
		if !below || !isEnd(ev) || meta(ev)[keyJump] != nil {
			continue
		}
		name := strings.ReplaceAll(path, "@1", "")
		r.Path = append(r.Path, name)
		r.Visits[name]++
	}
	return r
}
