// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What only the arguments of the action name was seen by nobody, whatever the reason, and
// whatever the checker answers.
func TestNobodySawIt(t *testing.T) { nobodySawIt(t, nil) }

func nobodySawIt(t *testing.T, also cgtest.Option) {
	rule := func(change func(*config.Extract)) cgtest.Option {
		return func(o *cgtest.Options) {
			change(&o.Config.Extract[0])
		}
	}
	cases := map[string]struct {
		opt    cgtest.Option
		bought string
	}{
		"the result is wrapped one level deeper": {func(o *cgtest.Options) {
			search := o.Search
			o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				found, err := search(ctx, a)
				return map[string]any{"data": found}, err
			}
		}, cgtest.Item},
		"a typo in the tool of the rule": {rule(func(r *config.Extract) { r.Tool = "serach" }), cgtest.Item},
		"a typo in the path of the rule": {rule(func(r *config.Extract) { r.Each = "$.item[*]" }), cgtest.Item},
		"the model invents the item":     {func(*cgtest.Options) {}, "Superbowl"},
		"the model read it":              {func(*cgtest.Options) {}, cgtest.Item},
	}
	modes := map[string][]string{"everything": nil, "named": nil, "listed": {"Product"}}
	for _, c := range combinations(t, also, len(cases), len(modes), len(guards)) {
		name, mode, guard := sorted(cases)[c[0]], sorted(modes)[c[1]], sorted(guards)[c[2]]
		t.Run(name+", "+mode+", "+guard, func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": cases[name].bought, "count": 1})
			h := cgtest.New(t, guards[guard], m.open, s.model, cases[name].opt, required(t, mode, modes[mode]...), also)
			h.Say("find")
			wantOutcome(h, name != "the model read it", settle(h, h.Say("buy it"), nil), nothingSeen)
		})
	}
}

type planArgs struct {
	Item  string `json:"item"`
	Price string `json:"price"`
}

// planned is a tool that says again what the model tells it.
func planned(t testing.TB) tool.Tool {
	return cgtest.NewTool(t, "plan", func(_ agent.Context, a planArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": a.Item, "price": a.Price, "available": true}}}, nil
	})
}

// plans reads the results of plan.
func plans(o *cgtest.Options) {
	rule := o.Config.Extract[0]
	rule.Name, rule.Tool = "planned", "plan"
	o.Config.Extract = append(o.Config.Extract, rule)
}

func plansAt(price string) script {
	s := searchThenBuy()
	s["plan it"], s["<plan"] = calls("plan", map[string]any{"item": cgtest.Item, "price": price}), says("Planned.")
	return s
}

// A result that says what the arguments of its call say shows nothing of the world.
func TestEchoIsNoReading(t *testing.T) { echoIsNoReading(t, nil) }

func echoIsNoReading(t *testing.T, also cgtest.Option) {
	for name, test := range map[string]struct {
		turns   []string
		echo    string
		change  bool // after the first turn
		refused bool
		reasons []string
	}{
		"the model's price over the one that was read": {[]string{"find", "plan it"}, "$80,000", true, true, []string{priceChanged}},
		"before the reading":                           {[]string{"plan it", "find"}, "$80,000", false, false, nil},
		"the price that was read":                      {[]string{"find", "plan it"}, "$40,000", false, false, nil},
		"nothing but the echo":                         {[]string{"plan it"}, "$40,000", false, true, []string{nothingSeen}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			m.tools = []tool.Tool{planned(t)}
			h := cgtest.New(t, cgtest.Covered, m.open, plans, plansAt(test.echo).model, also)
			for _, text := range test.turns {
				h.Say(text)
				if test.change {
					m.rise()
				}
			}
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), nil), test.reasons...)
		})
	}
}

type pricedArgs struct {
	Item  string `json:"item"`
	Price string `json:"price"`
}

// The price that the action itself names replaces none that was read.
func TestArgumentIsNoReading(t *testing.T) { argumentIsNoReading(t, nil) }

func argumentIsNoReading(t *testing.T, also cgtest.Option) {
	priced := func(o *cgtest.Options) {
		cgtest.Covered(o)
		o.Config.Extract[len(o.Config.Extract)-1].Attributes = map[string]config.Attribute{
			"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
		}
		o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: true},
				func(ctx agent.Context, a pricedArgs) (map[string]any, error) {
					return h.Buy(ctx, cgtest.BuyArgs{Item: a.Item})
				})
		}
	}
	for name, test := range map[string]struct {
		turns   []string
		price   string
		rises   bool
		refused bool
		reasons []string
	}{
		"it names the new price":             {[]string{"find"}, "$80,000", true, true, []string{priceChanged, argumentDiffers}},
		"it names a price that nobody asked": {[]string{"find"}, "$80,000", false, true, []string{argumentDiffers}},
		"it names the old price":             {[]string{"find"}, "$40,000", true, true, []string{priceChanged}},
		"nothing else was seen":              {nil, "$40,000", false, true, []string{nothingSeen}},
		"nothing changes":                    {[]string{"find"}, "$40,000", false, false, nil},
		"spelt otherwise":                    {[]string{"find"}, "40000.00 USD", false, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": cgtest.Item, "price": test.price})
			h := cgtest.New(t, priced, m.open, s.model, also)
			for _, text := range test.turns {
				h.Say(text)
			}
			if test.rises {
				m.rise()
			}
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), nil), test.reasons...)
		})
	}
}

