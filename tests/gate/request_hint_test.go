// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// plainly returns the events of a run without what differs from run to run: ids and times.
func plainly(t *testing.T, events []*session.Event) string {
	t.Helper()
	data, err := json.MarshalIndent(events, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`"timestamp": "[^"]*"`).ReplaceAllString(string(data), `"time"`)
	names := make(map[string]string)
	return regexp.MustCompile(`(adk-|e-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("id%d", len(names)+1)
		}
		return names[id]
	})
}

// A confirmation that is only observed is what ADK makes of it without us: its hint, its
// payload and all events of the session, of whatever kind its payload is. The ledger and the
// rows know of it all the same.
func TestObservedConfirmationIsUntouched(t *testing.T) {
	type limit struct{ Max int }
	for name, tt := range map[string]struct {
		confirm bool
		ask     func(agent.Context) error
	}{
		"asked by ADK":           {confirm: true},
		"asked without payload":  {ask: func(ctx agent.Context) error { return ctx.RequestConfirmation("Buy it?", nil) }},
		"asked without a hint":   {ask: func(ctx agent.Context) error { return ctx.RequestConfirmation("", nil) }},
		"asked with an object":   {ask: func(ctx agent.Context) error { return ctx.RequestConfirmation("Buy?", map[string]any{"limit": 1}) }},
		"asked with an own type": {ask: func(ctx agent.Context) error { return ctx.RequestConfirmation("Buy?", limit{1}) }},
	} {
		for _, yes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %t", name, yes), func(t *testing.T) {
				t.Parallel()
				var got []string
				for _, recorded := range []bool{true, false} {
					h := cgtest.New(t, func(o *cgtest.Options) { o.Protect = false })
					buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "buys", RequireConfirmation: tt.confirm},
						func(ctx agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
							if tt.ask != nil && ctx.ToolConfirmation() == nil {
								return map[string]any{"status": "waiting"}, tt.ask(ctx)
							}
							return h.Buy(ctx, a)
						})
					if err != nil {
						t.Fatal(err)
					}
					root := cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: h.Model, Tools: []tool.Tool{h.Tools[0], buy}})
					h.ServeWith(root, func(rc *runner.Config) {
						if !recorded {
							rc.PluginConfig = runner.PluginConfig{}
						}
					})
					events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
					h.Shop.Set("$52,000", true) // a verdict that would block
					calls := adktest.Confirmations(events)
					if len(calls) != 1 {
						t.Fatalf("%d requests", len(calls))
					}
					events = append(events, adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.Answer(calls[0].ID, yes))...)
					stored := h.Session(cgtest.User, cgtest.SessionID)
					got = append(got, plainly(t, events)+plainly(t, slices.Collect(stored.Events().All())))
					if !recorded {
						continue
					}
					as := h.Approvals(cgtest.SessionID)
					if len(as) != 1 || len(as[0].Entities) != 1 || as[0].State == safety.StatePending {
						t.Errorf("the ledger has %+v", as)
					}
					requests := rowtest.Of(h.Rows(cgtest.SessionID), record.HITLConfirmationRequest)
					if len(requests) != 1 || !strings.Contains(string(requests[0].Attributes), `"enforced":false`) ||
						!strings.Contains(string(requests[0].Attributes), `"approval_id":"`+as[0].ID+`"`) {
						t.Errorf("rows of the request: %v", requests)
					}
				}
				if diff := cmp.Diff(got[1], got[0]); diff != "" {
					t.Errorf("the events without us and with us (-without +with):\n%s", diff)
				}
			})
		}
	}
}

// rests is what each request of the harness rests on, as a hint says it.
const rests = `Rests on Product "Strava Sponsored Routes": available; price $40,000`

// requester is the end of each hint of the tests.
const requester = "Requester: alice (not authenticated)."
