// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// answers reads the human's answers from a user message, records each and lets
// the guard check the world before it takes an approval.
func (g *Gate) answers(ctx agent.InvocationContext, r *plugin.Run, msg *genai.Content) {
	all := plugin.Responses(msg)
	count, no := make(map[string]int, len(all)), make(map[string]*genai.FunctionResponse)
	for _, fr := range all {
		count[fr.ID]++
		if c, err := plugin.ParseConfirmation(fr.Response); err == nil && !c.Confirmed && no[fr.ID] == nil {
			no[fr.ID] = fr
		}
	}
	for _, fr := range all {
		switch {
		case g.took(r, fr): // on record
		case fr.Name == toolconfirmation.FunctionCallName:
			// Of several answers to one request only a no counts.
			g.answer(ctx, r, fr, count[fr.ID] > 1 && no[fr.ID] != fr)
		default:
			g.rec.Response(ctx, r, fr)
		}
	}
}

func (g *Gate) answer(ctx agent.InvocationContext, r *plugin.Run, fr *genai.FunctionResponse, ambiguous bool) {
	defer g.rec.Rescue("OnUserMessage", &r)
	confirmation, perr := plugin.ParseConfirmation(fr.Response)
	var answer safety.Answer
	if perr == nil {
		answer, perr = saidIn(confirmation)
	}
	var outcome safety.Outcome
	var err error
	switch {
	case ambiguous:
		err = errors.New("the message answers this confirmation more than once")
	case perr != nil:
		err = perr
	case g.guard == nil:
		err = errors.New("no guard is configured")
	default:
		actx, cancel := r.Detach(ctx, answerTimeout)
		answer.Session, answer.ConfirmationID, answer.RunID, answer.Peer = r.Session, fr.ID, r.ID, fromPeer(ctx, r.Session)
		outcome, err = g.guard.Answer(actx, answer)
		cancel()
	}
	if outcome.Reason == safety.CodeChange {
		g.questions.Remove(outcome.Approval.ID) // it is about the plan that is not wanted
	}
	if err = answerError(outcome, err); err != nil {
		outcome.Accepted = false
		g.log.Warn("contextgraph: an answer to an approval request was not taken", "confirmation_id", fr.ID, "session", r.Session.ID, "error", err)
	}
	g.logCause(outcome)
	approval := outcome.Approval
	if approval.CallID != "" {
		g.of(r).noteAnswer(approval.CallID, answered{outcome, asSaid(&confirmation), answer.Resolve != ""})
	}
	x := plugin.Row{
		Type: record.HITLConfirmationRequestCompleted, Agent: r.RootAgent, Span: r.RootSpan, Message: errText(err),
		Content: plugin.ResponseContent(fr), ADK: plugin.Object{{Key: "pause_kind", Value: "hitl_confirmation"}},
	}
	addText(&x.ADK, "call_id", approval.CallID)
	add(&x.ADK, "confirmation_id", fr.ID)
	addAnswer(&x.ADK, outcome)
	addText(&x.ADK, "change", answer.Change)
	addText(&x.ADK, "because", answer.Because)
	addText(&x.ADK, "override", answer.Override)
	add(&x.ADK, "confirmed", perr == nil && confirmation.Confirmed)
	add(&x.ADK, "accepted", outcome.Accepted)
	enforced, _ := g.enforced(approval.Tool)
	add(&x.ADK, "enforced", enforced)
	if !approval.RequestedAt.IsZero() {
		add(&x.ADK, "waited_ms", g.now().Sub(approval.RequestedAt).Milliseconds())
	} else if waited, ok := g.rec.Waited(ctx, fr.ID); ok {
		add(&x.ADK, "waited_ms", waited.Milliseconds())
	}
	g.rec.Emit(ctx, r, x)
	g.verdict(ctx, r, outcome.Report, "answer", r.RootSpan, approval, false)
}

// addAnswer adds what became of an answer, and who gave it.
func addAnswer(o *plugin.Object, out safety.Outcome) {
	addText(o, "approval_id", out.Approval.ID)
	addText(o, "reason", out.Reason)
	addText(o, "approver", out.By)
	if out.By != "" {
		add(o, "authenticated", out.Authenticated)
	}
	people, override := []string{}, false
	for _, c := range out.Approval.Consents {
		people, override = append(people, c.Who), override || c.Override != ""
	}
	if out.Approval.Approvers > 1 || override { // else the approver says it all
		add(o, "consents", people)
		add(o, "approvers", max(out.Approval.Approvers, 1))
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
func (g *Gate) logCause(out safety.Outcome) {
	if out.Cause != nil {
		g.log.Warn("contextgraph: the authorizer refused an answer, or failed", "approval", out.Approval.ID, "error", out.Cause)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
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

// noteAnswer remembers an answer until the run ends.
func (r *run) noteAnswer(call string, a answered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers = make(map[string]answered)
	}
	r.answers[call] = a
}

// took reports whether the run's message brought that answer to a guarded input.
func (g *Gate) took(r *plugin.Run, fr *genai.FunctionResponse) bool {
	return slices.ContainsFunc(g.inputsTaken(r), func(in *input) bool { return in.response == fr })
}

// otherAnswer is why a call does not run that ADK resumes with another answer than the gate
// took: one to a confirmation that a client made up for the same call, or one that a plugin
// or a callback changed.
const otherAnswer = "it would run with another answer, as with another payload, than the one that approved it"

// saysStill reports whether the confirmation that the tool can see is the answer as said.
func saysStill(ctx agent.Context, said []byte) bool {
	return said != nil && bytes.Equal(asSaid(ctx.ToolConfirmation()), said)
}
