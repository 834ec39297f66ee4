// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph/plugin"
)

// noteInput remembers an input whose permit is used up until the run ends.
func (r *run) noteInput(in *input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs = append(r.inputs, in)
}

// inputsTaken returns the guarded inputs that the message of the run brought.
func (g *Gate) inputsTaken(r *plugin.Run) []*input {
	own, _ := r.Known(runKey{g}).(*run)
	if own == nil {
		return nil
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	return slices.Clone(own.inputs)
}

// took reports whether the run's message brought that answer to a guarded input.
func (g *Gate) took(r *plugin.Run, fr *genai.FunctionResponse) bool {
	return slices.ContainsFunc(g.inputsTaken(r), func(in *input) bool { return in.response == fr })
}

// endInputs records how the run ended that the inputs let begin. Of one that stopped
// before its end nobody knows what it did: its inputs stay in doubt.
func (g *Gate) endInputs(ctx context.Context, inputs []*input, err error, unfinished bool) {
	for _, in := range inputs {
		if unfinished {
			g.log.Warn("contextgraph: a run stopped before its end, so the approval of its input stays in doubt", "approval", in.approval.ID)
			continue
		}
		dctx, cancel := plugin.Detach(ctx, ledgerTimeout)
		if derr := in.permit.Done(dctx, err); derr != nil {
			g.log.Error("contextgraph: the end of a run could not be recorded; the approval of its input stays in doubt",
				"approval", in.approval.ID, "error", derr)
		}
		cancel()
	}
}
