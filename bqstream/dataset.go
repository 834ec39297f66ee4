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

// ReasoningChain returns the entities that were seen before a decision and led to it,
// across agents and turns, each with one shortest path from where it was learned, as
// Graph.Why of package graphsync does from a journal.
//
// In recursive SQL the answer is the same: of several paths from results that showed the
// entity it is the one with the fewest hops, then the fewest edges, then over the later steps.
// It follows paths of up to 480 edges of any kind, since BigQuery ends a recursion after 500
// rounds; what is farther away is left out and Truncated set. GQL finds paths with the fewest edges of any kind, of
// at most four for every hop that is allowed; Hops are those on that path. Where one of
// them has more hops than allowed, the question is asked again in recursive SQL, because
// another path may have fewer.
//
// What lies before the decision is told by time, to the microsecond, where a journal goes
// by the order of its rows. What was recorded in the same microsecond as the request
// counts as before it, so that the answer may be wider than that of the journal. It is
// narrower only where a clock went back before the request.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession], [ask.ErrNoDecision] or
// ErrUnknownNode of package graphsync where there is nothing to ask about.
func (d *Dataset) ReasoningChain(ctx context.Context, q ask.ReasoningQuestion) (ask.Reasoning, error) {
	return d.dataset.ReasoningChain(ctx, q)
}

// ExplainDecision returns what [Dataset.ReasoningChain] does, with the checks of the world that
// were made for the decision, what they found, and what humans answered. Checks and
// answers are of the whole time since the decision, whatever q.To says. Truncated is also
// true when there are more of them than the limit.
func (d *Dataset) ExplainDecision(ctx context.Context, q ask.ReasoningQuestion) (ask.Explanation, error) {
	return d.dataset.ExplainDecision(ctx, q)
}

// CausalChain returns what a step led to, over edges of all kinds: by default what the
// user's first message of a session led to. With Backwards it returns what led to the
// step.
//
// The steps and their hops are those of Graph.Effects and Graph.Causes of package
// graphsync in both forms. Of several steps that one was reached from,
// Via is the earliest in recursive SQL and any of them in GQL.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession] or ErrUnknownNode of package graphsync
// where there is nothing to ask about.
func (d *Dataset) CausalChain(ctx context.Context, q ask.CausalQuestion) (ask.Causal, error) {
	return d.dataset.CausalChain(ctx, q)
}

// Trace returns all events of a session between two times as a tree of spans and as a
// timeline, and what caused what among them. The tree is made of the rows, each event
// once however often it was delivered, as Graph.Trace of package graphsync makes it: a row that
// came late stands below its parent as soon as both are there, and one whose parent never
// came is a root. The edges are those of the graph in the dataset, which can be behind
// the rows.
//
// Without From the time begins with the session's first step in tech_nodes; a session
// that has rows and no graph yet needs From. Without To it has no end.
//
// The error wraps [ask.ErrNoSessionID] or [ask.ErrUnknownSession] where there is nothing to ask
// about.
func (d *Dataset) Trace(ctx context.Context, s ask.Scope) (ask.Trace, error) {
	return d.dataset.Trace(ctx, s)
}

// WorldChangeInputs returns everything that any step of a session saw before a decision,
// each entity once with its latest values, by [entity.Canonicalize]. Unlike
// [Dataset.ReasoningChain] it does not ask what led to the decision: a check that looks at more
// than it has to is safe. An entity whose step is not in the dataset counts too. What was
// seen before the decision is as it was known then, by time, as in ReasoningChain.
//
// What it returns is for people and for reports. The gate decides from the journal.
//
// The error wraps [ask.ErrNoSessionID], [ask.ErrUnknownSession], [ask.ErrNoDecision] or
// ErrUnknownNode of package graphsync where there is nothing to ask about.
func (d *Dataset) WorldChangeInputs(ctx context.Context, q ask.InputsQuestion) (ask.Inputs, error) {
	return d.dataset.WorldChangeInputs(ctx, q)
}

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
	return d.dataset.EntityAcrossSessions(ctx, q)
}

// WaitingTimes returns how long humans were waited for, from requests and their first
// answers, paired by confirmation, interrupt or call, by kind, agent and tool. The time
// is the one that the row of the answer has, or else that between the two rows. The
// error wraps [ask.ErrNoWindow] without a time.
//
// It counts the rows of events, in SQL: no path is followed, and the graph has the
// sessions that were brought to it and no others. Only where the configuration insists on
// GQL ([config.QueriesGQL]) is the graph asked. Its steps have their requests with
// them; those of the steps that began in the time asked about count, so an answer to a
// request from before that does not.
func (d *Dataset) WaitingTimes(ctx context.Context, w ask.Window) (ask.WaitingTimes, error) {
	return d.dataset.WaitingTimes(ctx, w)
}

// DriftStatistics returns what checks of the world found: verdicts by day, tool and
// stage, and which entities had changed how often and in which way. The error wraps
// [ask.ErrNoWindow] without a time.
//
// Both are counted in SQL, as [Dataset.WaitingTimes] is, and in GQL only where the
// configuration insists on it. The checks are those of the sessions that were brought to
// the graph, in both forms.
func (d *Dataset) DriftStatistics(ctx context.Context, w ask.Window) (ask.Drift, error) {
	return d.dataset.DriftStatistics(ctx, w)
}
