// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// maxRepeats is how often a model may repeat a refused call in one run. Then the run ends with
// the refusal: a model that only repeats the call would never end it.
const maxRepeats = 10

// maxRefused bounds the refused calls that a run remembers. Those beyond it go the whole
// way again, which refuses them too.
const maxRefused = 1000

// keyOfCall returns the key of a call; false for arguments without a digest.
func keyOfCall(c *call, args map[string]any) (repeatKey, bool) {
	digest, _, err := safety.ArgsDigest(args)
	return repeatKey{c.Agent, c.Name, digest}, err == nil
}

// noteRefusal remembers, until the run ends, that the call was refused or that a person
// rejected it.
func (r *run) noteRefusal(c *call, args map[string]any, err error) {
	refusal := c.refusal
	if refusal == nil && c.gated && errors.Is(err, tool.ErrConfirmationRejected) {
		refusal = &safety.Refusal{Code: safety.CodeRejected, Tool: c.Name, Message: fmt.Sprintf("A person rejected %s.", c.Name)}
	}
	if refusal == nil || refusal == c.second { // the first call has the same key
		return
	}
	key, ok := keyOfCall(c, args)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = make(map[repeatKey]*refused)
	}
	if r.refused[key] == nil && len(r.refused) < maxRefused {
		r.refused[key] = &refused{refusal: refusal}
	}
}

// repeated refuses a call if the same one (by agent, tool and arguments) was refused in this run
// before, or if an earlier request forbids to ask again. Then nobody is asked, and nothing is
// checked: the model can only change the call, or what it rests on. If a check refused it, and the
// model has read something since, it may come again. For any other call it returns no refusal. replaces
// is then the approval that ended by drift and that a new request will replace, "" if there is
// none.
func (g *Gate) repeated(ctx agent.Context, r *run, c *call, args map[string]any) (refused map[string]any, replaces string) {
	var before *safety.Refusal
	repeats := 0
	key, ok := keyOfCall(c, args)
	r.mu.Lock()
	entry := r.refused[key]
	if entry != nil && ok {
		before = entry.refusal
	}
	r.mu.Unlock()

	var refusal *safety.Refusal
	if before == nil || before.Code == safety.CodeDrift || before.Code == safety.CodeBlocked || before.Code == safety.CodeToolChanged || before.Code == safety.CodeCheckFailed {
		rctx, cancel := r.Detach(ctx, askTimeout)
		defer cancel()
		request := g.requestOf(r, c, args)
		replaces, err := g.guard.Replaces(rctx, request)
		if before != nil && before.Code == safety.CodeCheckFailed && err == nil {
			anew, failed := g.guard.ReadAnew(rctx, request, before.ApprovalID)
			if err = failed; !anew {
				replaces = ""
			}
		}
		switch {
		case err == nil && (before == nil || replaces != ""):
			return nil, replaces
		case err != nil && !errors.As(err, &refusal):
			refusal = &safety.Refusal{Code: safety.CodeInternal, Tool: c.Name, Message: internalError, Err: err}
		}
	}
	switch {
	case refusal == nil:
		again := *before
		again.Message = "This very call was refused in this turn before, and nobody is asked again: " + before.Message
		refusal = &again
	case before != nil && refusal.Code != safety.CodeAsked: // a new request has the present values
		refusal.Report = before.Report
	}
	if entry != nil {
		r.mu.Lock()
		entry.repeats++
		repeats = entry.repeats
		r.mu.Unlock()
	}
	if actions := ctx.Actions(); repeats >= maxRepeats && actions != nil {
		g.log.Warn("contextgraph: the run ends, because its model does nothing but repeat a refused call", "tool", c.Name, "repeats", maxRepeats)
		actions.SkipSummarization = true
	}
	c.repeated = true
	return g.refuse(r, c, refusal), ""
}
