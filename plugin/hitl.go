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
	"slices"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
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
	enforced, _ := rec.enforced(name)
	var err error
	defer func() {
		if p := recover(); p != nil {
			rec.panics.Add(1)
			err = fmt.Errorf("internal error: %v", p)
		}
		if err == nil {
			return
		}
		rec.log.Error("contextgraph: an approval request could not be recorded", "tool", name, "error", err)
		if enforced {
			refusal = rec.withdraw(ctx, name, err)
		}
	}()
	var approval safety.Approval
	if approval, err = rec.ask(ctx, r, c, args); err != nil {
		return nil
	}
	request.Payload = withSummary(request.Payload, approval.Shown(), enforced)
	actions.RequestedToolConfirmations[c.id] = request
	r.mu.Lock()
	defer r.mu.Unlock()
	c.approval = approval
	c.hitlSpan = newSpanID()
	r.asked[c.id] = c
	return nil
}

func (rec *Recorder) ask(ctx context.Context, r *run, c *call, args map[string]any) (safety.Approval, error) {
	switch {
	case r == nil || c == nil:
		return safety.Approval{}, errNotRecorded
	case rec.guard == nil:
		return safety.Approval{}, errors.New("no guard is configured")
	}
	ctx, cancel := detached(ctx, askTimeout)
	defer cancel()
	return rec.guard.Ask(ctx, safety.Request{
		Session: r.session, CallID: c.id, Tool: c.name, Agent: c.agent,
		InvocationID: r.invocation, RunID: r.id, TraceID: r.traceID, SpanID: c.span, Args: args,
		DecisionNode: graphsync.TechNodeKey(r.session, r.traceID, c.span),
	})
}

// withdraw takes the request back and returns what the model is told instead.
// Deleting it from the actions is the one way to hide it: an error from AfterTool
// does not, and one from OnEvent comes too late.
func (rec *Recorder) withdraw(ctx agent.Context, name string, cause error) map[string]any {
	if actions := ctx.Actions(); actions != nil {
		delete(actions.RequestedToolConfirmations, ctx.FunctionCallID())
		actions.SkipSummarization = false
	}
	return rec.deny(nil, name, CodeNotRecorded, fmt.Sprintf("the approval request could not be recorded (%v), so nobody can be asked", cause))
}

