// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What a refused call is told of the world stands in its row, once.
func TestRefusalDeclaresWhatChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		now     []float64
		protect bool
		before  bool // with the check before asking
	}{
		"before anybody is asked":     {now: []float64{80000}, before: true},
		"at the answer":               {now: []float64{80000}},
		"before the call":             {now: []float64{40000, 80000}},
		"before the call, by Protect": {now: []float64{40000, 80000}, protect: true},
	} {
		t.Run(name, func(t *testing.T) {
			mk := &market{now: tt.now, before: &tt.before}
			buys := call("c1", "buy", m{"item": "Strava"})
			sink, r := guardedBy(mk, gate.Config{Settings: config.Guard{Tools: config.Tools("buy")}}, func(g *gate.Gate) agent.Agent {
				buy := gives("buy", m{"price": 1})
				if tt.protect {
					buy = g.Protect(buy)
				}
				return asks("root", adktest.Script(adktest.Calls(buys), adktest.Text("wait"), adktest.Calls(call("c2", "buy", m{"item": "Strava"})), adktest.Text("done"), adktest.Text("done")), buy)
			})
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			asked := adktest.Confirmations(events)
			if want := map[bool]int{false: 1}[tt.before]; len(asked) != want {
				t.Fatalf("%d requests", len(asked))
			}
			for _, request := range asked {
				adktest.Run(t, r, "u", "s", adktest.Answer(request.ID, true))
			}
			declared := 0
			for _, e := range sink.Of(record.ToolError) {
				entities, _ := rowtest.Attribute(t, e, "entities").([]any)
				if len(entities) == 0 {
					continue
				}
				declared++
				diff(t, "entities", []any{map[string]any{"type": "Product", "value": "Strava", "confidence": 1.0,
					"attributes": map[string]any{"price": attributeOf(entities[0], "price")}}}, entities)
				if text := string(e.Attributes); !strings.Contains(text, "80000") {
					t.Errorf("the row does not hold the present price: %s", text)
				}
			}
			if declared != 1 {
				t.Errorf("%d rows declare what changed, want one", declared)
			}
		})
	}
}

func attributeOf(e any, name string) any {
	m, _ := e.(map[string]any)
	attributes, _ := m["attributes"].(map[string]any)
	return attributes[name]
}
