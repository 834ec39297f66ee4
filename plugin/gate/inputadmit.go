// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The first plugin looks at the message. Other plugins stand between it and the nodes, and may
// change the message or keep it from the plugins behind them. So the last callback before a run
// looks once more at the message that the run begins with.

// admit is the last of the BeforeRun callbacks: none before it stopped the run.
func (g *Gate) admit(ctx agent.InvocationContext) (_ *genai.Content, err error) {
	var r *plugin.Run
	looked := g.inputs.empty()
	defer func() {
		if !looked && err == nil {
			err = g.unseenInputs(ctx.UserContent())
		}
	}()
	defer g.rec.Rescue("BeforeRun", &r)
	if err = g.admitTools(ctx); err != nil {
		g.log.Warn("contextgraph: a run was refused", "error", err)
		return nil, err
	}
	r = g.rec.Lookup(ctx)
	if !looked {
		if err = g.admitInputs(ctx, r); err != nil {
			g.log.Warn("contextgraph: a run was refused", "error", err)
			return nil, err
		}
		looked = true
	}
	if r != nil {
		r.Admit()
	}
	return nil, nil
}

// admitInputs lets a run begin only with the answers to guarded inputs that the gate took
// from its message, as it saw them.
func (g *Gate) admitInputs(ctx agent.InvocationContext, r *plugin.Run) error {
	msg := ctx.UserContent()
	switch {
	case !g.rec.Recording():
		var refusal *safety.Refusal
		if err := g.takeInputs(ctx, &plugin.Run{Agent: ctx.Agent()}, msg); errors.As(err, &refusal) {
			return fmt.Errorf("contextgraph: the run did not start; another plugin kept its message from the gate: %w", refusal)
		}
		return nil
	case r == nil:
		return g.unseenInputs(msg)
	}
	taken := make(map[string]*input)
	for _, in := range g.inputsTaken(r) {
		taken[in.response.ID] = in
	}
	ictx, cancel := r.Detach(ctx, answerTimeout)
	defer cancel()
	for _, fr := range plugin.Responses(msg) {
		if in := taken[fr.ID]; in != nil {
			if now := said(fr); now == nil || !bytes.Equal(now, in.said) {
				return changedInput(fr.ID)
			}
			delete(taken, fr.ID)
			continue
		}
		if _, guarded, err := g.findInput(ictx, ctx.Session(), r, fr); guarded || err != nil {
			return changedInput(fr.ID)
		}
	}
	for id := range taken {
		return changedInput(id)
	}
	return nil
}

func changedInput(id string) error {
	return fmt.Errorf("contextgraph: the run did not start, because a plugin changed the answer to the input %q, or made it up, after it was checked. Have no plugin change such answers, and run the workflow again: %w",
		id, &safety.Refusal{Code: safety.CodeArgsChanged, Message: "The answer is not the one that was checked."})
}

// unseenInputs refuses a message that answers anything, if inputs are guarded: the
// recorder broke down before it knew what the message answers.
func (g *Gate) unseenInputs(msg *genai.Content) error {
	if g.inputs.empty() {
		return nil
	}
	for _, fr := range plugin.Responses(msg) {
		return refusedInput(fr.ID, &safety.Refusal{Code: safety.CodeInternal, Message: "The recorder broke down before it could check this answer."})
	}
	return nil
}

// refuseInputs takes the place of onUserMessage while recording is off.
func (g *Gate) refuseInputs(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	return nil, g.takeInputs(ctx, &plugin.Run{Agent: ctx.Agent()}, msg)
}
