// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// CausalChain returns what a step led to, over edges of all kinds: by default what the
// user's first message of a session led to. With Backwards it returns what led to the
// step.
//
// The steps and their hops are those of [graphsync.Graph.Effects] and
// [graphsync.Graph.Causes] in both forms. Of several steps that one was reached from,
// Via is the earliest in recursive SQL and any of them in GQL.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession] or [graphsync.ErrUnknownNode]
// where there is nothing to ask about.
func (d *Dataset) CausalChain(ctx context.Context, q ask.CausalQuestion) (ask.Causal, error) {
	hops, err := hopLimit(q.Hops)
	if err != nil {
		return ask.Causal{}, err
	}
	q.Hops = hops
	s, found, err := d.session(ctx, q.Scope, askJob("ask_origin", nil, nil), param("node", q.Node))
	if err != nil {
		return ask.Causal{}, err
	}
	if !found.NodeKey.Valid {
		if q.Node == "" {
			return ask.Causal{}, fmt.Errorf("session %s has no message of the user: name a node: %w", s.Session.ID, graphsync.ErrUnknownNode)
		}
		return ask.Causal{}, fmt.Errorf("session %s: node %q: %w", s.Session.ID, q.Node, graphsync.ErrUnknownNode)
	}
	q.Node = found.NodeKey.StringVal
	rows, form, err := answer(ctx, d, d.causalQuestion(s, q))
	if err != nil {
		return ask.Causal{}, err
	}
	out := ask.Causal{Origin: q.Node, Form: form}
	rows, out.Truncated = cut(rows, s.Limit)
	// One hop more than asked for was looked at, to know whether anything is there.
	tooFar := func(r causalRow) bool { return r.Hops > int64(q.Hops) }
	out.Beyond = slices.ContainsFunc(rows, tooFar)
	for _, r := range slices.DeleteFunc(rows, tooFar) {
		out.Steps = append(out.Steps, ask.CausalStep{
			Node: r.node(s.Session), Hops: int(r.Hops), Via: r.Via.StringVal, Edge: graphsync.EdgeKind(r.Edge.StringVal),
		})
	}
	return out, nil
}

func (d *Dataset) causalQuestion(s located, q ask.CausalQuestion) asked[causalRow] {
	params := sessionParams(s, param("node", q.Node), limitParam(s))
	return both[causalRow](d, "ask_causal_chain", bounds{Hops: q.Hops + 1, Backwards: q.Backwards}, params,
		param("hops", int64(q.Hops)+1), param("backwards", q.Backwards))
}

type causalRow struct {
	nodeRow
	Hops int64         `bigquery:"hops"`
	Via  bq.NullString `bigquery:"via"`
	Edge bq.NullString `bigquery:"edge"`
}