// withSummary adds the summary to a payload that is absent or an object. A payload
// of another kind belongs to the tool and its client and stays as it is, as does an
// object of a Go type of its own where nothing is enforced.
func withSummary(payload any, shown map[string]any, enforced bool) any {
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
	if !enforced {
		return payload
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

// confirmationRequests writes a row for each confirmation that the event asks
// for, and ties the confirmation id to the approval. Only ids that ADK itself
// lists as long-running count: a model can invent a call of that name.
func (rec *Recorder) confirmationRequests(ctx agent.InvocationContext, r *run, ev *session.Event) {
	if ev.Content == nil || len(ev.LongRunningToolIDs) == 0 {
		return
	}
	for _, p := range ev.Content.Parts {
		if p == nil || p.FunctionCall == nil || p.FunctionCall.Name != toolconfirmation.FunctionCallName ||
			!slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID) {
			continue
		}
		rec.confirmationRequest(ctx, r, ev, p.FunctionCall)
	}
}

func (rec *Recorder) confirmationRequest(ctx agent.InvocationContext, r *run, ev *session.Event, fc *genai.FunctionCall) {
	x := row{
		typ: schema.HITLConfirmationRequest, agent: ev.Author, branch: ev.Branch, span: newSpanID(), parent: r.rootSpan,
		content: func(d jsonenc.Doc) {
			d.Open('{')
			d.Str("tool", fc.Name)
			d.Any("args", fc.Args)
			d.Close('}')
		},
	}
	if a := r.agent(ev.Author, ev.Branch); a != nil {
		x.parent = a.id
	}
	callID := ""
	var approval safety.Approval
	if orig, err := toolconfirmation.OriginalCallFrom(fc); err == nil {
		callID = orig.ID
		r.mu.Lock()
		c := r.asked[callID]
		delete(r.asked, callID)
		r.mu.Unlock()
		if c != nil {
			x.span, x.parent, approval = c.hitlSpan, c.span, c.approval
		}
	}
	x.adk = func(d jsonenc.Doc) {
		d.Str("pause_kind", "hitl_confirmation")
		d.OptStr("function_call_id", callID)
		d.Str("confirmation_id", fc.ID)
		d.OptStr("approval_id", approval.ID)
		enforced, _ := rec.enforced(approval.Tool)
		d.Bool("enforced", enforced)
	}
	if approval.ID != "" {
		actx, cancel := detached(ctx, ledgerTimeout)
		defer cancel()
		if err := rec.attach(actx, approval, fc); err != nil {
			// Without its confirmation id the approval cannot be found again, so
			// its answer will be refused.
			rec.log.Error("contextgraph: a confirmation id could not be recorded; the answer to this request will be refused",
				"confirmation_id", fc.ID, "approval", approval.ID, "error", err)
		}
	}
	rec.emit(ctx, r, x)
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

// answers reads the human's answers from a user message, records each and lets
// the guard check the world before it takes an approval.
func (rec *Recorder) answers(ctx agent.InvocationContext, r *run, msg *genai.Content) {
	if msg == nil {
		return
	}
	count := make(map[string]int)
	for _, p := range msg.Parts {
		if p != nil && p.FunctionResponse != nil {
			count[p.FunctionResponse.ID]++
		}
	}
	for _, p := range msg.Parts {
		if p == nil || p.FunctionResponse == nil {
			continue
		}
		fr := p.FunctionResponse
		if fr.Name == toolconfirmation.FunctionCallName {
			rec.answer(ctx, r, fr, count[fr.ID] > 1)
			continue
		}
		rec.resumed(ctx, r, fr)
	}
}

// resumed writes the result that a user message brings for a long-running tool,
// on a span of its own: the tool itself ended in the run that called it.
func (rec *Recorder) resumed(ctx agent.InvocationContext, r *run, fr *genai.FunctionResponse) {
	rec.emit(ctx, r, row{
		typ: schema.ToolCompleted, agent: r.rootAgent, span: newSpanID(), parent: r.rootSpan,
		content: func(d jsonenc.Doc) { responseContent(d, fr) },
		adk: func(d jsonenc.Doc) {
			d.Str("pause_kind", "tool")
			d.OptStr("function_call_id", fr.ID)
		},
	})
}

func responseContent(d jsonenc.Doc, fr *genai.FunctionResponse) {
	d.Open('{')
	d.Str("tool", fr.Name)
	d.Any("result", fr.Response)
	d.Close('}')
}

func (rec *Recorder) answer(ctx agent.InvocationContext, r *run, fr *genai.FunctionResponse, ambiguous bool) {
	confirmation, perr := parseConfirmation(fr.Response)
	var outcome safety.Outcome
	var err error
	switch {
	case ambiguous:
		err = errors.New("the message answers this confirmation more than once")
	case perr != nil:
		err = perr
	case rec.guard == nil:
		err = errors.New("no guard is configured")
	default:
		actx, cancel := detached(ctx, answerTimeout)
		outcome, err = rec.guard.Answer(actx, safety.Answer{
			Session: r.session, ConfirmationID: fr.ID, Confirmed: confirmation.Confirmed, RunID: r.id,
		})
		cancel()
	}
	if err != nil {
		outcome.Accepted = false
		rec.log.Warn("contextgraph: an answer to an approval request was not taken", "confirmation_id", fr.ID, "session", r.session.ID, "error", err)
	}
	approval := outcome.Approval
	if approval.CallID != "" {
		r.mu.Lock()
		r.answers[approval.CallID] = outcome
		r.mu.Unlock()
	}
	rec.emit(ctx, r, row{
		typ: schema.HITLConfirmationRequestCompleted, agent: r.rootAgent, span: r.rootSpan,
		content: func(d jsonenc.Doc) { responseContent(d, fr) },
		adk: func(d jsonenc.Doc) {
			d.Str("pause_kind", "hitl_confirmation")
			d.OptStr("function_call_id", approval.CallID)
			d.Str("confirmation_id", fr.ID)
			d.OptStr("approval_id", approval.ID)
			d.Bool("confirmed", perr == nil && confirmation.Confirmed)
			d.Bool("accepted", outcome.Accepted)
			enforced, _ := rec.enforced(approval.Tool)
			d.Bool("enforced", enforced)
			d.OptStr("reason", string(outcome.Reason))
			d.OptStr("approver", approval.Approver)
			if !approval.RequestedAt.IsZero() {
				d.Int("waited_ms", rec.now().Sub(approval.RequestedAt).Milliseconds())
			}
		},
		message: errText(err),
	})
	rec.verdict(ctx, r, outcome.Report, "answer", r.rootSpan, approval)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// verdict writes the row of a world-change check, a step of the run like any
// other and a node of the graph.
func (rec *Recorder) verdict(ctx context.Context, r *run, report safety.Report, stage, parent string, approval safety.Approval) {
	if report.StartedAt().IsZero() {
		return
	}
	x := row{
		typ: schema.WorldChangeCheck, agent: approval.Agent, span: newSpanID(), parent: parent, at: report.CheckedAt(),
		timed: true, total: report.CheckedAt().Sub(report.StartedAt()),
		content: func(d jsonenc.Doc) { d.Value(report) },
		adk: func(d jsonenc.Doc) {
			d.Str("stage", stage)
			d.OptStr("function_call_id", approval.CallID)
			d.OptStr("confirmation_id", approval.ConfirmationID)
			d.OptStr("approval_id", approval.ID)
			d.Str("verdict", report.Verdict().String())
		},
	}
	if report.CheckFailed() {
		x.failed = true
		x.message = "world-change check failed"
		if f := report.Failures(); len(f) > 0 {
			x.message = fmt.Sprintf("world-change check failed: %s", f[0].Reason)
		}
	}
	rec.emit(ctx, r, x)
}

// parseConfirmation reads an answer exactly as ADK does, or observer and
// framework would disagree on what the human said.
func parseConfirmation(response map[string]any) (c toolconfirmation.ToolConfirmation, err error) {
	if response == nil {
		return c, nil
	}
	data := []byte(nil)
	if v, ok := response["response"]; ok && len(response) == 1 {
		s, ok := v.(string)
		if !ok {
			return c, fmt.Errorf("the answer's response is a %T, not a JSON string", v)
		}
		data = []byte(s)
	} else if data, err = json.Marshal(response); err != nil {
		return c, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return toolconfirmation.ToolConfirmation{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return c, nil
}

// RecordCheck writes the verdict of a check that was made outside of any run,
// under a trace of its own.
func (rec *Recorder) RecordCheck(ctx context.Context, s schema.Session, report safety.Report) {
	r := &run{session: s, traceID: newID()}
	r.common = rec.commonAttributes(r)
	rec.verdict(ctx, r, report, "check", "", safety.Approval{})
}
