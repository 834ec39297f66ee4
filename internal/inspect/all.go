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
		q.Limit = MaxLimit
		seen := make(map[record.Session]bool)
		for {
			page, err := src.Sessions(ctx, q)
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, s := range page.Sessions {
				if seen[s.Session] {
					continue
				}
				seen[s.Session] = true
				if !yield(s, nil) {
					return
				}
			}
			if page.Next == "" {
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

// Requests returns the requests to a human of a session that was listed, oldest first; none when
// it was removed since.
func Requests(ctx context.Context, src Source, s Summary, now time.Time) ([]Approval, error) {
	if s.Approvals == 0 {
		return nil, nil
	}
	full, err := Look(ctx, src, s.Session, now)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return full.Approvals, nil
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
		for s, err := range All(ctx, src, sessions) {
			var list []Approval
			if err == nil {
				list, err = Requests(ctx, src, s, now)
			}
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
