// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"context"
	"fmt"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Preconditions returns the revisions (ETags, for instance) that the check right before this call
// saw, so that a protected tool can make its effect conditional on them. If the world has changed
// since that check, the effect then fails. ctx is the context that the tool was given. The result
// is nil for a tool that is not wrapped by Protect, and for every other call, also one that the
// tool makes. It has no entry for an entity without a version in its answer. So a tool must look
// for the entities that it relies on, and not take a missing one for consent. An entity whose source
// was down, and whose check people overrode, has an entry that says so, without a version.
func Preconditions(ctx agent.Context) []safety.Precondition {
	return gate.Preconditions(ctx)
}

// Resolve closes an approval whose effect began and has no end on record, by the word of a person
// who looked: executed says whether the effect took place. It is refused while the run of the
// effect is under way in this process, or on another replica that shares a database and lives. Only
// the person can tell whether it is under way anywhere else. The history keeps the outcome, the
// person and the reason. Nothing is ever repeated because of it: that needs a new request. The error
// is [safety.ErrNotFound] or [safety.ErrConflict] if the session has no such approval, or if it is
// not in doubt. Resolve authenticates nobody: the program decides who may call it.
func (in *Instance) Resolve(ctx context.Context, s record.Session, approvalID string, executed bool, who, note string) error {
	if in.guard == nil {
		return ErrDisabled
	}
	_, err := in.guard.Resolve(ctx, s, approvalID, executed, who, note)
	return err
}

// History returns all that happened to an approval of the session, oldest first: who
// asked, each check with its verdict, who decided and whether anybody authenticated
// them, the permit, its use, and how the effect ended, or who said so.
// [safety.ErrNotFound] if the session has no such approval.
func (in *Instance) History(ctx context.Context, s record.Session, approvalID string) ([]safety.Step, error) {
	if in.store == nil {
		return nil, ErrDisabled
	}
	l := in.store.Ledger()
	a, err := safety.Get(ctx, l, approvalID)
	if err != nil {
		return nil, err
	}
	if a.Session != s {
		return nil, fmt.Errorf("contextgraph: approval %q of session %q: %w", approvalID, s.ID, safety.ErrNotFound)
	}
	return l.History(ctx, approvalID)
}
