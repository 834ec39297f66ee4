// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// other is a product that is listed beside item, and that nobody buys unless a test says so.
const other = "Superbowl Spot"

// choosing makes the rule over the results of search one of alternatives.
func choosing(o *options) { o.cfg.Extract[0].Alternatives = true }

// twoProducts is a market whose search lists two products.
func twoProducts(t testing.TB) *market {
	m := newMarket(t)
	m.set(other, "$9,000")
	return m
}

func (m *market) otherRises() { m.set(other, "$19,000") }

// searchesFor has the model look for one product, by its name.
func searchesFor(name string) func(*model.LLMRequest) *model.LLMResponse {
	return calls("search", map[string]any{"query": name})
}

// notChosen returns what the report of the last approval says of it.
func (h *harness) notChosen() (n safety.NotChosen) {
	h.t.Helper()
	var report struct {
		NotChosen safety.NotChosen `json:"not_chosen"`
	}
	if err := json.Unmarshal([]byte(h.report()), &report); err != nil {
		h.t.Fatal(err)
	}
	return report.NotChosen
}

// What a result lists beside the chosen entry does not count, if the rule says so; the
// request and the report name it.
func TestAlternativeDoesNotCount(t *testing.T) {
	for name, test := range map[string]struct {
		opt     option
		change  func(*market)
		refused bool
	}{
		"another changes":                       {choosing, (*market).otherRises, false},
		"the chosen one changes":                {choosing, (*market).rise, true},
		"another changes, without alternatives": {func(*options) {}, (*market).otherRises, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, covered, m.open, searchThenBuy().model, test.opt)
			h.say("find")
			got := h.settle(h.say("buy it"), func() { test.change(m) })
			h.want(test.refused, got, priceChanged)
			a := h.approvals(sess)[0]
			if !h.choosing() {
				if a.NotChosen.Total != 0 || a.Shown()["not_chosen"] != nil || strings.Contains(h.report(), "not_chosen") {
					t.Errorf("something was not chosen: %+v", a.NotChosen)
				}
				return
			}
			for what, n := range map[string]safety.NotChosen{"approval": a.NotChosen, "report": h.notChosen()} {
				if n.Total != 1 || len(n.Entities) != 1 || n.Entities[0].Value != other || n.Entities[0].Seen["price"] != money(t, "$9,000") {
					t.Errorf("the %s does not name what was not chosen: %+v", what, n)
				}
			}
			if text := encoded(a.Shown()["not_chosen"]); !strings.Contains(text, other) || !strings.Contains(text, "$9,000") {
				t.Errorf("the request does not show what was not chosen: %s", text)
			}
			if len(a.Entities) != 1 {
				t.Errorf("%d entities count, want the chosen one", len(a.Entities))
			}
			shapes, err := contract.LoadShapes()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range h.rows(sess) {
				for _, f := range shapes.Check(&e, contract.Ours) {
					t.Errorf("%s: %s", e.EventType, f)
				}
			}
		})
	}
}

// choosing reports whether any approval of the session left something out.
func (h *harness) choosing() bool {
	return h.approvals(sess)[0].NotChosen.Total > 0
}

