// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// credentialCallName is the name under which ADK asks for a credential.
const credentialCallName = "adk_request_credential"

// pause is a kind of wait for something outside of the run.
type pause struct {
	kind string
	// request and completed are the event types of a pause that a human ends; empty
	// for a tool that answers later.
	request, completed string
}

// pauseOf returns the kind of pause that a call of that name is.
func pauseOf(name string) pause {
	switch name {
	case toolconfirmation.FunctionCallName:
		return pause{"hitl_confirmation", record.HITLConfirmationRequest, record.HITLConfirmationRequestCompleted}
	case credentialCallName:
		return pause{"hitl_credential", record.HITLCredentialRequest, record.HITLCredentialRequestCompleted}
	case workflow.WorkflowInputFunctionCallName:
		return pause{"hitl_input", record.HITLInputRequest, record.HITLInputRequestCompleted}
	}
	return pause{kind: "tool"}
}

// pauses writes a row for each call that the event waits for, behind the row of the
// request if a human is asked. Only ids that ADK itself lists as long-running count:
// a model can invent a call of any name.
func (rec *Recorder) pauses(ctx agent.InvocationContext, s *source) {
	if len(s.LongRunningToolIDs) == 0 && s.RequestedInput == nil {
		return
	}
	var known []string
	if s.Content != nil {
		for _, p := range s.Content.Parts {
			if p == nil || p.FunctionCall == nil {
				continue
			}
			fc := p.FunctionCall
			if !slices.Contains(s.LongRunningToolIDs, fc.ID) || slices.Contains(known, fc.ID) {
				continue
			}
			known = append(known, fc.ID)
			rec.paused(ctx, s, fc)
		}
	}
	for _, id := range s.LongRunningToolIDs {
		if slices.Contains(known, id) {
			continue
		}
		known = append(known, id)
		rec.log.Debug("contextgraph: an event waits for a call that it does not hold", "function_call_id", id, "event", s.ID)
		rec.emitFrom(ctx, s, s.row(record.ToolPaused), body{
			content: func(d jsonenc.Doc) {
				d.Open('{')
				d.Any("tool", nil)
				d.Any("args", nil)
				d.Close('}')
			},
			adk: func(d jsonenc.Doc) { pauseKeys(d, pause{kind: "tool"}, id) },
		})
	}
	if in := s.RequestedInput; in != nil && !slices.Contains(known, in.InterruptID) {
		// A node of the host's own may ask without the call that ADK's helper adds.
		args := map[string]any{"interruptId": in.InterruptID, "message": in.Message, "payload": in.Payload}
		if in.ResponseSchema != nil {
			args["responseSchema"] = in.ResponseSchema
		}
		rec.request(ctx, s, &genai.FunctionCall{ID: in.InterruptID, Name: workflow.WorkflowInputFunctionCallName, Args: args})
	}
}

// paused writes the rows of one call that the event waits for. The two of a request
// share its span.
func (rec *Recorder) paused(ctx agent.InvocationContext, s *source, fc *genai.FunctionCall) {
	p := pauseOf(fc.Name)
	x := s.row(record.ToolPaused)
	switch p.request {
	case "":
	case record.HITLConfirmationRequest:
		x.span, x.parent = rec.confirmationRequest(ctx, s, fc)
	default:
		x.span, x.parent = rec.request(ctx, s, fc)
	}
	rec.emitFrom(ctx, s, x, body{
		content: func(d jsonenc.Doc) { callContent(d, fc) },
		adk:     func(d jsonenc.Doc) { pauseKeys(d, p, fc.ID) },
	})
}

func callContent(d jsonenc.Doc, fc *genai.FunctionCall) {
	d.Open('{')
	d.Str("tool", fc.Name)
	d.Any("args", fc.Args)
	d.Close('}')
}

