// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"fmt"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// beforeTool stands before every tool call, behind all other plugins. Calls
// of tools that are not guarded pass untouched.
func (g *Gate) beforeTool(ctx agent.Context, t tool.Tool, args map[string]any) (result map[string]any, err error) {
	name := t.Name()
	g.noticeAgentTool(t)
	enforced, always := g.enforced(name)
	if !enforced {
		g.observe(ctx, name)
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			g.log.Error("contextgraph: the gate recovered from a panic and denies", "tool", name, "panic", p)
			result, err = g.deny(nil, name, safety.CodeInternal, internalError), nil
		}
	}()
	if denial := g.unavailable(name); denial != nil {
		return denial, nil
	}
	r, c := g.lookup(ctx)
	switch {
	case r == nil:
		return g.deny(nil, name, CodeNotRecorded, errNotRecorded.Error()), nil
	case c == nil:
		return g.deny(nil, name, CodeNotRecorded, "another plugin hid this call from the recorder; register contextgraph's plugins by PluginConfig"), nil
	case r.ShowsLeft:
		return g.deny(c, name, CodeRewound, errRewound.Error()), nil
	case r.Live:
		return g.deny(c, name, CodeCannotAsk, "a live session cannot ask for an approval"), nil
	case r.Nested:
		return g.deny(c, name, CodeCannotAsk, "an agent that runs as a tool cannot ask for an approval, because its run ends with the call; give the tool to the agent that calls it, or make the agent a sub-agent"), nil
	}
	// The tool shows whether Protect stands around it; its name does not, because another
	// tool may have the same one.
	_, c.inner = g.behind(t)
	c.gated = true
	if err := clearArgs(t, args); err != nil {
		return g.deny(c, name, safety.CodeInvalid, err.Error()), nil
	}

	confirmation, again := ctx.ToolConfirmation(), (*toolconfirmation.ToolConfirmation)(nil)
	if confirmation == nil {
		if c.second != nil && always {
			return g.refuse(r, c, c.second), nil
		}
		var refusal map[string]any
		if refusal, again = g.repeated(ctx, r, c, args); refusal != nil {
			return refusal, nil
		}
	}
	switch {
	case confirmation == nil && (always || again != nil) && !c.inner:
		// A call that was refused never runs unasked, whatever the tool decides now. The gate asks
		// with the tool's earlier hint and payload.
		if again == nil {
			again = new(toolconfirmation.ToolConfirmation)
		}
		if err := ctx.RequestConfirmation(cmp.Or(again.Hint, approvalHint(name)), again.Payload); err != nil {
			return g.deny(c, name, CodeCannotAsk, err.Error()), nil
		}
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRequired)
	case confirmation == nil:
		// A protected tool asks by itself, innermost; a covered one decides
		// itself whether this call needs an approval.
		return nil, nil
	case !confirmation.Confirmed:
		answer, _ := r.answerTo(c.ID)
		switch {
		case answer.Reason == safety.CodeChange, answer.resolves:
			return g.refuse(r, c, refusalOf(name, answer.Outcome)), nil
		case answer.Because != "":
			// It stays ADK's own error, which other plugins know, with the reason behind it.
			return nil, fmt.Errorf("error tool %q %w by a person, who says: %s", name, tool.ErrConfirmationRejected, text.Visible(answer.Because))
		}
		return nil, fmt.Errorf("error tool %q %w", name, tool.ErrConfirmationRejected)
	}
	return g.execute(ctx, r, c, args), nil
}

// observe logs a call that runs although its verdict would block it, because the call is only
// observed.
func (g *Gate) observe(ctx agent.Context, name string) {
	if g.guard == nil || ctx.ToolConfirmation() == nil {
		return
	}
	var r *plugin.Run
	defer g.rec.Rescue("BeforeTool", &r)
	if r, _ = g.rec.LookupCall(ctx); r == nil {
		return
	}
	outcome, answered := g.of(r).answerTo(ctx.FunctionCallID())
	if answered && !outcome.Accepted && ctx.ToolConfirmation().Confirmed {
		g.log.Warn("contextgraph: a call that is only observed runs although its approval was not accepted; list the tool under guard.tools or wrap it with Protect to block it",
			"tool", name, "reason", outcome.Reason, "approval", outcome.Approval.ID)
	}
}

