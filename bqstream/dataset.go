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
// answers. Those about the graph are asked in GQL or in recursive SQL, see [config.Queries].
// MaxBytesBilled of the configuration bounds what each query may cost. It is safe for concurrent
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

// ReasoningChain returns the entities that were seen before a decision and led to it, across agents
// and turns, each with one shortest path from the step that showed it. Graph.Why of package
// graphsync does the same for a journal.
//
// In recursive SQL the answer is the same: of several paths from results that showed the entity, it
// is the one with the fewest hops, then the fewest edges, then over the later steps. It follows
// paths of up to 480 edges of any kind, since BigQuery ends a recursion after 500 rounds. Entities
// farther away are left out, and Truncated is set.
//
// GQL finds paths with the fewest edges of any kind, of at most four for every allowed hop; Hops
// are those on that path. If one of them has more hops than allowed, the question is asked again in
// recursive SQL, because another path may have fewer.
//
// The dataset orders steps by time, to the microsecond; a journal goes by the order of its rows. A
// row of the same microsecond as the request counts as before it, so the answer may be wider than
// the journal's. It is narrower only if a clock went back before the request.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession], [ask.ErrNoDecision] or
// ErrUnknownNode of package graphsync if the subject of the question does not exist.
func (d *Dataset) ReasoningChain(ctx context.Context, q ask.ReasoningQuestion) (ask.Reasoning, error) {
	return d.dataset.ReasoningChain(ctx, q)
}

// ExplainDecision returns the answer of [Dataset.ReasoningChain], with the checks of the world for
// the decision, their findings, and the answers of humans. Checks and answers are of the whole time
// since the decision, whatever q.To says. Truncated is also true if there are more of them than the
// limit.
func (d *Dataset) ExplainDecision(ctx context.Context, q ask.ReasoningQuestion) (ask.Explanation, error) {
	return d.dataset.ExplainDecision(ctx, q)
}

// CausalChain returns the effects of a step, over edges of all kinds: by default the effects of the
// user's first message of a session. With Backwards it returns the causes of the step.
//
// The steps and their hops are those of Graph.Effects and Graph.Causes of package graphsync in both
// forms. If a step was reached from several steps, Via is the earliest in recursive SQL and any of
// them in GQL.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession] or ErrUnknownNode of package
// graphsync if the subject of the question does not exist.
func (d *Dataset) CausalChain(ctx context.Context, q ask.CausalQuestion) (ask.Causal, error) {
	return d.dataset.CausalChain(ctx, q)
}

// Trace returns all events of a session between two times as a tree of spans and as a timeline,
// with the causal edges among them. The tree is made of the rows, each event once however often it
// was delivered, as Graph.Trace of package graphsync makes it. A late row stands below its parent
// as soon as both are there. A row without its parent is a root. The edges are those of the graph
// in the dataset, which can be behind the rows.
//
// Without From the time begins with the first step that the graph has of the session in the last 30 days; a session with rows and
// no graph yet needs From. Without To it has no end.
//
// The error wraps [ask.ErrNoSessionID] or [ask.ErrUnknownSession] if the subject of the question
// does not exist.
func (d *Dataset) Trace(ctx context.Context, s ask.Scope) (ask.Trace, error) {
	return d.dataset.Trace(ctx, s)
}

// WorldChangeInputs returns everything that any step of a session saw before a decision, each
// entity once with its latest values, by [entity.Canonicalize]. Unlike [Dataset.ReasoningChain] it
// does not ask whether an entity led to the decision: a check of too many entities is safe. An
// entity without its step in the dataset counts too. Entities seen before the decision have the
// values known then, by time, as in ReasoningChain.
//
// The result is for people and for reports. The gate decides from the journal.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession], [ask.ErrNoDecision] or
// ErrUnknownNode of package graphsync if the subject of the question does not exist.
func (d *Dataset) WorldChangeInputs(ctx context.Context, q ask.InputsQuestion) (ask.Inputs, error) {
	return d.dataset.WorldChangeInputs(ctx, q)
}

// EntityAcrossSessions returns the approvals that rest on an entity, in all sessions of the time:
// the requests for a confirmation to which it led, as in [Dataset.ReasoningChain]. A step or an
// approval outside of that time does not count.
//
// GQL counts hops on paths with the fewest edges of any kind, so an approval near the limit can be
// missing.
//
// The error wraps [ask.ErrNoWindow] without a time.
func (d *Dataset) EntityAcrossSessions(ctx context.Context, q ask.EntityQuestion) (ask.EntityUses, error) {
	return d.dataset.EntityAcrossSessions(ctx, q)
}

// WaitingTimes returns the time spent waiting for humans, by kind, agent and tool, from requests
// and their first answers, paired by confirmation, interrupt or call. The time is that in the row
// of the answer, or else that between the two rows. The error wraps [ask.ErrNoWindow] without a
// time.
//
// It counts the rows of events, in SQL: it follows no path, and the graph has only the sessions
// that were brought to it. It asks the graph only if the configuration insists on GQL
// ([config.QueriesGQL]). There, the steps hold their requests. A step counts if it began in the
// time, so an answer to an earlier request does not.
func (d *Dataset) WaitingTimes(ctx context.Context, w ask.Window) (ask.WaitingTimes, error) {
	return d.dataset.WaitingTimes(ctx, w)
}

// DriftStatistics returns the findings of checks of the world: verdicts by day, tool and stage, and
// the changed entities with the number and the kind of their changes. The error wraps
// [ask.ErrNoWindow] without a time.
//
// Both are counted in SQL, like [Dataset.WaitingTimes], and in GQL only if the configuration
// insists on it. The checks are those of the sessions that were brought to the graph, in both
// forms.
func (d *Dataset) DriftStatistics(ctx context.Context, w ask.Window) (ask.Drift, error) {
	return d.dataset.DriftStatistics(ctx, w)
}
