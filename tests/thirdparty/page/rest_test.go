// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/server/adkrest"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// bank is an agent behind ADK's REST API that pays what is owed, after a human agreed.
type bank struct {
	api  http.Handler
	url  string
	cg   *contextgraph.Instance
	owed atomic.Value
	paid atomic.Int64
}

// newBank returns a bank with more options.
func newBank(t *testing.T, more ...contextgraph.Option) *bank {
	t.Helper()
	b := &bank{}
	b.owed.Store("$100")
	cfg, err := config.Parse("test.yaml", []byte(`
extract:
  - {name: invoice, tool: pay, in: action, type: Invoice, value: $.to, attributes: {amount: {path: $.amount, type: money, currency: USD}}}
guard: {types: {Invoice: {unseen: allow}}} # no tool shows what is owed
`), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Journal.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	check := safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
		amount, err := entity.ParseMoney(b.owed.Load().(string), "USD")
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"amount": amount}}, err
	})
	more = append(more, contextgraph.WithLogger(slog.New(slog.DiscardHandler)), contextgraph.WithChecker("Invoice", check))
	if b.cg, err = contextgraph.Open(t.Context(), cfg, more...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.cg.Close(context.Background()), b.cg.Stats().Check()); err != nil {
			t.Error(err)
		}
	})
	type args struct {
		To     string `json:"to"`
		Amount string `json:"amount"`
	}
	pay, err := functiontool.New(functiontool.Config{Name: "pay", RequireConfirmation: true}, func(agent.Context, args) (map[string]any, error) {
		b.paid.Add(1)
		return map[string]any{"status": "paid"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "clerk", Model: adktest.CallsOnce(&genai.FunctionCall{Name: "pay", Args: map[string]any{"to": "ACME", "amount": "$100"}}), Tools: []tool.Tool{b.cg.Protect(pay)}})
	if err != nil {
		t.Fatal(err)
	}
	api, err := adkrest.NewServer(adkrest.ServerConfig{
		SessionService: session.InMemoryService(), AgentLoader: agent.NewSingleLoader(root), PluginConfig: b.cg.PluginConfig(), SSEWriteTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	b.api, b.url = api, server.URL
	return b
}

// asks makes the agent ask in a session.
func (b *bank) asks(t *testing.T, id string) {
	t.Helper()
	post := func(path string, body any) {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(b.url+path, "application/json", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("POST %s: %s: %s (%v)", path, resp.Status, text, err)
		}
	}
	post("/apps/clerk/users/alice/sessions/"+id, m{})
	post("/run", m{"appName": "clerk", "userId": "alice", "sessionId": id, "newMessage": m{"role": "user", "parts": []m{{"text": "pay ACME"}}}})
	if err := cgtest.JournalOf(t, b.cg).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A human approves on the page; the agent runs what was approved, or the gate blocks it, and
// the page shows what came of it.
func TestApproveOnThePage(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	b := newBank(t)
	agent, err := answer.NewAgent(answer.Endpoint{URL: b.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	b.asks(t, "holds")
	j := cgtest.JournalOf(t, b.cg)
	p := open(t, serveSource(t, viewer.Options{Source: inspect.NewJournal(j), Changes: j.LastSeq, Decide: agent})+"#s=clerk/alice/holds&v=approvals&token="+token)
	p.shows("#panel-approvals", "pay", "Pending", "ACME", "$100", "Nobody has answered yet")
	p.click("#panel-approvals .decide button", "Yes")
	p.click("#panel-approvals .decide button[type=submit]", "Yes, run it once")
	p.wait(`__t.text(".session-head").includes("Executed")`)
	p.shows("#panel-approvals .passed", "said yes, and it counted", "Checked right before the call: nothing has changed", "ran without an error")
	if n := b.paid.Load(); n != 1 {
		t.Errorf("paid %d times, want once", n)
	}

	b.asks(t, "drifts")
	p.click("#cg-nav a", "drifts")
	p.shows("#panel-approvals", "Pending")
	b.owed.Store("$80")
	p.click("#panel-approvals .decide button", "Yes")
	p.wait(`document.activeElement.matches(".decide button[type=submit]")`)
	p.key(kb.Enter) // the token is still known, and the button has the focus
	p.wait(`__t.text(".session-head").includes("Changed since it was read")`)
	p.shows("#panel-approvals .v-line", "$100 (not seen) is now $80")
	p.shows("#panel-approvals .passed", "said yes", "Checked when it was answered: the world has changed", "can never run")
	p.shows("#panel-approvals", "It did not run.")
	if n := b.paid.Load(); n != 1 {
		t.Errorf("paid %d times although less is owed now, want once", n)
	}
}