// The attacks and accidents that must not take an entity out of the check.
func TestWhatIsNoAlternative(t *testing.T) {
	type setup struct {
		m *market
		s script
		o *options
	}
	rule := func(o *options, change func(*contextgraph.ExtractConfig)) {
		r := o.cfg.Extract[0]
		r.Name = "also"
		change(&r)
		o.cfg.Extract = append(o.cfg.Extract, r)
	}
	for name, test := range map[string]struct {
		set   func(setup)
		turns []string
		want  string // in what the refusal says
	}{
		"a list without the chosen entry": {func(x setup) {
			x.s["look"] = searchesFor(other)
		}, []string{"find", "look"}, `says alternatives: row `},
		"a second rule over the same result does not say so": {func(x setup) {
			rule(x.o, func(r *contextgraph.ExtractConfig) { r.Alternatives = false })
		}, []string{"find"}, `write alternatives: true in rule "also"`},
		"the entry that the action names is shown by another rule": {func(x setup) {
			x.o.cfg.Extract[0].Each = "$.items[1:]"
			rule(x.o, func(r *contextgraph.ExtractConfig) { r.Each = "$.items[0]" })
		}, []string{"find"}, `says alternatives: row `},
		"the user names it": {func(x setup) {
			rule(x.o, func(r *contextgraph.ExtractConfig) {
				*r = contextgraph.ExtractConfig{Name: "said", Event: "USER_MESSAGE_RECEIVED", Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"}
			})
			x.s[other] = says("A fine one.")
		}, []string{"find", other}, `because rule "said" names it in row `},
		"a tool is called with it": {func(x setup) {
			rule(x.o, func(r *contextgraph.ExtractConfig) {
				*r = contextgraph.ExtractConfig{Name: "asked", Tool: "search", In: graphsync.InArgs, Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"}
			})
			x.s["look"] = searchesFor(other)
			search := x.o.search
			x.o.search = func(ctx agent.Context, a searchArgs) (map[string]any, error) { return search(ctx, searchArgs{}) }
		}, []string{"find", "look"}, `because rule "asked" names it in row `},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			s := searchThenBuy()
			h := newHarness(t, covered, m.open, s.model, choosing, func(o *options) { test.set(setup{m, s, o}) })
			for _, text := range test.turns {
				h.say(text)
			}
			got := h.settle(h.say("buy it"), m.otherRises)
			h.wantRefused(got, priceChanged)
			if text := got["alerts"].([]any)[0].(map[string]any)["recommendation"].(string); !strings.Contains(text, test.want) {
				t.Errorf("the alert does not say %q: %s", test.want, text)
			}
		})
	}
}

// A block by an entity that the action does not name says which rule shows it, where the
// rule stands, and what to write there.
func TestBlockNamesTheRuleOfAnAlternative(t *testing.T) {
	const list = `
extract:
  - name: offers
    tool: search
    each: $.items[*]
    type: Product
    value: $.name
    attributes:
      price: {path: $.price, type: money, currency: USD}
`
	const bought = `
  - {name: bought, tool: buy, in: action, type: Product, value: $.item}
`
	for name, test := range map[string]struct {
		text, want string
	}{
		"a rule of a file":       {list + bought, `"buy" does not name it: if these are only a choice, write alternatives: true in rule "offers" (test.yaml:3).`},
		"no rule for the action": {list, `"buy" does not name it, nor any other Product: if these are only a choice, add a rule with in: action that finds the chosen one in the arguments, and write alternatives: true in rule "offers" (test.yaml:3).`},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, listed, m.open, searchThenBuy().model, func(o *options) { o.cfg.Extract = nil }, configured(t, test.text))
			h.say("find")
			got := h.settle(h.say("buy it"), m.otherRises)
			h.wantRefused(got, priceChanged)
			if text := got["alerts"].([]any)[0].(map[string]any)["recommendation"].(string); !strings.HasSuffix(text, " "+test.want) {
				t.Errorf("the alert does not end in %q: %s", test.want, text)
			}
		})
	}
	t.Run("a failure says it too", func(t *testing.T) {
		m := twoProducts(t)
		h := newHarness(t, covered, m.open, searchThenBuy().model, func(o *options) {
			o.cfg.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
				if e.Value == other {
					return safety.State{}, context.DeadlineExceeded
				}
				return m.check(ctx, e)
			})
		})
		h.say("find")
		got := h.settle(h.say("buy it"), nil)
		h.wantRefused(got, safety.ReasonTimeout)
		const want = `"buy" does not name it: if these are only a choice, write alternatives: true in rule "found".`
		if text := got["failures"].([]any)[0].(map[string]any)["detail"].(string); !strings.HasSuffix(text, want) {
			t.Errorf("the failure does not end in %q: %s", want, text)
		}
	})
}

