// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/plugin"
)

// named returns the turns whose runs turnGaps has to know.
func named(t plugin.Turns) []string {
	if t.Invocation == "" {
		return t.Earlier
	}
	return append(t.Earlier[:len(t.Earlier):len(t.Earlier)], t.Invocation)
}

// shownTurns bounds how many turns a gap names.
const shownTurns = 3

// turnGaps says, in sentences for people, which of the turns are not on record. recorded holds the runs of the
// session that are, by the id of their turn.
func turnGaps(t plugin.Turns, recorded map[string][]string) []string {
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
