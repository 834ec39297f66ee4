// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What a plugin declares in a call that is then refused for drift is no reading, however
// little it agrees with the present values that stand in the same row; and it makes an
// entry of a list count, which those values do not.
func TestDeclaredInARefusedCall(t *testing.T) {
	for name, test := range map[string]struct {
		value, price string
		then         string // what is bought in the end
		rises        bool   // the other entry
		refused      string
	}{
		"what is bought, otherwise than it is":        {value: cgtest.Item, price: "$40,000", then: "buy it"},
		"what is bought, as it is":                    {value: cgtest.Item, price: "$80,000", then: "buy it"},
		"another entry of the list":                   {value: other, price: "$9,000", then: "buy it"},
		"another entry of the list, and that changes": {value: other, price: "$9,000", then: "buy it", rises: true, refused: priceChanged},
		"what no tool showed":                         {value: "Yacht", price: "$0", then: "buy a yacht", refused: nothingSeen},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			s := searchThenBuy()
			s["buy a yacht"] = calls("buy", map[string]any{"item": "Yacht", "count": 1})
			var h *cgtest.Harness
			declares := cgtest.DeclaringPlugin(t, &h, entity.Entity{Type: "Product", Value: test.value, Attributes: map[string]entity.Value{"price": cgtest.Money(t, test.price)}})
			h = cgtest.New(t, cgtest.Covered, m.open, s.model, choosing, func(o *cgtest.Options) { o.Plugins = append(o.Plugins, declares) })
			h.Say("find")
			wantRefused(h, settle(h, h.Say("buy it"), m.rise), priceChanged)
			h.Say("find")
			got := settle(h, h.Say(test.then), func() {
				if test.rises {
					m.otherRises()
				}
			})
			wantOutcome(h, test.refused != "", got, test.refused)
		})
	}
}

// clusterAgain is a fleet whose model lists the clusters and deploys, and makes the same call
// again as often as it is refused.
func clusterAgain(t *testing.T, drift, args string, others map[string]any, opts ...cgtest.Option) (*fleet, *cgtest.Harness, *cgtest.Repeater) {
	f := &fleet{free: map[string]any{"a": 64}}
	for name, free := range others {
		f.set(name, free)
	}
	m := &cgtest.Repeater{}
	answer := func(req *model.LLMRequest) (*model.LLMResponse, error) {
		r, err := m.Answer(req)
		if err == nil {
			for _, p := range r.Content.Parts {
				if p.FunctionCall != nil && p.FunctionCall.Name == "buy" {
					p.FunctionCall.Args = deploys(args)
				}
			}
		}
		return r, err
	}
	h := cgtest.New(t, append([]cgtest.Option{f.open, configured(t, clusters(drift)), func(o *cgtest.Options) { o.Answer = answer }}, opts...)...)
	return f, h, m
}

// listsClusters makes the rule over the clusters one of alternatives.
func listsClusters(o *cgtest.Options) {
	for i := range o.Config.Extract {
		if o.Config.Extract[i].Name == "clusters" {
			o.Config.Extract[i].Alternatives = true
		}
	}
}

// A refusal that tells a value which does not meet the condition may be read and asked for
// again, and then says so; nothing runs until the cluster was read anew, with enough.
func TestAskedAgainUnderConditions(t *testing.T) {
	f, h, m := clusterAgain(t, `{at_least: $.cpus}`, `{"jobs":[{"cluster":"a","cpus":8}]}`, map[string]any{"b": 3}, listsClusters)
	id, _ := h.Ask(cgtest.SessionID)
	f.set("a", 7)
	call := cgtest.OnlyRequest(t, h.Decide(id, true))
	if hint := cgtest.ShownBy(t, call).Hint; !strings.HasSuffix(hint, ": a free 64 → 7. Rests on Cluster a 7 free [at least 8]. Not met: free of Cluster a at least 8. Not chosen: Cluster b. Requester: alice (not authenticated).") {
		t.Errorf("hint %q", hint)
	}
	m.Stop = true
	for _, free := range []int{7, 9} {
		f.set("a", free)
		h.Decide(call.ID, true)
		h.WantBought(0)
		if told := encoded(m.Last()); !strings.Contains(told, conditionUnmet) || !strings.Contains(told, "read it again, then ask again") {
			t.Errorf("with %d free the model was told %s", free, told)
		}
	}
	// In a later turn it reads the list again.
	id, _ = h.Ask(cgtest.SessionID)
	f.set("b", 0) // not chosen
	f.set("a", 8)
	h.Decide(id, true)
	h.WantBought(1)
}

