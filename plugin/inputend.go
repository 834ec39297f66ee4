// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
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
