// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// notes names the rules that read rows and found nothing there, and those beside whose finds others may have appeared.
func notes(rules []graphsync.Tally) (out []string) {
	for _, t := range rules {
		if t.Idle() {
			out = append(out, Idle(t))
		}
		if t.Unrepeated > 0 {
			out = append(out, fmt.Sprintf("not checked: whether there is more by now than rule %q read", t.Rule))
		}
	}
	return out
}

// Unrepeated says what no check knows of the results that a rule read.
const Unrepeated = "whether others have appeared is not checked, for its tool is not registered with Replayable"

// Idle says that the rule of a tally read rows and found nothing, or could read none in full.
func Idle(t graphsync.Tally) string {
	if t.Found > 0 {
		return fmt.Sprintf("rule %q cannot read all of %s: %s", t.Rule, counted(t.Rows, "row"), t.Nearly)
	}
	return fmt.Sprintf("rule %q read %s and found nothing: %s", t.Rule, counted(t.Rows, "row"), t.Nearly)
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// LogIdle returns a function that logs each rule which reads rows and finds nothing, once. A rule
// that has found something before is not logged: the row may be of another kind. The function is
// for [Program.Idle].
func LogIdle(log *slog.Logger) func(record.Session, []graphsync.Tally) {
	var mu sync.Mutex
	settled := make(map[string]bool) // rules that found something, or were logged
	return func(s record.Session, rules []graphsync.Tally) {
		mu.Lock()
		defer mu.Unlock()
		for _, t := range rules {
			if settled[t.Rule] || t.Found == 0 && !t.Idle() {
				continue
			}
			settled[t.Rule] = true
			if t.Idle() {
				log.Warn("contextgraph: "+Idle(t)+"; what it should find is not checked", "session", s.ID, "see", "contextgraph rules "+s.ID)
			}
		}
	}
}