// A refusal that a callback rewrites told the model nothing: it has to read what changed.
func TestRewrittenRefusalIsNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		rewrites func(map[string]any) map[string]any
		asked    bool
	}{
		"rewritten": {func(map[string]any) map[string]any { return map[string]any{"status": "blocked", "next": "try again"} }, false},
		"as it was": {func(map[string]any) map[string]any { return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &cgtest.Repeater{}
			h := cgtest.NewRepeating(t, m)
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, Model: h.Model,
				AfterToolCallbacks: []llmagent.AfterToolCallback{func(_ agent.Context, _ tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
					if result["status"] != "blocked" {
						return nil, nil
					}
					return test.rewrites(result), nil
				}}}))
			id, _ := h.Ask(cgtest.SessionID)
			h.Shop.Set("$52,000", true)
			if asked := len(h.Decide(id, true)) == 1; asked != test.asked {
				t.Errorf("asked again: %t; the model was told %v", asked, m.Told)
			}
		})
	}
}

// buysAgain buys, and after a refusal does what then says before it makes the same call
// again.
func buysAgain(then func(*model.LLMRequest) *model.LLMResponse) script {
	s, refused, looked := searchThenBuy(), 0, false
	s["<search"] = func(req *model.LLMRequest) *model.LLMResponse {
		if refused == 0 {
			return adktest.Text("Found.")
		}
		return buys(req)
	}
	s["<buy"] = func(req *model.LLMRequest) *model.LLMResponse {
		switch {
		case adktest.LastResponse(req).Response["status"] != "blocked" || refused > 3:
			return adktest.Text("Done.")
		case then != nil && !looked:
			refused, looked = refused+1, true
			return then(req)
		}
		refused++
		return buys(req)
	}
	return s
}

// What was not chosen stays so when the same call is asked for again, in the same process or
// another; what was looked up by itself in between counts from then on, and the new request
// says so.
func TestAskedAgainWithAlternatives(t *testing.T) {
	for name, test := range map[string]struct {
		then    func(*model.LLMRequest) *model.LLMResponse
		require string
		change  func(*market)
		added   bool
		refused bool
	}{
		"the other changes":                            {nil, "everything", (*market).otherRises, false, false},
		"the chosen one changes":                       {nil, "everything", func(m *market) { m.set(cgtest.Item, "$90,000") }, false, true},
		"the list again, the other changes":            {searches, "everything", (*market).otherRises, false, false},
		"looked up by itself":                          {searchesFor(other), "everything", nil, true, false},
		"looked up by itself, and changes":             {searchesFor(other), "everything", (*market).otherRises, true, true},
		"looked up by itself, listed, and changes":     {searchesFor(other), "listed", (*market).otherRises, true, true},
		"looked up by itself, only named, and changes": {searchesFor(other), "named", (*market).otherRises, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			var types []string
			if test.require == "listed" {
				types = []string{"Product"}
			}
			h := cgtest.New(t, cgtest.Covered, m.open, buysAgain(test.then).model, choosing, required(t, test.require, types...))
			h.Say("find")
			id := cgtest.OnlyRequest(t, adktest.Confirmations(h.Say("buy it"))).ID
			m.rise()
			call := cgtest.OnlyRequest(t, h.Decide(id, true))
			h.WantBought(0)
			as := h.WantStates(safety.StateBlocked, safety.StatePending)
			hint := cgtest.ShownBy(t, call).Hint
			if added := strings.Contains(hint, `new Product "`+other+`"`); added != test.added || strings.Contains(hint, "Not chosen:") == test.added && test.require != "named" {
				t.Errorf("it counts now: %t, hint %q", added, hint)
			}
			if added := len(as[1].Entities) > len(as[0].Entities); added != test.added {
				t.Errorf("%d things count now", len(as[1].Entities))
			}
			if test.change != nil {
				test.change(m)
			}
			h.Answer(cgtest.SessionID, call.ID, true) // the script asks for the third time if it may
			h.WantBought(map[bool]int64{true: 0, false: 1}[test.refused])
			if state := h.Approvals(cgtest.SessionID)[1].State; (state == safety.StateBlocked) != test.refused {
				t.Errorf("the second request is %s", state)
			}
		})
	}
}
