// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// PayloadKey is the key under which the summary for the human stands in the
// payload of a confirmation request.
const PayloadKey = "contextgraph"

// How long the work around an approval may take. The checks have deadlines of
// their own; these only keep a dead store from holding a run forever.
const (
	askTimeout    = 30 * time.Second
	answerTimeout = 2 * time.Minute
	ledgerTimeout = 10 * time.Second
)

// asked records the approval that the call asked for, if it did, before anyone
// sees the request. Where it cannot be recorded the request of a guarded tool is
// withdrawn: nobody can approve what was not recorded.
func (rec *Recorder) asked(ctx agent.Context, r *run, c *call, name string, args map[string]any) (refusal map[string]any) {
	actions := ctx.Actions()
	if actions == nil {
		return nil
	}
	request, ok := actions.RequestedToolConfirmations[ctx.FunctionCallID()]
	if !ok {
		return nil
	}
	if r != nil && r.nested {
		// Nothing waits for an answer that cannot come. Guarded tools do not get here.
		rec.log.Warn("contextgraph: a confirmation was asked for inside of an agent that runs as a tool; nobody sees it and the call does not run", "tool", name)
		return nil
	}
	enforced, always := rec.enforced(name)
	var err error
	defer func() {
		if p := recover(); p != nil {
			rec.counters.panics.Add(1)
			err = fmt.Errorf("internal error: %v", p)
		}
		if err == nil {
			return
		}
		rec.log.Error("contextgraph: an approval request could not be recorded", "tool", name, "error", err)
		if enforced {
			refusal = rec.withdraw(ctx, c, name, err)
			if r != nil && c != nil {
				r.noteRefusal(c, args, nil)
			}
		}
	}()
	if enforced {
		if err = clearKeys(args); err != nil {
			return nil
		}
	}
	var approval safety.Approval
	if approval, err = rec.ask(ctx, r, c, args, enforced); err != nil {
		return nil
	}
	if enforced && !always {
		rec.questions.Add(approval.ID, request)
	}
	if enforced {
		request.Payload = withSummary(request.Payload, approval.Shown())
		request.Hint = approval.Hint(rec.ownHint(request.Hint, name, args))
		actions.RequestedToolConfirmations[c.id] = request
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.approval = approval
	c.hitlSpan = newSpanID()
	r.asked[c.id] = c
	return nil
}

// ask records the approval. The rules for asking again are only for enforced ones.
func (rec *Recorder) ask(ctx context.Context, r *run, c *call, args map[string]any, enforced bool) (safety.Approval, error) {
	switch {
	case r == nil || c == nil:
		return safety.Approval{}, errNotRecorded
	case rec.guard == nil:
		return safety.Approval{}, errors.New("no guard is configured")
	}
	ctx, cancel := detached(ctx, askTimeout)
	defer cancel()
	request := rec.requestOf(r, c, args)
	if request.Answer == "" {
		return safety.Approval{}, errors.New("no answer of a model is on record that asked for this call")
	}
	request.Chained = enforced
	return rec.guard.Ask(ctx, request)
}

// requestOf returns the request for an approval of a guarded call.
func (rec *Recorder) requestOf(r *run, c *call, args map[string]any) safety.Request {
	answer, after := r.decided(c.id, c.agent, c.branch, "")
	return safety.Request{
		Session: r.session, CallID: c.id, Tool: c.name, Agent: c.agent,
		InvocationID: r.invocation, RunID: r.id, TraceID: r.traceID, SpanID: c.span, Args: args,
		DecisionNode: graphsync.TechNodeKey(r.session, r.traceID, c.span), Answer: answer, After: after,
		Chained: true, Redact: rec.redact,
	}
}

// decided returns the model call whose answer asked for a call; where no model did, the row
// behind which the asking step began. own is the id of the event that asks by itself, if one
// does.
func (r *run) decided(call, agent, branch, own string) (answer, after string) {
	if answer = r.history.decider(call, agent, branch, own); answer != "" {
		return answer, ""
	}
	return "", r.behind()
}

// behind returns the row behind which the step began that goes on in the run: that of the
// last output of a node, if one step came after the other so far. Else nobody can tell,
// and it is the start of the run.
func (r *run) behind() string {
	output := r.output.Load()
	if output == nil || r.branched.Load() {
		return ""
	}
	return output.String()
}

// withdraw takes the request back and returns what the model is told instead.
// Deleting it from the actions is the one way to hide it: an error from AfterTool
// does not, and one from OnEvent comes too late.
func (rec *Recorder) withdraw(ctx agent.Context, c *call, name string, cause error) map[string]any {
	if actions := ctx.Actions(); actions != nil {
		delete(actions.RequestedToolConfirmations, ctx.FunctionCallID())
		actions.SkipSummarization = false
	}
	var refusal *safety.Refusal
	if errors.As(cause, &refusal) && c != nil {
		return rec.refuse(c, refusal)
	}
	return rec.deny(c, name, CodeNotRecorded, fmt.Sprintf("the approval request could not be recorded (%v), so nobody can be asked", cause))
}

// withSummary adds the summary to a payload that is absent or an object. A payload
// of another kind belongs to the tool and its client and stays as it is.
func withSummary(payload any, shown map[string]any) any {
	switch p := payload.(type) {
	case nil:
		return map[string]any{PayloadKey: shown}
	case map[string]any:
		q := maps.Clone(p)
		if q == nil {
			q = make(map[string]any)
		}
		q[PayloadKey] = shown
		return q
	}
	q, ok := asObject(payload)
	if !ok {
		return payload
	}
	q[PayloadKey] = shown
	return q
}

// asObject returns the JSON object that v is, with its numbers as written. A v that
// cannot be encoded, or whose own method panics, is none.
func asObject(v any) (object map[string]any, ok bool) {
	defer func() {
		if recover() != nil {
			object, ok = nil, false
		}
	}()
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&object)
	return object, err == nil && object != nil
}

// attach ties the confirmation to the approval, if what the human is shown is the
// call that was recorded: a model may give two calls of a turn the same id.
func (rec *Recorder) attach(ctx context.Context, approval safety.Approval, fc *genai.FunctionCall) error {
	orig, err := toolconfirmation.OriginalCallFrom(fc)
	if err != nil {
		return err
	}
	digest, _, err := safety.ArgsDigest(orig.Args)
	if err != nil {
		return err
	}
	if orig.Name != approval.Tool || digest != approval.ArgsDigest {
		return fmt.Errorf("the confirmation shows another call than the recorded one of %s", approval.Tool)
	}
	return rec.guard.Attach(ctx, approval.ID, fc.ID)
}
