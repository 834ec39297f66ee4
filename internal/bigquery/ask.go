// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the methods that ask questions return for a question that has no answer. An
// answer is never empty because of an error.
var (
	// ErrNoSessionID is returned for a question about a session without an id: it would
	// be one about all sessions.
	ErrNoSessionID = errors.New("the session has no id: give the id, and the application and the user it belongs to")
	// ErrUnknownSession is returned for a session of which the dataset has no graph.
	ErrUnknownSession = errors.New("the dataset has no graph of the session: check application, user, id and the time asked about, or bring it there with contextgraph sync")
	// ErrNoDecision is returned where a session asked for no confirmation.
	ErrNoDecision = errors.New("no confirmation was asked for in the session: name a node as the decision")
	// ErrNoWindow is returned for a question about many sessions without a time.
	ErrNoWindow = errors.New("a question about all sessions needs the time it is about: set From")
	// ErrTooMany is returned where a part of an answer is worse than none.
	ErrTooMany = errors.New("there is more than the limit")
)

// MaxHops is how many hops a question can ask for: BigQuery ends a recursive query with an
// error after 500 rounds, and a hop is one round or more.
const MaxHops = 400

// maxRounds bounds the rounds of a search whose rounds are not hops. It is greater than
// MaxHops, so that a path of hops alone is followed to its end.
const maxRounds = 480

// hopLimit returns the limit of hops that was asked for, or the default one for 0.
func hopLimit(hops int) (int, error) {
	if hops < 0 || hops > MaxHops {
		return 0, fmt.Errorf("bigquery: Hops is %d: use 1 to %d, or 0 for %d; what is farther away is found by asking again about a step on the way (Decision, Node)",
			hops, MaxHops, graphsync.DefaultHops)
	}
	return cmp.Or(hops, graphsync.DefaultHops), nil
}

// DefaultAskLimit bounds the rows of an answer where no limit is given.
const DefaultAskLimit = 10_000

// Scope says which session a question is about, and how much of it is looked at.
type Scope struct {
	// Session is the session. Its id is required; application and user are compared as
	// they are, also when they are empty.
	Session record.Session
	// From and To bound the time of the steps that are looked at. With both only the
	// partitions of those days are read; without them the session is first looked for
	// in all partitions of tech_nodes, which its clustering bounds. Default to the time
	// of the session.
	From, To time.Time
	// Limit bounds the rows of the answer. Defaults to [DefaultAskLimit].
	Limit int
}

// Window bounds a question about many sessions.
type Window struct {
	// App is the application; empty for all.
	App string
	// From and To are the time it is about. From is required; To defaults to now.
	From, To time.Time
	// Limit bounds the rows of the answer. Defaults to [DefaultAskLimit].
	Limit int
}

// Times of all rows there can be. TIMESTAMP begins with the year 1, but no row of an
// agent is older than this.
var (
	earliest = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)

func (s Scope) checked() (Scope, error) {
	switch {
	case s.Session.ID == "":
		return s, ErrNoSessionID
	case s.Limit < 0:
		return s, fmt.Errorf("limit %d: use 1 or more, or 0 for %d", s.Limit, DefaultAskLimit)
	case !s.From.IsZero() && !s.To.IsZero() && s.To.Before(s.From):
		return s, fmt.Errorf("the time asked about ends (%s) before it begins (%s)", s.To, s.From)
	}
	if s.From.IsZero() {
		s.From = earliest
	}
	if s.To.IsZero() {
		s.To = latest
	}
	if s.Limit == 0 {
		s.Limit = DefaultAskLimit
	}
	return s, nil
}

func (d *Dataset) window(w Window) (Window, error) {
	if w.From.IsZero() {
		return w, ErrNoWindow
	}
	if w.To.IsZero() {
		w.To = d.now()
	}
	switch {
	case w.Limit < 0:
		return w, fmt.Errorf("limit %d: use 1 or more, or 0 for %d", w.Limit, DefaultAskLimit)
	case w.To.Before(w.From):
		return w, fmt.Errorf("the time asked about ends (%s) before it begins (%s)", w.To, w.From)
	case w.Limit == 0:
		w.Limit = DefaultAskLimit
	}
	return w, nil
}

