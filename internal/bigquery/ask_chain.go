// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"slices"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// farEdges is how many edges a path may have in GQL beyond its hops. Edges of kind
// contains do not count as hops, but a pattern needs a bound: this one is three for
// every hop, since a call lies in a tool, an agent and a run.
const farEdges = 3

// bounds are what stands in patterns, where no parameter can.
type bounds struct {
	Hops, Edges int
	Backwards   bool
}

// ReasoningChain returns the entities that were seen before a decision and led to it,
// across agents and turns, each with one shortest path from where it was learned, as
// [graphsync.Graph.Why] does from a journal.
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
// [graphsync.ErrUnknownNode] where there is nothing to ask about.
func (d *Dataset) ReasoningChain(ctx context.Context, q ask.ReasoningQuestion) (ask.Reasoning, error) {
	hops, err := hopLimit(q.Hops)
	if err != nil {
		return ask.Reasoning{}, err
	}
	q.Hops = hops
	at, err := d.decision(ctx, q.Scope, q.Decision)
	if err != nil {
		return ask.Reasoning{}, err
	}
	return d.reasoning(ctx, at, q)
}

func (d *Dataset) reasoning(ctx context.Context, at decision, q ask.ReasoningQuestion) (ask.Reasoning, error) {
	out := ask.Reasoning{DecidedAt: at.decidedAt}
	question := d.reasoningQuestion(at, q, &out.Truncated)
	rows, form, err := answer(ctx, d, question)
	if err != nil {
		return ask.Reasoning{}, err
	}
	tooFar := func(r reasonRow) bool { return r.Hops > int64(q.Hops) }
	if form == ask.FormGQL && slices.ContainsFunc(rows, tooFar) {
		form = ask.FormRecursive
		if rows, err = question.recursive(ctx); err != nil {
			return ask.Reasoning{}, err
		}
	}
	out.Form = form
	// One hop more than asked for was looked at, to know whether anything is there.
	out.Beyond = slices.ContainsFunc(rows, tooFar)
	rows = slices.DeleteFunc(rows, tooFar)

	keys := []string{at.node}
	for _, r := range rows {
		for _, s := range r.Path {
			keys = append(keys, s.NodeKey)
		}
	}
	nodes, err := d.nodes(ctx, at.located, keys)
	if err != nil {
		return ask.Reasoning{}, err
	}
	out.Decision = nodes[at.node]
	out.Reasons, err = reasons(rows, at, nodes)
	return out, err
}

// reasoningQuestion says in truncated whether the form that was asked last left something
// out: it had more rows than the limit, which are entities in GQL and steps with what they
// saw in recursive SQL, where far ones are cut and no path is; or the search in recursive
// SQL ended before it was through.
func (d *Dataset) reasoningQuestion(at decision, q ask.ReasoningQuestion, truncated *bool) asked[reasonRow] {
	params := sessionParams(at.located,
		param("decision", at.node), param("decided", at.decidedAt), param("entity", q.Entity), limitParam(at.located))
	gql := askJob("ask_reasoning_chain_gql", bounds{Edges: (1 + farEdges) * (q.Hops + 1)}, params)
	recursive := askJob("ask_reasoning_chain", nil,
		append(params[:len(params):len(params)], param("hops", int64(q.Hops)+1), param("rounds", int64(maxRounds))))
	return asked[reasonRow]{
		gql: func(ctx context.Context) ([]reasonRow, error) {
			rows, err := all[reasonRow](ctx, d, gql)
			rows, *truncated = cut(rows, at.Limit)
			return rows, err
		},
		recursive: func(ctx context.Context) ([]reasonRow, error) {
			steps, err := all[reachedRow](ctx, d, recursive)
			steps, *truncated = cut(steps, at.Limit)
			if len(steps) > 0 && steps[0].Incomplete {
				*truncated = true
			}
			return withPaths(steps), err
		},
	}
}

