// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Between the observer, which looks at the message, and the nodes stand other plugins. They
// may change the message, or keep it from the plugins behind them. So what a run begins with
// is looked at once more by the last callback before it begins.

// admit is the last of the BeforeRun callbacks: none before it stopped the run.
func (rec *Recorder) admit(ctx agent.InvocationContext) (_ *genai.Content, err error) {
	var r *run
	looked := rec.inputs.empty()
	defer func() {
		if !looked && err == nil {
			err = rec.unseenInputs(ctx.UserContent())
		}
	}()
	defer rec.rescue("BeforeRun", &r)
	if err = rec.admitTools(ctx); err != nil {
		rec.log.Warn("contextgraph: a run was refused", "error", err)
		return nil, err
	}
	r = rec.runs.get(keyOf(ctx))
	if !looked {
		if err = rec.admitInputs(ctx, r); err != nil {
			rec.log.Warn("contextgraph: a run was refused", "error", err)
			return nil, err
		}
		looked = true
	}
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.admitted = true
	}
	return nil, nil
}

// admitInputs lets a run begin only with the answers to guarded inputs that the gate took
// from its message, as it saw them.
func (rec *Recorder) admitInputs(ctx agent.InvocationContext, r *run) error {
	msg := ctx.UserContent()
	switch {
	case rec.sink == nil:
		var refusal *safety.Refusal
		if err := rec.takeInputs(ctx, &run{agentTree: ctx.Agent()}, msg); errors.As(err, &refusal) {
			return fmt.Errorf("contextgraph: the run did not start; another plugin kept its message from the gate: %w", refusal)
		}
		return nil
	case r == nil:
		return rec.unseenInputs(msg)
	}
	taken := make(map[string]*input, len(r.inputs))
	for _, in := range r.inputs {
		taken[in.response.ID] = in
	}
	ictx, cancel := detached(ctx, answerTimeout)
	defer cancel()
	for _, fr := range responses(msg) {
		if in := taken[fr.ID]; in != nil {
			if now := said(fr); now == nil || !bytes.Equal(now, in.said) {
				return changedInput(fr.ID)
			}
			delete(taken, fr.ID)
			continue
		}
		if _, guarded, err := rec.findInput(ictx, ctx.Session(), r, fr); guarded || err != nil {
			return changedInput(fr.ID)
		}
	}
	for id := range taken {
		return changedInput(id)
	}
	return nil
}

// settled returns an error if the session says of the run's turn that a guarded input has
// an answer whose run did not come to a good end: ADK takes a node for done by that, and an
// answer to another input of the turn would run those behind it, unchecked or once more.
func (rec *Recorder) settled(ctx context.Context, s session.Session, r *run, msg *genai.Content) error {
	seen := make(map[string]bool)
	for _, fr := range responses(msg) {
		seen[fr.ID] = true // the gate looks at it by itself
	}
	if len(seen) == 0 || r.invocation == "" || s == nil || s.Events() == nil {
		return nil
	}
	for ev := range s.Events().All() {
		if ev == nil || ev.Author != genai.RoleUser || ev.InvocationID != r.invocation {
			continue
		}
		for _, fr := range responses(ev.Content) {
			if seen[fr.ID] {
				continue
			}
			seen[fr.ID] = true
			approval, guarded, err := rec.findInput(ctx, s, r, fr)
			if err != nil {
				return err
			}
			if guarded && approval.State != safety.StateExecuted {
				return refusedInput(fr.ID, &safety.Refusal{
					Code: safety.CodeOtherCall, Tool: inputTool, ApprovalID: approval.ID,
					Message: fmt.Sprintf("The session has an answer to this input of the same turn, and its approval is %s, not executed.", approval.State),
				})
			}
		}
	}
	return nil
}

// responses returns what a message answers.
func responses(msg *genai.Content) (responses []*genai.FunctionResponse) {
	if msg == nil {
		return nil
	}
	for _, p := range msg.Parts {
		if p != nil && p.FunctionResponse != nil {
			responses = append(responses, p.FunctionResponse)
		}
	}
	return responses
}

// said returns an answer as JSON, nil for one that has no such form.
func said(fr *genai.FunctionResponse) []byte {
	data, err := json.Marshal(fr.Response)
	if err != nil {
		return nil
	}
	return data
}

func changedInput(id string) error {
	return fmt.Errorf("contextgraph: the run did not start, because a plugin changed the answer to the input %q, or made it up, after it was checked. Have no plugin change such answers, and run the workflow again: %w",
		id, &safety.Refusal{Code: safety.CodeArgsChanged, Message: "The answer is not the one that was checked."})
}

// unseenInputs refuses a message that answers anything, if inputs are guarded: the
// recorder broke down before it knew what the message answers.
func (rec *Recorder) unseenInputs(msg *genai.Content) error {
	if rec.inputs.empty() {
		return nil
	}
	for _, fr := range responses(msg) {
		return refusedInput(fr.ID, &safety.Refusal{Code: safety.CodeInternal, Message: "The recorder broke down before it could check this answer."})
	}
	return nil
}

// refuseInputs stands in for the observer while recording is off.
func (rec *Recorder) refuseInputs(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
	return nil, rec.takeInputs(ctx, &run{agentTree: ctx.Agent()}, msg)
}
