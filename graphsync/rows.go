// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// rowsInHand implements [Rows] for rows in memory.
type rowsInHand struct {
	of       map[record.Session][]record.Event
	at       map[string]*record.Event
	children map[record.Session][]record.Child
}

// RowsOf returns rows of any sessions as [Rows], for a record that is read from a file or from a
// dataset. They come in any order, and a row that comes twice counts once. Where a row has no number,
// all are numbered by their time.
func RowsOf(rows []record.Event) Rows {
	r := &rowsInHand{of: make(map[record.Session][]record.Event), at: make(map[string]*record.Event, len(rows)), children: make(map[record.Session][]record.Child)}
	numbered := !slices.ContainsFunc(rows, func(e record.Event) bool { return e.Seq == 0 })
	for i, e := range inOrder(rows) {
		row := *e
		if !numbered {
			row.Seq = int64(i) + 1
		}
		s := row.Session()
		r.of[s] = append(r.of[s], row)
		if parent, child, is := schema.Nested(&row); is && !slices.Contains(r.children[parent], child) {
			r.children[parent] = append(r.children[parent], child)
		}
	}
	for _, list := range r.of {
		for i := range list {
			r.at[list[i].EventID] = &list[i]
		}
	}
	return r
}

// Fold folds the rows of one session, with its graph, as [RowsOf] and [Sessions.Fold] would.
func Fold(x *Extractor, rows []record.Event) *Session {
	out := newSession(x)
	out.spans = newSpans()
	if len(rows) == 0 {
		return out
	}
	// Rows in memory give no error, and the rows of agents that ran as tools are not among them.
	_ = NewSessions(RowsOf(rows), x).read(context.Background(), rows[0].Session(), out, 0)
	return out
}

func (r *rowsInHand) RowsAfter(_ context.Context, s record.Session, seq int64) ([]record.Event, error) {
	rows := r.of[s]
	i, _ := slices.BinarySearchFunc(rows, seq+1, func(e record.Event, seq int64) int { return int(e.Seq - seq) })
	return rows[i:], nil
}

func (r *rowsInHand) Row(_ context.Context, eventID string) (record.Event, bool, error) {
	if e := r.at[eventID]; e != nil {
		return *e, true, nil
	}
	return record.Event{}, false, nil
}

func (r *rowsInHand) Stored(_ context.Context, eventIDs ...string) (bool, error) {
	return !slices.ContainsFunc(eventIDs, func(id string) bool { return r.at[id] == nil }), nil
}

func (r *rowsInHand) Waiting(record.Session) ([]record.Event, bool) { return nil, true }

func (r *rowsInHand) Children(_ context.Context, s record.Session) (list []record.Child, _ error) {
	return r.children[s], nil
}

func (r *rowsInHand) Flush(context.Context) error { return nil }
