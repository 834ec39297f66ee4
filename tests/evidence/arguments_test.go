// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"cmp"
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A plugin or a callback of the agent resolves an alias before the tool asks. The human
// sees what it stands for, so the check is about that.
func TestRequestArgumentsAreRead(t *testing.T) { requestArgumentsAreRead(t, nil) }

func requestArgumentsAreRead(t *testing.T, also cgtest.Option) {
	resolve := func(_ agent.Context, tl tool.Tool, args map[string]any) (map[string]any, error) {
		if tl.Name() == "buy" && args["item"] == "the usual" {
			args["item"] = "Superbowl"
		}
		return nil, nil
	}
	by := map[string]cgtest.Option{
		"a plugin between ours": func(o *cgtest.Options) {
			o.Plugins = append(o.Plugins, cgtest.NewPlugin(t, plugin.Config{Name: "aliases", BeforeToolCallback: resolve}))
		},
		"a callback of the agent": func(o *cgtest.Options) { o.BeforeTool = append(o.BeforeTool, resolve) },
	}
	var ways [][2]string
	for _, who := range sorted(by) {
		for _, guard := range sorted(guards) {
			if guard != "listed" || who != "a callback of the agent" { // there it asks before the callbacks
				ways = append(ways, [2]string{who, guard})
			}
		}
	}
	modes, worlds := []string{"everything", "named"}, []string{"the world changes", "nothing changes"}
	for _, c := range combinations(t, also, len(ways), len(modes), len(worlds)) {
		who, guard, mode, refused := ways[c[0]][0], ways[c[0]][1], modes[c[1]], c[2] == 0
		t.Run(who+", "+guard+", "+mode+", "+worlds[c[2]], func(t *testing.T) {
			m := newMarket(t)
			m.set("Superbowl", "$40,000")
			m.set("the usual", "$40,000")
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": "the usual", "count": 1})
			h := cgtest.New(t, guards[guard], m.open, s.model, by[who], required(t, mode), also)
			h.Say("find")
			events := h.Say("buy it")
			if as := h.Approvals(cgtest.SessionID); len(as) == 1 {
				wantNamed(t, as[0], "Superbowl")
			}
			wantOutcome(h, refused, settle(h, events, func() {
				if refused {
					m.set("Superbowl", "$80,000")
				}
			}), priceChanged)
			if got, ran := h.LastBuy.Load().(cgtest.BuyArgs); ran && got.Item != "Superbowl" {
				t.Errorf("the tool bought %q", got.Item)
			}
		})
	}
}

// wantNamed checks that the arguments of the request name the one thing.
func wantNamed(t *testing.T, a safety.Approval, name string) {
	t.Helper()
	for _, e := range a.Entities {
		for _, s := range e.Seen {
			if named := s.Source == entity.SourceAction; named && e.Value != name {
				t.Errorf("the request of %s names %q", a.Args, e.Value)
			}
		}
		if e.Value == name {
			name = ""
		}
	}
	if name != "" {
		t.Errorf("the request of %s does not name %q", a.Args, name)
	}
}

type stockArgs struct {
	Stock string `json:"stock"`
	Order struct {
		Stock string `json:"stock"`
	} `json:"order"`
}

// Two keys that Go's JSON takes for one name two things: the rule reads one of them, the
// tool the other.
func TestKeysThatFoldIntoOne(t *testing.T) { keysThatFoldIntoOne(t, nil) }

