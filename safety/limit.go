// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// LimitCost is what a call takes from a limit that the requests of its session share.
type LimitCost struct {
	// Limit is the key of the entity, which all spellings of its name share, and the attribute with the amount. Left
	// is the amount when the call was checked.
	Limit string       `json:"limit"`
	Left  entity.Value `json:"left"`
	// Cost is what the call took then; the zero value if nobody knows.
	Cost entity.Value `json:"cost"`
}

// limitKey returns the key of a limit in [LimitCost]. A source may ignore case, so two spellings of a name have one.
func (b budget) limitKey(owner entity.Canonical) string {
	return folded(owner) + " " + b.Limit.Attribute
}

// shares reports whether calls of a tool take from a limit that requests share.
func (b rulebook) shares(tool string) bool {
	return slices.ContainsFunc(b.Budgets, func(entry config.Budget) bool {
		return entry.Across == config.AcrossSession && budget(entry).appliesTo(tool)
	})
}

// sharers reads the approvals of the session, if calls of the tool share a limit with them.
//
// No lock spans the check of a call and its effect in another process. It needs none: an approval is in the ledger
// before its last check begins. So of two that do not fit together, the later one to be approved always finds the other.
func (g *Guard) sharers(ctx context.Context, s record.Session, tool string) ([]Approval, error) {
	if !g.policy.shares(tool) {
		return nil, nil
	}
	all, err := list(ctx, g.ledger, Query{Session: s, Brief: true})
	if err != nil {
		return nil, fmt.Errorf("reading what other requests take from a limit: %w", err)
	}
	return all, nil
}

// takes reports whether what a permits, or may still permit, takes from limits.
func (a Approval) takes(now time.Time) bool {
	late := now.Add(-clockSkew)
	switch a.State {
	case StateApproved:
		return !late.After(a.ExpiresAt)
	case StatePermitted:
		return !late.After(a.PermitExpiresAt)
	}
	return a.State == StateExecuting || a.State == StateExecuted
}

// beside returns what other requests take from a limit with the present amount left; the zero value for nothing. What
// a call took counts until the amount changes: then its source has counted it. Where a smaller amount is enough,
// a call that has not begun still counts, because it can run with the new amount.
func (q *check) beside(b budget, owner entity.Canonical, left entity.Value) (entity.Value, error) {
	var s sum
	for _, a := range q.others {
		if b.Across != config.AcrossSession || len(a.Consents) == 0 || a.ID == q.approval.ID || !a.takes(q.started) {
			continue
		}
		var most entity.Value // of the rules of one call each alone has to fit
		waits := b.Enough && (a.State == StateApproved || a.State == StatePermitted)
		for _, c := range a.Consents[len(a.Consents)-1].Costs {
			if c.Limit != b.limitKey(owner) || c.Left != left && !waits {
				continue
			}
			if c.Cost.IsZero() {
				return entity.Value{}, fmt.Errorf("it is not known what %s takes from it, which was approved before", oneLine(a.Tool))
			}
			if way, _ := movement(most, c.Cost); most.IsZero() || way > 0 {
				most = c.Cost
			}
		}
		if most.IsZero() {
			continue
		}
		if err := s.add(most, big.NewRat(1, 1)); err != nil {
			return entity.Value{}, fmt.Errorf("the cost of another request is %w", err)
		}
	}
	if s.total == nil {
		return entity.Value{}, nil
	}
	return s.value()
}

// left returns the present amount of a limit, or the one that was read with the reason why nobody knows it.
func (q *check) left(b budget, owner entity.Canonical, limit entity.Value, found []entityCheck) (entity.Value, error) {
	if b.Limit.Attribute == "" {
		return limit, nil
	}
	i := slices.IndexFunc(q.targets, func(t target) bool { return t.entity.Key == owner.Key })
	if now := found[i].result.Now[b.Limit.Attribute]; found[i].read && !now.IsZero() {
		return now, nil
	}
	return limit, &unreadError{b.Limit.Attribute, found[i].unread(owner)}
}

// smallest returns the least of the amounts of a limit that were read and the present one.
func (b budget) smallest(owner entity.Canonical, limit, left entity.Value) entity.Value {
	values, _ := readings(owner, b.Limit.Attribute)
	for _, v := range append(values, left) {
		if unlike(limit, v) {
			continue // the check of the limit says so
		}
		if way, _ := movement(limit, v); way < 0 {
			limit = v
		}
	}
	return limit
}

// enough reports whether all that is compared of an attribute is that a plan fits: each budget whose limit it is says
// so.
func (q *check) enough(e entity.Canonical, name string) (is bool) {
	for _, entry := range q.policy.Budgets {
		b := budget(entry)
		if b.Limit.Type != e.Type || b.Limit.Attribute != name || !b.appliesTo(q.approval.Tool) {
			continue
		}
		if owner, _, err := q.limit(b); err != nil || owner.Key != e.Key {
			continue
		}
		if !b.Enough {
			return false
		}
		is = true
	}
	return is
}
