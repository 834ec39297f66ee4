// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

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
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// other is a product that is listed beside item, and that nobody buys unless a test says so.
const other = "Superbowl Spot"

// choosing makes the rule over the results of search one of alternatives.
func choosing(o *cgtest.Options) { o.Config.Extract[0].Alternatives = true }

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
func notChosen(h *cgtest.Harness) (n safety.NotChosen) {
	h.T.Helper()
	var report struct {
		NotChosen safety.NotChosen `json:"not_chosen"`
	}
	if err := json.Unmarshal([]byte(reportText(h)), &report); err != nil {
		h.T.Fatal(err)
	}
	return report.NotChosen
}

// What a result lists beside the chosen entry does not count, if the rule says so; the
// request and the report name it.
func TestAlternativeDoesNotCount(t *testing.T) {
	for name, test := range map[string]struct {
		opt     cgtest.Option
		change  func(*market)
		refused bool
	}{
		"another changes":                       {choosing, (*market).otherRises, false},
		"the chosen one changes":                {choosing, (*market).rise, true},
		"another changes, without alternatives": {func(*cgtest.Options) {}, (*market).otherRises, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model, test.opt)
			h.Say("find")
			got := settle(h, h.Say("buy it"), func() { test.change(m) })
			wantOutcome(h, test.refused, got, priceChanged)
			a := h.Approvals(cgtest.SessionID)[0]
			if !leavesOut(h) {
				if a.NotChosen.Total != 0 || a.Shown()["not_chosen"] != nil || strings.Contains(reportText(h), "not_chosen") {
					t.Errorf("something was not chosen: %+v", a.NotChosen)
				}
				return
			}
			for what, n := range map[string]safety.NotChosen{"approval": a.NotChosen, "report": notChosen(h)} {
				if n.Total != 1 || len(n.Entities) != 1 || n.Entities[0].Value != other || n.Entities[0].Seen["price"] != cgtest.Money(t, "$9,000") {
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
			for _, e := range h.Rows(cgtest.SessionID) {
				for _, f := range shapes.Check(&e, contract.Ours) {
					t.Errorf("%s: %s", e.EventType, f)
				}
			}
		})
	}
}

// leavesOut reports whether any approval of the session left something out.
func leavesOut(h *cgtest.Harness) bool {
	return h.Approvals(cgtest.SessionID)[0].NotChosen.Total > 0
}

