// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// maxRounds bounds the rounds of a search whose rounds are not hops. It is greater than
// MaxHops, so that a path of hops alone is followed to its end.
const maxRounds = 480

// hopLimit returns the limit of hops that was asked for, or the default one for 0.
func hopLimit(hops int) (int, error) {
	if hops < 0 || hops > ask.MaxHops {
		return 0, fmt.Errorf("bigquery: Hops is %d: use 1 to %d, or 0 for %d",
			hops, ask.MaxHops, graphsync.DefaultHops)
	}
	return cmp.Or(hops, graphsync.DefaultHops), nil
}

// skew is how far ahead of this clock those of other hosts may be.
const skew = time.Hour

// graphAge is how long before the time asked about the graph of a session may begin.
const graphAge = 90 * 24 * time.Hour

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
	if s.Session.ID == "" {
		return s, ask.ErrNoSessionID
	}
	if _, err := bounded(s.From, s.To, 0); err != nil {
		return s, err
	}
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

// sessionParams returns the parameters that say which session is asked about.
func sessionParams(s ask.Scope) []bq.QueryParameter {
	return []bq.QueryParameter{param("app", s.Session.App), param("user", s.Session.User), param("session", s.Session.ID)}
}

// windowParams returns the parameters that every statement about many sessions has, and
// others. One row more than the limit shows that there is more.
func windowParams(w ask.Window, more ...bq.QueryParameter) []bq.QueryParameter {
	return append([]bq.QueryParameter{
		param("app", w.App), param("from", w.From.UTC()), param("to", w.To.UTC()), param("limit", int64(w.Limit)+1),
	}, more...)
}

// cut returns at most limit rows and whether there were more.
func cut[T any](rows []T, limit int) ([]T, bool) {
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}

// askJob makes the job of a statement of a question.
func askJob(statement string, params []bq.QueryParameter) job {
	return job{statement: statement, params: params, feature: featureGraph}
}
