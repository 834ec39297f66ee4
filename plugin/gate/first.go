// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/plugin"
)

// The callbacks in this file stand in the first plugin, in the place of the recorder's. Each
// has the recorder record its step. It also does the work of the gate that must come before
// any other plugin.

// onUserMessage looks at the answers in the message of a run. With an error the run does not
// start: the answer to a guarded input is refused, and no other gate stands behind it.
func (g *Gate) onUserMessage(ctx agent.InvocationContext, msg *genai.Content) (_ *genai.Content, err error) {
	r, broken := g.rec.UserMessage(ctx, msg)
	if broken != nil {
		// A panic lets no answer pass that nobody looked at. A run that it keeps from
		// beginning has done nothing, so its record ends here and lacks nothing.
		err = g.unseenInputs(msg)
	} else {
		err = g.takeInputs(ctx, r, msg)
	}
	switch {
	case err != nil:
		if r != nil {
			g.rec.TurnAway(ctx, r, err)
		}
		return nil, err
	case broken != nil:
		// A check would go by a record that is not whole, so no answer is taken.
		g.rec.Miss(r)
	default:
		g.answers(ctx, r, msg)
	}
	if r != nil {
		g.rec.Rest(r)
	}
	return nil, nil
}

// onEvent ties the requests of an event to their approvals, and asks for the approvals of guarded
// inputs. An error withdraws the event.
func (g *Gate) onEvent(ctx agent.InvocationContext, ev *session.Event) (*session.Event, error) {
	if ev != nil && !ev.LLMResponse.Partial {
		g.beforeEvent(ctx, ev)
	}
	inputs := g.rec.OnEvent(ctx, ev)
	if len(inputs) == 0 {
		return nil, nil
	}
	return nil, g.askInputs(ctx, ev, inputs)
}

func (g *Gate) beforeEvent(ctx agent.InvocationContext, ev *session.Event) {
	var r *plugin.Run
	defer g.rec.Rescue("OnEvent", &r)
	called, withdrawn := g.callsIn(ev), plugin.Withdrawn(ev)
	if len(called) == 0 && len(ev.LongRunningToolIDs) == 0 && len(withdrawn) == 0 {
		return
	}
	if r = g.rec.Lookup(ctx); r == nil {
		return
	}
	own := g.of(r)
	own.noteCalls(called)
	if len(ev.LongRunningToolIDs) > 0 {
		g.attach(ctx, own, ev)
	}
	for _, id := range withdrawn {
		wctx, cancel := plugin.Detach(ctx, ledgerTimeout)
		if err := g.guard.Withdraw(wctx, r.Session, id); err != nil {
			g.log.Warn("contextgraph: a request that nobody has to answer any more stays open", "confirmation_id", id, "error", err)
		}
		cancel()
	}
}

// offerTools has the recorder record a request as offered, and then puts the observers around
// the tools that a check may call again.
func (g *Gate) offerTools(record func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error)) func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
	return func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
		var r *plugin.Run
		defer g.rec.Rescue("BeforeModel", &r)
		resp, err := record(ctx, req)
		g.observeReads(req)
		return resp, err
	}
}

// toolBegins records a call, with a note whether it can be repeated.
func (g *Gate) toolBegins(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
	var r *plugin.Run
	defer g.rec.Rescue("BeforeTool", &r)
	note, digest := g.replayNote(t, args)
	r, c := g.rec.BeforeTool(ctx, bare(t), args, note)
	if c != nil && digest != "" {
		g.of(r).call(c).replay = digest
	}
	enforced, _ := g.enforced(t.Name())
	if enforced && c != nil && ctx.ToolConfirmation() == nil {
		own := g.of(r)
		own.call(c).second = own.secondOf(own.call(c), args)
	}
	if enforced && r != nil && !r.Admitted() {
		// The last plugin would have said so before anything ran.
		var own *call
		if c != nil {
			own = g.of(r).call(c)
		}
		return g.deny(own, t.Name(), CodeCannotAsk, "the runner has contextgraph's first plugin and not its last; give it PluginConfig: cg.PluginConfig(others...), and change nothing in the result"), nil
	}
	return nil, nil
}

// toolEnds records the end of a call. If the call asked for an approval, it records the request first: the row of the
// end has what the model is told in the place of a request that is withdrawn. The two stand apart: a failure to write
// the row must not let a request through that nobody recorded.
func (g *Gate) toolEnds(ctx agent.Context, t tool.Tool, args, result map[string]any, err error) (map[string]any, error) {
	r, known := g.underway(ctx)
	var refusal map[string]any
	if known != nil {
		refusal = g.asked(ctx, r, known, t.Name(), args)
	}
	if refusal != nil {
		if result, err = refusal, nil; isStream(t) {
			result = streamed(refusal)
		}
	}
	r, c := g.recordEnd(ctx, t, args, result, err)
	if known == nil || c == nil && refusal == nil {
		refusal = g.asked(ctx, r, c, t.Name(), args)
	}
	if refusal == nil && err == nil {
		g.noticeUnasked(ctx, r, c, t)
	}
	g.forget(r, c)
	return refusal, nil
}

// underway returns the run and the call of a callback, nil where they are not on record.
func (g *Gate) underway(ctx agent.Context) (r *plugin.Run, c *plugin.Call) {
	defer g.rec.Rescue("AfterTool", &r)
	return g.rec.LookupCall(ctx)
}

// recordEnd records the end of a call and returns the run and the call. The run is nil where
// there is none, and the call where it is not on record.
func (g *Gate) recordEnd(ctx agent.Context, t tool.Tool, args, result map[string]any, err error) (r *plugin.Run, c *plugin.Call) {
	defer g.rec.Rescue("AfterTool", &r)
	if r, c = g.rec.LookupCall(ctx); r == nil {
		return nil, nil
	}
	own := g.known(r, c)
	var end plugin.End
	if own != nil {
		if own.permit != nil && !own.inner {
			g.endPermit(ctx, own, args, err)
		}
		end = g.of(r).endOf(own, args)
		g.of(r).noteRefusal(own, args, err)
	}
	c = g.rec.EndTool(ctx, r, c, bare(t), args, result, err, end)
	return r, c
}

// endOf returns the gate's part of the row that ends a call. Later reads of the state do not
// count for the call.
func (r *run) endOf(c *call, args map[string]any) plugin.End {
	end := plugin.End{Refused: c.refused, Replay: c.replayEnd(args)}
	if c.refusal != nil && !c.repeated {
		end.Told = told(c.refusal.Report)
	}
	if c.executed {
		end.Approval = c.permit.ApprovalID()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.done = true
	end.State = c.state
	return end
}