// The attacks and accidents that must not take an entity out of the check.
func TestWhatIsNoAlternative(t *testing.T) {
	type setup struct {
		m *market
		s script
		o *cgtest.Options
	}
	rule := func(o *cgtest.Options, change func(*config.Extract)) {
		r := o.Config.Extract[0]
		r.Name = "also"
		change(&r)
		o.Config.Extract = append(o.Config.Extract, r)
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
			rule(x.o, func(r *config.Extract) { r.Alternatives = false })
		}, []string{"find"}, `write alternatives: true in rule "also"`},
		"the entry that the action names is shown by another rule": {func(x setup) {
			x.o.Config.Extract[0].Each = "$.items[1:]"
			rule(x.o, func(r *config.Extract) { r.Each = "$.items[0]" })
		}, []string{"find"}, `says alternatives: row `},
		"the user names it": {func(x setup) {
			rule(x.o, func(r *config.Extract) {
				*r = config.Extract{Name: "said", Event: "USER_MESSAGE_RECEIVED", Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"}
			})
			x.s[other] = says("A fine one.")
		}, []string{"find", other}, `because rule "said" names it in row `},
		"a tool is called with it": {func(x setup) {
			rule(x.o, func(r *config.Extract) {
				*r = config.Extract{Name: "asked", Tool: "search", In: config.InArgs, Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"}
			})
			x.s["look"] = searchesFor(other)
			search := x.o.Search
			x.o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				return search(ctx, cgtest.SearchArgs{})
			}
		}, []string{"find", "look"}, `because rule "asked" names it in row `},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			s := searchThenBuy()
			h := cgtest.New(t, cgtest.Covered, m.open, s.model, choosing, func(o *cgtest.Options) { test.set(setup{m, s, o}) })
			for _, text := range test.turns {
				h.Say(text)
			}
			got := settle(h, h.Say("buy it"), m.otherRises)
			wantRefused(h, got, priceChanged)
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
			h := cgtest.New(t, cgtest.Listed, m.open, searchThenBuy().model, func(o *cgtest.Options) { o.Config.Extract = nil }, configured(t, test.text))
			h.Say("find")
			got := settle(h, h.Say("buy it"), m.otherRises)
			wantRefused(h, got, priceChanged)
			if text := got["alerts"].([]any)[0].(map[string]any)["recommendation"].(string); !strings.HasSuffix(text, " "+test.want) {
				t.Errorf("the alert does not end in %q: %s", test.want, text)
			}
		})
	}
	t.Run("a failure says it too", func(t *testing.T) {
		m := twoProducts(t)
		h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model, func(o *cgtest.Options) {
			o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
				if e.Value == other {
					return safety.State{}, context.DeadlineExceeded
				}
				return m.check(ctx, e)
			})
		})
		h.Say("find")
		got := settle(h, h.Say("buy it"), nil)
		wantRefused(h, got, safety.ReasonTimeout)
		const want = `"buy" does not name it: if these are only a choice, write alternatives: true in rule "found".`
		checks := rowtest.Of(h.Rows(cgtest.SessionID), record.WorldChangeCheck)
		failures := rowtest.Field(t, checks[0].Content, "failures").([]any)
		if text := failures[0].(map[string]any)["detail"].(string); !strings.HasSuffix(text, want) {
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
			h := cgtest.New(t, cgtest.Covered, m.open, s.model, choosing)
			h.Say("find")
			wantRefused(h, settle(h, h.Say("buy it"), m.rise), priceChanged)
			got := settle(h, h.Say("buy the other"), func() {
				if change != nil {
					change(m)
				}
			})
			wantOutcome(h, change != nil, got, priceChanged)
			if n := notChosen(h); n.Total != 1 || n.Entities[0].Value != cgtest.Item || n.Entities[0].Seen["price"] != cgtest.Money(t, "$80,000") {
				t.Errorf("the first choice is not named with its present price: %+v", n)
			}
		})
	}
}

// An agent that runs as a tool lists what its caller chooses from.
func TestAlternativesOfAnAgentTool(t *testing.T) {
	for name, test := range map[string]struct {
		model   *[]func(*model.LLMRequest) *model.LLMResponse
		opt     cgtest.Option
		refused bool
	}{
		"a list":                        {&[]func(*model.LLMRequest) *model.LLMResponse{searches, says("Two.")}, func(*cgtest.Options) {}, false},
		"and a list without the chosen": {&[]func(*model.LLMRequest) *model.LLMResponse{searchesFor(other), searches, says("Two.")}, func(*cgtest.Options) {}, true},
		"what it was asked for counts too": {&[]func(*model.LLMRequest) *model.LLMResponse{searches, says("Two.")}, func(o *cgtest.Options) {
			o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "said", Event: "USER_MESSAGE_RECEIVED", Each: "$[?match(@, 'Superbowl.*')]", Type: "Product", Value: "$"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := cgtest.New(t, cgtest.Covered, m.open, choosing, test.opt)
			planner := cgtest.NewAgent(t, llmagent.Config{Name: "planner", Description: "plans", Tools: h.Tools[:1], Model: scripted(*test.model...)})
			h.Serve(cgtest.RootAgent(t, scripted(calls("planner", map[string]any{"request": other}), buys, says("Done.")), h.CG.AgentTool(planner, nil), h.Tools[1]))
			wantOutcome(h, test.refused, settle(h, h.Say("buy"), m.otherRises), priceChanged)
			if n := notChosen(h); (n.Total == 0) != test.refused {
				t.Errorf("not chosen: %+v", n)
			}
		})
	}
}

