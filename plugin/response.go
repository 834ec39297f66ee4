// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/adk-contextgraph/contextgraph/internal/jsonenc"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Responses returns what a message, or the content of an event, answers.
func Responses(msg *genai.Content) (responses []*genai.FunctionResponse) {
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

// Response records one answer in the user message of a run: the result of a long-running
// tool, a credential, an input, or a confirmation that no gate takes.
func (rec *Recorder) Response(ctx agent.InvocationContext, r *Run, fr *genai.FunctionResponse) {
	defer rec.Rescue("OnUserMessage", &r)
	if p := pauseOf(fr.Name); p.completed == "" {
		rec.resumed(ctx, r, fr)
	} else {
		rec.completed(ctx, r, p, fr)
	}
}

// resumed writes the result that a user message brings for a long-running tool,
// on a span of its own: the tool itself ended in the run that called it. Any client can send one, so it
// is given, and no reading.
func (rec *Recorder) resumed(ctx agent.InvocationContext, r *Run, fr *genai.FunctionResponse) {
	digest := rec.digest(fr.Response)
	out := rec.emit(ctx, r, row{
		typ: record.ToolCompleted, agent: r.RootAgent, parent: r.RootSpan,
	}, body{
		content: ResponseContent(fr).write,
		adk: func(d jsonenc.Doc) {
			d.OptStr("call_id", fr.ID)
			pauseKeys(d, pauseOf(fr.Name), fr.ID)
			d.Str("given", givenByClient)
			resultKeys(d, digest, jsonenc.Digest{})
			rec.waitedFor(ctx, d, fr.ID)
		},
	})
	rec.explain(r.Session, fr.Name, digest, out)
}

// completed writes the answer of a human that a user message brings.
func (rec *Recorder) completed(ctx agent.InvocationContext, r *Run, p pause, fr *genai.FunctionResponse) {
	rec.emit(ctx, r, row{typ: p.completed, agent: r.RootAgent, span: r.RootSpan}, body{
		content: ResponseContent(fr).write,
		adk: func(d jsonenc.Doc) {
			askKeys(d, p, fr.ID)
			d.OptStr("approver", r.Session.User)
			notAccepted(d, p, fr)
			rec.waitedFor(ctx, d, fr.ID)
		},
	})
}

// completions writes what an event, not a user message, brings as the answer to a
// request. No human gave it, so it is never the end of an approval.
func (rec *Recorder) completions(ctx agent.InvocationContext, s *source) {
	for _, fr := range Responses(s.Content) {
		p := pauseOf(fr.Name)
		if p.completed == "" {
			continue
		}
		rec.emitFrom(ctx, s, s.row(p.completed), body{
			content: ResponseContent(fr).write,
			adk: func(d jsonenc.Doc) {
				askKeys(d, p, fr.ID)
				notAccepted(d, p, fr)
				rec.waitedFor(ctx, d, fr.ID)
			},
		})
	}
}

// notAccepted writes that nobody took the answer to a request for a confirmation.
func notAccepted(d jsonenc.Doc, p pause, fr *genai.FunctionResponse) {
	if p.completed != record.HITLConfirmationRequestCompleted {
		return
	}
	confirmation, err := ParseConfirmation(fr.Response)
	d.Bool("confirmed", err == nil && confirmation.Confirmed)
	d.Bool("accepted", false)
}

// ResponseContent returns the content of a row that records an answer.
func ResponseContent(fr *genai.FunctionResponse) Object {
	return Object{{"tool", fr.Name}, {"result", fr.Response}}
}

func (rec *Recorder) waitedFor(ctx agent.InvocationContext, d jsonenc.Doc, id string) {
	if waited, ok := rec.Waited(ctx, id); ok {
		d.Int("waited_ms", waited.Milliseconds())
	}
}

// Waited returns the time since the session's event that waits for the call of that id,
// whichever process recorded the event.
func (rec *Recorder) Waited(ctx agent.InvocationContext, id string) (time.Duration, bool) {
	sess := ctx.Session()
	if id == "" || sess == nil || sess.Events() == nil {
		return 0, false
	}
	events := sess.Events()
	for i := events.Len() - 1; i >= 0; i-- {
		ev := events.At(i)
		if ev == nil {
			continue
		}
		if slices.Contains(ev.LongRunningToolIDs, id) || ev.RequestedInput != nil && ev.RequestedInput.InterruptID == id {
			return max(rec.now().Sub(ev.Timestamp), 0), true
		}
	}
	return 0, false
}

// ParseConfirmation reads an answer exactly as ADK does, or observer and
// framework would disagree on what the human said.
func ParseConfirmation(response map[string]any) (c toolconfirmation.ToolConfirmation, err error) {
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

// answers reports whether a content is the answer of a model, and not the result of a tool. ADK
// runs the calls in an answer, whatever its role and its other parts.
func answers(c *genai.Content) bool {
	for _, p := range c.Parts {
		if p != nil && p.FunctionCall != nil {
			return true
		}
	}
	return c.Role != genai.RoleUser && len(Responses(c)) == 0
}
