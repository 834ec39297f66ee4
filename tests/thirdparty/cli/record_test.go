// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// configuration is that of all scripts; %s is the address of the world.
const configuration = `journal:
  path: contextgraph.db
guard:
  check_before_asking: false # one request is for what no checker knows
  tools: {buy: {acts_on: nothing}}
extract:
  - name: found
    tool: search
    each: $.items[*]
    type: Product
    value: $.name
    attributes:
      price: {path: $.price, type: money, currency: USD}
  - name: audiences
    tool: search
    each: $.audiences[*]
    type: Audience
    value: $.name
checkers:
  - type: Product
    http:
      url: http://%s/{value}
      attributes:
        price: {path: $.price, type: money, currency: USD}
`

// world is what checkers ask: a price for each product.
type world struct {
	mu     sync.Mutex
	prices map[string]string // "" for none: the server fails
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		http.Error(out, "nothing here", http.StatusNotFound)
		return
	}
	if price := w.price(strings.TrimPrefix(r.URL.Path, "/")); price != "" {
		_ = json.NewEncoder(out).Encode(map[string]string{"price": price})
		return
	}
	http.Error(out, "closed", http.StatusInternalServerError)
}

func (w *world) price(product string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if price, changed := w.prices[product]; changed {
		return price
	}
	return "$100"
}

func (w *world) set(product, price string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prices[product] = price
}

// recorder plays sessions.
type recorder struct {
	world  *world
	root   agent.Agent
	cg     *contextgraph.Instance
	runner *runner.Runner
	now    time.Time
}

const user = "alice"

func key(id string) record.Session {
	return record.Session{App: "shop", User: user, ID: id}
}

type query struct {
	Product string `json:"product"`
}

// open makes an instance whose clock says start, and goes on from there with each step.
func (r *recorder) open(ctx context.Context, text, journal string, start time.Time) error {
	cfg, err := config.Parse("contextgraph.yaml", []byte(text), nil, setup.Checks()...)
	if err != nil {
		return err
	}
	r.now = start
	cfg.Journal.Path = journal
	if r.cg, err = contextgraph.Open(ctx, cfg, contextgraph.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		contextgraph.WithClock(func() time.Time { return r.now })); err != nil {
		return err
	}
	search, err := functiontool.New(functiontool.Config{Name: "search", Description: "finds products"},
		func(_ agent.Context, q query) (map[string]any, error) {
			found := map[string]any{"items": []any{map[string]any{"name": q.Product, "price": "$100"}}}
			if strings.HasPrefix(q.Product, "Audio") {
				found["audiences"] = []any{map[string]any{"name": "Listeners"}}
			}
			return found, nil
		})
	if err != nil {
		return err
	}
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product", RequireConfirmation: true},
		func(agent.Context, query) (map[string]any, error) { return map[string]any{"status": "bought"}, nil })
	if err != nil {
		return err
	}
	r.root, err = llmagent.New(llmagent.Config{Name: "buyer", Model: &adktest.Model{Answer: shopper}, Tools: []tool.Tool{search, r.cg.Protect(buy)}})
	if err != nil {
		return err
	}
	r.runner, err = runner.New(runner.Config{
		AppName: "shop", Agent: r.root, SessionService: session.InMemoryService(), PluginConfig: r.cg.PluginConfig(), AutoCreateSession: true,
	})
	return err
}

// shopper searches for what it is told to buy, and buys it.
func shopper(req *model.LLMRequest) (*model.LLMResponse, error) {
	said := req.Contents[0].Parts[0].Text
	product, ok := strings.CutPrefix(said, "buy ")
	if !ok {
		return adktest.Text("Hello."), nil
	}
	switch last := adktest.LastResponse(req); {
	case last == nil:
		return adktest.Call("search", map[string]any{"product": product}), nil
	case last.Name == "search":
		return adktest.Call("buy", map[string]any{"product": product}), nil
	default:
		return adktest.Text("Done."), nil
	}
}

