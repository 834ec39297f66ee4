// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"

	"github.com/adk-contextgraph/contextgraph/record"
)

// left finds what the rewinds of a session left. A rewind counts if a run goes by it, or if no run began after it: a
// rewind that stopped before its end leaves its row, and the next run does not go by that.
func (x *builder) left() []Left {
	var out []Left
	goneBy := make(map[string]bool)
	begun := make(map[string]bool)
	last := 0 // where the last run began
	for i := range x.rows {
		r := &x.rows[i]
		for _, id := range r.ADK.Rewinds {
			goneBy[id] = true
		}
		if r.run != "" && !begun[r.run] {
			begun[r.run], last = true, i
		}
	}
	at := make(map[string]int) // by the id of a row with more of a rewind, the place of that in out
	of := make(map[string]int) // by run, the place in out of the rewind that left it
	for i := len(x.rows) - 1; i >= 0; i-- {
		r := &x.rows[i]
		if r.EventType != record.AgentStateCheckpoint || r.ADK.Checkpoint != "rewound" {
			continue
		}
		n, more := at[r.EventID]
		if !more {
			if !goneBy[r.EventID] && i < last {
				continue
			}
			n, out = len(out), append(out, Left{At: r.at(), By: r.ADK.By, Rows: []int{}})
		}
		if r.ADK.More != "" {
			at[r.ADK.More] = n
		}
		for _, run := range r.ADK.Left {
			of[run] = n
		}
	}
	for i := range x.rows {
		if n, ok := of[x.rows[i].RunID]; ok {
			out[n].Rows = append(out[n].Rows, i)
		}
	}
	slices.Reverse(out)
	return out
}
