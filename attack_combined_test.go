// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// declaring is a plugin of the host that declares an entity in each call of buy that a person
// approved, before the gate decides about it.
func declaring(t testing.TB, h **harness, e entity.Entity) *plugin.Plugin {
	return mustPlugin(t, plugin.Config{Name: "declares",
		BeforeToolCallback: func(ctx agent.Context, tl tool.Tool, _ map[string]any) (map[string]any, error) {
			if tl.Name() == "buy" && ctx.ToolConfirmation() != nil {
				return nil, (*h).cg.RecordEntity(ctx, e)
			}
			return nil, nil
		}})
}

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
		"what is bought, otherwise than it is":        {value: item, price: "$40,000", then: "buy it"},
		"what is bought, as it is":                    {value: item, price: "$80,000", then: "buy it"},
		"another entry of the list":                   {value: other, price: "$9,000", then: "buy it"},
		"another entry of the list, and that changes": {value: other, price: "$9,000", then: "buy it", rises: true, refused: priceChanged},
		"what no tool showed":                         {value: "Yacht", price: "$0", then: "buy a yacht", refused: nothingSeen},
	} {
		t.Run(name, func(t *testing.T) {
			m := twoProducts(t)
			s := searchThenBuy()
			s["buy a yacht"] = calls("buy", map[string]any{"item": "Yacht", "count": 1})
			var h *harness
			declares := declaring(t, &h, entity.Entity{Type: "Product", Value: test.value, Attributes: map[string]entity.Value{"price": money(t, test.price)}})
			h = newHarness(t, covered, m.open, s.model, choosing, func(o *options) { o.plugins = append(o.plugins, declares) })
			h.say("find")
			h.wantRefused(h.settle(h.say("buy it"), m.rise), priceChanged)
			h.say("find")
			got := h.settle(h.say(test.then), func() {
				if test.rises {
					m.otherRises()
				}
			})
			h.want(test.refused != "", got, test.refused)
		})
	}
}
