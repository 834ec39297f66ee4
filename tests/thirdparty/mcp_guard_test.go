// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/mcptoolset"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// mcpShop is a server of MCP that sells one thing.
type mcpShop struct {
	sold atomic.Int64
	gone atomic.Bool
}

type orderInput struct {
	Item string `json:"item"`
}

type orderOutput struct {
	Status string `json:"status"`
}

func (s *mcpShop) order(context.Context, *mcp.CallToolRequest, orderInput) (*mcp.CallToolResult, orderOutput, error) {
	s.sold.Add(1)
	return nil, orderOutput{Status: "ordered"}, nil
}

func (s *mcpShop) toolset(t *testing.T, cfg mcptoolset.Config) tool.Toolset {
	t.Helper()
	client, server := mcp.NewInMemoryTransports()
	srv := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "v1.0.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "place_order", Description: "orders"}, s.order)
	if _, err := srv.Connect(t.Context(), server, nil); err != nil {
		t.Fatal(err)
	}
	cfg.Transport = client
	set, err := mcptoolset.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Tools of an MCP server are guarded like any other, however a human is asked.
func TestGuardOverMCP(t *testing.T) {
	covered := config.Extract{
		Name: "ordered", Tool: "place_order", In: config.InAction, Type: "Item", Value: "$.item",
		Attributes: map[string]config.Attribute{"availability": {Path: "$.available", Type: entity.KindBool, Optional: true}},
	}
	type way struct {
		mcp   mcptoolset.Config
		guard config.Guard
		wrap  func(*contextgraph.Instance, tool.Toolset) tool.Toolset
	}
	ways := map[string]way{
		"confirmation always": {mcp: mcptoolset.Config{RequireConfirmation: true}},
		"confirmation by its provider": {mcp: mcptoolset.Config{
			RequireConfirmationProvider: func(name string, _ any) bool { return name == "place_order" },
		}},
		"around the toolset": {wrap: func(_ *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
			return tool.WithConfirmation(ts, true, nil)
		}},
		"listed by a pattern": {guard: config.Guard{Tools: config.Tools("place_*"), Unguarded: config.UnguardedError}},
		"protected toolset":   {wrap: (*contextgraph.Instance).ProtectToolset},
		"protected toolset with confirmation": {
			mcp: mcptoolset.Config{RequireConfirmation: true}, wrap: (*contextgraph.Instance).ProtectToolset,
		},
	}
	for name, w := range ways {
		t.Run(name, func(t *testing.T) {
			var shop mcpShop
			w.guard.Types = map[string]config.TypePolicy{"Item": {Unseen: config.UnseenAllow}} // no tool shows one
			cg, err := contextgraph.Open(t.Context(), contextgraph.Config{
				Journal: config.Journal{Path: filepath.Join(t.TempDir(), "contextgraph.db"), CommitInterval: time.Millisecond},
				Guard:   w.guard,
				Extract: []config.Extract{covered},
			},
				contextgraph.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
				contextgraph.WithChecker("Item", safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) {
					return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{"availability": entity.Bool(!shop.gone.Load())}}, nil
				})))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cg.Close(context.Background()); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			set := shop.toolset(t, w.mcp)
			if w.wrap != nil {
				set = w.wrap(cg, set)
			}
			if err := cg.CheckTools(t.Context(), nil, set); err != nil {
				t.Errorf("CheckTools: %v", err)
			}
			root, err := llmagent.New(llmagent.Config{Name: "root", Toolsets: []tool.Toolset{set}, Model: &adktest.Model{
				Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if adktest.LastResponse(req) != nil {
						return adktest.Text("done"), nil
					}
					return adktest.Call("place_order", map[string]any{"item": "shoes"}), nil
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := runner.New(runner.Config{
				AppName: "shop", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true, PluginConfig: cg.PluginConfig(),
			})
			if err != nil {
				t.Fatal(err)
			}
			ask := func(sessionID string) string {
				t.Helper()
				calls := adktest.Confirmations(adktest.Run(t, r, "alice", sessionID, adktest.UserText("order shoes")))
				if len(calls) != 1 {
					t.Fatalf("%d confirmations, want 1", len(calls))
				}
				return calls[0].ID
			}
			answer := func(sessionID, id string, want int64) {
				t.Helper()
				if _, err := adktest.TryRun(t.Context(), r, "alice", sessionID, adktest.Answer(id, true)); err != nil {
					t.Fatal(err)
				}
				if n := shop.sold.Load(); n != want {
					t.Fatalf("ordered %d times, want %d", n, want)
				}
			}
			first := ask("s1")
			answer("s1", first, 1)
			answer("s1", first, 1) // again
			second := ask("s2")
			shop.gone.Store(true)
			answer("s2", second, 1) // sold out meanwhile
			approvals, err := cg.Approvals(t.Context(), record.Session{App: "shop", User: "alice", ID: "s2"})
			if err != nil || len(approvals) != 1 || approvals[0].State != safety.StateBlocked {
				t.Errorf("approvals = %+v, %v, want one that is blocked", approvals, err)
			}
		})
	}
}