// pauseKeys writes the keys that pair a pause with the result that ends it, with the names of
// the Python plugin. The id is the one that ADK lists. No other row has a function_call_id, so
// a query joins each pause to its own end and to nothing else.
func pauseKeys(d jsonenc.Doc, p pause, id string) {
	d.Str("pause_kind", p.kind)
	d.OptStr("function_call_id", id)
	answerID(d, p, id)
}

// askKeys writes the keys that pair a request to a human with its answer. The call of a
// confirmation is the one to be confirmed; the id does not tell it, so it is not written here.
func askKeys(d jsonenc.Doc, p pause, id string) {
	d.Str("pause_kind", p.kind)
	if p.request != record.HITLConfirmationRequest {
		d.OptStr("call_id", id)
	}
	answerID(d, p, id)
}

// answerID writes the id that pairs a request of a kind with its answer, under the key of
// that kind.
func answerID(d jsonenc.Doc, p pause, id string) {
	switch p.request {
	case record.HITLConfirmationRequest:
		d.OptStr("confirmation_id", id)
	case record.HITLInputRequest:
		d.OptStr("interrupt_id", id)
	}
}

// request writes the row of a request for a credential or an input, on a span of its
// own, which it returns with the one around it.
func (rec *Recorder) request(ctx context.Context, s *source, fc *genai.FunctionCall) (span, parent string) {
	p := pauseOf(fc.Name)
	x := s.row(p.request)
	x.span, x.parent = newSpanID(), s.around()
	rec.emitFrom(ctx, s, x, body{
		content: func(d jsonenc.Doc) { callContent(d, fc) },
		adk:     func(d jsonenc.Doc) { askKeys(d, p, fc.ID) },
	})
	if p.request == record.HITLInputRequest {
		s.inputs = append(s.inputs, InputRequest{fc, x.span})
	}
	return x.span, x.parent
}

// Asked notes that the call asked for a confirmation. The row of the request has a span of its own,
// below the span of the call.
func (r *Run) Asked(c *Call, confirmation Confirmation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.confirmation, c.confirmationSpan = confirmation, newSpanID()
	r.asked[c.ID] = c
}

// AskedBy returns the noted call behind fc, a request for a confirmation in the content of an
// event; nil if no noted call made the request. A model can invent a request. A human waits
// for such a one only under the id of a call of a long-running tool in the same answer.
func (r *Run) AskedBy(c *genai.Content, fc *genai.FunctionCall) *Call {
	orig, err := toolconfirmation.OriginalCallFrom(fc)
	if err != nil || !confirmationsOnly(c) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[orig.ID]
}

// confirmationRequest writes the row of a request for a confirmation.
func (rec *Recorder) confirmationRequest(ctx agent.InvocationContext, s *source, fc *genai.FunctionCall) (span, parent string) {
	r := s.run
	x := s.row(record.HITLConfirmationRequest)
	x.span, x.parent = newSpanID(), s.around()
	callID := ""
	if orig, err := toolconfirmation.OriginalCallFrom(fc); err == nil && confirmationsOnly(s.Content) {
		callID = orig.ID
	}
	var noted Confirmation
	if c := r.AskedBy(s.Content, fc); c != nil {
		x.span, x.parent, noted = c.confirmationSpan, c.Span, c.confirmation
		r.mu.Lock()
		delete(r.asked, callID)
		r.mu.Unlock()
	}
	rec.emitFrom(ctx, s, x, body{
		content: func(d jsonenc.Doc) { callContent(d, fc) },
		adk: func(d jsonenc.Doc) {
			d.Str("pause_kind", "hitl_confirmation")
			d.OptStr("call_id", callID)
			d.Str("confirmation_id", fc.ID)
			d.OptStr("approval_id", noted.ApprovalID)
			d.OptStr("replaces", noted.Replaces)
			d.Bool("enforced", noted.Enforced)
		},
	})
	return x.span, x.parent
}

// confirmationsOnly reports whether a content calls nothing but for confirmations, as ADK's
// requests do.
func confirmationsOnly(c *genai.Content) bool {
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil && p.FunctionCall.Name != toolconfirmation.FunctionCallName {
			return false
		}
	}
	return true
}
