// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// An effect has a lease by the clock of the database, which its holder renews: leaseTime after the last time the effect is
// in doubt.
const (
	leaseTime  = 20 * time.Second
	leaseRenew = 5 * time.Second
)

// leases are the approvals whose effects run in this process, and those that it changed last, as it left them.
type leases struct {
	held   map[string]struct{}
	recent map[string]stored
	heldMu sync.Mutex
}

// recentApprovals bounds how many approvals are remembered.
const recentApprovals = 1 << 10

// remember keeps an approval as it was left, without its long parts.
func (s *db) remember(a stored) {
	s.heldMu.Lock()
	defer s.heldMu.Unlock()
	if s.recent == nil || len(s.recent) > recentApprovals {
		s.recent = make(map[string]stored)
	}
	s.recent[a.ID] = stored{short(a.Approval).Clone(), a.version}
}

// remembered returns an approval as it was left, once; another replica may have changed it since.
func (s *db) remembered(id string) (a stored, found bool) {
	s.heldMu.Lock()
	defer s.heldMu.Unlock()
	a, found = s.recent[id]
	delete(s.recent, id)
	return a, found
}

// hold notes that the effect of an approval begins here, or that it has ended.
func (s *db) hold(id string, executing bool) {
	s.heldMu.Lock()
	defer s.heldMu.Unlock()
	if delete(s.held, id); executing {
		s.held[id] = struct{}{}
	}
}

// renew is the goroutine that renews the leases, until the store closes.
func (s *db) renew() {
	s.every(leaseRenew, func() {
		s.heldMu.Lock()
		held := slices.Collect(maps.Keys(s.held))
		s.heldMu.Unlock()
		if len(held) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(s.hurry, leaseRenew)
		defer cancel()
		renewed, err := query(ctx, s.pool, "renew_leases", one[string], held, leaseTime.Seconds())
		if err != nil {
			s.log.Warn("contextgraph: the lease of an approved call cannot be renewed; it is in doubt when its time is over", "error", err)
			return
		}
		for _, id := range held {
			if !slices.Contains(renewed, id) {
				s.hold(id, false)
			}
		}
	})
}

// Running reports whether an approved effect of a run is under way on a replica that lives. One whose replica is silent
// is in doubt from then on.
func (s *db) Running(of record.Session, run string) bool {
	ctx, cancel := context.WithTimeout(s.hurry, statementTime)
	defer cancel()
	if _, err := exec(ctx, s.pool, "end_lease", keyOf(of), run); err != nil {
		return true // nobody may say how an effect ended that may be under way
	}
	list, err := query(ctx, s.pool, "select_leased", one[bool], keyOf(of), run)
	return err != nil || len(list) == 0 || list[0]
}
