// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bqstream

import (
	"context"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

// Dataset answers questions about what is in a dataset; package ask has the questions and the
// answers. MaxBytesBilled of the configuration bounds what each query may cost. It is safe for concurrent
// use.
type Dataset struct{ dataset *bigquery.Dataset }

// NewDataset checks cfg and makes a client. It sends nothing yet. The caller closes the Dataset.
func NewDataset(ctx context.Context, cfg config.BigQuery, c Clients) (*Dataset, error) {
	d, err := bigquery.NewDataset(ctx, cfg, bigquery.DatasetOptions{Client: c.Query, Write: c.Write})
	if err != nil {
		return nil, err
	}
	return &Dataset{d}, nil
}

// Close ends the client. Questions under way fail.
func (d *Dataset) Close() error { return d.dataset.Close() }

// Graph returns the newest graph that the dataset has of a session. The graph answers what a journal's answers:
// Why, which entities a decision rests on, by which path; Effects and Causes of a step; SeenBefore, everything
// that was seen before a decision. The gate decides from the journal, never from this.
//
// The error wraps [ask.ErrNoSessionID] or [ask.ErrUnknownSession] if there is no such session.
func (d *Dataset) Graph(ctx context.Context, s ask.Scope) (ask.SessionGraph, error) {
	return d.dataset.Graph(ctx, s)
}

// EntityAcrossSessions returns the approvals that rest on an entity, in all sessions of the time:
// the requests for a confirmation to which it led, as Why of a [ask.SessionGraph] says of one of them. A step or an
// approval outside of that time does not count. Paths of more than 480 edges are not followed to their end: then
// Truncated is set.
//
// The error wraps [ask.ErrNoWindow] without a time.
func (d *Dataset) EntityAcrossSessions(ctx context.Context, q ask.EntityQuestion) (ask.EntityUses, error) {
	return d.dataset.EntityAcrossSessions(ctx, q)
}

// WaitingTimes returns the time spent waiting for humans, by kind, agent and tool, from requests
// and their first answers, paired by confirmation, interrupt or call. The time is that in the row
// of the answer, or else that between the two rows. The error wraps [ask.ErrNoWindow] without a
// time.
func (d *Dataset) WaitingTimes(ctx context.Context, w ask.Window) (ask.WaitingTimes, error) {
	return d.dataset.WaitingTimes(ctx, w)
}

// DriftStatistics returns the findings of checks of the world: verdicts by day, tool and stage, and
// the changed entities with the number and the kind of their changes. The checks are those of the sessions that
// were brought to the graph. The error wraps [ask.ErrNoWindow] without a time.
func (d *Dataset) DriftStatistics(ctx context.Context, w ask.Window) (ask.Drift, error) {
	return d.dataset.DriftStatistics(ctx, w)
}
