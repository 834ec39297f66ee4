// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "fmt"

// LossCause says how rows of a session were lost.
type LossCause string

// The causes of a [Loss].
const (
	// CauseRemoved: the rows were stored, and too old or too many to be kept.
	CauseRemoved LossCause = "removed by retention"
	// CauseDropped: the rows were refused, or dropped from the queue.
	CauseDropped LossCause = "dropped before it could be stored"
)

// LossRuns is of how many runs of one session a store tells apart the rows that were dropped. Those of
// further runs are losses of the empty run.
const LossRuns = 64

// Loss is how many rows of a session are gone.
type Loss struct {
	// Run is the run that the rows are of; empty where that is not known.
	Run   string
	Rows  int64
	Cause LossCause
}

// String says the loss in a sentence for people, who do not know runs.
func (l Loss) String() string {
	if l.Cause == CauseRemoved {
		return fmt.Sprintf("%d rows of this session were removed by retention", l.Rows)
	}
	return fmt.Sprintf("%d rows were dropped before they could be stored", l.Rows)
}

// LossSentences says losses for people: one sentence for each cause, with the rows of all runs.
func LossSentences(losses []Loss) (sentences []string) {
	for _, cause := range []LossCause{CauseRemoved, CauseDropped} {
		sum := Loss{Cause: cause, Rows: lostRows(losses, cause)}
		if sum.Rows > 0 {
			sentences = append(sentences, sum.String())
		}
	}
	return sentences
}

// lostRows returns how many rows were lost for a cause.
func lostRows(losses []Loss, cause LossCause) (rows int64) {
	for _, l := range losses {
		if l.Cause == cause {
			rows += l.Rows
		}
	}
	return rows
}

// countDropped adds a row of a run to what was dropped of its session.
func countDropped(losses []Loss, run string) []Loss {
	for {
		for i := range losses {
			if losses[i].Run == run {
				losses[i].Rows++
				return losses
			}
		}
		if run == "" || len(losses) < LossRuns {
			return append(losses, Loss{Run: run, Rows: 1, Cause: CauseDropped})
		}
		run = ""
	}
}
