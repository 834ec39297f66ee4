// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
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
	// Known is the verdict of the last check: "safe", "drift" or "check_failed", and "" if nobody has checked. KnownAt
	// is its time. Findings, Can and Hopeless are as in [Approval].
	Known     Status           `json:"known"`
	KnownAt   time.Time        `json:"known_at,omitzero"`
	Findings  []safety.Finding `json:"findings"`
	Can       []string         `json:"can"`
	Hopeless  string           `json:"hopeless,omitempty"`
	Approvers int              `json:"approvers"`
	Consents  []string         `json:"consents"`
	Warnings  []string         `json:"warnings"`
}

// Inbox returns the open requests of sessions: those that a yes can let run before the hopeless ones, the riskiest first,
// then the oldest. A check that failed is the greatest risk, then none.
func Inbox(sessions []*Session) []Item {
	items := []Item{}
	for _, s := range sessions {
		for i := range s.Approvals {
			if a := &s.Approvals[i]; a.Status.Open() {
				items = append(items, itemOf(s.Title, a))
			}
		}
	}
	risk := []Status{StatusDrift, StatusCheckFailed, "", StatusSafe}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(min(len(a.Hopeless), 1), min(len(b.Hopeless), 1)), slices.Index(risk, a.Known)-slices.Index(risk, b.Known), a.RequestedAt.Compare(b.RequestedAt), cmp.Compare(a.ApprovalID, b.ApprovalID))
	})
	return items
}

func itemOf(title string, a *Approval) Item {
	it := Item{
		Session: a.Session, Title: title, ApprovalID: a.ID, ConfirmationID: a.ConfirmationID, Kind: a.Kind, Tool: a.Tool, Agent: a.Agent,
		Action: a.Action, Status: a.Status, Enforced: a.Enforced, RequestedAt: a.RequestedAt, ExpiresAt: a.ExpiresAt,
		Findings: a.Findings, Can: a.Can, Hopeless: a.Hopeless, Known: a.lastVerdict(), Approvers: a.Approvers, Consents: a.Consents, Warnings: a.Warnings,
	}
	if n := len(a.Checks); n > 0 {
		it.KnownAt = a.Checks[n-1].At
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
