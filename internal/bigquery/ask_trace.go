// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/civil"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// Trace returns all events of a session between two times as a tree of spans and as a
// timeline, and what caused what among them. The tree is made of the rows, each event
// once however often it was delivered, as [graphsync.Graph.Trace] makes it: a row that
// came late stands below its parent as soon as both are there, and one whose parent never
// came is a root. The edges are those of the graph in the dataset, which can be behind
// the rows.
//
// Without From the time begins with the first step that the graph has of the session in the
// last 30 days; a session that has rows and no graph yet needs From. Without To it ends now.
//
// The error wraps [ask.ErrNoSessionID] or [ask.ErrUnknownSession] where there is nothing to ask
// about.
func (d *Dataset) Trace(ctx context.Context, s ask.Scope) (ask.Trace, error) {
	found, err := d.session(ctx, s, "ask_session", param("decision", ""))
	asked := found.located
	switch {
	case errors.Is(err, ask.ErrUnknownSession) && !s.From.IsZero():
		if asked.Scope, err = d.checked(s); err != nil {
			return ask.Trace{}, fmt.Errorf("bigquery: %w", err)
		}
		asked.first, asked.last = civil.DateOf(asked.From), civil.DateOf(asked.To) // it has no graph
	case err != nil:
		return ask.Trace{}, err
	}
	if !s.From.IsZero() {
		asked.From = s.From
	}
	if asked.To = s.To; s.To.IsZero() {
		asked.To = d.now().UTC().Add(skew)
	}
	rows, err := d.ReadSession(ctx, asked.Session, asked.From, asked.To)
	if err != nil {
		return ask.Trace{}, err
	}
	if len(rows) == 0 {
		return ask.Trace{}, fmt.Errorf("session %s: no rows from %s to %s: %w", s.Session.ID, asked.From, asked.To, ask.ErrUnknownSession)
	}
	edges, form, err := answer(ctx, d, both(d, "ask_trace", nil, func(r *row) graphsync.Edge {
		return graphsync.Edge{From: r.text("from_key"), To: r.text("to_key"), Kind: graphsync.EdgeKind(r.text("kind"))}
	}, sessionParams(asked, limitParam(asked))))
	if err != nil {
		return ask.Trace{}, err
	}
	g := graphsync.Fold(nil, rows).Graph()
	out := ask.Trace{Trace: g.Trace(), Form: form}
	out.Edges, out.Truncated = cut(edges, asked.Limit)
	linked := make(map[string]bool)
	for _, e := range out.Edges {
		linked[e.From], linked[e.To] = true, true
	}
	for _, n := range g.Nodes() {
		if !linked[n.Key] {
			out.Isolated = append(out.Isolated, n.EventIDs...)
		}
	}
	return out, nil
}
