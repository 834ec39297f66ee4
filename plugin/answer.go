// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

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
		if r.took(fr) {
			continue // on record
		}
		switch kind := pauseOf(fr.Name); kind.completed {
		case "":
			rec.resumed(ctx, r, fr)
		case schema.HITLConfirmationRequestCompleted:
			rec.answer(ctx, r, fr, count[fr.ID] > 1)
		default:
			rec.completed(ctx, r, kind, fr)
		}
	}
}

// resumed writes the result that a user message brings for a long-running tool,
// on a span of its own: the tool itself ended in the run that called it.
func (rec *Recorder) resumed(ctx agent.InvocationContext, r *run, fr *genai.FunctionResponse) {
	rec.emit(ctx, r, row{
		typ: schema.ToolCompleted, agent: r.rootAgent, parent: r.rootSpan,
	}, body{
		content: func(d jsonenc.Doc) { responseContent(d, fr) },
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", fr.ID)
			pauseKeys(d, pauseOf(fr.Name), fr.ID)
			d.Str("result", rec.digest(fr.Response).String())
			rec.waitedFor(ctx, d, fr.ID)
		},
	})
}

// completed writes the credential or the input that a user message brings.
func (rec *Recorder) completed(ctx agent.InvocationContext, r *run, p pause, fr *genai.FunctionResponse) {
	rec.emit(ctx, r, row{typ: p.completed, agent: r.rootAgent, span: r.rootSpan}, body{
		content: func(d jsonenc.Doc) { responseContent(d, fr) },
		adk: func(d jsonenc.Doc) {
			askKeys(d, p, fr.ID)
			d.OptStr("approver", r.session.User)
			rec.waitedFor(ctx, d, fr.ID)
		},
	})
}

func (rec *Recorder) waitedFor(ctx agent.InvocationContext, d jsonenc.Doc, id string) {
	if waited, ok := rec.waited(ctx, id); ok {
		d.Int("waited_ms", waited.Milliseconds())
	}
}

// completions writes what an event, not a user message, brings as the answer to a
// request. No human gave it, so it is never the end of an approval.
func (rec *Recorder) completions(ctx agent.InvocationContext, s *source) {
	if s.Content == nil {
		return
	}
	for _, part := range s.Content.Parts {
		if part == nil || part.FunctionResponse == nil {
			continue
		}
		fr := part.FunctionResponse
		p := pauseOf(fr.Name)
		if p.completed == "" {
			continue
		}
		rec.emitFrom(ctx, s, s.row(p.completed), body{
			content: func(d jsonenc.Doc) { responseContent(d, fr) },
			adk: func(d jsonenc.Doc) {
				askKeys(d, p, fr.ID)
				if p.completed == schema.HITLConfirmationRequestCompleted {
					confirmation, err := parseConfirmation(fr.Response)
					d.Bool("confirmed", err == nil && confirmation.Confirmed)
					d.Bool("accepted", false)
				}
				rec.waitedFor(ctx, d, fr.ID)
			},
		})
	}
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
			Session: r.session, ConfirmationID: fr.ID, Confirmed: confirmation.Confirmed, RunID: r.id, Peer: fromPeer(ctx, r.session),
		})
		cancel()
	}
	if err = answerError(outcome, err); err != nil {
		outcome.Accepted = false
		rec.log.Warn("contextgraph: an answer to an approval request was not taken", "confirmation_id", fr.ID, "session", r.session.ID, "error", err)
	}
	rec.logCause(outcome)
	approval := outcome.Approval
	if approval.CallID != "" {
		r.mu.Lock()
		r.answers[approval.CallID] = answered{outcome, asSaid(&confirmation)}
		r.mu.Unlock()
	}
	rec.emit(ctx, r, row{
		typ: schema.HITLConfirmationRequestCompleted, agent: r.rootAgent, span: r.rootSpan,
		message: errText(err),
	}, body{
		content: func(d jsonenc.Doc) { responseContent(d, fr) },
		adk: func(d jsonenc.Doc) {
			d.Str("pause_kind", "hitl_confirmation")
			d.OptStr("call_id", approval.CallID)
			d.Str("confirmation_id", fr.ID)
			answerKeys(d, outcome)
			d.Bool("confirmed", perr == nil && confirmation.Confirmed)
			d.Bool("accepted", outcome.Accepted)
			enforced, _ := rec.enforced(approval.Tool)
			d.Bool("enforced", enforced)
			if !approval.RequestedAt.IsZero() {
				d.Int("waited_ms", rec.now().Sub(approval.RequestedAt).Milliseconds())
			} else {
				rec.waitedFor(ctx, d, fr.ID)
			}
		},
	})
	rec.verdict(ctx, r, outcome.Report, "answer", r.rootSpan, approval)
}

// answerKeys writes what became of an answer, and who gave it.
func answerKeys(d jsonenc.Doc, out safety.Outcome) {
	d.OptStr("approval_id", out.Approval.ID)
	d.OptStr("reason", out.Reason)
	d.OptStr("approver", out.Approval.Approver)
	if out.Approval.Approver != "" {
		d.Bool("authenticated", out.Authenticated)
	}
}

// answerError is err, or why the answer was not taken where that needs words.
func answerError(out safety.Outcome, err error) error {
	if err == nil && out.Detail != "" {
		return errors.New(out.Detail)
	}
	return err
}

// logCause logs what an authorizer refused with: whoever answered is not told.
func (rec *Recorder) logCause(out safety.Outcome) {
	if out.Cause != nil {
		rec.log.Warn("contextgraph: the authorizer refused an answer, or failed", "approval", out.Approval.ID, "error", out.Cause)
	}
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
		typ: schema.WorldChangeCheck, agent: approval.Agent, parent: parent, at: report.CheckedAt(),
		timed: true, total: report.CheckedAt().Sub(report.StartedAt()),
	}
	b := body{
		content: func(d jsonenc.Doc) { d.Value(report) },
		adk: func(d jsonenc.Doc) {
			d.Str("stage", stage)
			d.OptStr("call_id", approval.CallID)
			d.OptStr("confirmation_id", approval.ConfirmationID)
			d.OptStr("approval_id", approval.ID)
			d.Str("verdict", report.Verdict().String())
			replays(d, report)
		},
	}
	if report.CheckFailed() {
		x.failed = true
		x.message = "world-change check failed"
		if f := report.Failures(); len(f) > 0 {
			x.message = fmt.Sprintf("world-change check failed: %s", f[0].Reason)
		}
	}
	rec.emit(ctx, r, x, b)
}

// answered is what became of an answer, and what it said.
type answered struct {
	safety.Outcome
	said []byte
}

// asSaid returns a confirmation as JSON, nil for one that has no such form. A tool may go
// by its payload, which whoever answers writes: it runs with the one that the gate took.
func asSaid(c *toolconfirmation.ToolConfirmation) []byte {
	data, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	return data
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
	r.common = rec.commonAttributes(r, nil)
	rec.verdict(ctx, r, report, "check", "", safety.Approval{})
}