// reachedRow is one step that led to the decision, with an entity it saw, if any, and
// the next step on its path.
type reachedRow struct {
	entityRow
	Step     string `bigquery:"step"`
	Position int64  `bigquery:"position"`
	Hops     int64  `bigquery:"hops"`
	Edges    int64  `bigquery:"edges"`
	NextKey  string `bigquery:"next_key"`
	Kind     string `bigquery:"kind"`
	// Incomplete is the same in all rows: the search ended before it was through.
	Incomplete bool `bigquery:"incomplete"`
}

// withPaths returns the entities of the steps, each with the path of its step. The next
// step of a path stands before the step.
func withPaths(steps []reachedRow) []reasonRow {
	paths := make(map[string][]pathStep)
	var out []reasonRow
	for _, s := range steps {
		if s.NextKey != "" && paths[s.Step] == nil {
			paths[s.Step] = append([]pathStep{{s.Step, s.Kind}}, paths[s.NextKey]...)
		}
		if s.BizKey.Valid {
			out = append(out, reasonRow{
				entityRow: s.entityRow, Hops: s.Hops, Edges: s.Edges, Path: paths[s.Step],
				Position: bq.NullInt64{Int64: s.Position, Valid: true},
			})
		}
	}
	return out
}

// reasonRow is one entity of one step with the path from the step to the decision,
// without the decision.
type reasonRow struct {
	entityRow
	Hops     int64        `bigquery:"hops"`
	Edges    int64        `bigquery:"edges"`
	Position bq.NullInt64 `bigquery:"position"`
	Path     []pathStep   `bigquery:"path"`
}

// reason returns the path of the row, which the decision ends; it is the decision alone where
// nothing but the action names the entity.
func (r reasonRow) reason(origin graphsync.Origin, at decision, nodes map[string]graphsync.TechNode) graphsync.Reason {
	out := graphsync.Reason{Origin: origin}
	if origin != graphsync.OriginAction {
		out.Hops = int(r.Hops)
		for _, s := range r.Path {
			out.Path = append(out.Path, graphsync.Step{Node: nodes[s.NodeKey], Edge: graphsync.EdgeKind(s.Kind)})
		}
	}
	out.Path = append(out.Path, graphsync.Step{Node: nodes[at.node]})
	return out
}

// pathStep is a node and the kind of the edge to the next one.
type pathStep struct {
	NodeKey string `bigquery:"node_key"`
	Kind    string `bigquery:"kind"`
}

// reasons merges the rows by entity. The path of an entity is that of the step with the
// best origin, and of those with the best route, which stands first.
func reasons(rows []reasonRow, at decision, nodes map[string]graphsync.TechNode) ([]graphsync.Reason, error) {
	best := make(map[string]graphsync.Reason)
	type sighting struct {
		entity.Entity
		position int64
	}
	var seen []sighting
	for _, r := range rows {
		e, err := r.entity(at.decidedAt)
		if err != nil {
			return nil, err
		}
		origin := graphsync.OriginOf(e, nodes[e.TechNode], nodes[at.node])
		if old, known := best[e.CanonicalKey()]; !known || origin < old.Origin {
			best[e.CanonicalKey()] = r.reason(origin, at, nodes)
		}
		seen = append(seen, sighting{e, r.Position.Int64})
	}
	// Of sightings at one time the one of the later step decides, as in a Graph.
	slices.SortStableFunc(seen, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.position, b.position), inTime(a.Entity, b.Entity))
	})
	es := make([]entity.Entity, len(seen))
	for i, s := range seen {
		es[i] = s.Entity
	}
	var out []graphsync.Reason
	for _, c := range entity.Canonicalize(es) {
		reason := best[c.Key]
		reason.Entity = c
		out = append(out, reason)
	}
	slices.SortStableFunc(out, func(a, b graphsync.Reason) int { return cmp.Compare(a.Hops, b.Hops) })
	return out, nil
}
