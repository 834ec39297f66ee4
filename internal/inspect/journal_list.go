// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// journalPlace is a place in the list of a journal: behind the session with this number.
type journalPlace struct {
	Before int64 `json:"b"`
}

// chunk is how many sessions are looked through at a time for those that a query selects.
const chunk = 200

// Sessions reads little of most sessions: where they stand, and of those on the page
// a line per row.
func (s *journalSource) Sessions(ctx context.Context, q Query) (Page, error) {
	place := journalPlace{}
	if err := q.Check(); err != nil {
		return Page{}, err
	}
	if err := ReadCursor(q.After, &place); err != nil {
		return Page{}, err
	}
	next := s.listed(&q, place.Before)
	if q.Search != "" || len(q.Status) > 0 {
		hits, known, err := s.hits(ctx, &q, place.Before)
		if err != nil {
			return Page{}, err
		}
		if known {
			next = s.found(&q, hits)
		}
	}
	page := Page{Sessions: []Summary{}}
	for {
		list, more, err := next(ctx, q.Limit+1-len(page.Sessions))
		if err != nil {
			return Page{}, err
		}
		stands, err := s.stand(ctx, list, s.now())
		if err != nil {
			return Page{}, err
		}
		for i, l := range list {
			if !stands[i].selectedBy(&q) {
				continue
			}
			if len(page.Sessions) == q.Limit {
				page.Next, err = Cursor(place)
				return page, err
			}
			full, err := s.summary(ctx, l.SessionSummary, stands[i])
			if err != nil {
				return Page{}, err
			}
			page.Sessions = append(page.Sessions, full)
			place.Before = l.place
		}
		if !more {
			return page, nil
		}
		if len(list) > 0 {
			place.Before = list[len(list)-1].place
		}
	}
}

// placed is a session at its place in the list.
type placed struct {
	journal.SessionSummary
	place int64
}

// more returns some of the sessions in which a query looks, in their order, and whether there may be
// others. So many are wanted, if the query selects each.
type more func(ctx context.Context, wanted int) ([]placed, bool, error)

// listed looks in all sessions behind a place.
func (s *journalSource) listed(q *Query, before int64) more {
	return func(ctx context.Context, wanted int) ([]placed, bool, error) {
		size := chunk
		if q.Search == "" && len(q.Status) == 0 {
			size = wanted
		}
		list, err := s.j.Sessions(ctx, journal.SessionsQuery{App: q.App, User: q.User, From: q.From, To: q.To, Before: before, Limit: size})
		out := make([]placed, len(list))
		for i, l := range list {
			out[i] = placed{l, l.LastSeq}
			before = l.LastSeq
		}
		return out, len(list) == size, err
	}
}

// found looks in the sessions with these numbers.
func (s *journalSource) found(q *Query, hits []int64) more {
	return func(ctx context.Context, wanted int) ([]placed, bool, error) {
		var out []placed
		some := hits[:min(wanted, len(hits))]
		hits = hits[len(some):]
		for _, seq := range some {
			l, found, err := s.j.SessionOf(ctx, seq)
			if err != nil {
				return nil, false, err
			}
			if found && q.in(l.Session, l.Last) {
				out = append(out, placed{l, seq})
			}
		}
		return out, len(hits) > 0, nil
	}
}

// standing reads the parts of a session that a query asks for.
type standing struct {
	Summary
	approvals []Approval
}

func (s *standing) selectedBy(q *Query) bool { return q.Selects(&s.Summary) }

// stand returns where sessions stand.
func (s *journalSource) stand(ctx context.Context, list []placed, now time.Time) ([]standing, error) {
	keys := make([]record.Session, len(list))
	for i, l := range list {
		keys[i] = l.Session
	}
	found, err := s.j.Standings(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]standing, len(list))
	for i, l := range list {
		f := found[i]
		rows := decode(f.Rows)
		asked := approvalsOf(rows, f.Approvals, now)
		if slices.ContainsFunc(asked, func(a Approval) bool {
			return (!a.Enforced || a.State == "") && len(a.Answers) > 0 || a.State == "" && len(f.Approvals) > 0
		}) {
			// Without the ledger, only the rows of the tools say whether the call ran, and only the
			// content of a request says when it expires. That content is not read if there is a
			// ledger.
			if asked, _, err = s.asked(ctx, l.Session, now); err != nil {
				return nil, err
			}
		}
		out[i].Summary = summarize(l.Session, rows, asked)
		out[i].Agents, out[i].approvals = l.Agents, asked
		if out[i].Agents == nil {
			out[i].Agents = []string{}
		}
	}
	return out, nil
}

// asked returns the requests of a session and its approvals in the ledger, which it reads as a whole.
func (s *journalSource) asked(ctx context.Context, of record.Session, now time.Time) ([]Approval, []safety.Approval, error) {
	rows, err := s.j.Events(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	ledger, err := s.j.Ledger().List(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	return approvalsOf(decode(rows), ledger, now), ledger, nil
}

// summary returns the whole line of a session.
func (s *journalSource) summary(ctx context.Context, l journal.SessionSummary, stands standing) (Summary, error) {
	rows, err := s.j.Outline(ctx, l.Session)
	if err != nil {
		return Summary{}, err
	}
	full := summarize(l.Session, decode(rows), stands.approvals)
	full.Title = stands.Title
	return full, nil
}
