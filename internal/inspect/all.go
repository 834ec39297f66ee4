// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// All returns the sessions that q selects, page after page, the one with the newest row first.
// Each comes once, also when it goes on meanwhile. An error is the last element.
func All(ctx context.Context, src Source, q Query) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		for page, err := range pages(ctx, src, q) {
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// pages returns the sessions of [All], page after page.
func pages(ctx context.Context, src Source, q Query) iter.Seq2[[]Summary, error] {
	return func(yield func([]Summary, error) bool) {
		q.Limit = MaxLimit
		seen := make(map[record.Session]bool)
		for {
			page, err := src.Sessions(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			list := slices.DeleteFunc(page.Sessions, func(s Summary) bool { return seen[s.Session] })
			for _, s := range list {
				seen[s.Session] = true
			}
			if !yield(list, nil) || page.Next == "" {
				return
			}
			q.After = page.Next
		}
	}
}

// Look reads a session from a source, and makes all there is to see of it, see [New].
func Look(ctx context.Context, src Source, s record.Session, now time.Time) (*Session, error) {
	r, err := src.Record(ctx, s)
	if err != nil {
		return nil, err
	}
	return New(r, now)
}

// Records returns what is stored of each session, and leaves out those of which nothing is. An
// error is the last element. A source that reads many at a time has a method Records for that.
func Records(ctx context.Context, src Source, sessions []record.Session) iter.Seq2[Record, error] {
	if many, ok := src.(interface {
		Records(ctx context.Context, sessions []record.Session) iter.Seq2[Record, error]
	}); ok {
		return many.Records(ctx, sessions)
	}
	return func(yield func(Record, error) bool) {
		for _, s := range sessions {
			r, err := src.Record(ctx, s)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Requests returns the requests to a human of each session that was listed, oldest first, without
// the sessions that have none or were removed since. An error is the last element.
func Requests(ctx context.Context, src Source, list []Summary, now time.Time) iter.Seq2[[]Approval, error] {
	var sessions []record.Session
	for _, s := range list {
		if s.Approvals > 0 {
			sessions = append(sessions, s.Session)
		}
	}
	return func(yield func([]Approval, error) bool) {
		for r, err := range Records(ctx, src, sessions) {
			var full *Session
			if err == nil {
				full, err = New(r, now)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(full.Approvals, nil) {
				return
			}
		}
	}
}

// SelectsRequest reports whether a request has a status that is asked for, and was not made before
// the time that is. Session, application and user are for the source to select by.
func (q *Query) SelectsRequest(p *Approval) bool {
	return q.wants(p.Status) && (q.From.IsZero() || p.RequestedAt.IsZero() || !p.RequestedAt.Before(q.From))
}

// AllRequests returns the requests to humans that q selects, newest first within a session. The
// session with the newest row comes first. An error is the last element.
func AllRequests(ctx context.Context, src Source, q Query, now time.Time) iter.Seq2[Approval, error] {
	return func(yield func(Approval, error) bool) {
		sessions := q
		sessions.Status = nil // the status of a session comes from its last request alone
		for page, err := range pages(ctx, src, sessions) {
			if err != nil {
				yield(Approval{}, err)
				return
			}
			for list, err := range Requests(ctx, src, page, now) {
				if err != nil {
					yield(Approval{}, err)
					return
				}
				for _, p := range slices.Backward(list) {
					if q.SelectsRequest(&p) && !yield(p, nil) {
						return
					}
				}
			}
		}
	}
}
