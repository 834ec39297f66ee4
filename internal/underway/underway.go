// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package underway tells of the turns that the events of a session have before a run: the recorder reads them, and
// the evidence for a decision looks for them on record. The package stands below both.
package underway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Turns are the turns of a session, by its events when a run began. The events prove
// nothing, because clients can write them. But a turn of the events that the record does not
// hold is missing there.
type Turns struct {
	Session record.Session
	// Run is the run that began, Invocation its turn. Continued says that the session
	// had events of that turn before.
	Run, Invocation string
	Continued       bool
	// Earlier are the other turns, in order, but for those in Unanswered: of these the events have words of the
	// user, and nothing else.
	Earlier, Unanswered []string
	// Unnamed counts the events of no turn that no agent of the session's wrote.
	Unnamed int
}

type turnsKey struct{}

// With returns a context that carries the turns of the session of a run, which must not
// change any more.
func With(ctx context.Context, t *Turns) context.Context {
	return context.WithValue(ctx, turnsKey{}, t)
}

// Of returns the turns that ctx carries for a session. It returns the zero value if ctx carries
// none, or the turns of another session.
func Of(ctx context.Context, s record.Session) Turns {
	if t, _ := ctx.Value(turnsKey{}).(*Turns); t != nil && t.Session == s {
		return *t
	}
	return Turns{}
}

// Carried returns the turns that ctx carries, of whatever session; the zero value if it carries none.
func Carried(ctx context.Context) Turns {
	if t, _ := ctx.Value(turnsKey{}).(*Turns); t != nil {
		return *t
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
		gaps = append(gaps, fmt.Sprintf("%s not on record (%s), which another instance ran, or a client wrote: start a new session",
			plural(n, "turn of the session is", "turns of the session are"), names))
	}
	if t.Continued && !slices.ContainsFunc(recorded[t.Invocation], func(run string) bool { return run != t.Run }) {
		gaps = append(gaps, fmt.Sprintf("the beginning of turn %s is not on record, which another instance ran, or a client wrote: start a new session", t.Invocation))
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
