// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"

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
	from, err := d.session(ctx, q.Scope, "ask_origin", param("node", q.Node))
	switch {
	case err != nil:
		return ask.Causal{}, err
	case from.node == "" && q.Node == "":
		return ask.Causal{}, fmt.Errorf("session %s has no message of the user: name a node: %w", q.Session.ID, graphsync.ErrUnknownNode)
	case from.node == "":
		return ask.Causal{}, unknownNode(q.Scope, q.Node)
	}
	// One hop more than asked for is looked at, to know whether anything is there.
	steps, form, err := answer(ctx, d, both(d, "ask_causal_chain", bounds{Hops: hops + 1, Backwards: q.Backwards}, func(r *row) ask.CausalStep {
		return ask.CausalStep{Node: nodeOf(r, from.Session), Hops: r.int("hops"), Via: r.text("via"), Edge: graphsync.EdgeKind(r.text("edge"))}
	}, sessionParams(from.located, param("node", from.node), limitParam(from.located)),
		param("hops", int64(hops)+1), param("backwards", q.Backwards)))
	if err != nil {
		return ask.Causal{}, err
	}
	out := ask.Causal{Origin: from.node, Form: form}
	steps, out.Truncated = cut(steps, from.Limit)
	tooFar := func(s ask.CausalStep) bool { return s.Hops > hops }
	out.Beyond = slices.ContainsFunc(steps, tooFar)
	out.Steps = slices.DeleteFunc(steps, tooFar)
	return out, nil
}
