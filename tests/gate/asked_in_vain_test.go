// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A model that buys for ever what nobody can approve is told to stop, and then its run ends. Nobody is asked, and no
// source.
func TestModelThatIsAlwaysWithheld(t *testing.T) {
	cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
		var told []map[string]any
		h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
			o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if last := adktest.LastResponse(req); last != nil {
					told = append(told, cgtest.Unstreamed(last.Response))
				}
				if len(told) > 30 {
					t.Error("the run does not end")
					return adktest.Text("Done."), nil
				}
				return adktest.Call("buy", map[string]any{"item": "Throne", "count": len(told) + 1}), nil
			}
		})
		events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a throne"))
		if n := len(adktest.Confirmations(events)); n != 0 || h.Checks.Load() != 0 || len(h.Approvals(cgtest.SessionID)) != 0 {
			t.Errorf("%d requests, %d checks of a source, %d approvals", n, h.Checks.Load(), len(h.Approvals(cgtest.SessionID)))
		}
		h.WantBought(0)
		if len(told) != 10 {
			t.Fatalf("the model was told %d times, want 10", len(told))
		}
		for i, refusal := range told {
			next, _ := refusal["next"].(string)
			if stop := strings.HasPrefix(next, "Stop"); stop != (i == 9) || refusal["reason"] != safety.CodeCheckFailed {
				t.Errorf("refusal %d: %v", i+1, refusal)
			}
		}
		// Whoever looks at the conversation sees why.
		responses := adktest.Responses(events, "buy")
		last := cgtest.Unstreamed(responses[len(responses)-1])
		message, _ := last["message"].(string)
		if last["reason"] != safety.CodeAskedTooOften || !strings.Contains(message, "buy cannot be approved in this turn") || !strings.Contains(message, "Product Throne: not seen") {
			t.Errorf("the run ends with %v", last)
		}
	})
}

// The row of a check before asking says which call it was, and what the model was told because nobody was asked.
func TestWithheldCallIsOnRecord(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = adktest.Script(
			adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("There is one."),
			call("c-7", "buy", cgtest.SameArgs(0)), adktest.Call("buy", cgtest.SameArgs(0)), adktest.Text("Done."),
		).Answer
	})
	h.Say("what is there?")
	h.Shop.Set("$52,000", true)
	request := cgtest.OnlyRequest(t, adktest.Confirmations(h.Say("buy it")))
	rows := rowtest.Of(h.Rows(cgtest.SessionID), record.WorldChangeCheck)
	if len(rows) != 2 {
		t.Fatalf("%d checks are on record, want 2", len(rows))
	}
	withheld, asked := rows[0], rows[1]
	told, _ := rowtest.Attribute(t, withheld, "adk", "told").(string)
	for name, want := range map[string]any{"stage": "asking", "tool": "buy", "call_id": "c-7", "verdict": "drift", "approval_id": nil} {
		if got := rowtest.Attribute(t, withheld, "adk", name); got != want {
			t.Errorf("%s of the call that was withheld: %v, want %v", name, got, want)
		}
	}
	if !strings.Contains(told, "price of Product Strava Sponsored Routes: $40,000 → $52,000") || !strings.Contains(told, "make the same call again") {
		t.Errorf("the row says that the model was told %q", told)
	}
	if rowtest.Attribute(t, asked, "adk", "verdict") != "safe" || rowtest.Attribute(t, asked, "adk", "approval_id") != h.Approvals(cgtest.SessionID)[0].ID {
		t.Errorf("the check of what was asked: %s", asked.Attributes)
	}
	h.Answer(cgtest.SessionID, request.ID, true)
	h.WantBought(1)
}

func call(id, name string, args map[string]any) *model.LLMResponse {
	return adktest.Calls(&genai.FunctionCall{ID: id, Name: name, Args: args})
}