// What an agent behind a tool says is no reading; what it read is.
func TestAgentsWordIsNoReading(t *testing.T) { agentsWordIsNoReading(t, nil) }

func agentsWordIsNoReading(t *testing.T, also cgtest.Option) {
	tells := func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{
			Name: "told", Tool: "planner", Type: "Product", Value: "$.result",
		})
	}
	for name, opt := range map[string]cgtest.Option{"no rule reads its words": func(*cgtest.Options) {}, "a rule reads its words": tells} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
				h := delegated(t, cgtest.Covered, m.open, opt, also)
				wantOutcome(h, refused, settle(h, h.Say("buy"), change), priceChanged)
			})
		})
	}
	t.Run("an agent that read nothing", func(t *testing.T) {
		m := newMarket(t)
		h := cgtest.New(t, cgtest.Covered, m.open, tells, also)
		planner := cgtest.NewAgent(t, llmagent.Config{Name: "planner", Description: "plans", Model: adktest.Script(adktest.Text(cgtest.Item))})
		h.Serve(cgtest.RootAgent(t, adktest.Script(
			adktest.Call("planner", map[string]any{"request": "find a route"}), buys(nil), adktest.Text("Done.")),
			h.CG.AgentTool(planner, nil), h.Tools[1]))
		wantRefused(h, settle(h, h.Say("buy"), nil), nothingSeen)
	})
}

// A callback of the agent gives the model another result than the tool gave, so what is
// recorded of the tool is not what the model read.
func TestRewrittenResultIsNoReading(t *testing.T) { rewrittenResultIsNoReading(t, nil) }

func rewrittenResultIsNoReading(t *testing.T, also cgtest.Option) {
	// rewrites shows the model the old price, whatever the tool found.
	rewrites := func(_ agent.Context, tl tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
		if tl.Name() != "search" {
			return nil, nil
		}
		return map[string]any{"items": []any{map[string]any{"name": cgtest.Item, "price": "$40,000", "available": true}}}, nil
	}
	// masks leaves out what the model must not see.
	masks := func(_ agent.Context, tl tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
		if tl.Name() != "search" {
			return nil, nil
		}
		return map[string]any{"items": "masked"}, nil
	}
	same := func(_ agent.Context, tl tool.Tool, _, result map[string]any, _ error) (map[string]any, error) {
		if tl.Name() != "search" {
			return nil, nil
		}
		return maps.Clone(result), nil
	}
	serve := func(t *testing.T, m *market, declare bool, callback llmagent.AfterToolCallback) *cgtest.Harness {
		var h *cgtest.Harness
		h = cgtest.New(t, cgtest.Covered, m.open, func(o *cgtest.Options) {
			search := o.Search
			o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				found, err := search(ctx, a)
				if err != nil || !declare {
					return found, err
				}
				m.mu.Lock()
				price := m.price[cgtest.Item]
				m.mu.Unlock()
				return found, h.CG.RecordEntity(ctx, entity.Entity{Type: "Product", Value: cgtest.Item, Attributes: map[string]entity.Value{
					"price": cgtest.Money(t, price), "availability": entity.Bool(true),
				}})
			}
		}, also)
		h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Tools: h.Tools, Model: &adktest.Model{Answer: searchThenBuy().answer},
			AfterToolCallbacks: []llmagent.AfterToolCallback{callback}}))
		return h
	}
	t.Run("to the old price", func(t *testing.T) {
		m := newMarket(t)
		m.rise()
		h := serve(t, m, false, rewrites)
		h.Say("find")
		wantRefused(h, settle(h, h.Say("buy it"), nil), resultRewritten)
	})
	t.Run("to what it is", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			h := serve(t, m, false, same)
			h.Say("find")
			wantOutcome(h, refused, settle(h, h.Say("buy it"), change), priceChanged)
		})
	})
	t.Run("masked, and declared by the tool", func(t *testing.T) {
		onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
			h := serve(t, m, true, masks)
			h.Say("find")
			wantOutcome(h, refused, settle(h, h.Say("buy it"), change), priceChanged)
		})
	})
}

// After drift the refusal tells the model what is now: that is a reading, at the moment of
// the refusal.
func TestRefusalIsAReading(t *testing.T) { refusalIsAReading(t, nil) }

