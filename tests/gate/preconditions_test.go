// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// seller is a system that the effect acts on: it sells while its price has the revision
// that the buyer insists on, or whatever it is now to one who insists on nothing.
type seller struct {
	mu       sync.Mutex
	price    string
	revision int
	sold     []string // the price of each sale
}

func (s *seller) etag() string { return fmt.Sprintf("%q", fmt.Sprint(s.revision)) }

// check is the checker of the seller.
func (s *seller) check(context.Context, entity.Canonical) (safety.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	price, err := entity.ParseMoney(s.price, "USD")
	if err != nil {
		return safety.State{}, err
	}
	return safety.State{AsOf: time.Now(), Version: s.etag(), Attributes: map[string]entity.Value{
		"price": price, "availability": entity.Bool(true),
	}}, nil
}

// set is another buyer, or a price list: whatever moves the world.
func (s *seller) set(price string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.price = price
	s.revision++
}

var errMoved = errors.New("412 Precondition Failed")

func (s *seller) sell(ifMatch string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ifMatch != "" && ifMatch != s.etag() {
		return errMoved
	}
	s.sold = append(s.sold, s.price)
	s.revision++
	return nil
}

func (s *seller) sales() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sold)
}

// storefront has the harness buy from a seller, with an effect that insists on what the check saw.
// before runs in the tool, right before the effect.
func storefront(s *seller, before func(*seller), seen *[]safety.Precondition) cgtest.Option {
	return func(o *cgtest.Options) {
		o.Config.CheckFuncs["Product"] = safety.CheckerFunc(s.check)
		makeBuy := o.MakeBuy
		o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
			h.Effect = func(ctx agent.Context) error {
				*seen = contextgraph.Preconditions(ctx)
				before(s)
				if len(*seen) == 1 {
					return s.sell((*seen)[0].Version)
				}
				return s.sell("")
			}
			if makeBuy != nil {
				return makeBuy(h)
			}
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product"}, h.Buy)
		}
	}
}

// forms are the ways to have a tool run with the permit of Protect.
var forms = map[string]cgtest.Option{
	"protected": cgtest.Unasked,
	"streaming": cgtest.Streamed(functiontool.Config{}),
	"toolset": cgtest.With(cgtest.Unprotected, cgtest.Unasked, cgtest.InToolset(func(cg *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
		return cg.ProtectToolset(ts)
	})),
}

// In the window between the check and the effect the world moves. An effect that insists
// on what the check saw does not take place.
func TestEffectInsistsOnWhatTheCheckSaw(t *testing.T) {
	for form, opt := range forms {
		t.Run(form, func(t *testing.T) {
			s := &seller{price: "$40,000", revision: 7}
			var seen []safety.Precondition
			h := cgtest.New(t, opt, storefront(s, func(s *seller) { s.set("$52,000") }, &seen))
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(1)
			a := h.Approvals(cgtest.SessionID)[0]
			want := []safety.Precondition{{EntityType: "Product", Entity: "Strava Sponsored Routes", Key: a.Entities[0].Key, Version: `"7"`}}
			if !slices.Equal(seen, want) {
				t.Errorf("preconditions %v, want %v", seen, want)
			}
			if got := s.sales(); len(got) > 0 || a.State != safety.StateFailed {
				t.Errorf("sold at %v and %s, want nothing and failed", got, a.State)
			}
		})
	}
}

// A tool that refuses to act without a revision, as docs/checkers.md says, acts on the word of two people who override the
// check of a source that is down, and on nobody else's.
func TestOverrideReachesAToolThatInsists(t *testing.T) {
	s := &seller{price: "$40,000", revision: 7}
	var seen []safety.Precondition
	h := cgtest.New(t, cgtest.Unasked, storefront(s, nil, &seen), known(1), func(o *cgtest.Options) {
		o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{}, &safety.AnswerError{Reason: safety.ReasonSourceDown, Err: errors.New("connection refused")}
		})
	})
	h.Effect = func(ctx agent.Context) error {
		for _, p := range contextgraph.Preconditions(ctx) {
			if p.EntityType != "Product" || p.Entity != "Strava Sponsored Routes" {
				continue
			}
			if p.Overridden {
				return s.sell("")
			}
			return s.sell(p.Version)
		}
		return errors.New("the product has no revision to insist on")
	}
	id, _ := asks(h, "bob")
	for _, who := range []string{"eva", "tom"} {
		if len(s.sales()) > 0 {
			t.Errorf("sold before %s had overridden", who)
		}
		msg := adktest.Answer(id, true)
		msg.Parts[0].FunctionResponse.Response["payload"] = map[string]any{"contextgraph": map[string]any{"override": "by phone"}}
		turn(h, who, msg)
	}
	if a := h.Approvals(cgtest.SessionID)[0]; a.State != safety.StateExecuted || len(s.sales()) != 1 {
		t.Errorf("%s, sold at %v", a.State, s.sales())
	}
}

// A tool that is only listed has no preconditions: it has the context of ADK.
func TestListedToolHasNoPreconditions(t *testing.T) {
	s := &seller{price: "$40,000", revision: 7}
	seen := []safety.Precondition{{}}
	h := cgtest.New(t, cgtest.Listed, storefront(s, func(*seller) {}, &seen))
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(1)
	if seen != nil {
		t.Errorf("preconditions %v", seen)
	}
}

// Only the call that consumed the permit reads its preconditions: neither a call beside
// it does, nor one that it makes, nor a context that is no tool's.
func TestPreconditionsAreOfOneCall(t *testing.T) {
	s := &seller{price: "$40,000", revision: 7}
	var seen, beside, derived, inside []safety.Precondition
	h := cgtest.New(t, cgtest.Unasked, storefront(s, func(*seller) {}, &seen), func(o *cgtest.Options) {
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			beside = append(beside, contextgraph.Preconditions(ctx)...)
			return search(ctx, a)
		}
	})
	effect := h.Effect
	h.Effect = func(ctx agent.Context) error {
		child, cancel := ctx.WithAgentCancel()
		defer cancel()
		derived = contextgraph.Preconditions(child)
		// A tool that this one calls gets a context of its own.
		inside = contextgraph.Preconditions(agent.NewToolContext(ctx, "another call", nil, nil))
		if ctx.FunctionCallID() == "" || ctx.Actions() == nil || ctx.SessionID() != cgtest.SessionID || ctx.ToolConfirmation() == nil {
			t.Error("the context of the call is not whole")
		}
		return effect(ctx)
	}
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	if len(seen) != 1 || !slices.Equal(seen, derived) {
		t.Errorf("preconditions %v, in a derived context %v", seen, derived)
	}
	if beside != nil || inside != nil {
		t.Errorf("other calls read %v and %v", beside, inside)
	}
	if got := contextgraph.Preconditions(nil); got != nil {
		t.Errorf("no context: %v", got)
	}
}
