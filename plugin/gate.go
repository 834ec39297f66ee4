// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Codes of refusals that the gate gives by itself, beside those of package safety.
const (
	CodeRecorderOff = "recorder_off" // recording is off; that does not open a gate
	CodeClosed      = "closed"       // contextgraph is closed
	CodeNotRecorded = "not_recorded" // the call, or its request, is not on record
	CodeCannotAsk   = "cannot_ask"   // nobody can be asked here
	CodeUnsupported = "unsupported"  // this kind of tool cannot run behind the gate
)

// gateBeforeTool stands before every tool call, behind all other plugins. Calls
// of tools that are not guarded pass untouched.
func (rec *Recorder) gateBeforeTool(ctx agent.Context, t tool.Tool, args map[string]any) (result map[string]any, err error) {
	name := t.Name()
	rec.noticeAgentTool(t)
	enforced, always := rec.enforced(name)
	if !enforced {
		rec.observe(ctx, name)
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			rec.counters.panics.Add(1)
			rec.log.Error("contextgraph: the gate recovered from a panic and denies", "tool", name, "panic", p)
			result, err = rec.deny(nil, name, safety.CodeInternal, fmt.Sprintf("internal error: %v", p)), nil
		}
	}()
	if denial := rec.unavailable(name); denial != nil {
		return denial, nil
	}
	r := rec.runs.lookup(ctx)
	if r == nil {
		return rec.deny(nil, name, CodeNotRecorded, errNotRecorded.Error()), nil
	}
	c := r.call(ctx)
	if c == nil {
		return rec.deny(nil, name, CodeNotRecorded, "another plugin hid this call from the recorder; register contextgraph's plugins by PluginConfig"), nil
	}
	switch {
	case c.live:
		return rec.deny(c, name, CodeCannotAsk, "a live session cannot ask for an approval"), nil
	case r.nested:
		return rec.deny(c, name, CodeCannotAsk, "an agent that runs as a tool cannot ask for an approval, because its run ends with the call; give the tool to the agent that calls it, or make the agent a sub-agent"), nil
	}
	// Whether Protect stands around this very tool is seen from the tool, not from its
	// name: another tool may have the same one.
	_, c.inner = rec.behind(t)
	c.gated = true
	if err := clearKeys(args); err != nil {
		return rec.deny(c, name, safety.CodeInvalid, err.Error()), nil
	}

	confirmation, replaces := ctx.ToolConfirmation(), ""
	if confirmation == nil {
		var refusal map[string]any
		if refusal, replaces = rec.repeated(ctx, r, c, args); refusal != nil {
			return refusal, nil
		}
	}
	switch {
	case confirmation == nil && (always || replaces != "") && !c.inner:
		// A call that was refused never runs unasked, whatever the tool would decide now. The
		// gate asks with the hint and the payload that the tool asked with before.
		question, known := rec.questions.Get(replaces)
		if !known {
			question.Hint = approvalHint(name)
		}
		if err := ctx.RequestConfirmation(question.Hint, question.Payload); err != nil {
			return rec.deny(c, name, CodeCannotAsk, err.Error()), nil
		}
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRequired)
	case confirmation == nil:
		// A protected tool asks by itself, innermost; a covered one decides
		// itself whether this call needs an approval.
		return nil, nil
	case !confirmation.Confirmed:
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRejected)
	}
	return rec.execute(ctx, r, c, args), nil
}

// unavailable denies every guarded call of a recorder that is off or closed; nil means
// that it is neither.
func (rec *Recorder) unavailable(name string) (denial map[string]any) {
	switch {
	case rec.sink == nil || rec.guard == nil:
		return rec.deny(nil, name, CodeRecorderOff, "contextgraph's recorder is off, so nothing is known of what this call rests on; turning it off does not open a gate")
	case rec.closed.Load():
		return rec.deny(nil, name, CodeClosed, "contextgraph is closed")
	}
	return nil
}

// observe says so when a call that is only observed runs over a verdict that would
// have blocked it.
func (rec *Recorder) observe(ctx agent.Context, name string) {
	if rec.sink == nil || ctx.ToolConfirmation() == nil {
		return
	}
	var r *run
	defer rec.rescue("BeforeTool", &r)
	if r = rec.runs.lookup(ctx); r == nil {
		return
	}
	r.mu.Lock()
	outcome, answered := r.answers[ctx.FunctionCallID()]
	r.mu.Unlock()
	if answered && !outcome.Accepted && ctx.ToolConfirmation().Confirmed {
		rec.log.Warn("contextgraph: a call that is only observed runs although its approval was not accepted; list the tool under guard.tools or wrap it with Protect to block it",
			"tool", name, "reason", outcome.Reason, "approval", outcome.Approval.ID)
	}
}

// otherAnswer is why a call does not run that ADK resumes with another answer than the gate
// took: one to a confirmation that a client made up for the same call, or one that a plugin
// or a callback changed.
const otherAnswer = "it would run with another answer, as with another payload, than the one that approved it"

// saysStill reports whether the confirmation that the tool can see is the answer as said.
func saysStill(ctx agent.Context, said []byte) bool {
	return said != nil && bytes.Equal(asSaid(ctx.ToolConfirmation()), said)
}

