// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgtest is the harness of the behaviour tests: a shop agent with contextgraph around
// it, the world that it buys in, and the ways to guard its tool. The tests are in the folders
// of tests/; only tests import this package.
//
// A test makes a [Harness] with [New] and its options. It asks with
// [Harness.Ask], changes the world with [Shop.Set] and answers with [Harness.Answer].
package cgtest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The session that most tests are in.
const (
	App       = "shop"
	User      = "alice"
	SessionID = "s1"
)

// Quiet returns a logger that drops what it is told.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Key returns the session of [User] with the id.
func Key(id string) record.Session { return record.Session{App: App, User: User, ID: id} }

// Harness is a shop agent with contextgraph around it: it searches, then buys.
type Harness struct {
	T        testing.TB
	CG       *contextgraph.Instance
	Path     string        // of the journal
	Memory   *store.Memory // in its place; nil with [OnFile]
	Clock    *Clock
	Shop     *Shop
	Sessions session.Service
	Runner   *runner.Runner
	Model    *adktest.Model
	Tools    []tool.Tool // of the agent, search first
	Toolsets []tool.Toolset
	// journal is open for the test journalOf.
	journal   *journal.Journal
	journalOf testing.TB

	Bought  atomic.Int64 // counts the purchases
	LastBuy atomic.Value // BuyArgs
	// OnBuy, when set, runs inside the tool; OnAsk in its place, once; OnCheck at the
	// start of each check, with its number, if the option CountChecks is set.
	OnBuy   func()
	Effect  func(agent.Context) error // the effect of the tool, when set
	OnAsk   func(agent.Context) error
	OnCheck func(n int64)
	Checks  atomic.Int64 // counts the checks
}

// Option changes the options of a harness; nil changes none.
type Option func(*Options)

// Options are the parts of a harness that a test can change before it is made. [New] sets
// Config, Protect, Confirm, Answer and Search before it applies the options.
type Options struct {
	Config Config
	// Protect wraps the tool, and Confirm gives it a confirmation of its own.
	Protect, Confirm bool
	// MakeBuy, when set, makes the tool; MakeToolset, when set, makes the toolset that it is in.
	MakeBuy     func(*Harness) (tool.Tool, error)
	MakeToolset func(*contextgraph.Instance, tool.Tool) tool.Toolset
	BeforeTool  []llmagent.BeforeToolCallback
	Answer      func(*model.LLMRequest) (*model.LLMResponse, error)     // of the model
	Search      func(agent.Context, SearchArgs) (map[string]any, error) // the first tool
	Plugins     []*plugin.Plugin
	// CountChecks has each check call Harness.OnCheck.
	CountChecks  bool
	ChangeRunner func(*runner.Config)
	// ChangeTools changes the tools of the agent, search first.
	ChangeTools func(*contextgraph.Instance, []tool.Tool) []tool.Tool
}

// OnFile has the harness record to a journal in the place of a store in memory. In the thorough size all do.
func OnFile(o *Options) { o.Config.Memory = nil }

// Beside has the harness record where another one does.
func Beside(h *Harness) Option {
	return func(o *Options) { o.Config.Journal.Path, o.Config.Memory = h.Path, h.Memory }
}

// NotChecked has nobody check a request before a person is asked: for tests of the later checks.
func NotChecked(o *Options) { o.Config.Guard.CheckBeforeAsking = new(false) }

// Listed has the config name the tool instead of wrapping it.
func Listed(o *Options) {
	o.Protect, o.Confirm = false, false
	o.Config.Guard.Tools = config.Tools("buy")
}

// Covered leaves the tool as it is: its own confirmation, enforced by a rule.
func Covered(o *Options) {
	o.Protect = false
	Reads(o)
}

// Reads adds a rule over the arguments of the tool, unless there is one. [New] does it where the tool is guarded.
func Reads(o *Options) {
	if !slices.ContainsFunc(o.Config.Extract, func(e config.Extract) bool { return e.In == config.InAction }) {
		o.Config.Extract = append(slices.Clone(o.Config.Extract), config.Extract{
			Name: "bought", Tool: "buy", In: config.InAction, Type: "Product", Value: "$.item",
		})
	}
}

// WithChecker has the function check products.
func WithChecker(c safety.CheckerFunc) Option {
	return func(o *Options) { o.Config.CheckFuncs["Product"] = c }
}

