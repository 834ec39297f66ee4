// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Import writes a record of turns that only the events of a session tell of, and waits until it is stored. Each result
// in them counts as given, and proves nothing.
func (rec *Recorder) Import(ctx context.Context, s record.Session, events []*session.Event) error {
	past := &past{enc: &rec.encoder, isAgent: func(string) bool { return false }, events: events}
	turns, order := make(map[string][]*session.Event), []string(nil)
	for _, ev := range events {
		if turns[ev.InvocationID] == nil {
			order = append(order, ev.InvocationID)
		}
		turns[ev.InvocationID] = append(turns[ev.InvocationID], ev)
	}
	last := written{}
	for _, id := range order {
		r := rec.NoRun(s)
		r.ID, r.Invocation, r.RootSpan, r.past, r.parts = newID(), id, newSpanID(), past, partsOf(nil)
		r.started = rec.now()
		begun := rec.emit(ctx, r, row{typ: record.InvocationStarting, span: r.RootSpan}, body{})
		if begun.event == "" || !rec.giveTurn(ctx, r, turns[id]) {
			return errors.New("a turn could not be recorded: record.allow or record.deny leaves rows out, or the journal did not take one")
		}
		last = rec.emit(ctx, r, row{typ: record.InvocationCompleted, span: r.RootSpan}, body{})
	}
	if last.event == "" {
		return nil
	}
	return rec.sink.Commit(ctx, last.event)
}
