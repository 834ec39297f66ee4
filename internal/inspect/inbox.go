// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// maxWaiting bounds the sessions with open requests that an inbox reads.
const maxWaiting = 500

// Waiter is a [Source] that finds the sessions with open requests without reading the others.
type Waiter interface {
	// Waiting returns sessions that may have a request that is open at the time now, at most limit.
	Waiting(ctx context.Context, now time.Time, limit int) ([]record.Session, error)
}

// Item is an open request in the inbox.
type Item struct {
	Session record.Session `json:"session"`
	// Title is the title of the session.
	Title          string    `json:"title"`
	ApprovalID     string    `json:"approval_id"`
	ConfirmationID string    `json:"confirmation_id"`
	Kind           string    `json:"kind"`
	Tool           string    `json:"tool"`
	Agent          string    `json:"agent"`
	Action         string    `json:"action"`
	Status         Status    `json:"status"`
	Enforced       bool      `json:"enforced"`
	RequestedAt    time.Time `json:"requested_at"`
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	// Known is the last known state of the world: "unchanged", "changed" or "unproven", and "" if
	// nobody has checked. KnownAt is the time of that check, Changes are the changes in words.
	Known     string    `json:"known"`
	KnownAt   time.Time `json:"known_at,omitzero"`
	Changes   []string  `json:"changes"`
	Approvers int       `json:"approvers"`
	Consents  []string  `json:"consents"`
	Warnings  []string  `json:"warnings"`
}

// Inbox returns the open requests of sessions, the riskiest first, then the oldest. A changed world
// is the greatest risk, then one that could not be checked, then one that nobody has checked.
func Inbox(sessions []*Session) []Item {
	items := []Item{}
	for _, s := range sessions {
		for i := range s.Approvals {
			if a := &s.Approvals[i]; a.Status.Open() {
				items = append(items, itemOf(s.Title, a))
			}
		}
	}
	risk := []string{Changed.String(), Unproven.String(), "", Unchanged.String()}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(slices.Index(risk, a.Known)-slices.Index(risk, b.Known), a.RequestedAt.Compare(b.RequestedAt), cmp.Compare(a.ApprovalID, b.ApprovalID))
	})
	return items
}

func itemOf(title string, a *Approval) Item {
	it := Item{
		Session: a.Session, Title: title, ApprovalID: a.ID, ConfirmationID: a.ConfirmationID, Kind: a.Kind, Tool: a.Tool, Agent: a.Agent,
		Action: a.Action, Status: a.Status, Enforced: a.Enforced, RequestedAt: a.RequestedAt, ExpiresAt: a.ExpiresAt,
		Changes: []string{}, Approvers: a.Approvers, Consents: a.Consents, Warnings: a.Warnings,
	}
	if n := len(a.Checks); n > 0 {
		last := &a.Checks[n-1]
		it.Known, it.KnownAt = findingOf(last.Verdict).String(), last.At
		for _, l := range last.Alerts {
			it.Changes = append(it.Changes, fmt.Sprintf("%s %s %s: %s → %s", l.EntityType, l.Entity, l.Attribute, l.Before, l.After))
		}
	}
	return it
}

// OpenSessions reads the sessions with open requests; none from a source that is not a [Waiter].
func OpenSessions(ctx context.Context, src Source, now time.Time) ([]*Session, error) {
	w, ok := src.(Waiter)
	if !ok {
		return nil, nil
	}
	keys, err := w.Waiting(ctx, now, maxWaiting)
	if err != nil {
		return nil, err
	}
	var out []*Session
	for _, key := range keys {
		s, err := Look(ctx, src, key, now)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
