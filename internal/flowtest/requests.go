// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/adk/v2/workflow"
)

// request is what a person is asked.
type request struct {
	id, session, tool string
	call              string // the id of the guarded call
	input             bool   // by a node of a workflow
	answered          bool
}

// refusal is a guarded call for which nobody was asked.
type refusal struct {
	after  int // requests
	tool   string
	result map[string]any
}

// openRequest returns the request with the number, or the oldest that has no answer, or the last one
// again; nil where there is none.
func (r *run) openRequest(number int) *request {
	at := number - 1
	if number == 0 {
		if at = slices.IndexFunc(r.asked, func(q *request) bool { return !q.answered }); at < 0 {
			at = len(r.asked) - 1
		}
	}
	if at < 0 || at >= len(r.asked) {
		return nil
	}
	r.asked[at].answered = true
	return r.asked[at]
}

// reply returns the answer as a client sends it.
func (q *request) reply(a answer) *genai.FunctionResponse {
	if q.input {
		return &genai.FunctionResponse{ID: q.id, Name: workflow.WorkflowInputFunctionCallName, Response: map[string]any{"response": a.Yes}}
	}
	response, own := map[string]any{"confirmed": a.Yes}, make(map[string]any)
	for key, text := range map[string]string{"change": a.Change, "reason": a.Reason, "override": a.Override} {
		if text != "" {
			own[key] = text
		}
	}
	payload := maps.Clone(a.Payload)
	if len(own) > 0 {
		payload = overlay(payload, map[string]any{"contextgraph": own})
	}
	if payload != nil {
		response["payload"] = payload
	}
	return &genai.FunctionResponse{ID: q.id, Name: toolconfirmation.FunctionCallName, Response: response}
}

// see keeps what an event says about guarded calls.
func (r *run) see(id string, ev *session.Event) {
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		if fc := p.FunctionCall; fc != nil {
			r.seeRequest(id, fc)
		}
		if fr := p.FunctionResponse; fr != nil {
			r.seeResult(fr)
		}
	}
}

func (r *run) seeRequest(id string, fc *genai.FunctionCall) {
	q := &request{id: fc.ID, session: id}
	var shown any
	switch fc.Name {
	case toolconfirmation.FunctionCallName:
		original, _ := fc.Args["originalFunctionCall"].(*genai.FunctionCall)
		if original != nil {
			q.tool, q.call = original.Name, original.ID
		}
		shown = fc.Args["toolConfirmation"]
	case workflow.WorkflowInputFunctionCallName:
		q.input, q.tool, shown = true, fmt.Sprint(fc.Args["message"]), fc.Args
	default:
		return
	}
	r.asked = append(r.asked, q)
	hint, card := shownIn(shown)
	r.note("ASKED   %s: %s", q.tool, hint)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words.Hint = append(r.words.Hint, hint)
	r.words.Card = append(r.words.Card, card)
}

// shownIn returns the hint of a request, and what it shows beside it as JSON.
func shownIn(confirmation any) (hint, card string) {
	if c, ok := confirmation.(toolconfirmation.ToolConfirmation); ok {
		return c.Hint, jsonOf(c.Payload)
	}
	text := jsonOf(confirmation)
	return text, text
}

func (r *run) seeResult(fr *genai.FunctionResponse) {
	r.note("RESULT  %s %s", fr.Name, jsonOf(fr.Response))
	if !r.flow.isGuarded(fr.Name) {
		return
	}
	result, streamed := fr.Response, map[string]any(nil)
	if text, ok := result["error"].(string); ok && json.Unmarshal([]byte(text), &streamed) == nil {
		result = streamed // the refusal of a tool that streams
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words.Result = append(r.words.Result, jsonOf(result))
	if result["status"] != "blocked" {
		return
	}
	r.words.Refusal = append(r.words.Refusal, jsonOf(result))
	asked := slices.ContainsFunc(r.asked, func(q *request) bool { return q.call == fr.ID })
	if result["approval_id"] == nil || !asked { // a refusal may name the approval of an earlier call
		r.refused = append(r.refused, &refusal{after: len(r.asked), tool: fr.Name, result: result})
	}
}
