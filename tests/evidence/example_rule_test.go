// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The rule of the example finds a budget in a message that is one, and no fault in others.
func TestBudgetInBrief(t *testing.T) {
	text, err := os.ReadFile("../../contextgraph.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, found := strings.Cut(string(text), "budget_in_brief")
	if !found {
		t.Fatal("the example has no rule budget_in_brief")
	}
	_, rule, _ = strings.Cut(rule, `each: "`)
	each, _, _ := strings.Cut(rule, `"`)
	h := cgtest.New(t, cgtest.Covered, func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{
			Name: "budget_in_brief", Event: record.UserMessageReceived, In: config.InContent, Type: "Budget",
			Each: each, Value: "$", ValueType: entity.KindMoney, Currency: "USD",
		})
		o.Config.CheckFuncs["Budget"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{}, nil
		})
	})
	id, _ := h.Ask(cgtest.SessionID)
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v, want it bought: no message was an amount", got)
	}
	for text, want := range map[string]string{
		"$50,000": "$50,000", "$50000": "$50,000", "$5,00": "", "about $50,000": "", "$": "", "2 routes": "",
	} {
		adktest.Run(t, h.Runner, cgtest.User, text, adktest.UserText(text))
		g, err := h.CG.Graph(t.Context(), cgtest.Key(text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range g.Canonical() {
			if e.Type == "Budget" {
				got = e.Value
			}
		}
		if got != want {
			t.Errorf("%q: budget %q, want %q", text, got, want)
		}
	}
}
