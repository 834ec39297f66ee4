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
// an effect whose process is gone. While its run is under way in this process, or on another replica
// that the store knows to live, Resolve refuses; in any other process it takes the end from the effect.
// Nothing runs because of it; a repetition needs a new request. [ErrNotFound] if the session has no
// such approval. [ErrConflict] if it is not in doubt, if its effect runs, or if that ended at the same time.
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
	return g.end(ctx, a, Transition{Actor: who, Note: oneLine(r.Note)}, r.Executed)
}

// end closes an approval in doubt by the word of the actor of t.
func (g *Guard) end(ctx context.Context, a Approval, t Transition, executed bool) (Approval, error) {
	switch {
	case !a.InDoubt():
		return a, fmt.Errorf("safety: approval %s is %s, not in doubt: %w", a.ID, a.State, ErrConflict)
	case g.running != nil && g.running(a.Session, a.PermitRun):
		return a, fmt.Errorf("safety: approval %s is not in doubt: the run of its effect is under way: %w", a.ID, ErrConflict)
	}
	if t.To = StateFailed; executed {
		t.To = StateExecuted
	}
	t.Resolved, t.RequireNonce = true, a.PermitNonce
	return g.move(ctx, a, t, nil)
}

// resolve takes the word of a person on a call in doubt. Whoever may approve a call may say how it ended.
func (g *Guard) resolve(ctx context.Context, out Outcome, ans Answer) (Outcome, error) {
	because := strings.TrimSpace(ans.Because)
	approves := ans
	approves.Confirmed = true
	out.By, out.Detail, out.Cause = g.authorize(ctx, out.Approval, approves)
	switch known := ans.Resolve == CodeHappened || ans.Resolve == CodeDidNotHappen; {
	case out.By == "":
		out.Reason = CodeNotAuthorized
		return out, nil
	case !known || ans.Confirmed || because == "" || len(because) > MaxWords:
		out.Reason, out.Detail = CodeInvalid, fmt.Sprintf("to resolve a call say %s or %s, and why in at most %d bytes, and do not approve", CodeHappened, CodeDidNotHappen, MaxWords)
		return out, nil
	}
	a, err := g.end(ctx, out.Approval, Transition{Actor: out.By, Run: ans.RunID, Authenticated: out.Authenticated, Note: g.note("resolved ("+quoted(oneLine(because))+")", ans.RunID)}, ans.Resolve == CodeHappened)
	switch {
	case errors.Is(err, ErrConflict):
		out.Reason, out.Detail = CodeNotPending, err.Error()
		return out, nil
	case err != nil:
		out.Reason = CodeStore
		return out, err
	}
	out.Approval, out.Reason, out.Because = a, ans.Resolve, because
	return out, nil
}
