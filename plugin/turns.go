// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Turns is what the events of a session say about the turns that it had when a run of
// it began. They prove nothing, because clients can write them; but a turn that they
// tell of and the record does not hold is one that is missing there.
type Turns struct {
	// Run is the run that began, Invocation its turn. Continued says that the session
	// had events of that turn before.
	Run, Invocation string
	Continued       bool
	// Earlier are the other turns, in order.
	Earlier []string
	// Unnamed counts the events of no turn that no agent of the session's wrote.
	Unnamed int
}

// turnsOf reads the events of the run's session. It is for the callback before
// anything runs: later the session may grow while it is read.
func turnsOf(ctx agent.InvocationContext, r *Run) Turns {
	t := Turns{Run: r.ID, Invocation: r.Invocation}
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

// Turns returns the turns that the session of the run told of that ctx belongs to, as
// far as the work of this recorder passes it on; nothing where it belongs to none, or
// to one of another session.
func (rec *Recorder) Turns(ctx context.Context, s schema.Session) Turns {
	ic := Within(ctx)
	if ic == nil {
		return Turns{}
	}
	if r := rec.runs.get(keyOf(ic)); r != nil && r.Session == s {
		return r.turns
	}
	return Turns{}
}

// Named returns the turns that Gaps has to know the runs of.
func (t Turns) Named() []string {
	if t.Invocation == "" {
		return t.Earlier
	}
	return append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Invocation)
}

// shownTurns bounds how many turns a gap names.
const shownTurns = 3

// Gaps says, in sentences for people, which of the turns are not on record. recorded
// holds, by the id of the turn, the runs of the session that are.
func (t Turns) Gaps(recorded map[string][]string) []string {
	var missing []string
	for _, id := range t.Earlier {
		if len(recorded[id]) == 0 {
			missing = append(missing, id)
		}
	}
	var gaps []string
	if n := len(missing); n > 0 {
		names := strings.Join(missing[:min(n, shownTurns)], ", ")
		if n > shownTurns {
			names += ", ..."
		}
		gaps = append(gaps, fmt.Sprintf("%s not on record (%s), which another instance or an older version ran, or a client wrote: start a new session",
			plural(n, "turn of the session is", "turns of the session are"), names))
	}
	if t.Continued && !slices.ContainsFunc(recorded[t.Invocation], func(run string) bool { return run != t.Run }) {
		gaps = append(gaps, fmt.Sprintf("the beginning of turn %s is not on record, which another instance or an older version ran, or a client wrote: start a new session", t.Invocation))
	}
	if t.Unnamed > 0 {
		gaps = append(gaps, fmt.Sprintf("%s to no turn, which a client or a program wrote: start a new session",
			plural(t.Unnamed, "event of the session belongs", "events of the session belong")))
	}
	return gaps
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
