// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"errors"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/journal"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The tests in this file are named after ways in which a world-change check can approve
// by mistake, those that need a real run; docs/holes.md has them all.

// onlyArguments makes the arguments of the action all that a decision rests on.
func onlyArguments(o *options) {
	covered(o)
	o.search = func(agent.Context, searchArgs) (map[string]any, error) { return map[string]any{"items": []any{}}, nil }
}

// unseenAllowed lets products pass that no result shows.
func unseenAllowed(o *options) {
	o.cfg.Guard.Types = map[string]contextgraph.TypeConfig{"Product": {Unseen: safety.UnseenAllow}}
}

// What a pending request is about stands in its own arguments. It has to be shown by a
// result, unless the policy lets it go unseen, and not be sold out even then, whatever else
// is required.
func TestW14ArgumentsOfTheRequestAreChecked(t *testing.T) {
	for _, require := range []safety.Requirement{safety.RequireEverything, safety.RequireNamed} {
		t.Run(require.String(), func(t *testing.T) {
			h := newHarness(t, onlyArguments, unseenAllowed, func(o *options) { o.cfg.Guard.Require = require })
			id, _ := h.ask(sess)
			a := h.approvals(sess)[0]
			if len(a.Entities) != 1 || a.Entities[0].Value != "Strava Sponsored Routes" || a.Entities[0].Seen[0].Source != entity.SourceAction {
				t.Fatalf("the request rests on %+v, want what its arguments name", a.Entities)
			}
			h.world.set("$40,000", false)
			if got := h.answer(sess, id, true); got["status"] != "blocked" || got["reason"] != safety.CodeDrift {
				t.Errorf("buy answered %v, want it blocked", got)
			}
			h.wantBought(0)
		})
		t.Run("nothing was seen, "+require.String(), func(t *testing.T) {
			h := newHarness(t, onlyArguments, func(o *options) { o.cfg.Guard.Require = require })
			wantCheckFailed(t, h, safety.ReasonNothingSeen)
		})
	}
	t.Run("unchanged, and may go unseen", func(t *testing.T) {
		h := newHarness(t, onlyArguments, unseenAllowed)
		id, _ := h.ask(sess)
		h.answer(sess, id, true)
		h.wantBought(1)
	})
	t.Run("of a type that nothing checks", func(t *testing.T) {
		h := newHarness(t, onlyArguments, func(o *options) {
			for i := range o.cfg.Extract {
				if o.cfg.Extract[i].In == graphsync.InAction {
					o.cfg.Extract[i].Type = "Order"
				}
			}
		})
		wantCheckFailed(t, h, safety.ReasonNoChecker)
	})
}

// delegated is an agent whose planner works in a session of its own: what it found comes
// back as the words of a tool.
func delegated(t *testing.T, opts ...option) *harness {
	t.Helper()
	h := newHarness(t, opts...)
	planner, err := llmagent.New(llmagent.Config{Name: "planner", Description: "plans", Tools: h.tools[:1], Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) == nil {
				return adktest.Call("search", map[string]any{"query": "routes"}), nil
			}
			return adktest.Text("Strava Sponsored Routes"), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{h.cg.AgentTool(planner, nil), h.tools[1]}, Model: &adktest.Model{
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
	h.serve(root)
	return h
}

// What an agent in another session found is not evidence here: a decision that rests on
// nothing else is denied. What an agent had read that this session called with AgentTool is;
// what that agent answered is not, even if a rule reads it.
func TestW16WhatAnotherSessionFoundApprovesNothing(t *testing.T) {
	for guard, test := range map[string]struct {
		opt    option
		reason string
	}{
		"protected": {func(*options) {}, safety.ReasonNoEntities},
		"covered":   {covered, safety.ReasonNothingSeen},
	} {
		t.Run("of the same user, "+guard, func(t *testing.T) {
			h := newHarness(t, newMarket(t).open, searchThenBuy().model, test.opt)
			adktest.Run(t, h.runner, user, "s2", adktest.UserText("find"))
			h.wantRefused(h.settle(h.say("buy it"), nil), test.reason)
		})
	}
	t.Run("of an agent that was called", func(t *testing.T) {
		h := delegated(t)
		id, _ := h.ask(sess)
		if got := h.answer(sess, id, true); got["status"] != "bought" {
			t.Errorf("buy answered %v, want it bought: the planner had read what it is", got)
		}
		h.wantBought(1)
		started := 0
		sessions, err := h.cg.Journal().Sessions(t.Context(), journal.SessionsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			rows, err := h.cg.Journal().Events(t.Context(), s.Session)
			if err != nil {
				t.Fatal(err)
			}
			started += len(rowsOf(rows, schema.InvocationStarting))
		}
		if len(sessions) != 2 || started < 3 {
			t.Errorf("%d sessions with %d runs on record, want the planner's among them", len(sessions), started)
		}
	})
	words := func(o *options) {
		o.cfg.Extract = append(o.cfg.Extract, contextgraph.ExtractConfig{Name: "planned", Tool: "planner", Type: "Product", Value: "$.result"})
	}
	for name, opt := range map[string]option{"changed since": func(*options) {}, "changed since, with a rule over its words": words} {
		t.Run(name, func(t *testing.T) {
			h := delegated(t, opt)
			id, _ := h.ask(sess)
			h.world.set("$40,000", false)
			if got := h.answer(sess, id, true); got["status"] != "blocked" || got["reason"] != safety.CodeDrift {
				t.Errorf("buy answered %v, want it blocked", got)
			}
			h.wantBought(0)
		})
	}
	t.Run("its words alone", func(t *testing.T) {
		h := delegated(t, words, func(o *options) { o.cfg.Extract = o.cfg.Extract[1:] })
		wantCheckFailed(t, h, safety.ReasonNothingSeen)
	})
}

// A run of the session that is under way in another process has no end on record yet.
func TestRunUnderWayInAnotherProcessIsAGap(t *testing.T) {
	var cfg contextgraph.Config
	var report safety.Report
	var h *harness
	h = newHarness(t, func(o *options) {
		search := o.search
		o.search = func(ctx agent.Context, a searchArgs) (map[string]any, error) {
			if err := h.cg.Flush(ctx); err != nil {
				return nil, err
			}
			other, err := contextgraph.Open(ctx, cfg) // what is not of this instance is not known to live
			if err != nil {
				return nil, err
			}
			if report, err = other.Check(ctx, key(sess)); err != nil {
				return nil, err
			}
			if err := other.Close(ctx); err != nil {
				return nil, err
			}
			return search(ctx, a)
		}
		cfg = o.cfg
	})
	h.ask(sess)
	found := false
	for _, f := range report.Failures() {
		found = found || f.Reason == safety.ReasonIncompleteRecord
	}
	if !found || report.IsSafeToApprove() {
		t.Errorf("the other instance says\n%s", report.Summary())
	}
	r, err := h.cg.Check(t.Context(), key(sess))
	if err != nil || r.CheckFailed() {
		t.Errorf("this instance says %v\n%s", err, r.Summary())
	}
}