// What was not chosen is not there for a budget over everything, nor for a listed type.
func TestNotChosenIsNotThere(t *testing.T) {
	t.Run("a budget sums what counts", func(t *testing.T) {
		for name, test := range map[string]struct {
			opt     cgtest.Option
			refused bool
		}{"with alternatives": {choosing, false}, "without": {func(*cgtest.Options) {}, true}} {
			t.Run(name, func(t *testing.T) {
				m := twoProducts(t)
				m.mu.Lock()
				m.budget = "$45,000"
				m.mu.Unlock()
				s := searchThenBuy()
				s["budget"], s["<budget"] = calls("budget", map[string]any{"query": "x"}), says("Enough.")
				h := cgtest.New(t, cgtest.Covered, m.open, s.model, test.opt, func(o *cgtest.Options) {
					o.Config.Guard.Budgets = []config.Budget{{
						Cost: config.Cost{Type: "Product", Attribute: "price"}, Limit: config.Limit{Type: "Budget", Attribute: "amount"}, Everything: true,
					}}
				})
				h.Say("find")
				h.Say("budget")
				wantOutcome(h, test.refused, settle(h, h.Say("buy it"), nil))
			})
		}
	})
	t.Run("a listed type needs one that counts", func(t *testing.T) {
		// The action buys an Offer. It names no Product of the list.
		m := twoProducts(t)
		h := cgtest.New(t, m.open, cgtest.Listed, searchThenBuy().model, required(t, "listed", "Product"), func(o *cgtest.Options) {
			o.Config.Extract[0].Alternatives, o.Config.Extract[0].Type = true, "Offer"
			o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "bought", Tool: "buy", In: config.InAction, Type: "Offer", Value: "$.item"})
			o.Config.CheckFuncs["Offer"] = safety.CheckerFunc(m.check)
		})
		h.Say("find")
		got := settle(h, h.Say("buy it"), nil)
		wantRefused(h, got, safety.ReasonNoEntities)
	})
}

