// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// 500 things were seen, and each takes its checker 20 ms: they are checked within the
// deadline of an approval, once for the answer and once for the execution.
func TestManySeenEntities(t *testing.T) {
	for name, refused := range map[string]bool{"nothing changes": false, "the last of them changes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { manySeenEntities(t, refused) })
		})
	}
}

func manySeenEntities(t *testing.T, refused bool) {
	const seen, took = 500, 20 * time.Millisecond
	price := map[string]string{}
	list := []any{}
	for n := range seen {
		thing := fmt.Sprintf("Route %03d", n)
		price[thing] = "$40,000"
		list = append(list, map[string]any{"name": thing, "price": "$40,000", "available": true})
	}
	s := searchThenBuy()
	s["buy it"] = calls("buy", map[string]any{"item": "Route 000", "count": 1})
	h := cgtest.New(t, cgtest.Covered, s.model, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"items": list}, nil
		}
	}, cgtest.WithChecker(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return safety.State{}, ctx.Err()
		}
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, price[e.Value]), "availability": entity.Bool(true),
		}}, nil
	}))
	h.Say("find")
	events := h.Say("buy it")
	if n := len(h.Approvals(cgtest.SessionID)[0].Entities); n != seen {
		t.Errorf("the approval rests on %d things, want %d", n, seen)
	}
	wantOutcome(h, refused, settle(h, events, func() {
		if refused {
			price[fmt.Sprintf("Route %03d", seen-1)] = "$80,000"
		}
	}), priceChanged)
}
