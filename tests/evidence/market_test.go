// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Reasons of failures that say what is wrong with the evidence.
const (
	nothingSeen = safety.ReasonNothingSeen
	notRead     = safety.ReasonNotRead

	priceChanged = string(safety.PriceChanged)
)

// market is a world of several products and a budget.
type market struct {
	t      testing.TB
	mu     sync.Mutex
	names  []string
	price  map[string]string
	budget string
	tools  []tool.Tool // beside search, buy and budget
}

func newMarket(t testing.TB) *market {
	return &market{t: t, names: []string{cgtest.Item}, price: map[string]string{cgtest.Item: "$40,000"}, budget: "$100,000"}
}

// set gives a product a price; the product may be new.
func (m *market) set(name, price string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.price[name]; !known {
		m.names = append(m.names, name)
	}
	m.price[name] = price
}

// rise is the change that must block most plans.
func (m *market) rise() { m.set(cgtest.Item, "$80,000") }

func (m *market) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.budget = "$1"
}

// search returns the product that the query names, or all of them.
func (m *market) search(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []any{}
	for _, name := range m.names {
		if _, one := m.price[a.Query]; !one || name == a.Query {
			list = append(list, map[string]any{"name": name, "price": m.price[name], "available": true})
		}
	}
	return map[string]any{"items": list}, nil
}

func (m *market) left(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return map[string]any{"name": "summer", "amount": m.budget}, nil
}

// check answers for every name, as a lax service does; one that is not sold costs nothing.
func (m *market) check(_ context.Context, e entity.Canonical) (safety.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{}}
	if e.Type == "Budget" {
		now.Attributes["amount"] = cgtest.Money(m.t, m.budget)
		return now, nil
	}
	price, sold := m.price[e.Value]
	if !sold {
		price = "$0"
	}
	now.Attributes["price"], now.Attributes["availability"] = cgtest.Money(m.t, price), entity.Bool(true)
	return now, nil
}

// open makes the market the world of a harness, with a tool that reads the budget.
func (m *market) open(o *cgtest.Options) {
	o.Search = m.search
	o.Config.CheckFuncs = map[string]safety.Checker{"Product": safety.CheckerFunc(m.check), "Budget": safety.CheckerFunc(m.check)}
	o.Config.Extract = append(o.Config.Extract, config.Extract{
		Name: "left", Tool: "budget", Type: "Budget", Value: "$.name",
		Attributes: map[string]config.Attribute{"amount": {Path: "$.amount", Type: entity.KindMoney, Currency: "USD"}},
	})
	o.ChangeTools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
		return slices.Concat(tools, []tool.Tool{cgtest.NewTool(m.t, "budget", m.left)}, m.tools)
	}
}

// namesItem is the rule that reads what the action buys; cgtest.Covered has it.
func namesItem(o *cgtest.Options) {
	o.Config.Extract = append(o.Config.Extract, config.Extract{
		Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item",
	})
}

// guards are the three kinds of a guard, each with a rule that reads what is bought.
var guards = map[string]cgtest.Option{
	"protected": namesItem, "listed": cgtest.With(cgtest.Listed, namesItem), "covered": cgtest.Covered,
}

// sorted returns the names of cases.
func sorted[C any](cases map[string]C) []string { return slices.Sorted(maps.Keys(cases)) }

// configured takes the rules and the guard from the text of a configuration file.
func configured(t testing.TB, text string) cgtest.Option {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(text), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, cfg.Extract...)
		o.Config.Guard.Types = cfg.Guard.Types
	}
}

// script is what a model answers to the last thing it is told: the text of a user, or the
// name of a tool after "<" for its result.
type script map[string]func(*model.LLMRequest) *model.LLMResponse

func (s script) answer(req *model.LLMRequest) (*model.LLMResponse, error) {
	told := lastTold(req)
	f := s[told]
	if f == nil {
		return nil, fmt.Errorf("the script has no answer to %q", told)
	}
	return f(req), nil
}

func (s script) model(o *cgtest.Options) { o.Answer = s.answer }

// lastTold returns the end of a prompt in the form of the keys of a script.
func lastTold(req *model.LLMRequest) string {
	if last := adktest.LastResponse(req); last != nil {
		return "<" + last.Name
	}
	if len(req.Contents) == 0 {
		return ""
	}
	parts := req.Contents[len(req.Contents)-1].Parts
	return parts[len(parts)-1].Text
}

