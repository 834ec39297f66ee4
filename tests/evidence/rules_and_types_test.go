// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// reportText returns the text of a check, and the JSON of the report of the last approval.
func reportText(h *cgtest.Harness) string {
	h.T.Helper()
	as := h.Approvals(cgtest.SessionID)
	return string(as[len(as)-1].Report)
}

// A type that may go unseen passes with nothing seen, and every report says so.
func TestUnseenAllowed(t *testing.T) {
	for name, test := range map[string]struct {
		types   string
		bought  string
		rises   bool
		refused bool
	}{
		"allowed":                     {"    Product: {unseen: allow}\n", "Superbowl", false, false},
		"of another type":             {"    Budget: {unseen: allow}\n", "Superbowl", false, true},
		"what was read holds as well": {"    Product: {unseen: allow}\n", cgtest.Item, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			s := searchThenBuy()
			s["buy it"] = calls("buy", map[string]any{"item": test.bought, "count": 1})
			h := cgtest.New(t, cgtest.Covered, m.open, s.model, configured(t, "guard:\n  types:\n"+test.types))
			h.Say("find")
			var change func()
			if test.rises {
				change = m.rise
			}
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), change))
			if report := reportText(h); !test.refused && !strings.Contains(report, `"waived":[{`) {
				t.Errorf("the report does not say that nobody has seen it:\n%s", report)
			}
		})
	}
}

// A type that has to be unchanged and of which nothing was seen fails the check.
func TestListedTypeWithoutEntity(t *testing.T) {
	for name, test := range map[string]struct {
		types   []string
		refused bool
	}{
		"nothing of the type": {[]string{"Product", "Budget"}, true},
		"something of it":     {[]string{"Product"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			h := cgtest.New(t, cgtest.Covered, m.open, searchThenBuy().model, required(t, safety.RequireListed.String(), test.types...))
			h.Say("find")
			got := settle(h, h.Say("buy it"), nil)
			wantOutcome(h, test.refused, got)
			if test.refused && !strings.Contains(encoded(got["failures"]), "Budget") {
				t.Errorf("no failure names the type: %s", encoded(got["failures"]))
			}
		})
	}
}

type lookUpArgs struct {
	Name string `json:"name"`
	Note string `json:"note"`
}

// A look-up whose result lacks the id names the thing by its arguments, as they were at
// the end of the call.
func TestValueFromArguments(t *testing.T) {
	const rules = `
extract:
  - name: looked up
    tool: look_up
    each: $
    type: Product
    value: {args: $.name}
    attributes:
      price: {path: $.price, type: money, currency: USD}
      availability: {path: $.available, type: boolean}
`
	lookUp := func(m *market) tool.Tool {
		return cgtest.NewTool(m.t, "look_up", func(_ agent.Context, a lookUpArgs) (map[string]any, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return map[string]any{"price": m.price[a.Name], "available": true}, nil
		})
	}
	looksUp := func() script {
		return script{
			"find": calls("look_up", map[string]any{"name": cgtest.Item, "note": ""}), "<look_up": says("Found."),
			"buy it": buys, "<buy": says("Done."),
		}
	}
	onBoth(t, func(t *testing.T, m *market, change func(), refused bool) {
		m.tools = []tool.Tool{lookUp(m)}
		h := cgtest.New(t, cgtest.Covered, m.open, looksUp().model, configured(t, rules))
		h.Say("find")
		wantOutcome(h, refused, settle(h, h.Say("buy it"), change), priceChanged)
	})
	t.Run("a callback names another thing", func(t *testing.T) {
		m := newMarket(t)
		m.set("Superbowl", "$40,000")
		m.tools = []tool.Tool{lookUp(m)}
		h := cgtest.New(t, cgtest.Covered, m.open, looksUp().model, configured(t, rules), func(o *cgtest.Options) {
			o.BeforeTool = append(o.BeforeTool, func(_ agent.Context, tl tool.Tool, args map[string]any) (map[string]any, error) {
				if tl.Name() == "look_up" {
					args["name"] = "Superbowl"
				}
				return nil, nil
			})
		})
		h.Say("find")
		wantRefused(h, settle(h, h.Say("buy it"), nil), nothingSeen)
	})
}

// A tool that looks up what it is asked for shows it, although its arguments say the same.
func TestEchoThatIsLookedUp(t *testing.T) {
	rules := func(option string) string {
		return `
extract:
  - name: planned
    tool: plan
    each: $.items[*]
    type: Product
    value: $.name
    attributes:
      price: {path: $.price, type: money, currency: USD` + option + `}
      availability: {path: $.available, type: boolean}
`
	}
	for name, test := range map[string]struct {
		option  string
		refused bool
	}{
		"looked up": {", looked_up: true", false},
		"an echo":   {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			m.tools = []tool.Tool{planned(t)}
			h := cgtest.New(t, cgtest.Covered, m.open, plansAt("$80,000").model, configured(t, rules(test.option)))
			h.Say("find")
			m.rise()
			h.Say("plan it")
			wantOutcome(h, test.refused, settle(h, h.Say("buy it"), nil), priceChanged)
		})
	}
}
