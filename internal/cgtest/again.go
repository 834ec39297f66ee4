// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Repeater is a model that searches, buys, and makes the same call again as often as it is
// refused. Next, when set, says what it does about a refusal, nil for that.
type Repeater struct {
	Next  func(refusal map[string]any) *model.LLMResponse
	Stop  bool             // it calls no more once it was told a result
	Told  []map[string]any // the results of its calls
	calls int
}

// Answer is the answer of the model.
func (a *Repeater) Answer(req *model.LLMRequest) (*model.LLMResponse, error) {
	last := adktest.LastResponse(req)
	buy := func() *model.LLMResponse {
		a.calls++
		return adktest.Call("buy", SameArgs(0))
	}
	switch {
	case last == nil:
		return adktest.Call("search", map[string]any{"query": "routes"}), nil
	case last.Name == "search":
		return buy(), nil
	}
	told := Unstreamed(last.Response)
	a.Told = append(a.Told, told)
	if told["status"] != "blocked" || a.Stop || len(a.Told) > 20 {
		return adktest.Text("Done."), nil
	}
	if a.Next != nil {
		if r := a.Next(told); r != nil {
			return r, nil
		}
	}
	return buy(), nil
}

// Last returns the result that the model was told last.
func (a *Repeater) Last() map[string]any { return a.Told[len(a.Told)-1] }

// NewRepeating returns a harness with the model.
func NewRepeating(t *testing.T, m *Repeater, opts ...Option) *Harness {
	return New(t, append(opts, func(o *Options) { o.Answer = m.Answer })...)
}

// Decide answers a request and returns the requests that follow in the same turn.
func (h *Harness) Decide(confirmationID string, yes bool) []*genai.FunctionCall {
	h.T.Helper()
	return adktest.Confirmations(adktest.Run(h.T, h.Runner, User, SessionID, adktest.Answer(confirmationID, yes)))
}

// OnlyRequest returns the one request that there is to be.
func OnlyRequest(t testing.TB, calls []*genai.FunctionCall) *genai.FunctionCall {
	t.Helper()
	if len(calls) != 1 {
		t.Fatalf("%d requests, want one", len(calls))
	}
	return calls[0]
}

// ShownRequest is what a person is shown.
type ShownRequest struct {
	Hint    string         `json:"hint"`
	Payload map[string]any `json:"payload"`
}

// ShownBy returns what the request shows to a person.
func ShownBy(t *testing.T, fc *genai.FunctionCall) (out ShownRequest) {
	t.Helper()
	data, err := json.Marshal(fc.Args["toolConfirmation"])
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// WantStates ends the test unless the approvals of the session have these states. It returns
// the approvals.
func (h *Harness) WantStates(want ...safety.ApprovalState) []safety.Approval {
	h.T.Helper()
	as := h.Approvals(SessionID)
	var got []safety.ApprovalState
	for _, a := range as {
		got = append(got, a.State)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		h.T.Fatalf("approvals (-want +got):\n%s", diff)
	}
	return as
}

// SameArgs returns the arguments of the purchase, whichever attempt it is.
func SameArgs(int) map[string]any {
	return map[string]any{"item": "Strava Sponsored Routes", "count": 1}
}
