// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/record"
)

// A session that went back to an earlier position goes on as another branch. What it left stays on record. It bears no
// evidence for runs whose history does not have it.

// rewindsOf returns the rewinds that the history of the deciding run goes by, or of the last run if no run decides.
func (s *Session) rewindsOf(d record.Decision) string {
	run := s.runs[d.Run]
	if d.Run == "" && len(s.order) > 0 {
		run = s.order[len(s.order)-1]
	}
	if run == nil {
		return ""
	}
	return strings.Join(run.rewinds, " ")
}

// present calls f with the fold of the branch that the session goes by now: that of the run which began last, whether
// its rows are stored or still wait.
func (ss *Sessions) present(ctx context.Context, s record.Session, f func(*fold) error) error {
	var rewinds string
	err := ss.use(ctx, branch{Session: s}, func(whole *fold) error {
		if err := ss.catchUp(ctx, whole); err != nil {
			return err
		}
		rewinds = whole.session.rewindsOf(record.Decision{})
		waiting, _ := ss.rows.Waiting(s)
		for i := range waiting {
			if e := &waiting[i]; e.EventType == record.InvocationStarting || e.EventType == record.UserMessageReceived {
				rewinds = strings.Join(attributesOf(e).ADK.Rewinds, " ")
			}
		}
		if rewinds != "" {
			return nil
		}
		return f(whole)
	})
	if err != nil || rewinds == "" {
		return err
	}
	return ss.use(ctx, branch{s, rewinds}, func(b *fold) error {
		if err := ss.catchUp(ctx, b); err != nil {
			return err
		}
		return f(b)
	})
}

// leaves reports whether a row is of a run that was left.
func (s *Session) leaves(e *record.Event) bool {
	_, left := slices.BinarySearch(s.left, e.RunID)
	return left
}

// leftBy returns the runs that the rewinds of a branch left, sorted. It is an error if a rewind is not on record: nobody
// could tell what counts.
func leftBy(ctx context.Context, rows Rows, b branch) (left []string, err error) {
	left = []string{}
	for _, id := range strings.Fields(b.rewinds) {
		row, found, err := rows.Row(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !found || row.EventType != record.AgentStateCheckpoint || row.Session() != b.Session:
			return nil, fmt.Errorf("the record does not have rewind %s, which the session goes by", id)
		}
		left = append(left, attributesOf(&row).ADK.Left...)
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}
