// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
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
	page := Page{Sessions: []Summary{}}
	for {
		size := chunk
		if q.Search == "" && len(q.Status) == 0 {
			size = q.Limit + 1 - len(page.Sessions)
		}
		list, err := s.j.Sessions(ctx, journal.SessionsQuery{
			App: q.App, User: q.User, From: q.From, To: q.To, Before: place.Before, Limit: size,
		})
		if err != nil {
			return Page{}, err
		}
		stands, err := s.stand(ctx, list)
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
			full, err := s.summary(ctx, l, stands[i])
			if err != nil {
				return Page{}, err
			}
			page.Sessions = append(page.Sessions, full)
			place.Before = l.LastSeq
		}
		if len(list) < size {
			return page, nil
		}
		place.Before = list[len(list)-1].LastSeq
	}
}

// standing reads the parts of a session that a query asks for.
type standing struct {
	Summary
	approvals []Approval
}

func (s *standing) selectedBy(q *Query) bool { return q.Selects(&s.Summary) }

// stand returns where sessions stand.
func (s *journalSource) stand(ctx context.Context, list []journal.SessionSummary) ([]standing, error) {
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
		asked := approvalsOf(decode(f.Rows), f.Approvals, s.now())
		if slices.ContainsFunc(asked, func(a Approval) bool {
			return (!a.Enforced || a.State == "") && len(a.Answers) > 0 || a.State == "" && len(f.Approvals) > 0
		}) {
			// Without the ledger, only the rows of the tools say whether the call ran, and only the
			// content of a request says when it expires. That content is not read if there is a
			// ledger.
			rows, err := s.j.Events(ctx, l.Session)
			if err != nil {
				return nil, err
			}
			ledger, err := s.j.Ledger().List(ctx, l.Session)
			if err != nil {
				return nil, err
			}
			asked = approvalsOf(decode(rows), ledger, s.now())
		}
		out[i].Summary = summarize(l.Session, decode(f.Rows), asked)
		out[i].Agents, out[i].approvals = l.Agents, asked
		if out[i].Agents == nil {
			out[i].Agents = []string{}
		}
	}
	return out, nil
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
