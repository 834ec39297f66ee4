// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// maxRounds bounds the rounds of a search whose rounds are not hops. It is greater than
// MaxHops, so that a path of hops alone is followed to its end.
const maxRounds = 480

// hopLimit returns the limit of hops that was asked for, or the default one for 0.
func hopLimit(hops int) (int, error) {
	if hops < 0 || hops > ask.MaxHops {
		return 0, fmt.Errorf("bigquery: Hops is %d: use 1 to %d, or 0 for %d; what is farther away is found by asking again about a step on the way (Decision, Node)",
			hops, ask.MaxHops, graphsync.DefaultHops)
	}
	return cmp.Or(hops, graphsync.DefaultHops), nil
}

// skew is how far ahead of this clock those of other hosts may be.
const skew = time.Hour

// graphAge is how long before the time asked about the graph of a session may begin.
const graphAge = 90 * 24 * time.Hour

// never lies behind all sightings, for the entities of a session without a decision.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// bounded checks what a question is about, as far as that is said, and returns its limit.
func bounded(from, to time.Time, limit int) (int, error) {
	switch {
	case limit < 0:
		return 0, fmt.Errorf("limit %d: use 1 or more, or 0 for %d", limit, ask.DefaultLimit)
	case !from.IsZero() && !to.IsZero() && to.Before(from):
		return 0, fmt.Errorf("the time asked about ends (%s) before it begins (%s)", to, from)
	}
	return cmp.Or(limit, ask.DefaultLimit), nil
}

// checked gives s both bounds: no question reads more the older the table is.
func (d *Dataset) checked(s ask.Scope) (ask.Scope, error) {
	limit, err := bounded(s.From, s.To, s.Limit)
	switch {
	case s.Session.ID == "":
		return s, ask.ErrNoSessionID
	case err != nil:
		return s, err
	}
	s.Limit = limit
	now := d.now().UTC()
	if s.From.IsZero() && s.To.IsZero() {
		s.From = now.Add(-ask.DefaultSince)
	} else if s.From.IsZero() {
		s.From = s.To.Add(-ask.DefaultSince)
	}
	if s.To.IsZero() {
		s.To = now.Add(skew)
	}
	return s, nil
}

// window gives w both bounds.
func (d *Dataset) window(w ask.Window) (ask.Window, error) {
	if w.From.IsZero() {
		return w, ask.ErrNoWindow
	}
	if w.To.IsZero() {
		w.To = d.now()
	}
	var err error
	w.Limit, err = bounded(w.From, w.To, w.Limit)
	return w, err
}

// located is a session that has graphs, with the days under which they stand. Every statement about
// it reads these days alone.
type located struct {
	ask.Scope
	first, last civil.Date
}

// locate returns the days of a session. The error wraps [ask.ErrUnknownSession] when there is none.
func (d *Dataset) locate(ctx context.Context, s ask.Scope) (located, error) {
	rows, err := all(ctx, d, askJob("ask_days", nil, scopeParams(s)), func(r *row) located {
		return located{Scope: s, first: value[civil.Date](r, "first"), last: value[civil.Date](r, "last")}
	})
	if err == nil && (len(rows) != 1 || rows[0].first.IsZero()) {
		err = unknownSession(s)
	}
	if err != nil {
		return located{}, err
	}
	return rows[0], nil
}

func unknownSession(s ask.Scope) error {
	return fmt.Errorf("session %s: no step from %s to %s: %w", s.Session.ID, s.From.Format(time.RFC3339), s.To.Format(time.RFC3339), ask.ErrUnknownSession)
}

// scopeParams returns the parameters that say which session is asked about, and when.
func scopeParams(s ask.Scope) []bq.QueryParameter {
	return []bq.QueryParameter{
		param("app", s.Session.App), param("user", s.Session.User), param("session", s.Session.ID),
		param("from", s.From.UTC()), param("to", s.To.UTC()),
	}
}

// sessionParams returns the parameters that every statement about the graph of one session has, and
// others.
func sessionParams(s located, more ...bq.QueryParameter) []bq.QueryParameter {
	return append(append(scopeParams(s.Scope), param("first_day", s.first), param("last_day", s.last)), more...)
}

// windowParams returns the parameters that every statement about many sessions has, and
// others. One row more than the limit shows that there is more.
func windowParams(w ask.Window, more ...bq.QueryParameter) []bq.QueryParameter {
	return append([]bq.QueryParameter{
		param("app", w.App), param("from", w.From.UTC()), param("to", w.To.UTC()), param("limit", int64(w.Limit)+1),
	}, more...)
}

// limitParam returns the parameter for one row more than the limit.
func limitParam(s located) bq.QueryParameter { return param("limit", int64(s.Limit)+1) }

// cut returns at most limit rows and whether there were more.
func cut[T any](rows []T, limit int) ([]T, bool) {
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}

// askJob makes the job of a statement of a question.
func askJob(statement string, data any, params []bq.QueryParameter) job {
	return job{statement: statement, data: data, params: params, feature: featureGraph}
}

// decision is a node that a question is about, and where its session lies in time.
type decision struct {
	located
	node      string // empty where the session has no such node
	decidedAt time.Time
	events    []string
}

// decision finds the session and the decision: the node with a key, or the latest
// request for a confirmation where key is empty. The scope it returns ends with the
// session.
func (d *Dataset) decision(ctx context.Context, s ask.Scope, key string) (decision, error) {
	at, err := d.session(ctx, s, "ask_session", param("decision", key))
	switch {
	case err != nil || at.node != "":
		return at, err
	case key == "":
		return decision{}, fmt.Errorf("session %s: %w", s.Session.ID, ask.ErrNoDecision)
	}
	return decision{}, unknownNode(s, key)
}

func unknownNode(s ask.Scope, key string) error {
	return fmt.Errorf("session %s: node %q: %w", s.Session.ID, key, graphsync.ErrUnknownNode)
}

// session runs one of the two statements that look for a node of a session, and narrows s to the
// session.
func (d *Dataset) session(ctx context.Context, s ask.Scope, statement string, which bq.QueryParameter) (decision, error) {
	s, err := d.checked(s)
	if err != nil {
		return decision{}, fmt.Errorf("bigquery: %w", err)
	}
	found, err := d.locate(ctx, s)
	if err != nil {
		return decision{}, err
	}
	nodes := 0
	rows, err := all(ctx, d, askJob(statement, nil, sessionParams(found, which)), func(r *row) decision {
		nodes += r.int("nodes")
		found.From, found.To = r.time("first"), r.time("last")
		return decision{located: found, node: r.text("node_key"), decidedAt: r.time("decided_at"), events: r.texts("event_ids")}
	})
	if err == nil && (len(rows) != 1 || nodes == 0) {
		err = unknownSession(s)
	}
	if err != nil {
		return decision{}, err
	}
	return rows[0], nil
}
