// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"slices"

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
	_, out, err := d.reasoning(ctx, q)
	return out, err
}

// reasoning returns what the question is about and the answer.
func (d *Dataset) reasoning(ctx context.Context, q ask.ReasoningQuestion) (decision, ask.Reasoning, error) {
	hops, err := hopLimit(q.Hops)
	if err != nil {
		return decision{}, ask.Reasoning{}, err
	}
	at, err := d.decision(ctx, q.Scope, q.Decision)
	if err != nil {
		return decision{}, ask.Reasoning{}, err
	}
	out := ask.Reasoning{DecidedAt: at.decidedAt}
	// One hop more than asked for is looked at, to know whether anything is there.
	question := d.reasoningQuestion(at, q.Entity, hops+1, &out.Truncated)
	rows, form, err := answer(ctx, d, question)
	if err != nil {
		return decision{}, ask.Reasoning{}, err
	}
	tooFar := func(r reasonRow) bool { return r.hops > hops }
	if form == ask.FormGQL && slices.ContainsFunc(rows, tooFar) {
		form = ask.FormRecursive
		if rows, err = question.recursive(ctx); err != nil {
			return decision{}, ask.Reasoning{}, err
		}
	}
	out.Form = form
	out.Beyond = slices.ContainsFunc(rows, tooFar)
	rows = slices.DeleteFunc(rows, tooFar)

	keys := []string{at.node}
	for _, r := range rows {
		for _, s := range r.path {
			keys = append(keys, s.node)
		}
	}
	nodes, err := d.nodes(ctx, at.located, keys)
	if err != nil {
		return decision{}, ask.Reasoning{}, err
	}
	out.Decision = nodes[at.node]
	out.Reasons = reasons(rows, at, nodes)
	return at, out, nil
}

// reasoningQuestion says in truncated whether the form that was asked last left something
// out: it had more rows than the limit, which are entities in GQL and steps with what they
// saw in recursive SQL, where far ones are cut and no path is; or the search in recursive
// SQL ended before it was through.
func (d *Dataset) reasoningQuestion(at decision, entity string, hops int, truncated *bool) asked[reasonRow] {
	params := sessionParams(at.located,
		param("decision", at.node), param("decided", at.decidedAt), param("entity", entity), limitParam(at.located))
	gql := askJob("ask_reasoning_chain_gql", bounds{Edges: (1 + farEdges) * hops}, params)
	recursive := askJob("ask_reasoning_chain", nil,
		append(params[:len(params):len(params)], param("hops", int64(hops)), param("rounds", int64(maxRounds))))
	return asked[reasonRow]{
		gql: func(ctx context.Context) ([]reasonRow, error) {
			rows, err := all(ctx, d, gql, func(r *row) reasonRow {
				out := reasonRow{entity: entityOf(r, at.decidedAt), hops: r.int("hops"), position: r.int("position")}
				for _, step := range r.rows("path") {
					out.path = append(out.path, pathStep{step.text("node_key"), graphsync.EdgeKind(step.text("kind"))})
				}
				return out
			})
			rows, *truncated = cut(rows, at.Limit)
			return rows, err
		},
		recursive: func(ctx context.Context) ([]reasonRow, error) {
			incomplete := false
			steps, err := all(ctx, d, recursive, func(r *row) reachedRow {
				incomplete = incomplete || r.flag("incomplete")
				return reachedRow{
					reasonRow: reasonRow{entity: entityOf(r, at.decidedAt), hops: r.int("hops"), position: r.int("position")},
					saw:       r.text("biz_key") != "",
					step:      pathStep{r.text("step"), graphsync.EdgeKind(r.text("kind"))}, next: r.text("next_key"),
				}
			})
			steps, *truncated = cut(steps, at.Limit)
			*truncated = *truncated || incomplete
			return withPaths(steps), err
		},
	}
}

// reasonRow is one entity of one step with the path from the step to the decision,
// without the decision.
type reasonRow struct {
	entity         entity.Entity
	hops, position int
	path           []pathStep
}

// pathStep is a node and the kind of the edge to the next one.
type pathStep struct {
	node string
	kind graphsync.EdgeKind
}

// reachedRow is one step that led to the decision, with an entity if it saw one, and
// the next step on its path.
type reachedRow struct {
	reasonRow
	saw  bool
	step pathStep
	next string
}

// withPaths returns the entities of the steps, each with the path of its step. The next
// step of a path stands before the step.
func withPaths(steps []reachedRow) []reasonRow {
	paths := make(map[string][]pathStep)
	var out []reasonRow
	for _, s := range steps {
		if s.next != "" && paths[s.step.node] == nil {
			paths[s.step.node] = append([]pathStep{s.step}, paths[s.next]...)
		}
		if s.saw {
			s.path = paths[s.step.node]
			out = append(out, s.reasonRow)
		}
	}
	return out
}

// reason returns the path of the row, which the decision ends; it is the decision alone where
// nothing but the action names the entity.
func (r reasonRow) reason(origin graphsync.Origin, at decision, nodes map[string]graphsync.TechNode) graphsync.Reason {
	out := graphsync.Reason{Origin: origin}
	if origin != graphsync.OriginAction {
		out.Hops = r.hops
		for _, s := range r.path {
			out.Path = append(out.Path, graphsync.Step{Node: nodes[s.node], Edge: s.kind})
		}
	}
	out.Path = append(out.Path, graphsync.Step{Node: nodes[at.node]})
	return out
}

// reasons merges the rows by entity. The path of an entity is that of the step with the
// best origin, and of those with the best route, which stands first.
func reasons(rows []reasonRow, at decision, nodes map[string]graphsync.TechNode) []graphsync.Reason {
	best := make(map[string]graphsync.Reason)
	for _, r := range rows {
		origin := graphsync.OriginOf(r.entity, nodes[r.entity.TechNode], nodes[at.node])
		if old, known := best[r.entity.CanonicalKey()]; !known || origin < old.Origin {
			best[r.entity.CanonicalKey()] = r.reason(origin, at, nodes)
		}
	}
	// Of sightings at one time the one of the later step decides, as in a Graph.
	slices.SortStableFunc(rows, func(a, b reasonRow) int {
		return cmp.Or(cmp.Compare(a.position, b.position), inTime(a.entity, b.entity))
	})
	es := make([]entity.Entity, len(rows))
	for i, r := range rows {
		es[i] = r.entity
	}
	var out []graphsync.Reason
	for _, c := range entity.Canonicalize(es) {
		reason := best[c.Key]
		reason.Entity = c
		out = append(out, reason)
	}
	slices.SortStableFunc(out, func(a, b graphsync.Reason) int { return cmp.Compare(a.Hops, b.Hops) })
	return out
}
