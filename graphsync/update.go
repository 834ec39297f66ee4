// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// update is a call of [Syncer.Update] that has not begun to read. Whoever calls while it
// waits takes its result: it will read all that was recorded before.
type update struct {
	done chan struct{} // closed when the fields below are set

	graph   *Graph
	receipt Receipt
	err     error
	// abandoned: the context of the caller ended, or the call panicked; others try again.
	abandoned bool
}

// Update is [Syncer.Sync] for those who do not look at [Graph.Trace]: the rows of its
// graph have no payloads. All else is the same, and so is what is stored. With a store
// that is a [Follower] it reads only the rows that were recorded since the last call for
// the session, unless somebody else wrote to the store in between, or the session is none
// of those that the Syncer remembers. Calls for one session that wait share one result.
func (s *Syncer) Update(ctx context.Context, session schema.Session) (*Graph, Receipt, error) {
	for {
		u, first := s.join(session)
		if first {
			s.lead(ctx, session, u)
		} else {
			select {
			case <-u.done:
			case <-ctx.Done():
				return nil, Receipt{}, fmt.Errorf("sync session %s: %w", session.ID, ctx.Err())
			}
			if u.abandoned {
				continue
			}
		}
		if u.err != nil {
			return nil, Receipt{}, fmt.Errorf("sync session %s: %w", session.ID, u.err)
		}
		return u.graph, u.receipt, nil
	}
}

// join returns the update that has not begun, and whether the caller is to do it.
func (s *Syncer) join(session schema.Session) (u *update, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.waiting[session]; u != nil {
		return u, false
	}
	u = &update{done: make(chan struct{}), abandoned: true}
	s.waiting[session] = u
	return u, true
}

// lead does the update, for all who wait for it.
func (s *Syncer) lead(ctx context.Context, session schema.Session, u *update) {
	defer close(u.done)
	release, err := s.acquire(ctx, session)
	s.mu.Lock()
	delete(s.waiting, session) // who comes now may have recorded what is not read any more
	s.mu.Unlock()
	if err != nil {
		u.err = err
		return
	}
	defer release()

	var followed bool
	u.graph, u.receipt, followed, u.err = s.follow(ctx, session)
	if u.err == nil && !followed {
		if u.graph, u.receipt, u.err = s.sync(ctx, session); u.err == nil {
			u.graph = u.graph.lean()
		}
	}
	u.abandoned = u.err != nil && ctx.Err() != nil
}