func refusalIsAReading(t *testing.T, also cgtest.Option) {
	start := func(t *testing.T, guarded cgtest.Option) (*cgtest.Harness, *market) {
		m := newMarket(t)
		h := cgtest.New(t, guarded, m.open, searchThenBuy().model, also)
		h.Say("find")
		wantRefused(h, settle(h, h.Say("buy it"), m.rise), priceChanged)
		return h, m
	}
	worlds := map[string]struct {
		price   string // after the refusal
		refused bool
	}{
		"a new plan on the new price": {"$80,000", false},
		"it changes again":            {"$90,000", true},
		"it changes back":             {"$40,000", true},
	}
	for _, c := range combinations(t, also, len(worlds), len(guards)) {
		name, guard := sorted(worlds)[c[0]], sorted(guards)[c[1]]
		t.Run(name+", "+guard, func(t *testing.T) {
			h, m := start(t, guards[guard])
			got := settle(h, h.Say("buy it"), func() { m.set(cgtest.Item, worlds[name].price) })
			wantOutcome(h, worlds[name].refused, got, priceChanged)
		})
	}
}

// Two spellings may be two things, so the action has to name what was read.
func TestSpellingMustBeWhatWasRead(t *testing.T) { spellingMustBeWhatWasRead(t, nil) }

func spellingMustBeWhatWasRead(t *testing.T, also cgtest.Option) {
	for bought, refused := range map[string]bool{
		cgtest.Item: false, strings.ToUpper(cgtest.Item): true, " " + cgtest.Item: true, "Strava  Sponsored Routes": true, "Strаva Sponsored Routes": true,
	} {
		t.Run(bought, func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": bought, "count": 1})
			h := cgtest.New(t, cgtest.Covered, m.open, s.model, func(o *cgtest.Options) {
				o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
					return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
						"price": cgtest.Money(t, "$40,000"), "availability": entity.Bool(true),
					}}, nil
				})
			}, also)
			h.Say("find")
			got := settle(h, h.Say("buy it"), nil)
			wantOutcome(h, refused, got, nothingSeen)
			if folded := strings.EqualFold(strings.TrimSpace(bought), cgtest.Item); refused && folded && !strings.Contains(encoded(got["failures"]), cgtest.Item) {
				t.Errorf("no failure gives the spelling to use: %s", encoded(got["failures"]))
			}
		})
	}
	t.Run("an amount by its value", func(t *testing.T) {
		priced := func(name, tool, in string) config.Extract {
			r := config.Extract{Name: name, Tool: tool, Type: "Amount", Value: "$.price", ValueType: entity.KindMoney, Currency: "USD"}
			if in != "" {
				r.In = config.InAction
			}
			return r
		}
		m := newMarket(t)
		m.tools = []tool.Tool{cgtest.NewTool(t, "quote", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"price": "$40,000", "open": true}, nil
		})}
		quoted := priced("quoted", "quote", "")
		quoted.Attributes = map[string]config.Attribute{"open": {Path: "$.open", Type: entity.KindBool}}
		h := cgtest.New(t, m.open, func(o *cgtest.Options) {
			o.Config.Extract = append(o.Config.Extract, quoted, priced("offered", "buy", "action"))
			o.Config.CheckFuncs["Amount"] = safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"open": entity.Bool(true)}}, nil
			})
			o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
				return functiontool.New(functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: true},
					func(ctx agent.Context, a pricedArgs) (map[string]any, error) {
						return h.Buy(ctx, cgtest.BuyArgs{Item: a.Item})
					})
			}
		}, script{
			"find": calls("quote", map[string]any{"query": "route"}), "<quote": says("Found."),
			"buy it": calls("buy", map[string]any{"item": cgtest.Item, "price": "40,000.00 USD"}), "<buy": says("Done."),
		}.model, also)
		h.Say("find")
		wantRan(h, settle(h, h.Say("buy it"), nil))
	})
}

// A rule without attributes says that a thing exists, which the checker has to confirm.
func TestRuleWithoutAttributes(t *testing.T) {
	for name, test := range map[string]struct {
		now     func(context.Context) (map[string]entity.Value, error)
		refused bool
	}{
		"it exists": {func(context.Context) (map[string]entity.Value, error) {
			return map[string]entity.Value{"exists": entity.Bool(true)}, nil
		}, false},
		"it does not exist": {func(context.Context) (map[string]entity.Value, error) {
			return map[string]entity.Value{"exists": entity.Bool(false)}, nil
		}, true},
		"it has an attribute": {func(context.Context) (map[string]entity.Value, error) {
			return map[string]entity.Value{"price": cgtest.Money(t, "$40,000")}, nil
		}, false},
		"it is not to be had": {func(context.Context) (map[string]entity.Value, error) {
			return map[string]entity.Value{"availability": entity.Bool(false)}, nil
		}, true},
		"nobody says anything":   {func(context.Context) (map[string]entity.Value, error) { return nil, nil }, true},
		"the answer is an error": {func(context.Context) (map[string]entity.Value, error) { return nil, errors.New("not found") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model, func(o *cgtest.Options) {
				o.Config.Extract[0].Attributes = nil
				o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, _ entity.Canonical) (safety.State, error) {
					now, err := test.now(ctx)
					return safety.State{AsOf: time.Now(), Attributes: now}, err
				})
			})
			h.Say("find")
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), nil))
		})
	}
}
