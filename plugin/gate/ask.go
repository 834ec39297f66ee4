// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// PayloadKey is the key under which the summary for the human stands in the
// payload of a confirmation request.
const PayloadKey = "contextgraph"

// asked looks for a request of the call, and records its approval before anyone sees the
// request. If that fails, it withdraws the request of a guarded tool: nobody can approve what
// was not recorded.
func (g *Gate) asked(ctx agent.Context, in *plugin.Run, recorded *plugin.Call, name string, args map[string]any) (refusal map[string]any) {
	actions := ctx.Actions()
	if actions == nil {
		return nil
	}
	request, ok := actions.RequestedToolConfirmations[ctx.FunctionCallID()]
	if !ok {
		return nil
	}
	if in != nil && in.Nested {
		// Nothing waits for an answer that cannot come. Guarded tools do not get here.
		g.log.Warn("contextgraph: a confirmation was asked for inside of an agent that runs as a tool; nobody sees it and the call does not run", "tool", name)
		return nil
	}
	enforced, always := g.enforced(name)
	var t tool.Tool
	if recorded != nil {
		t = recorded.Tool
	}
	if !enforced && !g.observing && g.guard != nil {
		of := ""
		if recorded != nil {
			of = recorded.Agent
		}
		if err := g.report([]*UnguardedError{holeAsks.error(name, of)}); err != nil {
			unask(ctx)
			return g.deny(nil, name, CodeUnsupported, err.Error())
		}
	}
	g.census.asked(name)
	var r *run
	var c *call
	if in != nil && recorded != nil {
		r = g.of(in)
		c = r.call(recorded)
	}
	var err error
	defer func() {
		if p := recover(); p != nil {
			g.panics.Add(1)
			err = fmt.Errorf("internal error: %v", p)
		}
		if err == nil {
			return
		}
		if withheld, is := errors.AsType[*safety.Refusal](err); !is || !withheld.Unasked {
			g.log.Error("contextgraph: an approval request could not be recorded", "tool", name, "error", err)
		}
		if enforced {
			refusal = g.withdraw(ctx, r, c, name, err)
		}
	}()
	if enforced {
		if err = clearArgs(t, args); err != nil {
			return nil
		}
		if c != nil && c.second != nil {
			err = c.second
			return nil
		}
	}
	if c != nil {
		c.question = request
	}
	var approval safety.Approval
	if approval, err = g.ask(ctx, r, c, args, enforced); err != nil {
		return nil
	}
	if approval.Checked != nil {
		g.verdict(ctx, in, *approval.Checked, stageAsking, c.Span, approval, false)
	}
	if enforced && !always {
		g.questions.Add(approval.ID, request)
	}
	if enforced {
		request.Payload = withSummary(request.Payload, approval.Shown())
		request.Hint = approval.Hint(g.ownHint(request.Hint, name, args, approval.NotChecked))
		actions.RequestedToolConfirmations[c.ID] = request
	}
	c.approval = approval
	r.Asked(c.Call, plugin.Confirmation{ApprovalID: approval.ID, Replaces: approval.Replaces, Enforced: enforced})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = make(map[*plugin.Call]*call)
	}
	r.asked[c.Call] = c
	return nil
}

// ask records the approval. The rules for asking again are only for enforced ones.
func (g *Gate) ask(tctx agent.Context, r *run, c *call, args map[string]any, enforced bool) (safety.Approval, error) {
	switch {
	case c == nil:
		return safety.Approval{}, errNotRecorded
	case g.guard == nil:
		return safety.Approval{}, errors.New("no guard is configured")
	}
	ctx, cancel := r.Detach(tctx, askTimeout)
	defer cancel()
	request := g.requestOf(r, c, args)
	if request.Answer == "" {
		return safety.Approval{}, errors.New("no answer of a model is on record that asked for this call")
	}
	request.Chained = enforced
	request.Surroundings = g.surroundings(tctx, ctx, c)
	return g.guard.Ask(ctx, request)
}

// requestOf returns the request for an approval of a guarded call.
func (g *Gate) requestOf(r *run, c *call, args map[string]any) safety.Request {
	answer, after := r.Decided(c.ID, c.Agent, c.Branch, "")
	return safety.Request{
		Session: r.Session, CallID: c.ID, Tool: c.Name, Agent: c.Agent,
		InvocationID: r.Invocation, RunID: r.ID, TraceID: r.TraceID, SpanID: c.Span, Args: args,
		DecisionNode: graphsync.TechNodeKey(r.Session, r.TraceID, c.Span), Answer: answer, After: after,
		Chained: true, Redoes: r.Redoes, Redact: g.redact, Declaration: g.declared(c.Tool),
	}
}

