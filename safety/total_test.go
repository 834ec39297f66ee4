// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A total is said only where quantity and price belong to one thing.
func TestTotal(t *testing.T) {
	type line = map[string]any
	enough := func(cfg *safety.GuardConfig) {
		cfg.Policy.Types = map[string]config.TypePolicy{"Drug": {Drift: map[string]config.Drift{"stock": along(atLeast, "$.n"), "quantity": {Optional: true}, "many": {Optional: true}}}}
	}
	euros := func(s string) entity.Value {
		v, err := entity.ParseMoney(s, "EUR")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	drug := func(name string, price entity.Value) entity.Canonical {
		seen := values{"stock": number(50)}
		if !price.IsZero() {
			seen["price"] = price
		}
		return bought("Drug", name, seen, nil)
	}
	counted := func(name string, said values) entity.Canonical {
		return bought("Drug", name, values{"price": euros("€3.10")}, said)
	}
	a, b := drug("A", euros("€3.10")), drug("B", euros("€7.40"))
	var many []entity.Canonical
	var lines []any
	for i := range 7 {
		many, lines = append(many, drug(fmt.Sprint("D", i), euros("€1"))), append(lines, line{"n": 2})
	}
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		things []entity.Canonical
		lines  []any // the n-th is of the n-th thing
		want   string
	}{
		"one thing":                  {enough, []entity.Canonical{a}, []any{line{"n": 10}}, "10 × €3.10 = €31"},
		"a half":                     {enough, []entity.Canonical{a}, []any{line{"n": 2.5}}, "2.5 × €3.10 = €7.75"},
		"two things":                 {enough, []entity.Canonical{a, b}, []any{line{"n": 10}, line{"n": 2}}, "10 × €3.10 (Drug A) + 2 × €7.40 (Drug B) = €45.80"},
		"many things":                {enough, many, lines, "2 × €1 (Drug D0) + 2 × €1 (Drug D1) + 2 × €1 (Drug D2) + 2 × €1 (Drug D3) + 2 × €1 (Drug D4) + 2 more = €14"},
		"a thing beside it":          {enough, []entity.Canonical{a, bought("Patient", "P7", values{"allergy": entity.Text("none")}, nil)}, []any{line{"n": 3}, line{}}, "3 × €3.10 = €9.30"},
		"a limit beside it":          {enough, []entity.Canonical{a, thing("Drug", "looked at", values{"price": euros("€5"), "stock": number(9)})}, []any{line{"n": 3}}, "3 × €3.10 = €9.30"},
		"a quantity as a text":       {enough, []entity.Canonical{a}, []any{line{"n": "ten"}}, ""},
		"a quantity with a unit":     {enough, []entity.Canonical{a}, []any{line{"n": "10 boxes"}}, ""},
		"no quantity":                {enough, []entity.Canonical{a}, []any{line{}}, ""},
		"nothing of it":              {enough, []entity.Canonical{a}, []any{line{"n": 0}}, ""},
		"no condition":               {nil, []entity.Canonical{a}, []any{line{"n": 10}}, ""},
		"two currencies":             {enough, []entity.Canonical{a, drug("B", usd("$7.40"))}, []any{line{"n": 10}, line{"n": 2}}, ""},
		"the price of one only":      {enough, []entity.Canonical{a, drug("B", entity.Value{})}, []any{line{"n": 10}, line{"n": 2}}, ""},
		"the quantity of one only":   {enough, []entity.Canonical{a, b}, []any{line{"n": 10}, line{}}, ""},
		"a price that is a number":   {enough, []entity.Canonical{drug("A", number(3))}, []any{line{"n": 10}}, ""},
		"two spellings":              {enough, []entity.Canonical{drug("Ibu", euros("€4")), drug("IBU", euros("€4"))}, []any{line{"n": 30}, line{"n": 30}}, ""},
		"one quantity for two":       {enough, []entity.Canonical{a, b}, nil, ""},
		"the call has the quantity":  {enough, []entity.Canonical{counted("A", values{"quantity": number(4)})}, []any{line{"n": 4}}, "4 × €3.10 = €12.40"},
		"two quantities that differ": {enough, []entity.Canonical{bought("Drug", "A", values{"price": euros("€3.10"), "stock": number(9)}, values{"quantity": number(4)})}, []any{line{"n": 5}}, ""},
		"a stock of a fixed size": {func(c *safety.GuardConfig) {
			enough(c)
			c.Policy.Types["Drug"].Drift["stock"] = conditioned(config.Drift{}, atLeast, 8)
		}, []entity.Canonical{a}, []any{line{"n": 10}}, ""},
		"by a budget": {func(c *safety.GuardConfig) {
			enough(c)
			delete(c.Policy.Types["Drug"].Drift, "stock")
			c.Policy.Budgets = []config.Budget{{Cost: config.Cost{Type: "Drug", Attribute: "price", Quantity: "many"}, Limit: config.Limit{Type: "Budget", Attribute: "amount"}}}
		}, []entity.Canonical{counted("A", values{"many": number(6)})}, []any{line{}}, "6 × €3.10 = €18.60"},
	} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, test.change, test.things...)
			bench.args = line{"n": 5, "lines": test.lines}
			bench.record.snap.Places = make(map[string][]string)
			for i, thing := range test.things {
				at := fmt.Sprintf("$['lines'][%d]", i)
				if test.lines == nil {
					at = "$"
				}
				if i < len(test.lines) || test.lines == nil {
					bench.record.snap.Places[thing.Key] = []string{at}
				}
			}
			asked := bench.ask()
			shown, _ := asked.Shown()["total"].(string)
			if asked.Total != test.want || shown != test.want {
				t.Errorf("%q, shown %q, want %q", asked.Total, shown, test.want)
			}
			hint := asked.Hint("order")
			if said := "Total of what is bought: " + test.want + "."; strings.Contains(hint, "Total") != (test.want != "" && len(said) <= 150) || strings.Contains(hint, " each") != (test.want != "") {
				t.Errorf("hint %q", hint)
			}
		})
	}
}
