// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"slices"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/entity"
)

// WorldChangeInputs returns everything that any step of a session saw before a decision,
// each entity once with its latest values, by [entity.Canonicalize]. Unlike
// [Dataset.ReasoningChain] it does not ask what led to the decision: a check that looks at more
// than it has to is safe. An entity whose step is not in the dataset counts too. What was
// seen before the decision is as it was known then, by time, as in ReasoningChain.
//
// What it returns is for people and for reports. The gate decides from the journal.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession], [ask.ErrNoDecision] or
// [graphsync.ErrUnknownNode] where there is nothing to ask about.
func (d *Dataset) WorldChangeInputs(ctx context.Context, q ask.InputsQuestion) (ask.Inputs, error) {
	at, err := d.decision(ctx, q.Scope, q.Decision)
	if err != nil {
		return ask.Inputs{}, err
	}
	es, form, err := answer(ctx, d, both(d, "ask_entities", nil, func(r *row) entity.Entity {
		return entityOf(r, at.decidedAt)
	}, sessionParams(at.located, param("decided", at.decidedAt), limitParam(at.located))))
	if err != nil {
		return ask.Inputs{}, err
	}
	out := ask.Inputs{Decision: at.node, DecidedAt: at.decidedAt, Form: form}
	es, out.Truncated = cut(es, at.Limit)
	slices.SortStableFunc(es, inTime)
	out.Entities = entity.Canonicalize(es)
	return out, nil
}