// execute decides about a call that a human approved. It returns nil when the
// call may run.
func (rec *Recorder) execute(ctx agent.Context, r *run, c *call, args map[string]any) map[string]any {
	r.mu.Lock()
	answer, ok := r.answers[c.id]
	r.mu.Unlock()
	if !ok {
		return rec.deny(c, c.name, safety.CodeUnknownRequest, "no recorded request was approved for this call in this turn")
	}
	outcome := answer.Outcome
	if !outcome.Accepted {
		return rec.refuse(c, refusalOf(c, outcome))
	}
	if !saysStill(ctx, answer.said) {
		return rec.deny(c, c.name, safety.CodeArgsChanged, otherAnswer)
	}
	c.answer = answer.said
	if denial := rec.queue(ctx, r, c); denial != nil {
		return denial
	}
	passed := false
	defer func() {
		if !passed {
			c.depart()
		}
	}()
	if err := ctx.Err(); err != nil {
		return rec.deny(c, c.name, safety.CodeCanceled, "the run has ended: "+err.Error())
	}
	pctx, cancel := detached(ctx, answerTimeout)
	defer cancel()
	permit, report, err := rec.guard.Permit(pctx, safety.Execution{
		Session: r.session, ApprovalID: outcome.Approval.ID, CallID: c.id, Tool: c.name, Agent: c.agent, RunID: r.id, Args: args,
	})
	rec.verdict(ctx, r, report, "execution", c.span, outcome.Approval)
	if err != nil {
		return rec.refuse(c, err)
	}
	c.permit = permit
	if c.inner {
		// Protect consumes it, innermost.
		passed = true
		return nil
	}
	if err := ctx.Err(); err != nil {
		c.permit = nil
		return rec.deny(c, c.name, safety.CodeCanceled, "the run has ended: "+err.Error())
	}
	if err := permit.Consume(pctx, args); err != nil {
		c.permit = nil
		return rec.refuse(c, err)
	}
	c.digest = outcome.Approval.ArgsDigest
	passed = true
	return nil
}

// refusalOf says why an answer that was not accepted lets nothing run.
func refusalOf(c *call, outcome safety.Outcome) *safety.Refusal {
	message := fmt.Sprintf("The answer to the approval request of %s was not accepted.", c.name)
	switch outcome.Reason {
	case safety.CodeDrift:
		message = fmt.Sprintf("The world has changed since the approval of %s was asked.", c.name)
	case safety.CodeCheckFailed:
		message = fmt.Sprintf("It could not be shown that what %s rests on is unchanged.", c.name)
	case safety.CodeNotAuthorized:
		message = fmt.Sprintf("Whoever approved %s is not allowed to: %s.", c.name, outcome.Detail)
	case safety.CodeExpired:
		message = fmt.Sprintf("The approval request of %s has expired.", c.name)
	}
	return &safety.Refusal{
		Code: outcome.Reason, Message: message, Tool: c.name, ApprovalID: outcome.Approval.ID, Report: outcome.Report,
		Last: outcome.Approval.Last() && (outcome.Reason == safety.CodeDrift || outcome.Reason == safety.CodeBlocked),
	}
}

// refuse turns a refusal of the guard into the result the model gets.
func (rec *Recorder) refuse(c *call, err error) map[string]any {
	var refusal *safety.Refusal
	if !errors.As(err, &refusal) {
		refusal = &safety.Refusal{Code: safety.CodeInternal, Message: err.Error(), Tool: c.name}
	}
	c.refused, c.refusal = err.Error(), refusal
	rec.log.Warn("contextgraph: call refused", "tool", c.name, "code", refusal.Code, "approval", refusal.ApprovalID,
		"alerts", len(refusal.Report.Alerts()), "failures", len(refusal.Report.Failures()))
	return refusal.Map()
}

// deny refuses a call for a reason of the gate itself.
func (rec *Recorder) deny(c *call, name, code, message string) map[string]any {
	refusal := &safety.Refusal{Code: code, Message: fmt.Sprintf("%s was not run: %s.", name, message), Tool: name, Next: setupNext(code)}
	if c != nil {
		c.refused, c.refusal = refusal.Error(), refusal
	}
	rec.log.Warn("contextgraph: call denied", "tool", name, "code", code, "reason", message)
	return refusal.Map()
}

// setupNext is the advice where neither a new plan nor a new approval can help.
func setupNext(code string) string {
	switch code {
	case CodeRecorderOff, CodeClosed, CodeNotRecorded, CodeCannotAsk, CodeUnsupported:
		return "Do not repeat this call. The system is not set up to run it, which only an operator can correct; report that."
	}
	return ""
}

// errOtherArgs is how a call ended that a callback behind the gate changed.
var errOtherArgs = errors.New("a callback of the agent, or the tool, changed the arguments, or the answer, after they were approved; Protect keeps them")

// endPermit is finishPermit for a tool that Protect does not stand around: what it ran
// with, and whether it failed, is seen from outside.
func (rec *Recorder) endPermit(ctx agent.Context, c *call, args map[string]any, err error) {
	if err == nil {
		err = c.failed
	}
	if digest, _, derr := safety.ArgsDigest(args); derr != nil || digest != c.digest || !saysStill(ctx, c.answer) {
		rec.log.Error("contextgraph: an approved call did not run with the arguments, or the answer, that were approved", "tool", c.name, "approval", c.permit.ApprovalID())
		err = errors.Join(errOtherArgs, err)
	}
	rec.finishPermit(ctx, c, err)
}

// finishPermit tells the ledger how the effect ended. One inside of which the gate refused
// a protected tool did not do what it was approved for.
func (rec *Recorder) finishPermit(ctx context.Context, c *call, err error) {
	if err == nil && c.refusal != nil && c.refusal.Code == CodeUnsupported {
		err = c.refusal
	}
	dctx, cancel := detached(ctx, ledgerTimeout)
	defer cancel()
	if derr := c.permit.Done(dctx, err); derr != nil {
		rec.log.Error("contextgraph: the end of an approved call could not be recorded; its approval stays in doubt until a person resolves it",
			"tool", c.name, "approval", c.permit.ApprovalID(), "error", derr)
	}
}