func keysThatFoldIntoOne(t *testing.T, also cgtest.Option) {
	const kelvin, long = "stoc\u212a", "\u017ftock"
	cases := map[string]struct {
		args    map[string]any
		refused bool
	}{
		"the sign for kelvin": {map[string]any{"stock": cgtest.Item, kelvin: "Superbowl"}, true},
		"a long s":            {map[string]any{"stock": cgtest.Item, long: "Superbowl"}, true},
		"capitals":            {map[string]any{"stock": cgtest.Item, "STOCK": "Superbowl"}, true},
		"inside of another":   {map[string]any{"stock": cgtest.Item, "order": map[string]any{"stock": cgtest.Item, kelvin: "Superbowl"}}, true},
		"one key":             {map[string]any{"stock": cgtest.Item, "order": map[string]any{"stock": cgtest.Item}}, false},
	}
	for _, c := range combinations(t, also, len(cases), len(guards)) {
		name, guard := sorted(cases)[c[0]], sorted(guards)[c[1]]
		test := cases[name]
		t.Run(name+", "+guard, func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["buy it"] = calls("buy", test.args)
			h := cgtest.New(t, guards[guard], m.open, s.model, func(o *cgtest.Options) {
				for i := range o.Config.Extract {
					if r := &o.Config.Extract[i]; r.Name == "bought" {
						r.Value = "$.stock"
					}
				}
				o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
					return functiontool.New(functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: o.Confirm},
						func(ctx agent.Context, args map[string]any) (map[string]any, error) {
							var a stockArgs
							if err := json.Unmarshal([]byte(encoded(args)), &a); err != nil {
								return nil, err
							}
							return h.Buy(ctx, cgtest.BuyArgs{Item: cmp.Or(a.Order.Stock, a.Stock)})
						})
				}
			}, also)
			h.Say("find")
			got := settle(h, h.Say("buy it"), nil)
			if ran, ok := h.LastBuy.Load().(cgtest.BuyArgs); ok && ran.Item != cgtest.Item {
				t.Errorf("the rule read %q, the tool bought %q", cgtest.Item, ran.Item)
			}
			wantOutcome(h, test.refused, got)
		})
	}
}

// A client writes the state of the session between the request and its answer, so that the
// repeated call looks where the price is the old one.
func TestStateWrittenBetween(t *testing.T) { stateWrittenBetween(t, nil) }

func stateWrittenBetween(t *testing.T, also cgtest.Option) {
	cases := map[string]struct {
		state   map[string]any
		rises   bool
		refused bool
	}{
		"the key that the call read":        {map[string]any{"region": "EU"}, true, true},
		"the same, and nothing else":        {map[string]any{"region": "EU"}, false, true},
		"no state, and the price rises":     {nil, true, true},
		"no state":                          {nil, false, false},
		"another key":                       {map[string]any{"colour": "red"}, false, false},
		"the same value of the key it read": {map[string]any{"region": "US"}, false, false},
	}
	times := []string{"in a message before the answer", "with the answer"}
	for _, c := range combinations(t, also, len(cases), len(times)) {
		name := sorted(cases)[c[0]]
		test, earlier := cases[name], c[1] == 0
		t.Run(name+", "+times[c[1]], func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["hello?"] = says("Hello.")
			h := cgtest.New(t, cgtest.Covered, cgtest.Replay, m.openReplay, s.model, also)
			sayWith(h, "find", map[string]any{"region": "US"})
			asked := adktest.Confirmations(h.Say("buy it"))
			if len(asked) != 1 {
				t.Fatalf("%d confirmations, want 1", len(asked))
			}
			if test.rises {
				m.rise()
			}
			state := test.state
			if earlier {
				sayWith(h, "hello?", state)
				state = nil
			}
			ended := adktest.Responses(send(h, adktest.Answer(asked[0].ID, true), state), "buy")
			if len(ended) != 1 {
				t.Fatalf("buy ended %d times, want once", len(ended))
			}
			wantOutcome(h, test.refused, ended[0])
		})
	}
}

// sayWith runs a turn whose message changes the state.
func sayWith(h *cgtest.Harness, text string, state map[string]any) {
	h.T.Helper()
	send(h, adktest.UserText(text), state)
}

// send runs a turn with a message that changes the state.
func send(h *cgtest.Harness, msg *genai.Content, state map[string]any) (events []*session.Event) {
	h.T.Helper()
	for ev, err := range h.Runner.Run(h.T.Context(), cgtest.User, cgtest.SessionID, msg, agent.RunConfig{}, runner.WithStateDelta(state)) {
		if err != nil {
			h.T.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

// openReplay makes the market a world that search alone can see: in the United States at
// its price, in Europe at the old one.
func (m *market) openReplay(o *cgtest.Options) {
	o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		region, err := ctx.State().Get("region")
		if err != nil {
			return nil, err
		}
		if region == "EU" {
			return cgtest.FoundItems(cgtest.Item), nil
		}
		return m.search(ctx, a)
	}
}
