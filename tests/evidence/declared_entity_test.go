// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

func TestRecordEntityIsAnExactSource(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Config.Extract = nil })
	declared := entity.Entity{Type: "Product", Value: "Strava Sponsored Routes", Attributes: map[string]entity.Value{
		"price": cgtest.Money(t, "$40,000"), "availability": entity.Bool(true),
	}}
	// The tool is made again, now with the instance at hand.
	search, err := functiontool.New(functiontool.Config{Name: "search"}, func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"ok": true}, h.CG.RecordEntity(ctx, declared)
	})
	if err != nil {
		t.Fatal(err)
	}
	buy, err := functiontool.New(functiontool.Config{Name: "buy"}, func(agent.Context, cgtest.BuyArgs) (map[string]any, error) {
		h.Bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.Model, Tools: []tool.Tool{search, h.CG.Protect(buy)}})
	if err != nil {
		t.Fatal(err)
	}
	h.Runner, err = runner.New(runner.Config{AppName: cgtest.App, Agent: root, SessionService: h.Sessions, PluginConfig: h.CG.PluginConfig(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := h.Ask(cgtest.SessionID)
	reasons, err := h.CG.Why(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	if len(reasons) != 1 || reasons[0].Entity.Value != declared.Value || reasons[0].Entity.Confidence != 1 {
		t.Fatalf("Why = %+v, want the declared entity", reasons)
	}
	if got := reasons[0].Path[0].Node.Name; got != "search" {
		t.Errorf("the path starts at %q, want the tool that declared the entity", got)
	}
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v", got)
	}
	h.WantBought(1)
}

func TestRecordEntityOutsideOfACall(t *testing.T) {
	h := cgtest.New(t)
	err := h.CG.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product", Value: "x"})
	if err == nil {
		t.Fatal("RecordEntity outside of a recorded call succeeded")
	}
	if err := h.CG.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product"}); err == nil || !strings.Contains(err.Error(), "value") {
		t.Errorf("RecordEntity of an entity without a value = %v, want an error that names the value", err)
	}
}

// nowhere is the context of a run that contextgraph does not know.
type nowhere struct{ agent.StrictContextMock }

func (*nowhere) Artifacts() agent.Artifacts                                          { return nil }
func (*nowhere) RunConfig() *agent.RunConfig                                         { return nil }
func (*nowhere) InvocationID() string                                                { return "e-nowhere" }
func (*nowhere) Session() session.Session                                            { return nil }
func (n *nowhere) WithICDelta(*agent.InvocationContextDelta) agent.InvocationContext { return n }
