// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/cmd/launcher"
	"google.golang.org/adk/v2/cmd/launcher/web"
	"google.golang.org/adk/v2/cmd/launcher/web/api"
	"google.golang.org/adk/v2/cmd/launcher/web/webui"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// drink is the argument and the result of the tools of a cafe.
type drink struct {
	Drink string `json:"drink"`
	Price string `json:"price,omitempty"`
}

// cafe is an agent that orders a drink after a person agreed. ADK's launcher serves its REST API and its web UI.
type cafe struct {
	url     string
	cg      *contextgraph.Instance
	price   atomic.Value
	ordered atomic.Int64
}

func newCafe(t *testing.T) *cafe {
	t.Helper()
	c := &cafe{}
	c.price.Store("$4.20")
	cfg, err := config.Parse("test.yaml", []byte(`
extract:
  - {name: prices, tool: get_price, type: Drink, value: $.drink, attributes: {price: {path: $.price, type: money}}}
  - {name: orders, tool: order_drink, in: action, type: Drink, value: $.drink}
checkers:
  - {type: Drink, replay: {}}
`), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Journal.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	if c.cg, err = contextgraph.Open(t.Context(), cfg, contextgraph.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.cg.Close(context.Background()), c.cg.Stats().Check()); err != nil {
			t.Error(err)
		}
	})
	price, err1 := functiontool.New(functiontool.Config{Name: "get_price"}, func(_ agent.Context, d drink) (drink, error) {
		return drink{d.Drink, c.price.Load().(string)}, nil
	})
	order, err2 := functiontool.New(functiontool.Config{Name: "order_drink"}, func(_ agent.Context, d drink) (drink, error) {
		c.ordered.Add(1)
		return d, nil
	})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if price, err = c.cg.Replayable(price); err != nil {
		t.Fatal(err)
	}
	barista, err := llmagent.New(llmagent.Config{Name: "barista", Model: &adktest.Model{Answer: orders}, Tools: []tool.Tool{price, c.cg.Protect(order)}})
	if err != nil {
		t.Fatal(err)
	}
	waiter, err := llmagent.New(llmagent.Config{Name: "waiter", Model: adktest.Says("At your service.")})
	if err != nil {
		t.Fatal(err)
	}
	loader, err := agent.NewMultiLoader(waiter, barista)
	if err != nil {
		t.Fatal(err)
	}
	c.serve(t, &launcher.Config{AgentLoader: loader, SessionService: session.InMemoryService(), PluginConfig: c.cg.PluginConfig()})
	return c
}

// orders looks the price up, orders, and says what came of it.
func orders(req *model.LLMRequest) (*model.LLMResponse, error) {
	what := map[string]any{"drink": "flat white"}
	switch result := adktest.LastResponse(req); {
	case result == nil:
		return adktest.Call("get_price", what), nil
	case result.Name == "get_price":
		return adktest.Call("order_drink", what), nil
	case result.Response["status"] == "blocked": // by the gate
		text := fmt.Sprint(result.Response["message"])
		for _, a := range result.Response["alerts"].([]any) {
			alert := a.(map[string]any)
			text += fmt.Sprintf(" %v: %v, no longer %v.", alert["entity"], alert["after"], alert["before"])
		}
		return adktest.Text(text), nil
	case result.Response["error"] != nil: // ADK's word for a rejection
		return adktest.Text(fmt.Sprint("I did not order it: ", result.Response["error"])), nil
	default:
		return adktest.Text("Here is your flat white."), nil
	}
}

// serve serves what the command "web api webui" of ADK's launcher serves, on a free port.
func (c *cafe) serve(t *testing.T, cfg *launcher.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	c.url = "http://" + server.Listener.Addr().String()
	router, backend, ui := web.BuildBaseRouter(), api.NewLauncher(), webui.NewLauncher()
	_, err1 := backend.Parse(nil)
	_, err2 := ui.Parse([]string{"-api_server_address", c.url + "/api"})
	err := cmp.Or(err1, err2, backend.SetupSubrouters(router, cfg), ui.SetupSubrouters(router, cfg))
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = http.Handler(router)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// ADK's own web UI shows a person the hint of the gate, sends the answer, and shows what came of it. It asks another
// host for fonts only, and works without them.
func TestADKWebUI(t *testing.T) {
	for name, tt := range map[string]struct {
		price     string // when the person answers
		confirmed bool
		says      string
		state     safety.ApprovalState
		ordered   int64
	}{
		"safe":     {"$4.20", true, "Here is your flat white.", safety.StateExecuted, 1},
		"drift":    {"$5.00", true, "The world has changed since the approval of order_drink was asked. flat white: $5, no longer $4.20.", safety.StateBlocked, 0},
		"rejected": {"$4.20", false, "I did not order it", safety.StateRejected, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCafe(t)
			p := newTab(t, wide)
			p.navigate(c.url + "/")
			p.click("button", "Select an app")
			p.click(".app-selector-item-name", "barista")
			p.click("textarea")
			p.key("A flat white, please.", kb.Enter)
			p.shows("app-long-running-response", `order_drink with drink "flat white". Rests on Drink "flat white": price $4.20. Requester: user (not authenticated).`, "Submit")
			p.picture("adk-webui")
			c.price.Store(tt.price)
			if tt.confirmed {
				p.click("app-long-running-response label", "Confirmed")
			}
			p.click("app-long-running-response button", "Submit")
			p.shows("app-root", tt.says)
			p.picture("adk-webui-" + name)
			p.holds(`!document.querySelector("app-long-running-response")`)
			if n := c.ordered.Load(); n != tt.ordered {
				t.Errorf("ordered %d times, want %d", n, tt.ordered)
			}
			session := eval[string](p, `new URL(location.href).searchParams.get("session")`)
			approvals, err := c.cg.Approvals(t.Context(), record.Session{App: "barista", User: "user", ID: session})
			if err != nil || len(approvals) != 1 || approvals[0].State != tt.state {
				t.Errorf("session %q has the approvals %+v, error %v; want one that is %s", session, approvals, err, tt.state)
			}
			for _, x := range p.complaints() {
				if at, leaves := strings.CutPrefix(x, leavesPage); leaves && !strings.HasPrefix(at, "https://fonts.gstatic.com/") {
					t.Errorf("the web UI asks for %s", at)
				}
			}
		})
	}
}
