// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	app  = "shop"
	user = "alice"
	sess = "s1"
)

// clock is a clock that tests can move.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }
func quiet() *slog.Logger                { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
func key(id string) contextgraph.Session { return contextgraph.Session{App: app, User: user, ID: id} }
func money(t testing.TB, s string) entity.Value {
	t.Helper()
	v, err := entity.ParseMoney(s, "USD")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// shop is the world outside: what a checker sees.
type shop struct {
	mu    sync.Mutex
	price string
	stock bool
}

func (w *shop) set(price string, stock bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.price, w.stock = price, stock
}

func (w *shop) get() (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.price, w.stock
}

type searchArgs struct {
	Query string `json:"query"`
}

type buyArgs struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// harness is a shop agent with contextgraph around it: it searches, then buys.
type harness struct {
	t        testing.TB
	cg       *contextgraph.Instance
	path     string
	clock    *clock
	world    *shop
	sessions session.Service
	runner   *runner.Runner
	model    *adktest.Model
	tools    []tool.Tool // of the agent, search first
	toolsets []tool.Toolset

	bought  atomic.Int64
	lastBuy atomic.Value // buyArgs
	// onBuy, when set, runs inside the tool; onAsk in its place, once; onCheck at the
	// start of each check, with its number, if the option counted is set.
	onBuy   func()
	effect  func(agent.Context) error // what the tool does, when set
	onAsk   func(agent.Context) error
	onCheck func(n int64)
	checks  atomic.Int64
}

// option changes the options of a harness; nil changes none.
type option func(*options)

type options struct {
	cfg     contextgraph.Config
	protect bool
	confirm bool
	// makeBuy, when set, makes the tool; set, when set, makes the toolset that it is in.
	makeBuy       func(*harness) (tool.Tool, error)
	set           func(*contextgraph.Instance, tool.Tool) tool.Toolset
	beforeTool    []llmagent.BeforeToolCallback
	answer        func(*model.LLMRequest) (*model.LLMResponse, error)
	search        func(agent.Context, searchArgs) (map[string]any, error)
	plugins       []*plugin.Plugin
	counted       bool
	wrapRunnerCfg func(*runner.Config)
	// tools changes the tools of the agent, search first; later is left to the test.
	tools func(*contextgraph.Instance, []tool.Tool) []tool.Tool
	later func()
}

// listed has the config name the tool instead of wrapping it.
func listed(o *options) {
	o.protect, o.confirm = false, false
	o.cfg.Guard.Tools = []string{"buy"}
}

// covered leaves the tool as it is: its own confirmation, enforced by a rule.
func covered(o *options) {
	o.protect = false
	o.cfg.Extract = append(o.cfg.Extract, contextgraph.ExtractConfig{
		Name: "bought", Tool: "buy", In: graphsync.InAction, Type: "Product", Value: "$.item",
	})
}

func checker(c safety.CheckerFunc) option {
	return func(o *options) { o.cfg.CheckFuncs["Product"] = c }
}

func newHarness(t testing.TB, opts ...option) *harness {
	t.Helper()
	h := &harness{t: t, clock: &clock{}, world: &shop{price: "$40,000", stock: true}, sessions: session.InMemoryService()}
	h.path = filepath.Join(t.TempDir(), "contextgraph.db")
	var o *options
	o = &options{
		protect: true, confirm: true,
		cfg: contextgraph.Config{
			Journal: contextgraph.JournalConfig{Path: h.path, CommitInterval: time.Millisecond},
			Logger:  quiet(),
			Now:     h.clock.Now,
			Extract: []contextgraph.ExtractConfig{{
				Name: "found", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", ValueType: entity.KindText,
				Attributes: map[string]contextgraph.AttributeConfig{
					"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
					"availability": {Path: "$.available", Type: entity.KindBool},
				},
			}},
			CheckFuncs: map[string]safety.Checker{"Product": safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				if n := h.checks.Add(1); o.counted && h.onCheck != nil {
					h.onCheck(n)
				}
				price, stock := h.world.get()
				return safety.State{AsOf: h.clock.Now(), Attributes: map[string]entity.Value{
					"price": money(t, price), "availability": entity.Bool(stock),
				}}, nil
			})},
		},
		search: func(agent.Context, searchArgs) (map[string]any, error) {
			price, stock := h.world.get()
			return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": price, "available": stock}}}, nil
		},
		answer: shopper,
	}
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
	cg, err := contextgraph.Open(context.Background(), o.cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := cg.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := cg.Stats().Check(); err != nil {
			t.Error(err)
		}
	})
	h.cg = cg

	search, err := functiontool.New(functiontool.Config{Name: "search", Description: "finds products"}, o.search)
	if err != nil {
		t.Fatal(err)
	}
	if o.makeBuy == nil {
		o.makeBuy = func(h *harness) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product", RequireConfirmation: o.confirm}, h.buy)
		}
	}
	buy, err := o.makeBuy(h)
	if err != nil {
		t.Fatal(err)
	}
	if o.protect {
		buy = cg.Protect(buy)
	}
	tools, toolsets := []tool.Tool{search, buy}, []tool.Toolset(nil)
	if o.set != nil {
		tools, toolsets = tools[:1:1], []tool.Toolset{o.set(cg, buy)} // ADK appends to them in every run
	}
	if o.tools != nil {
		tools = o.tools(cg, tools)
	}
	h.tools, h.toolsets = tools, toolsets
	h.model = &adktest.Model{Answer: o.answer}
	root, err := llmagent.New(llmagent.Config{
		Name: "root", Model: h.model, Instruction: "Buy what the user wants.",
		Tools: tools, Toolsets: toolsets, BeforeToolCallbacks: o.beforeTool,
	})
	if err != nil {
		t.Fatal(err)
	}
	rc := runner.Config{AppName: app, Agent: root, SessionService: h.sessions, PluginConfig: cg.PluginConfig(o.plugins...), AutoCreateSession: true}
	if o.wrapRunnerCfg != nil {
		o.wrapRunnerCfg(&rc)
	}
	h.runner, err = runner.New(rc)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// buy is what the tool does.
