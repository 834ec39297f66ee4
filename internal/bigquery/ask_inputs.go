// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"slices"
	"time"

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
	rows, form, err := answer(ctx, d, d.entityQuestion(at.located, at.decidedAt))
	if err != nil {
		return ask.Inputs{}, err
	}
	out := ask.Inputs{Decision: at.node, DecidedAt: at.decidedAt, Form: form}
	rows, out.Truncated = cut(rows, at.Limit)
	es, err := entities(rows, at.decidedAt)
	if err != nil {
		return ask.Inputs{}, err
	}
	slices.SortStableFunc(es, inTime)
	out.Entities = entity.Canonicalize(es)
	return out, nil
}

func (d *Dataset) entityQuestion(s located, decided time.Time) asked[entityRow] {
	return both[entityRow](d, "ask_entities", nil, sessionParams(s, param("decided", decided), limitParam(s)))
}

// ReadEntities returns the entities that the dataset has of a session, from all sources
// and recorders, one per step and value, by time. A session of which the dataset has none
// gives none. More than the limit is an error, which wraps [ask.ErrTooMany].
func (d *Dataset) ReadEntities(ctx context.Context, s ask.Scope) ([]entity.Entity, error) {
	s, err := d.checked(s)
	if err != nil {
		return nil, err
	}
	found, err := d.locate(ctx, s)
	if errors.Is(err, ask.ErrUnknownSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := d.entityQuestion(found, never).recursive(ctx)
	if err != nil {
		return nil, err
	}
	if _, more := cut(rows, s.Limit); more {
		return nil, tooMany("entities", s.Limit)
	}
	return entities(rows, never)
}