// A plan whose choice is gone can be replaced by another entry of the same list: what the
// refusal told of the first choice, and that another call named it, does not make it count.
func TestAnotherChoiceAfterARefusal(t *testing.T) {
	for name, change := range map[string]func(*market){
		"the new choice holds": nil, "the new choice changes": (*market).otherRises,
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			s := searchThenBuy()
			s["buy the other"] = calls("buy", map[string]any{"item": other, "count": 1})
			h := newHarness(t, covered, m.open, s.model, choosing)
			h.say("find")
			h.wantRefused(h.settle(h.say("buy it"), m.rise), priceChanged)
			got := h.settle(h.say("buy the other"), func() {
				if change != nil {
					change(m)
				}
			})
			h.want(change != nil, got, priceChanged)
			if n := h.notChosen(); n.Total != 1 || n.Entities[0].Value != item || n.Entities[0].Seen["price"] != money(t, "$80,000") {
				t.Errorf("the first choice is not named with its present price: %+v", n)
			}
		})
	}
}

// An agent that runs as a tool lists what its caller chooses from.
func TestAlternativesOfAnAgentTool(t *testing.T) {
	for name, test := range map[string]struct {
		model   *[]func(*model.LLMRequest) *model.LLMResponse
		opt     option
		refused bool
	}{
		"a list":                        {&[]func(*model.LLMRequest) *model.LLMResponse{searches, says("Two.")}, func(*options) {}, false},
		"and a list without the chosen": {&[]func(*model.LLMRequest) *model.LLMResponse{searchesFor(other), searches, says("Two.")}, func(*options) {}, true},
		"what it was asked for counts too": {&[]func(*model.LLMRequest) *model.LLMResponse{searches, says("Two.")}, func(o *options) {
			o.cfg.Extract = append(o.cfg.Extract, contextgraph.ExtractConfig{Name: "said", Event: "USER_MESSAGE_RECEIVED", Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, covered, m.open, choosing, test.opt)
			planner := mustAgent(t, llmagent.Config{Name: "planner", Description: "plans", Tools: h.tools[:1], Model: scripted(*test.model...)})
			h.serve(root(t, scripted(calls("planner", map[string]any{"request": other}), buys, says("Done.")), h.cg.AgentTool(planner, nil), h.tools[1]))
			h.want(test.refused, h.settle(h.say("buy"), m.otherRises), priceChanged)
			if n := h.notChosen(); (n.Total == 0) != test.refused {
				t.Errorf("not chosen: %+v", n)
			}
		})
	}
}

// What was not chosen is not there for a budget over everything, nor for a listed type.
func TestNotChosenIsNotThere(t *testing.T) {
	t.Run("a budget sums what counts", func(t *testing.T) {
		for name, test := range map[string]struct {
			opt     option
			refused bool
		}{"with alternatives": {choosing, false}, "without": {func(*options) {}, true}} {
			t.Run(name, func(t *testing.T) {
				m := twoProducts(t)
				m.mu.Lock()
				m.budget = "$45,000"
				m.mu.Unlock()
				s := searchThenBuy()
				s["budget"], s["<budget"] = calls("budget", map[string]any{"query": "x"}), says("Enough.")
				h := newHarness(t, covered, m.open, s.model, test.opt, func(o *options) {
					o.cfg.Guard.Budgets = []contextgraph.BudgetConfig{{
						Cost: contextgraph.CostConfig{Type: "Product", Attribute: "price"}, Limit: contextgraph.LimitConfig{Type: "Budget", Attribute: "amount"}, Everything: true,
					}}
				})
				h.say("find")
				h.say("budget")
				h.want(test.refused, h.settle(h.say("buy it"), nil))
			})
		}
	})
	t.Run("a listed type needs one that counts", func(t *testing.T) {
		// The action buys an Offer. It names no Product of the list.
		m := twoProducts(t)
		h := newHarness(t, m.open, listed, searchThenBuy().model, required(t, "listed", "Product"), func(o *options) {
			o.cfg.Extract[0].Alternatives, o.cfg.Extract[0].Type = true, "Offer"
			o.cfg.Extract = append(o.cfg.Extract, contextgraph.ExtractConfig{Name: "bought", Tool: "buy", In: graphsync.InAction, Type: "Offer", Value: "$.item"})
			o.cfg.CheckFuncs["Offer"] = safety.CheckerFunc(m.check)
		})
		h.say("find")
		got := h.settle(h.say("buy it"), nil)
		h.wantRefused(got, safety.ReasonNoEntities)
	})
}

// A result that a callback rewrote shows nothing that was chosen, and so takes nothing out.
func TestRewrittenListTakesNothingOut(t *testing.T) {
	for name, rewritten := range map[string]bool{"rewritten": true, "as it was": false} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, covered, m.open, choosing)
			n := 0
			h.serve(mustAgent(t, llmagent.Config{Name: "root", Tools: h.tools, Model: &adktest.Model{Answer: searchThenBuy().answer},
				AfterToolCallbacks: []llmagent.AfterToolCallback{func(_ agent.Context, tl tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
					if n++; tl.Name() != "search" || n == 1 || !rewritten {
						return nil, nil
					}
					return map[string]any{"items": result["items"].([]any)[:1]}, nil
				}}}))
			h.say("find")
			h.say("find")
			h.want(rewritten, h.settle(h.say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// Of agents side by side, each of which has a list of its own, the one without the chosen
// entry makes what it shows count.
func TestAlternativesOfParallelAgents(t *testing.T) {
	for right, refused := range map[string]bool{"routes": false, other: true} {
		t.Run("search for "+right, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, covered, m.open, choosing)
			child := func(name, query string) agent.Agent {
				return mustAgent(t, llmagent.Config{Name: name, Tools: h.tools[:1], Model: scripted(searchesFor(query), says("Found."))})
			}
			h.serve(directed(t, h, searchThenBuy(), sideBySide(t, "both", child("left", "routes"), child("right", right))))
			h.say("to both")
			h.want(refused, h.settle(h.say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// orders is a tool that acts on one product and mentions others.
func orders(t testing.TB, h **harness) tool.Tool {
	type args struct {
		Item string   `json:"item"`
		Note []string `json:"note"`
	}
	return mustTool(t, "order", func(_ agent.Context, a args) (map[string]any, error) {
		(*h).bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
}

// A model that names a decoy takes out only what the action does not act on, as far as the
// rules read its arguments.
func TestDecoy(t *testing.T) {
	ordered := func(paths ...string) option {
		return func(o *options) {
			o.cfg.Guard.Tools = []string{"order"}
			for _, each := range paths {
				o.cfg.Extract = append(o.cfg.Extract, contextgraph.ExtractConfig{Name: "ordered " + each, Tool: "order", In: graphsync.InAction, Each: each, Type: "Product", Value: "$"})
			}
		}
	}
	for name, test := range map[string]struct {
		opt     option
		change  func(*market)
		refused bool
	}{
		"what it acts on changes":                                {ordered("$.item", "$.note[*]"), (*market).rise, true},
		"the decoy changes":                                      {ordered("$.item", "$.note[*]"), (*market).otherRises, true},
		"nothing changes":                                        {ordered("$.item", "$.note[*]"), nil, false},
		"what it acts on changes, and no rule reads it":          {ordered("$.note[*]"), (*market).rise, false}, // the hole
		"and the list is not one of alternatives":                {with(ordered("$.note[*]"), func(o *options) { o.cfg.Extract[0].Alternatives = false }), (*market).rise, true},
		"what it acts on changes, and only a rule for it counts": {ordered("$.item"), (*market).rise, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			var h *harness
			m.tools = []tool.Tool{orders(t, &h)}
			s := searchThenBuy()
			s["order it"], s["<order"] = calls("order", map[string]any{"item": item, "note": []any{other}}), says("Done.")
			h = newHarness(t, m.open, s.model, choosing, test.opt, func(o *options) {
				tools := o.tools
				o.tools = func(cg *contextgraph.Instance, list []tool.Tool) []tool.Tool {
					list = tools(cg, list)
					list[len(list)-1] = cg.Protect(list[len(list)-1])
					return list
				}
			})
			h.say("find")
			asked := adktest.Confirmations(h.say("order it"))
			if len(asked) != 1 {
				t.Fatalf("%d requests, want 1", len(asked))
			}
			if test.change != nil {
				test.change(m)
			}
			h.answer(sess, asked[0].ID, true)
			if ran := h.bought.Load() == 1; ran == test.refused {
				t.Errorf("the order ran: %t", ran)
			}
		})
	}
}

// What one rule finds in one row is one list, whatever groups it has there: two groups need
// two rules.
func TestListsOfOneRow(t *testing.T) {
	legs := func(m *market) func(agent.Context, searchArgs) (map[string]any, error) {
		return func(agent.Context, searchArgs) (map[string]any, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			leg := func(name string) any {
				return map[string]any{"items": []any{map[string]any{"name": name, "price": m.price[name], "available": true}}}
			}
			return map[string]any{"out": leg(item), "back": leg(other)}, nil
		}
	}
	for name, test := range map[string]struct {
		each    []string
		refused bool
	}{
		"one rule":  {[]string{"$[*].items[*]"}, false},
		"two rules": {[]string{"$.out.items[*]", "$.back.items[*]"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := newHarness(t, covered, m.open, searchThenBuy().model, choosing, func(o *options) {
				o.search = legs(m)
				rule := o.cfg.Extract[0]
				for i, each := range test.each {
					if rule.Each = each; i == 0 {
						o.cfg.Extract[0] = rule
						continue
					}
					rule.Name = "found " + each
					o.cfg.Extract = append(o.cfg.Extract, rule)
				}
			})
			h.say("find")
			h.want(test.refused, h.settle(h.say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// A list that becomes one of alternatives while a request waits changes the rules: the
// request fails its check, as under any other rules.
func TestAlternativesWhileARequestWaits(t *testing.T) {
	h, cfg, _ := priced(t, covered)
	h.ask(sess)
	cfg.Extract = append([]contextgraph.ExtractConfig{}, cfg.Extract...)
	cfg.Extract[0].Alternatives = true
	got, err := contextgraph.CheckRecorded(t.Context(), cfg, reader(t, h), key(sess), "")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range got.Report.Failures() {
		found = found || f.Reason == safety.ReasonRulesChanged
	}
	if !found || got.Report.IsSafeToApprove() {
		t.Errorf("want the check to fail for the rules:\n%s", got.Report.Summary())
	}
}

// Alternatives of a type that no action names can leave nothing out, which the program says
// when it starts.
func TestAlternativesNobodyNames(t *testing.T) {
	list := contextgraph.ExtractConfig{Name: "offers", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", Alternatives: true}
	bought := contextgraph.ExtractConfig{Name: "bought", Tool: "buy", In: graphsync.InAction, Type: "Product", Value: "$.item"}
	of := bought
	of.Type = "Offer"
	for name, test := range map[string]struct {
		rules  []contextgraph.ExtractConfig
		warned bool
	}{
		"no rule for an action": {[]contextgraph.ExtractConfig{list}, true},
		"one of another type":   {[]contextgraph.ExtractConfig{list, of}, true},
		"one of the type":       {[]contextgraph.ExtractConfig{list, bought}, false},
	} {
		const warning = `rule "offers" says alternatives, and no rule with in: action finds the type "Product": `
		if all := strings.Join(contextgraph.Config{Extract: test.rules}.Warnings(), "\n"); strings.Contains(all, warning) != test.warned {
			t.Errorf("%s: warned %t, want %t:\n%s", name, !test.warned, test.warned, all)
		}
	}
}
