// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

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

// permitted is the context of a protected tool while it runs. Its methods are those of the context
// of the call, with a copy of the answer that nobody else can change. Contexts derived from it by
// Go's package context, or by WithAgentCancel, know the permit too.
type permitted struct {
	agent.Context
	consumed consumed
	answer   *toolconfirmation.ToolConfirmation
}

// ToolConfirmation implements [agent.Context].
func (c *permitted) ToolConfirmation() *toolconfirmation.ToolConfirmation { return c.answer }

// Value implements [context.Context].
func (c *permitted) Value(key any) any {
	if key == (permitKey{}) {
		return c.consumed
	}
	return c.Context.Value(key)
}

// WithAgentCancel implements [agent.Context].
func (c *permitted) WithAgentCancel() (agent.Context, context.CancelFunc) {
	derived, cancel := c.Context.WithAgentCancel()
	return &permitted{Context: derived, consumed: c.consumed, answer: c.answer}, cancel
}

// withPermit returns the context for the tool, with the permit that c consumed.
func withPermit(ctx agent.Context, c *call) agent.Context {
	answer := new(toolconfirmation.ToolConfirmation)
	if json.Unmarshal(c.answer, answer) != nil {
		answer.Confirmed = false
	}
	return &permitted{Context: ctx, consumed: consumed{permit: c.permit, call: ctx.Actions()}, answer: answer}
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
