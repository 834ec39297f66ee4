// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"errors"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests in this file are named after ways in which a world-change check can approve
// by mistake, those that need a real run; docs/holes.md has them all.

// onlyArguments makes the arguments of the action all that a decision rests on.
func onlyArguments(o *cgtest.Options) {
	cgtest.Covered(o)
	o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{}}, nil
	}
}

// unseenAllowed lets products pass that no result shows.
func unseenAllowed(o *cgtest.Options) {
	o.Config.Guard.Types = map[string]config.TypePolicy{"Product": {Unseen: config.UnseenAllow}}
}

// What a pending request is about stands in its own arguments. It has to be shown by a
// result, unless the policy lets it go unseen, and not be sold out even then, whatever else
// is required.
func TestW14ArgumentsOfTheRequestAreChecked(t *testing.T) {
	for _, require := range []config.Requirement{config.RequireEverything, config.RequireNamed} {
		t.Run(string(require), func(t *testing.T) {
			h := cgtest.New(t, onlyArguments, unseenAllowed, func(o *cgtest.Options) { o.Config.Guard.Require = require })
			id, _ := h.Ask(cgtest.SessionID)
			a := h.Approvals(cgtest.SessionID)[0]
			if len(a.Entities) != 1 || a.Entities[0].Value != "Strava Sponsored Routes" || a.Entities[0].Seen[0].Source != entity.SourceAction {
				t.Fatalf("the request rests on %+v, want what its arguments name", a.Entities)
			}
			h.Shop.Set("$40,000", false)
			if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "blocked" || got["reason"] != safety.CodeDrift {
				t.Errorf("buy answered %v, want it blocked", got)
			}
			h.WantBought(0)
		})
		t.Run("nothing was seen, "+string(require), func(t *testing.T) {
			h := cgtest.New(t, onlyArguments, func(o *cgtest.Options) { o.Config.Guard.Require = require })
			cgtest.WantCheckFailed(t, h, safety.ReasonNothingSeen)
		})
	}
	t.Run("unchanged, and may go unseen", func(t *testing.T) {
		h := cgtest.New(t, onlyArguments, unseenAllowed)
		id, _ := h.Ask(cgtest.SessionID)
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(1)
	})
	t.Run("of a type that nothing checks", func(t *testing.T) {
		h := cgtest.New(t, onlyArguments, func(o *cgtest.Options) {
			for i := range o.Config.Extract {
				if o.Config.Extract[i].In == config.InAction {
					o.Config.Extract[i].Type = "Order"
				}
			}
		})
		cgtest.WantCheckFailed(t, h, safety.ReasonNoChecker)
	})
}

// delegated is an agent whose planner works in a session of its own: what it found comes
// back as the words of a tool.
func delegated(t *testing.T, opts ...cgtest.Option) *cgtest.Harness {
	t.Helper()
	h := cgtest.New(t, opts...)
	planner, err := llmagent.New(llmagent.Config{Name: "planner", Description: "plans", Tools: h.Tools[:1], Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) == nil {
				return adktest.Call("search", map[string]any{"query": "routes"}), nil
			}
			return adktest.Text("Strava Sponsored Routes"), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{h.CG.AgentTool(planner, nil), h.Tools[1]}, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			last := adktest.LastResponse(req)
			switch {
			case last == nil:
				return adktest.Call("planner", map[string]any{"request": "find a route"}), nil
			case last.Name == "planner":
				return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes", "count": 1}), nil
			case last.Name == "buy":
				return adktest.Text("Done."), nil
			}
			return nil, errors.New("the script has no answer for " + last.Name)
		}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Serve(root)
	return h
}

// What an agent in another session found is not evidence here: a decision that rests on
// nothing else is denied. What an agent had read that this session called with AgentTool is;
// what that agent answered is not, even if a rule reads it. TestAgentsWordIsNoReading changes the world.
func TestW16WhatAnotherSessionFoundApprovesNothing(t *testing.T) {
	for guard, test := range map[string]struct {
		opt    cgtest.Option
		reason string
	}{
		"protected": {func(*cgtest.Options) {}, safety.ReasonNoEntities},
		"covered":   {cgtest.Covered, safety.ReasonNothingSeen},
	} {
		t.Run("of the same user, "+guard, func(t *testing.T) {
			h := cgtest.New(t, newMarket(t).open, searchThenBuy().model, test.opt)
			adktest.Run(t, h.Runner, cgtest.User, "s2", adktest.UserText("find"))
			wantRefused(h, settle(h, h.Say("buy it"), nil), test.reason)
		})
	}
	t.Run("of an agent that was called", func(t *testing.T) {
		h := delegated(t)
		id, _ := h.Ask(cgtest.SessionID)
		if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
			t.Errorf("buy answered %v, want it bought: the planner had read what it is", got)
		}
		h.WantBought(1)
		started := 0
		sessions, err := h.Journal().Sessions(t.Context(), journal.SessionsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			rows, err := h.Journal().Events(t.Context(), s.Session)
			if err != nil {
				t.Fatal(err)
			}
			started += len(rowtest.Of(rows, record.InvocationStarting))
		}
		if len(sessions) != 2 || started < 3 {
			t.Errorf("%d sessions with %d runs on record, want the planner's among them", len(sessions), started)
		}
	})
	words := func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "planned", Tool: "planner", Type: "Product", Value: "$.result"})
	}
	t.Run("its words alone", func(t *testing.T) {
		h := delegated(t, words, func(o *cgtest.Options) { o.Config.Extract = o.Config.Extract[1:] })
		cgtest.WantCheckFailed(t, h, safety.ReasonNothingSeen)
	})
}