// declared returns a digest of how a tool is declared: its name, its description and its schemas. A
// toolset or a server of tools may change what they mean.
func (g *Gate) declared(t tool.Tool) string {
	if d, ok := t.(interface {
		Declaration() *genai.FunctionDeclaration
	}); ok {
		return g.rec.Digest(d.Declaration())
	}
	return g.rec.Digest([]any{t.Name(), t.Description()})
}

// withdraw takes the request back and returns what the model is told instead.
// Deleting it from the actions is the one way to hide it: an error from AfterTool
// does not, and one from OnEvent comes too late.
func (g *Gate) withdraw(ctx agent.Context, r *run, c *call, name string, cause error) map[string]any {
	unask(ctx)
	var refusal *safety.Refusal
	if errors.As(cause, &refusal) && c != nil {
		refusal = g.withhold(r, c, refusal)
		of := safety.Approval{CallID: c.ID, Agent: c.Agent, Tool: c.Name}
		g.verdict(ctx, r.Run, refusal.Report, stageAsking, c.Span, of, false, plugin.Member{Key: "told", Value: refusal.Message + " " + refusal.Next})
		return g.refuse(r, c, refusal)
	}
	return g.deny(c, name, CodeNotRecorded, "the approval request could not be recorded, so nobody can be asked; the log says why")
}

// unask takes a request for a confirmation back.
func unask(ctx agent.Context) {
	if actions := ctx.Actions(); actions != nil {
		delete(actions.RequestedToolConfirmations, ctx.FunctionCallID())
		actions.SkipSummarization = false
	}
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

// asObject returns v as a JSON object, with its numbers as written. It returns nil for a v that
// cannot be encoded, or whose own method panics.
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
	decoded, _ := jsonenc.Decode(data)
	object, ok = decoded.(map[string]any)
	return object, ok && object != nil
}

// attach ties the requests for a confirmation that an event makes to their approvals.
func (g *Gate) attach(ctx agent.InvocationContext, r *run, ev *session.Event) {
	if ev.Content == nil {
		return
	}
	var known []string
	taken := make(map[string]bool) // ids of enforced calls
	second := make(map[string]bool)
	for _, p := range ev.Content.Parts {
		if p == nil || p.FunctionCall == nil || !slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID) {
			continue
		}
		fc := p.FunctionCall
		if slices.Contains(known, fc.ID) {
			continue // as in the record: whoever answers the id answers its first request
		}
		known = append(known, fc.ID)
		asking := r.AskedBy(ev.Content, fc)
		r.mu.Lock()
		c := r.asked[asking]
		delete(r.asked, asking)
		r.mu.Unlock()
		orig, err := toolconfirmation.OriginalCallFrom(fc)
		if c == nil {
			second[fc.ID] = err == nil && taken[orig.ID]
			continue
		}
		enforced, _ := g.enforced(c.Name)
		taken[c.ID] = enforced
		actx, cancel := plugin.Detach(ctx, ledgerTimeout)
		if err := g.attachOne(actx, c.approval, fc); err != nil {
			// Without its confirmation id the approval cannot be found again, so
			// its answer will be refused.
			g.log.Error("contextgraph: a confirmation id could not be recorded; the answer to this request will be refused",
				"confirmation_id", fc.ID, "approval", c.approval.ID, "error", err)
		}
		cancel()
	}
	// ADK shows the request of a call once more for each other call of the answer with its id.
	ev.Content.Parts = slices.DeleteFunc(ev.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionCall != nil && second[p.FunctionCall.ID]
	})
	ev.LongRunningToolIDs = slices.DeleteFunc(ev.LongRunningToolIDs, func(id string) bool { return second[id] })
}

// attachOne ties the confirmation to the approval, if what the human is shown is the
// call that was recorded: a model may give two calls of a turn the same id.
func (g *Gate) attachOne(ctx context.Context, approval safety.Approval, fc *genai.FunctionCall) error {
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
	return g.guard.Attach(ctx, approval.ID, fc.ID)
}
