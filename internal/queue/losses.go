// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// txLosses bounds of how many runs one transaction saves the losses.
const txLosses = 1024

// Loss is how many rows of a run were lost.
type Loss struct {
	Session record.Session
	Run     string
	Rows    int
}

// loseOf counts one row of a run that the store does not know to be lost. The caller holds mu.
func (q *Queue) loseOf(s record.Session, run string) {
	runs := q.unsaved[s]
	if runs == nil {
		runs = make(map[string]int, 1)
		q.unsaved[s] = runs
	}
	if _, known := runs[run]; !known && (len(runs) >= store.LossRuns || q.unsavedRuns >= lostSessions) {
		run = ""
	}
	if runs[run]++; runs[run] == 1 {
		q.unsavedRuns++
	}
}

// UnsavedLosses returns of how many runs the store does not know all losses.
func (q *Queue) UnsavedLosses() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unsavedRuns
}

// SomeUnsaved appends to losses what one transaction may save.
func (q *Queue) SomeUnsaved(losses []Loss) []Loss {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s, runs := range q.unsaved {
		for run, n := range runs {
			if len(losses) == txLosses {
				return losses
			}
			losses = append(losses, Loss{s, run, n})
		}
	}
	return losses
}

// Saved notes that losses are stored.
func (q *Queue) Saved(losses []Loss) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range losses {
		runs := q.unsaved[l.Session]
		if runs[l.Run] -= l.Rows; runs[l.Run] > 0 {
			continue
		}
		q.unsavedRuns--
		if delete(runs, l.Run); len(runs) == 0 {
			delete(q.unsaved, l.Session)
		}
	}
}