// New returns a harness whose options were changed by opts, one after the other. The end of
// the test closes its Instance and checks its counters.
func New(t testing.TB, opts ...Option) *Harness {
	t.Helper()
	h := &Harness{T: t, Clock: &Clock{}, Shop: &Shop{price: "$40,000", stock: true}, Sessions: session.InMemoryService()}
	h.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	var o *Options
	o = &Options{
		Protect: true, Confirm: true,
		Config: Config{
			Config: contextgraph.Config{
				Journal: config.Journal{Path: h.Path, CommitInterval: time.Millisecond},
				Extract: []config.Extract{{
					Name: "found", Tool: "search", Each: "$.items[*]", Type: "Product", Value: "$.name", ValueType: entity.KindText,
					Attributes: map[string]config.Attribute{
						"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
						"availability": {Path: "$.available", Type: entity.KindBool},
					},
				}},
			},
			Logger: Quiet(),
			Now:    h.Clock.Now,
			CheckFuncs: map[string]safety.Checker{"Product": safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
				if n := h.Checks.Add(1); o.CountChecks && h.OnCheck != nil {
					h.OnCheck(n)
				}
				price, stock := h.Shop.Get()
				return safety.State{AsOf: h.Clock.Now(), Attributes: map[string]entity.Value{
					"price": Money(t, price), "availability": entity.Bool(stock),
				}}, nil
			})},
		},
		Search: func(agent.Context, SearchArgs) (map[string]any, error) {
			price, stock := h.Shop.Get()
			return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": price, "available": stock}}}, nil
		},
		Answer: Shopper,
	}
	if !testsize.Thorough() {
		o.Config.Memory = new(store.Memory)
	}
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
	if o.Protect || o.MakeToolset != nil || len(o.Config.Guard.Tools) > 0 || o.Config.Guard.Mode == config.ModeObserve {
		Reads(o)
	}
	h.Memory = o.Config.Memory
	if h.Memory == nil && o.Config.Store.Postgres.DSN == "" && (o.Config.Enabled == nil || *o.Config.Enabled) { // else nobody makes a journal
		journaltest.Write(t, h.Path)
	}
	cg, err := o.Config.Open(context.Background())
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
	h.CG = cg

	search, err := functiontool.New(functiontool.Config{Name: "search", Description: "finds products"}, o.Search)
	if err != nil {
		t.Fatal(err)
	}
	if o.MakeBuy == nil {
		o.MakeBuy = func(h *Harness) (tool.Tool, error) {
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product", RequireConfirmation: o.Confirm}, h.Buy)
		}
	}
	buy, err := o.MakeBuy(h)
	if err != nil {
		t.Fatal(err)
	}
	if o.Protect {
		buy = cg.Protect(buy)
	}
	tools, toolsets := []tool.Tool{search, buy}, []tool.Toolset(nil)
	if o.MakeToolset != nil {
		tools, toolsets = tools[:1:1], []tool.Toolset{o.MakeToolset(cg, buy)} // ADK appends to them in every run
	}
	if o.ChangeTools != nil {
		tools = o.ChangeTools(cg, tools)
	}
	h.Tools, h.Toolsets = tools, toolsets
	h.Model = &adktest.Model{Answer: o.Answer}
	root, err := llmagent.New(llmagent.Config{
		Mode: llmagent.ModeChat, Name: "root", Model: h.Model, Instruction: "Buy what the user wants.",
		Tools: tools, Toolsets: toolsets, BeforeToolCallbacks: o.BeforeTool,
	})
	if err != nil {
		t.Fatal(err)
	}
	rc := runner.Config{AppName: App, Agent: root, SessionService: h.Sessions, PluginConfig: cg.PluginConfig(o.Plugins...), AutoCreateSession: true}
	if o.ChangeRunner != nil {
		o.ChangeRunner(&rc)
	}
	h.Runner, err = runner.New(rc)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Buy is what the tool does.
func (h *Harness) Buy(ctx agent.Context, a BuyArgs) (map[string]any, error) {
	if ask := h.OnAsk; ask != nil {
		h.OnAsk = nil
		return nil, ask(ctx)
	}
	h.Bought.Add(1)
	h.LastBuy.Store(a)
	if h.OnBuy != nil {
		h.OnBuy()
	}
	if h.Effect != nil {
		if err := h.Effect(ctx); err != nil {
			return nil, err
		}
	}
	return map[string]any{"status": "bought"}, nil
}

// Ask runs the turn that ends with the approval request and returns the
// confirmation id and the events of the turn.
func (h *Harness) Ask(sessionID string) (confirmationID string, events []*session.Event) {
	h.T.Helper()
	events = adktest.Run(h.T, h.Runner, User, sessionID, adktest.UserText("buy a route"))
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		h.T.Fatalf("confirmation requests = %d, want 1; buy answered %v", len(calls), adktest.Responses(events, "buy"))
	}
	return calls[0].ID, events
}

// Answer runs the turn that answers and returns what the tool call came to.
func (h *Harness) Answer(sessionID, confirmationID string, yes bool) map[string]any {
	h.T.Helper()
	events, err := adktest.TryRun(h.T.Context(), h.Runner, User, sessionID, adktest.Answer(confirmationID, yes))
	if err != nil {
		h.T.Logf("the run ended with: %v", err)
	}
	got := adktest.Responses(events, "buy")
	if len(got) == 0 {
		return nil
	}
	return Unstreamed(got[len(got)-1])
}

// Unstreamed returns the result that a streaming tool gave as text, or the result as
// it is.
func Unstreamed(result map[string]any) map[string]any {
	for _, key := range []string{"result", "error"} {
		text, _ := result[key].(string)
		var streamed map[string]any
		if len(result) == 1 && json.Unmarshal([]byte(text), &streamed) == nil {
			return streamed
		}
	}
	return result
}

// WantBought ends the test unless the tool ran n times.
func (h *Harness) WantBought(n int64) {
	h.T.Helper()
	if got := h.Bought.Load(); got != n {
		h.T.Fatalf("the tool ran %d times, want %d", got, n)
	}
}

// Rows returns the rows of a session, behind a barrier.
func (h *Harness) Rows(sessionID string) []record.Event {
	h.T.Helper()
	if err := h.CG.Flush(h.T.Context()); err != nil {
		h.T.Fatalf("Flush: %v", err)
	}
	rows, err := store.Events(h.T.Context(), h.Store(), Key(sessionID))
	if err != nil {
		h.T.Fatalf("Events: %v", err)
	}
	return rows
}

// Approvals returns the approvals of a session.
func (h *Harness) Approvals(sessionID string) []safety.Approval {
	h.T.Helper()
	as, err := h.CG.Approvals(h.T.Context(), Key(sessionID))
	if err != nil {
		h.T.Fatalf("Approvals: %v", err)
	}
	return as
}