// params returns the parameters that every statement about one session has, and others.
func (s Scope) params(more ...bq.QueryParameter) []bq.QueryParameter {
	return append([]bq.QueryParameter{
		param("app", s.Session.App), param("user", s.Session.User), param("session", s.Session.ID),
		param("from", s.From.UTC()), param("to", s.To.UTC()),
	}, more...)
}

// params returns the parameters that every statement about many sessions has, and
// others. One row more than the limit shows that there is more.
func (w Window) params(more ...bq.QueryParameter) []bq.QueryParameter {
	return append([]bq.QueryParameter{
		param("app", w.App), param("from", w.From.UTC()), param("to", w.To.UTC()), param("limit", int64(w.Limit)+1),
	}, more...)
}

// limit returns the parameter for one row more than the limit.
func (s Scope) limit() bq.QueryParameter { return param("limit", int64(s.Limit)+1) }

// cut returns at most limit rows and whether there were more.
func cut[T any](rows []T, limit int) ([]T, bool) {
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}

func tooMany(what string, limit int) error {
	return fmt.Errorf("bigquery: more than %d %s: %w: raise it or ask about a shorter time", limit, what, ErrTooMany)
}

// all runs a statement and returns its rows.
func all[T any](ctx context.Context, d *Dataset, j job) ([]T, error) {
	var out []T
	err := query(ctx, d, j, func(row *T) error {
		out = append(out, *row)
		return nil
	})
	return out, err
}

// askJob makes the job of a statement of a question.
func askJob(statement string, data any, params []bq.QueryParameter) job {
	return job{statement: statement, data: data, params: params, feature: featureGraph}
}

// sessionRow is what ask_session and ask_origin return.
type sessionRow struct {
	Nodes     int64            `bigquery:"nodes"`
	First     bq.NullTimestamp `bigquery:"first"`
	Last      bq.NullTimestamp `bigquery:"last"`
	NodeKey   bq.NullString    `bigquery:"node_key"`
	DecidedAt bq.NullTimestamp `bigquery:"decided_at"`
	EventIDs  []string         `bigquery:"event_ids"`
}

// decision is a node that a question is about, and where its session lies in time.
type decision struct {
	Scope
	node      string
	decidedAt time.Time
	events    []string
}

// decision finds the session and the decision: the node with a key, or the latest
// request for a confirmation where key is empty. The scope it returns ends with the
// session.
func (d *Dataset) decision(ctx context.Context, s Scope, key string) (decision, error) {
	s, row, err := d.session(ctx, s, askJob("ask_session", nil, nil), param("decision", key))
	if err != nil {
		return decision{}, err
	}
	if !row.NodeKey.Valid {
		if key == "" {
			return decision{}, fmt.Errorf("session %s: %w", s.Session.ID, ErrNoDecision)
		}
		return decision{}, fmt.Errorf("session %s: node %q: %w", s.Session.ID, key, graphsync.ErrUnknownNode)
	}
	return decision{Scope: s, node: row.NodeKey.StringVal, decidedAt: row.DecidedAt.Timestamp.UTC(), events: row.EventIDs}, nil
}

// session runs one of the two statements that look for a session and narrows s to it.
func (d *Dataset) session(ctx context.Context, s Scope, j job, which bq.QueryParameter) (Scope, sessionRow, error) {
	s, err := s.checked()
	if err != nil {
		return s, sessionRow{}, fmt.Errorf("bigquery: %w", err)
	}
	j.params = s.params(which)
	rows, err := all[sessionRow](ctx, d, j)
	if err != nil {
		return s, sessionRow{}, err
	}
	if len(rows) != 1 || rows[0].Nodes == 0 {
		return s, sessionRow{}, fmt.Errorf("session %s: %w", s.Session.ID, ErrUnknownSession)
	}
	s.From, s.To = rows[0].First.Timestamp.UTC(), rows[0].Last.Timestamp.UTC()
	return s, rows[0], nil
}