func says(text string) func(*model.LLMRequest) *model.LLMResponse {
	return func(*model.LLMRequest) *model.LLMResponse { return adktest.Text(text) }
}

func calls(name string, args map[string]any) func(*model.LLMRequest) *model.LLMResponse {
	return func(*model.LLMRequest) *model.LLMResponse { return adktest.Call(name, args) }
}

// searches and buys are the answers that most scripts need.
func searches(req *model.LLMRequest) *model.LLMResponse {
	return calls("search", map[string]any{"query": "routes"})(req)
}

func buys(req *model.LLMRequest) *model.LLMResponse {
	return calls("buy", map[string]any{"item": cgtest.Item, "count": 1})(req)
}

// searchThenBuy finds in one turn and buys in the next.
func searchThenBuy() script {
	return script{"find": searches, "<search": says("Found."), "buy it": buys, "<buy": says("Done.")}
}

// begin runs a turn beside others and returns a channel that closes at its end.
func begin(h *cgtest.Harness, text string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := adktest.TryRun(h.T.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText(text)); err != nil {
			h.T.Errorf("the turn %q ended with %v", text, err)
		}
	}()
	return done
}

// settle changes the world, approves what the events ask for, and returns what became of
// the call of buy. If they ask for nothing, the call ended in them.
func settle(h *cgtest.Harness, events []*session.Event, change func()) map[string]any {
	h.T.Helper()
	if change != nil {
		change()
	}
	if asked := adktest.Confirmations(events); len(asked) > 0 {
		return h.Answer(cgtest.SessionID, asked[0].ID, true)
	}
	ended := adktest.Responses(events, "buy")
	if len(ended) == 0 {
		h.T.Fatal("nobody was asked, and buy was not called")
	}
	return cgtest.Unstreamed(ended[len(ended)-1])
}

// wantRan expects that the call went through as safe.
func wantRan(h *cgtest.Harness, got map[string]any) {
	h.T.Helper()
	if got["status"] != "bought" || h.Bought.Load() != 1 {
		h.T.Errorf("buy ran %d times and answered %s, want an honest plan to run", h.Bought.Load(), encoded(got))
	}
}

// wantRefused expects that the call did not run, for one of the reasons if any is given.
func wantRefused(h *cgtest.Harness, got map[string]any, reasons ...string) {
	h.T.Helper()
	if n := h.Bought.Load(); n != 0 || got["status"] != "blocked" {
		h.T.Fatalf("buy ran %d times and answered %s, want it refused", n, encoded(got))
	}
	for _, r := range reasons {
		if text := encoded(got); strings.Contains(text, `"reason":"`+r+`"`) || strings.Contains(text, `"drift_type":"`+r+`"`) {
			return
		}
	}
	if len(reasons) > 0 {
		h.T.Errorf("buy answered %s, want one of %q", encoded(got), reasons)
	}
}

// wantOutcome expects a refusal if the world changed, and else that the call ran.
func wantOutcome(h *cgtest.Harness, refused bool, got map[string]any, reasons ...string) {
	h.T.Helper()
	if refused {
		wantRefused(h, got, reasons...)
		return
	}
	wantRan(h, got)
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(text)
}

// shows reports whether the prompt has a function response or a text with the words.
func shows(req *model.LLMRequest, words string) bool {
	return slices.ContainsFunc(req.Contents, func(c *genai.Content) bool { return strings.Contains(encoded(c.Parts), words) })
}

// onBoth tests in the two worlds of most tests: one that changes after the request, and one
// that does not.
func onBoth(t *testing.T, test func(t *testing.T, m *market, change func(), refused bool)) {
	t.Helper()
	for name, refused := range map[string]bool{"the world changes": true, "nothing changes": false} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t)
			change := m.rise
			if !refused {
				change = nil
			}
			test(t, m, change, refused)
		})
	}
}

// recorded returns how many rows of a type a tool has.
func recorded(h *cgtest.Harness, typ, toolName string) int {
	n := 0
	for _, e := range rowtest.Of(h.Rows(cgtest.SessionID), typ) {
		if rowtest.Field(h.T, e.Content, "tool") == toolName {
			n++
		}
	}
	return n
}
