// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// permitKey is the key of the consumed permit in the context of the tool that it lets
// run.
type permitKey struct{}

// consumed is a permit and the call that consumed it.
type consumed struct {
	permit *safety.Permit
	call   *session.EventActions
}

// Preconditions returns the revisions that a check saw, if the call of ctx consumed the permit of
// that check. It returns nil for any other call, also for a call that a protected tool makes while
// it runs. It returns nil for a context without values, as tests of tools may give one.
func Preconditions(ctx agent.Context) []safety.Precondition {
	defer func() { _ = recover() }()
	if p, ok := ctx.Value(permitKey{}).(consumed); ok && p.call != nil && p.call == ctx.Actions() {
		return p.permit.Preconditions()
	}
	return nil
}
