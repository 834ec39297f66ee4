// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"context"
	"errors"
	"fmt"
	"github.com/adk-contextgraph/contextgraph/record"
	"strings"
)

// Resolution is the finding of a person about an approved effect that is in doubt: it began, and
// its end is not on record. See [Approval.InDoubt].
type Resolution struct {
	// Session and ApprovalID name the approval. One of another session is not found.
	Session    record.Session
	ApprovalID string
	// Executed says that the effect took place; false, that it did not, or failed.
	Executed bool
	// Who looked. Required. Nothing here authenticates them: whoever calls Resolve does.
	Who string
	// Note says how they know, for the history.
	Note string
}

// Resolve closes an approval in doubt by the word of a person, and the history says so. Use it for
// an effect whose process is gone: while the effect still runs, Resolve takes its end from it.
// Nothing runs because of it; a repetition needs a new request. [ErrNotFound] if the session has no
// such approval. [ErrConflict] if it is not in doubt, or if its effect ended at the same time.
func (g *Guard) Resolve(ctx context.Context, r Resolution) (a Approval, err error) {
	if g == nil {
		return Approval{}, errNilGuard
	}
	defer rescue(&err)
	who := strings.TrimSpace(oneLine(r.Who))
	if !named(r.Session) || r.ApprovalID == "" || who == "" {
		return Approval{}, errors.New("safety: resolving an approval needs app, user and id of a session, the id of the approval, and who says how it ended")
	}
	if a, err = g.get(ctx, r.Session, r.ApprovalID); err != nil {
		return Approval{}, fmt.Errorf("safety: %w", err)
	}
	if !a.InDoubt() {
		return a, fmt.Errorf("safety: approval %s is %s, not in doubt: %w", a.ID, a.State, ErrConflict)
	}
	t := Transition{To: StateExecuted, Actor: who, Resolved: true, RequireNonce: a.PermitNonce, Note: oneLine(r.Note)}
	if !r.Executed {
		t.To = StateFailed
	}
	return g.move(ctx, a, t, nil)
}