func (h *harness) buy(ctx agent.Context, a buyArgs) (map[string]any, error) {
	if ask := h.onAsk; ask != nil {
		h.onAsk = nil
		return nil, ask(ctx)
	}
	h.bought.Add(1)
	h.lastBuy.Store(a)
	if h.onBuy != nil {
		h.onBuy()
	}
	if h.effect != nil {
		if err := h.effect(ctx); err != nil {
			return nil, err
		}
	}
	return map[string]any{"status": "bought"}, nil
}

// shopper is the policy of the scripted model: search, buy, report.
func shopper(req *model.LLMRequest) (*model.LLMResponse, error) {
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

// ask runs the turn that ends with the approval request and returns the
// confirmation id and the id of the original call.
func (h *harness) ask(sessionID string) (confirmationID string, events []*session.Event) {
	h.t.Helper()
	events = adktest.Run(h.t, h.runner, user, sessionID, adktest.UserText("buy a route"))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		h.t.Fatalf("confirmation requests = %d, want 1; buy answered %v", len(calls), adktest.Responses(events, "buy"))
	}
	return calls[0].ID, events
}

// answer runs the turn that answers and returns what the tool call came to.
func (h *harness) answer(sessionID, confirmationID string, yes bool) map[string]any {
	h.t.Helper()
	events, err := adktest.TryRun(h.t.Context(), h.runner, user, sessionID, adktest.Answer(confirmationID, yes))
	if err != nil {
		h.t.Logf("the run ended with: %v", err)
	}
	got := adktest.Responses(events, "buy")
	if len(got) == 0 {
		return nil
	}
	return unstreamed(got[len(got)-1])
}

// unstreamed returns the result that a streaming tool gave as text, or the result as
// it is.
func unstreamed(result map[string]any) map[string]any {
	for _, key := range []string{"result", "error"} {
		text, _ := result[key].(string)
		var streamed map[string]any
		if len(result) == 1 && json.Unmarshal([]byte(text), &streamed) == nil {
			return streamed
		}
	}
	return result
}

func (h *harness) wantBought(n int64) {
	h.t.Helper()
	if got := h.bought.Load(); got != n {
		h.t.Fatalf("the tool ran %d times, want %d", got, n)
	}
}

// rows returns the rows of a session, behind a barrier.
func (h *harness) rows(sessionID string) []schema.Event {
	h.t.Helper()
	if err := h.cg.Flush(h.t.Context()); err != nil {
		h.t.Fatalf("Flush: %v", err)
	}
	rows, err := h.cg.Journal().Events(h.t.Context(), key(sessionID))
	if err != nil {
		h.t.Fatalf("Events: %v", err)
	}
	return rows
}

func (h *harness) approvals(sessionID string) []safety.Approval {
	h.t.Helper()
	as, err := h.cg.Approvals(h.t.Context(), key(sessionID))
	if err != nil {
		h.t.Fatalf("Approvals: %v", err)
	}
	return as
}
