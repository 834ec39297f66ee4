// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// took reports whether the run's message brought that answer to a guarded input.
func (r *run) took(fr *genai.FunctionResponse) bool {
	return slices.ContainsFunc(r.inputs, func(in *input) bool { return in.response == fr })
}

// endInputs records how the run ended that the inputs let begin. Of one that stopped
// before its end nobody knows what it did: its inputs stay in doubt.
func (rec *Recorder) endInputs(ctx context.Context, r *run, err error, unfinished bool) {
	for _, in := range r.inputs {
		if unfinished {
			rec.log.Warn("contextgraph: a run stopped before its end, so the approval of its input stays in doubt", "approval", in.approval.ID)
			continue
		}
		dctx, cancel := detached(ctx, ledgerTimeout)
		if derr := in.permit.Done(dctx, err); derr != nil {
			rec.log.Error("contextgraph: the end of a run could not be recorded; the approval of its input stays in doubt",
				"approval", in.approval.ID, "error", derr)
		}
		cancel()
	}
	r.inputs = nil
}

// turnAway closes the record of a run whose message was refused: ADK starts nothing,
// and no callback follows.
func (rec *Recorder) turnAway(ctx context.Context, r *run, err error) {
	r.mu.Lock()
	over := r.over.Swap(true)
	r.mu.Unlock()
	if over {
		return
	}
	rec.endInputs(ctx, r, err, false)
	rec.emit(ctx, r, row{typ: schema.InvocationStarting, agent: r.rootAgent, span: r.rootSpan}, body{adk: r.link}) // what ends has begun
	rec.endRun(ctx, r, ending{err: err})
	rec.runs.end(r, rec.now())
}

// unseenInputs refuses a message that answers anything, if inputs are guarded: the
// recorder broke down before it knew what the message answers.
func (rec *Recorder) unseenInputs(msg *genai.Content) error {
	if rec.inputs.empty() || msg == nil {
		return nil
	}
	for _, p := range msg.Parts {
		if p != nil && p.FunctionResponse != nil {
			return refusedInput(p.FunctionResponse.ID, &safety.Refusal{Code: safety.CodeInternal, Message: "The recorder broke down before it could check this answer."})
		}
	}
	return nil
}

// refuseInputs stands in for the observer while recording is off.
func (rec *Recorder) refuseInputs(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	return nil, rec.takeInputs(ctx, &run{agentTree: ctx.Agent()}, msg)
}
