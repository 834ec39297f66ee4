// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// errOtherArgs is the end of a call that a callback behind the gate changed.
var errOtherArgs = errors.New("a callback of the agent, or the tool, changed the arguments, or the answer, after they were approved; Protect keeps them")

// endPermit is finishPermit for a tool without Protect around it: its arguments and its error
// are seen from outside.
func (g *Gate) endPermit(ctx agent.Context, c *call, args map[string]any, err error) {
	if err == nil {
		err = c.Failed()
	}
	if digest, _, derr := safety.ArgsDigest(args); derr != nil || digest != c.digest || !saysStill(ctx, c.answer) {
		g.log.Error("contextgraph: an approved call did not run with the arguments, or the answer, that were approved", "tool", c.Name, "approval", c.permit.ApprovalID())
		err = errors.Join(errOtherArgs, err)
	}
	g.finishPermit(ctx, c, err)
}

// finishPermit tells the ledger the end of the effect. An effect counts as failed if the gate
// refused a protected tool inside of it.
func (g *Gate) finishPermit(ctx context.Context, c *call, err error) {
	if err == nil && c.refusal != nil && c.refusal.Code == CodeUnsupported {
		err = c.refusal
	}
	dctx, cancel := plugin.Detach(ctx, ledgerTimeout)
	defer cancel()
	derr := c.permit.Done(dctx, err)
	c.executed = err == nil && derr == nil
	if derr != nil {
		g.log.Error("contextgraph: the end of an approved call could not be recorded; its approval stays in doubt until a person resolves it",
			"tool", c.Name, "approval", c.permit.ApprovalID(), "error", derr)
	}
}
