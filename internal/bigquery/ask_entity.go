// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// EntityAcrossSessions returns the approvals that rest on an entity, in all sessions of
// the time asked about: the requests for a confirmation to which it led, as
// [graphsync.Graph.Why] says of one of them. What lies outside of that time, a step or an
// approval, does not count.
//
// It follows paths of up to 480 edges of any kind, since BigQuery ends a recursion after 500 rounds.
//
// The error wraps [ask.ErrNoWindow] without a time.
func (d *Dataset) EntityAcrossSessions(ctx context.Context, q ask.EntityQuestion) (ask.EntityUses, error) {
	hops, err := hopLimit(q.Hops)
	if err != nil {
		return ask.EntityUses{}, err
	}
	w, err := d.window(q.Window)
	switch {
	case err != nil:
		return ask.EntityUses{}, fmt.Errorf("bigquery: %w", err)
	case q.Entity.Type == "" || q.Entity.Value == "":
		return ask.EntityUses{}, fmt.Errorf("bigquery: entity %s %q: type and value are required", q.Entity.Type, q.Entity.Value)
	}
	var out ask.EntityUses
	out.Approvals, err = all(ctx, d, askJob("ask_entity_approvals", windowParams(w,
		param("entity", q.Entity.CanonicalKey()), param("type", q.Entity.Type), param("value", q.Entity.Value), param("hops", int64(hops)),
		param("rounds", int64(maxRounds)))), func(r *row) ask.EntityUse {
		out.Truncated = out.Truncated || r.flag("incomplete") || r.int("searched") > w.Limit
		return ask.EntityUse{
			Session: r.session("app_name", "user_id", "session_id"),
			Node:    r.text("node_key"), Name: r.text("name"), Agent: r.text("agent"), CallID: r.text("call_id"),
			DecidedAt: r.time("decided_at"), Hops: r.int("hops"), Sightings: r.int("sightings"),
			Value: r.text("node_value"), EvaluatedAt: r.time("evaluated_at"),
		}
	})
	if err != nil {
		return ask.EntityUses{}, err
	}
	// Where no approval was found, a row without one says how the search went.
	found, more := cut(slices.DeleteFunc(out.Approvals, func(u ask.EntityUse) bool { return u.Node == "" }), w.Limit)
	out.Approvals, out.Truncated = found, out.Truncated || more
	return out, nil
}