// A result that a callback rewrote shows nothing that was chosen, and so takes nothing out.
func TestRewrittenListTakesNothingOut(t *testing.T) {
	for name, rewritten := range map[string]bool{"rewritten": true, "as it was": false} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			h := cgtest.New(t, cgtest.Covered, m.open, choosing)
			n := 0
			h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, Model: &adktest.Model{Answer: searchThenBuy().answer},
				AfterToolCallbacks: []llmagent.AfterToolCallback{func(_ agent.Context, tl tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
					if n++; tl.Name() != "search" || n == 1 || !rewritten {
						return nil, nil
					}
					return map[string]any{"items": result["items"].([]any)[:1]}, nil
				}}}))
			h.Say("find")
			h.Say("find")
			wantOutcome(h, rewritten, settle(h, h.Say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// Of agents side by side, each of which has a list of its own, the one without the chosen
// entry makes what it shows count.
func TestAlternativesOfParallelAgents(t *testing.T) {
	for right, refused := range map[string]bool{"routes": false, other: true} {
		t.Run("search for "+right, func(t *testing.T) {
			m := twoProducts(t)
			h := cgtest.New(t, cgtest.Covered, m.open, choosing)
			child := func(name, query string) agent.Agent {
				return cgtest.NewAgent(t, llmagent.Config{Name: name, Tools: h.Tools[:1], Model: scripted(searchesFor(query), says("Found."))})
			}
			h.Serve(directed(t, h, searchThenBuy(), sideBySide(t, "both", child("left", "routes"), child("right", right))))
			h.Say("to both")
			wantOutcome(h, refused, settle(h, h.Say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// orders is a tool that acts on one product and mentions others.
func orders(t testing.TB, h **cgtest.Harness) tool.Tool {
	type args struct {
		Item string   `json:"item"`
		Note []string `json:"note"`
	}
	return cgtest.NewTool(t, "order", func(_ agent.Context, a args) (map[string]any, error) {
		(*h).Bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
}

// A model that names a decoy takes out only what the action does not act on, as far as the
// rules read its arguments.
func TestDecoy(t *testing.T) {
	ordered := func(paths ...string) cgtest.Option {
		return func(o *cgtest.Options) {
			o.Config.Guard.Tools = []string{"order"}
			for _, each := range paths {
				o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "ordered " + each, Tool: "order", In: config.InAction, Each: each, Type: "Product", Value: "$"})
			}
		}
	}
	for name, test := range map[string]struct {
		opt     cgtest.Option
		change  func(*market)
		refused bool
	}{
		"what it acts on changes":                                {ordered("$.item", "$.note[*]"), (*market).rise, true},
		"the decoy changes":                                      {ordered("$.item", "$.note[*]"), (*market).otherRises, true},
		"nothing changes":                                        {ordered("$.item", "$.note[*]"), nil, false},
		"what it acts on changes, and no rule reads it":          {ordered("$.note[*]"), (*market).rise, false}, // the hole
		"and the list is not one of alternatives":                {cgtest.With(ordered("$.note[*]"), func(o *cgtest.Options) { o.Config.Extract[0].Alternatives = false }), (*market).rise, true},
		"what it acts on changes, and only a rule for it counts": {ordered("$.item"), (*market).rise, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			var h *cgtest.Harness
			m.tools = []tool.Tool{orders(t, &h)}
			s := searchThenBuy()
			s["order it"], s["<order"] = calls("order", map[string]any{"item": cgtest.Item, "note": []any{other}}), says("Done.")
			h = cgtest.New(t, m.open, s.model, choosing, test.opt, func(o *cgtest.Options) {
				tools := o.ChangeTools
				o.ChangeTools = func(cg *contextgraph.Instance, list []tool.Tool) []tool.Tool {
					list = tools(cg, list)
					list[len(list)-1] = cg.Protect(list[len(list)-1])
					return list
				}
			})
			h.Say("find")
			asked := adktest.Confirmations(h.Say("order it"))
			if len(asked) != 1 {
				t.Fatalf("%d requests, want 1", len(asked))
			}
			if test.change != nil {
				test.change(m)
			}
			h.Answer(cgtest.SessionID, asked[0].ID, true)
			if ran := h.Bought.Load() == 1; ran == test.refused {
				t.Errorf("the order ran: %t", ran)
			}
		})
	}
}

// What one rule finds in one row is one list, whatever groups it has there: two groups need
// two rules.
func TestListsOfOneRow(t *testing.T) {
	legs := func(m *market) func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			leg := func(name string) any {
				return map[string]any{"items": []any{map[string]any{"name": name, "price": m.price[name], "available": true}}}
			}
			return map[string]any{"out": leg(cgtest.Item), "back": leg(other)}, nil
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
			h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model, choosing, func(o *cgtest.Options) {
				o.Search = legs(m)
				rule := o.Config.Extract[0]
				for i, each := range test.each {
					if rule.Each = each; i == 0 {
						o.Config.Extract[0] = rule
						continue
					}
					rule.Name = "found " + each
					o.Config.Extract = append(o.Config.Extract, rule)
				}
			})
			h.Say("find")
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), m.otherRises), priceChanged)
		})
	}
}

// A list that becomes one of alternatives while a request waits changes the rules: the
// request fails its check, as under any other rules.
func TestAlternativesWhileARequestWaits(t *testing.T) {
	h, cfg, _ := priced(t, cgtest.Covered)
	h.Ask(cgtest.SessionID)
	cfg.Extract = append([]config.Extract{}, cfg.Extract...)
	cfg.Extract[0].Alternatives = true
	got, err := setup.CheckRecorded(t.Context(), cfg, reader(t, h), cgtest.Key(cgtest.SessionID), "")
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
	list := config.Extract{Name: "offers", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", Alternatives: true}
	bought := config.Extract{Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item"}
	of := bought
	of.Type = "Offer"
	for name, test := range map[string]struct {
		rules  []config.Extract
		warned bool
	}{
		"no rule for an action": {[]config.Extract{list}, true},
		"one of another type":   {[]config.Extract{list, of}, true},
		"one of the type":       {[]config.Extract{list, bought}, false},
	} {
		const warning = `rule "offers" says alternatives, and no rule with in: action finds the type "Product": `
		if all := strings.Join(setup.Warnings(config.Config{Extract: test.rules}, nil), "\n"); strings.Contains(all, warning) != test.warned {
			t.Errorf("%s: warned %t, want %t:\n%s", name, !test.warned, test.warned, all)
		}
	}
}