// ask has a session ask to buy a product, and returns the id of the confirmation.
func (r *recorder) ask(ctx context.Context, id, product string) (string, error) {
	r.now = r.now.Add(time.Minute)
	events, err := adktest.TryRun(ctx, r.runner, user, id, adktest.UserText("buy "+product))
	if err != nil {
		return "", err
	}
	calls := adktest.Confirmations(events)
	if len(calls) != 1 {
		return "", fmt.Errorf("session %s: %d confirmations", id, len(calls))
	}
	return calls[0].ID, nil
}

func (r *recorder) answer(ctx context.Context, id, confirmation string, yes bool) error {
	r.now = r.now.Add(90 * time.Second)
	_, err := adktest.TryRun(ctx, r.runner, user, id, adktest.Answer(confirmation, yes))
	return err
}

// sessions are those of the journal: how each gets where it is.
func (r *recorder) sessions(ctx context.Context) error {
	r.now = r.now.Add(time.Minute)
	if _, err := adktest.TryRun(ctx, r.runner, user, "s-plain", adktest.UserText("hello")); err != nil {
		return err
	}
	for _, s := range []struct {
		id, product string
		price       string // after the question; "$100" is unchanged, "" is no answer
		answer      string // "yes", "no" or none
	}{
		{"s-executed", "Lamp", "$100", "yes"},
		{"s-rejected", "Chair", "$100", "no"},
		{"s-blocked", "Table", "$130", "yes"},
		{"s-unchecked", "Sofa", "", "yes"},
		{"s-away", "Shelf", "", ""},
		{"s-moved", "Desk", "$130", ""},
		{"s-audience", "Audio ad", "$100", ""},
		{"s-doubt", "Bed", "$100", ""},
		{"s-safe", "Rug", "$100", ""},
	} {
		confirmation, err := r.ask(ctx, s.id, s.product)
		if err != nil {
			return err
		}
		r.world.set(s.product, s.price)
		if s.answer == "" {
			continue
		}
		if err := r.answer(ctx, s.id, confirmation, s.answer == "yes"); err != nil {
			return err
		}
	}
	return r.doubt(ctx, "s-doubt")
}

// doubt leaves the approval of a session as a process does that ends while its effect runs.
func (r *recorder) doubt(ctx context.Context, id string) error {
	list, err := r.cg.Approvals(ctx, key(id))
	if err != nil || len(list) != 1 {
		return fmt.Errorf("session %s: %d approvals, %w", id, len(list), err)
	}
	a := list[0]
	j, err := journal.Open(ctx, journal.Config{Journal: config.Journal{Path: r.cg.JournalPath()}})
	if err != nil {
		return err
	}
	defer j.Close(ctx)
	step := func(from, to safety.ApprovalState, t safety.Transition) error {
		r.now = r.now.Add(time.Second)
		t.ID, t.From, t.To, t.At = a.ID, []safety.ApprovalState{from}, to, r.now
		_, err := j.Ledger().Transition(ctx, t)
		return err
	}
	const nonce = "0123456789abcdef0123456789abcdef"
	return errors.Join(
		step(safety.StatePending, safety.StateApproved, safety.Transition{Actor: user, Set: safety.Update{Consent: safety.Consent{Who: user}, Verdict: "safe"}}),
		step(safety.StateApproved, safety.StatePermitted, safety.Transition{Actor: a.RunID, Set: safety.Update{PermitNonce: nonce, PermitRun: a.RunID, PermitExpiresAt: r.now.Add(time.Minute)}}),
		step(safety.StatePermitted, safety.StateExecuting, safety.Transition{Actor: a.RunID, RequireNonce: nonce}),
	)
}

// recordSessions makes the journal of all scripts.
func recordSessions(ctx context.Context, w *world, text, journal string) error {
	r := &recorder{world: w}
	const day = 24 * time.Hour
	now := time.Now()
	if err := r.open(ctx, text, journal, now.Add(-8*day)); err != nil {
		return err
	}
	_, err := r.ask(ctx, "s-expired", "Stool")
	if err := errors.Join(err, r.cg.Close(ctx)); err != nil {
		return err
	}
	if err := r.open(ctx, text, journal, now.Add(-3*time.Hour)); err != nil {
		return err
	}
	return errors.Join(r.sessions(ctx), r.cg.Close(ctx))
}
