// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/underway"
)

// turnsOf reads the events of the run's session. It is for the callback before
// anything runs: later the session may grow while it is read.
func turnsOf(ctx agent.InvocationContext, r *Run) underway.Turns {
	t := underway.Turns{Session: r.Session, Run: r.ID, Invocation: r.Invocation}
	s := ctx.Session()
	if s == nil || s.Events() == nil {
		return t
	}
	known := make(map[string]bool)
	last := "" // most events are of the turn of the one before
	begun := false
	for ev := range s.Events().All() {
		if ev == nil || begun && ev.InvocationID == last && last != "" {
			continue
		}
		switch id := ev.InvocationID; {
		case id == "":
			// An agent of the host's own may leave out what its events belong to; then it
			// is the turn of the event before. A client's event has nobody's name but the
			// user's.
			if !begun || ev.Author == "" || ev.Author == genai.RoleUser {
				t.Unnamed++
			}
			continue
		case id == r.Invocation:
			t.Continued = true
		case !known[id]:
			known[id] = true
			t.Earlier = append(t.Earlier, id)
		}
		last, begun = ev.InvocationID, true
	}
	return t
}
