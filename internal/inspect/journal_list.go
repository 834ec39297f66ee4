// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// journalPlace is a place in the list of a journal: behind the session with this number.
type journalPlace struct {
	Before int64 `json:"b"`
}

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
	some := s.listed(&q)
	if q.Search != "" || len(q.Status) > 0 {
		hits, err := s.hits(ctx, &q, place.Before)
		if err != nil {
			return Page{}, err
		}
		some = s.found(hits)
	}
	page := Page{Sessions: []Summary{}}
	for {
		list, more, err := some(ctx, place.Before, q.Limit+1-len(page.Sessions))
		if err != nil {
			return Page{}, err
		}
		stands, err := s.stand(ctx, list, s.now())
		if err != nil {
			return Page{}, err
		}
		var chosen []int
		full := false
		for i := range list {
			if !stands[i].selectedBy(&q) {
				continue
			}
			if full = len(page.Sessions)+len(chosen) == q.Limit; full {
				break
			}
			chosen = append(chosen, i)
			place.Before = list[i].LastSeq
		}
		lines := make([]Summary, len(chosen))
		err = atOnce(ctx, len(chosen), func(ctx context.Context, n int) (err error) {
			lines[n], err = s.summary(ctx, list[chosen[n]], stands[chosen[n]])
			return err
		})
		if err != nil {
			return Page{}, err
		}
		page.Sessions = append(page.Sessions, lines...)
		if full {
			page.Next, err = Cursor(place)
			return page, err
		}
		if !more {
			return page, nil
		}
		if len(list) > 0 {
			place.Before = list[len(list)-1].LastSeq
		}
	}
}

// some returns the next sessions in which a query looks, behind a place, and whether there may be
// others. So many are wanted, if the query selects each.
type some func(ctx context.Context, before int64, wanted int) (list []store.Session, more bool, err error)

// listed looks in all sessions.
func (s *journalSource) listed(q *Query) some {
	return func(ctx context.Context, before int64, wanted int) ([]store.Session, bool, error) {
		list, err := s.j.Sessions(ctx, store.Query{App: q.App, User: q.User, From: q.From, To: q.To, Before: before, Limit: wanted})
		return list, len(list) == wanted, err
	}
}

// found looks in these sessions. Each stays at the place that it had there, also if it goes on.
func (s *journalSource) found(hits []store.Summary) some {
	return func(ctx context.Context, _ int64, wanted int) (list []store.Session, more bool, err error) {
		next := hits[:min(wanted, len(hits))]
		hits = hits[len(next):]
		for _, m := range next {
			l, found, err := s.j.Session(ctx, m.Session)
			if err != nil {
				return nil, false, err
			}
			if found {
				l.LastSeq = m.LastSeq
				list = append(list, l)
			}
		}
		return list, len(hits) > 0, nil
	}
}

// standing reads the parts of a session that a query asks for.
type standing struct {
	Summary
	approvals []Approval
}

func (s *standing) selectedBy(q *Query) bool { return q.Selects(&s.Summary) }

// stand returns where sessions stand.
func (s *journalSource) stand(ctx context.Context, list []store.Session, now time.Time) ([]standing, error) {
	keys := make([]record.Session, len(list))
	for i, l := range list {
		keys[i] = l.Session
	}
	found, err := s.j.Standings(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]standing, len(list))
	return out, atOnce(ctx, len(list), func(ctx context.Context, i int) (err error) {
		out[i], err = s.standOf(ctx, list[i], found[i], now)
		return err
	})
}

// atOnce calls f for the numbers below n, as many at a time as there are processors. It returns the
// first error.
func atOnce(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// standOf returns where a session stands. found has its rows and approvals.
func (s *journalSource) standOf(ctx context.Context, l store.Session, found store.Standing, now time.Time) (standing, error) {
	rows := decode(found.Rows)
	asked := approvalsOf(rows, found.Approvals, now)
	if slices.ContainsFunc(asked, func(a Approval) bool {
		return (!a.Enforced || a.State == "") && len(a.Answers) > 0 || a.State == "" && len(found.Approvals) > 0
	}) {
		// Without the ledger, only the rows of the tools say whether the call ran, and only the content
		// of a request says when it expires. That content is not read if there is a ledger.
		var err error
		if asked, _, err = s.asked(ctx, l.Session, now); err != nil {
			return standing{}, err
		}
	}
	out := standing{Summary: summarize(l.Session, rows, asked), approvals: asked}
	if out.Agents = l.Agents; out.Agents == nil {
		out.Agents = []string{}
	}
	return out, nil
}

// asked returns the requests of a session and its approvals in the ledger, which it reads as a whole.
func (s *journalSource) asked(ctx context.Context, of record.Session, now time.Time) ([]Approval, []safety.Approval, error) {
	rows, err := store.Events(ctx, s.j, of)
	if err != nil {
		return nil, nil, err
	}
	ledger, err := s.j.Ledger().List(ctx, safety.Query{Session: of})
	if err != nil {
		return nil, nil, err
	}
	return approvalsOf(decode(rows), ledger, now), ledger, nil
}

// summary returns the whole line of a session.
func (s *journalSource) summary(ctx context.Context, l store.Session, stands standing) (Summary, error) {
	rows, err := s.j.Outline(ctx, l.Session)
	if err != nil {
		return Summary{}, err
	}
	full := summarize(l.Session, decode(rows), stands.approvals)
	full.Title = stands.Title
	return full, nil
}