// execute decides about a call that a human approved. It returns nil when the
// call may run.
func (g *Gate) execute(ctx agent.Context, r *run, c *call, args map[string]any) map[string]any {
	answer, ok := r.answerTo(c.ID)
	if !ok {
		return g.deny(c, c.Name, safety.CodeUnknownRequest, "no recorded request was approved for this call in this turn")
	}
	outcome := answer.Outcome
	if !outcome.Accepted {
		return g.refuse(r, c, refusalOf(c.Name, outcome))
	}
	if !saysStill(ctx, answer.said) {
		return g.deny(c, c.Name, safety.CodeArgsChanged, otherAnswer)
	}
	c.answer = answer.said
	if denial := g.queue(ctx, r, c); denial != nil {
		return denial
	}
	passed := false
	defer func() {
		if !passed {
			c.unlock()
		}
	}()
	if err := ctx.Err(); err != nil {
		return g.deny(c, c.Name, safety.CodeCanceled, "the run has ended: "+err.Error())
	}
	pctx, cancel := r.Detach(ctx, answerTimeout)
	defer cancel()
	c.was = outcome.Approval.Surroundings
	permit, report, err := g.guard.Permit(pctx, safety.Execution{
		Session: r.Session, ApprovalID: outcome.Approval.ID, CallID: c.ID, Tool: c.Name, Agent: c.Agent, RunID: r.ID, Args: args,
		Changed: g.shownChanged(ctx, c.was), Declaration: g.declared(c.Tool),
		AtOnce: !c.inner, // else Protect consumes the permit, and callbacks of the agent run before
	})
	g.verdict(ctx, r.Run, report, "execution", c.Span, outcome.Approval, permit.Overridden())
	if permit.Overridden() {
		g.log.Error("contextgraph: a call runs although its check failed, because people override a source that is down", "tool", c.Name,
			"session", r.Session.ID, "approval", outcome.Approval.ID, "failures", report.Because())
	}
	if err != nil {
		return g.refuse(r, c, err)
	}
	c.permit = permit
	if c.inner {
		// Protect consumes it, innermost.
		passed = true
		return nil
	}
	if err := ctx.Err(); err != nil {
		c.permit = nil
		return g.deny(c, c.Name, safety.CodeCanceled, "the run has ended: "+err.Error())
	}
	if err := permit.Consume(pctx, args); err != nil {
		c.permit = nil
		return g.refuse(r, c, err)
	}
	c.digest = outcome.Approval.ArgsDigest
	passed = true
	return nil
}

// noticeUnasked says once that a covered tool ran without asking. A tool that was told to ask, or
// that asked before, decides so on purpose.
func (g *Gate) noticeUnasked(ctx agent.Context, r *plugin.Run, c *plugin.Call, t tool.Tool) {
	name := t.Name()
	if enforced, always := g.enforced(name); !enforced || always || g.foreign(t) || g.census.asks(t) || ctx.ToolConfirmation() != nil {
		return
	}
	if own := g.known(r, c); own == nil || !own.gated || own.refused != "" {
		return
	}
	if g.once("unasked " + name) {
		g.log.Warn("contextgraph: a tool with a rule of in: action ran without asking for an approval, so nothing was checked; list it under guard.tools if each of its calls needs one", "tool", name)
	}
}

// noticeAgentTool says once per name that the steps of an agent are not recorded because
// it runs as a tool of ADK's own.
func (g *Gate) noticeAgentTool(t tool.Tool) {
	if !g.rec.Recording() || !adkreflect.IsAgentTool(t) {
		return
	}
	if g.once("unwired " + t.Name()) {
		g.log.Warn("contextgraph: the steps of this agent are not recorded and not guarded, because it runs as a tool with a runner of its own; make the tool with AgentTool in the place of agenttool.New",
			"tool", t.Name())
	}
}
