// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"slices"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/record"
)

// EntityAcrossSessions returns the approvals that rest on an entity, in all sessions of
// the time asked about: the requests for a confirmation to which it led, as
// [Dataset.ReasoningChain] says of one of them. What lies outside of that time, a step or an
// approval, does not count.
//
// GQL counts hops on paths with the fewest edges of any kind, so that an approval that is
// only just within the limit can be missing.
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
	q.Window, q.Hops = w, hops
	rows, form, err := answer(ctx, d, d.entityUseQuestion(q))
	if err != nil {
		return ask.EntityUses{}, err
	}
	out := ask.EntityUses{Form: form}
	for _, r := range rows {
		out.Truncated = out.Truncated || r.Incomplete || r.Searched > int64(w.Limit)
	}
	// Where no approval was found, a row without one says how the search went.
	rows = slices.DeleteFunc(rows, func(r entityUseRow) bool { return !r.NodeKey.Valid })
	rows, more := cut(rows, w.Limit)
	out.Truncated = out.Truncated || more
	for _, r := range rows {
		out.Approvals = append(out.Approvals, ask.EntityUse{
			Session: record.Session{App: r.App.StringVal, User: r.User.StringVal, ID: r.Session.StringVal},
			Node:    r.NodeKey.StringVal, Name: r.Name.StringVal, Agent: r.Agent.StringVal, CallID: r.CallID.StringVal,
			DecidedAt: r.DecidedAt.Timestamp.UTC(), Hops: int(r.Hops.Int64), Sightings: int(r.Sightings),
			Value: r.Value.StringVal, EvaluatedAt: r.EvaluatedAt.Timestamp.UTC(),
		})
	}
	return out, nil
}

func (d *Dataset) entityUseQuestion(q ask.EntityQuestion) asked[entityUseRow] {
	params := windowParams(q.Window,
		param("entity", q.Entity.CanonicalKey()), param("type", q.Entity.Type), param("value", q.Entity.Value),
		param("hops", int64(q.Hops)))
	return both[entityUseRow](d, "ask_entity_approvals", bounds{Edges: (1 + farEdges) * q.Hops}, params,
		param("rounds", int64(maxRounds)))
}

type entityUseRow struct {
	App         bq.NullString    `bigquery:"app_name"`
	User        bq.NullString    `bigquery:"user_id"`
	Session     bq.NullString    `bigquery:"session_id"`
	NodeKey     bq.NullString    `bigquery:"node_key"`
	Name        bq.NullString    `bigquery:"name"`
	Agent       bq.NullString    `bigquery:"agent"`
	CallID      bq.NullString    `bigquery:"call_id"`
	DecidedAt   bq.NullTimestamp `bigquery:"decided_at"`
	Hops        bq.NullInt64     `bigquery:"hops"`
	Sightings   int64            `bigquery:"sightings"`
	EvaluatedAt bq.NullTimestamp `bigquery:"evaluated_at"`
	Value       bq.NullString    `bigquery:"node_value"`
	Searched    int64            `bigquery:"searched"`
	Incomplete  bool             `bigquery:"incomplete"`
}
