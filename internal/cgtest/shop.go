// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// Clock is a clock that tests can move.
type Clock struct{ offset atomic.Int64 }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// Money returns an amount of US dollars.
func Money(t testing.TB, s string) entity.Value {
	t.Helper()
	v, err := entity.ParseMoney(s, "USD")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Shop is the world outside: what a checker sees.
type Shop struct {
	mu    sync.Mutex
	price string
	stock bool
}

// Set changes the price of the product, and whether it is to be had.
func (w *Shop) Set(price string, stock bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.price, w.stock = price, stock
}

// Get returns the price of the product, and whether it is to be had.
func (w *Shop) Get() (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.price, w.stock
}

// SearchArgs are the arguments of search.
type SearchArgs struct {
	Query string `json:"query"`
}

// BuyArgs are the arguments of buy.
type BuyArgs struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// Shopper is the policy of the scripted model: search, buy, report.
func Shopper(req *model.LLMRequest) (*model.LLMResponse, error) {
	last := adktest.LastResponse(req)
	switch {
	case last == nil:
		return adktest.Call("search", map[string]any{"query": "routes"}), nil
	case last.Name == "search":
		return adktest.Call("buy", map[string]any{"item": "Strava Sponsored Routes", "count": 1}), nil
	case last.Name == "buy":
		if last.Response["status"] == "bought" {
			return adktest.Text("Bought."), nil
		}
		return adktest.Text("Not bought."), nil
	}
	return nil, errors.New("the script has no answer for " + last.Name)
}

// Item is the product of the shop.
const Item = "Strava Sponsored Routes"

// FoundItems returns a result of search.
func FoundItems(names ...string) map[string]any {
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = map[string]any{"name": n, "price": "$40,000", "available": true}
	}
	return map[string]any{"items": list}
}

// Replay has search called again in the place of a checker.
func Replay(o *Options) {
	o.Config.CheckFuncs = nil
	o.Config.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{}}}
	o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
		if _, err := cg.Replayable(tools[0]); err != nil {
			panic(err)
		}
		return tools
	}
}
