// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// What a plugin declares in a call that is then refused for drift is no reading, however
// little it agrees with the present values in the row of the refusal; and it makes an
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

const other = "Superbowl Spot"

func choosing(o *cgtest.Options) { o.Config.Extract[0].Alternatives = true }

// twoProducts is a market with another product beside the item.
func twoProducts(t testing.TB) *market {
	m := newMarket(t)
	m.set(other, "$9,000")
	return m
}

func (m *market) otherRises() { m.set(other, "$19,000") }
