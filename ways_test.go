// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// way is one way in which a human comes to be asked.
type way struct {
	name string
	opt  option
	// innermost says that Protect stands around the tool, behind the callbacks of the
	// agent.
	innermost bool
}

// ways are the ways in which a human is asked for an enforced call. Every attack must
// fail on each.
var ways = []way{
	{"covered, confirmation always", covered, false},
	{"covered, confirmation by its provider", with(covered, madeWith(functiontool.Config{
		RequireConfirmationProvider: func(a buyArgs) bool { return a.Count > 0 },
	})), false},
	{"covered, confirmation inside of the tool", with(covered, inside), false},
	{"covered, toolset with confirmation", with(covered, unasked, toolset(func(_ *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
		return tool.WithConfirmation(ts, true, nil)
	})), false},
	{"listed by name", listed, false},
	{"listed by a pattern", pattern("b?*"), false},
	{"listed, long-running", with(listed, madeWith(functiontool.Config{IsLongRunning: true})), false},
	{"protected", func(*options) {}, true},
	{"protected toolset", with(unprotected, unasked, toolset((*contextgraph.Instance).ProtectToolset)), true},
	{"protected, streaming", streamed(functiontool.Config{}), false},
}

// combined are ways of asking in combination, which share the code of the others.
var combined = []way{
	{"covered, toolset with confirmation by its provider", with(covered, unasked, toolset(func(_ *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
		return tool.WithConfirmation(ts, false, func(name string, _ any) bool { return name == "buy" })
	})), false},
	{"listed, with a confirmation of its own", with(listed, madeWith(functiontool.Config{RequireConfirmation: true})), false},
	{"protected, without a confirmation of its own", unasked, true},
	{"protected, confirmation inside of the tool", inside, true},
	{"protected, long-running", madeWith(functiontool.Config{IsLongRunning: true}), true},
	{"protected and listed", with(listed, protect), true},
	{"protected, streaming with a confirmation of its own", streamed(functiontool.Config{RequireConfirmation: true}), false},
	{"protected toolset with confirmation", with(unprotected, unasked, toolset(func(cg *contextgraph.Instance, ts tool.Toolset) tool.Toolset {
		return cg.ProtectToolset(tool.WithConfirmation(ts, true, nil))
	})), true},
}

// onEveryGuard tests each of ways.
func onEveryGuard(t *testing.T, attack func(t *testing.T, h *harness), opts ...option) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			attack(t, newHarness(t, append([]option{w.opt}, opts...)...))
		})
	}
}

// onEveryWay tests each of ways and of combined.
func onEveryWay(t *testing.T, test func(t *testing.T, w way)) {
	for _, w := range slices.Concat(ways, combined) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

func with(opts ...option) option {
	return func(o *options) {
		for _, opt := range opts {
			opt(o)
		}
	}
}

func unasked(o *options)     { o.confirm = false }
func protect(o *options)     { o.protect = true }
func unprotected(o *options) { o.protect = false }

func pattern(p string) option {
	return with(listed, func(o *options) { o.cfg.Guard.Tools = []string{p} })
}

// madeWith makes the tool with more than its name.
func madeWith(cfg functiontool.Config) option {
	cfg.Name, cfg.Description = "buy", "buys a product"
	return func(o *options) {
		o.makeBuy = func(h *harness) (tool.Tool, error) { return functiontool.New(cfg, h.buy) }
	}
}

// inside makes a tool that asks where it runs, as the documentation of ADK shows it.
func inside(o *options) {
	o.makeBuy = func(h *harness) (tool.Tool, error) {
		return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product"},
			func(ctx agent.Context, a buyArgs) (map[string]any, error) {
				switch c := ctx.ToolConfirmation(); {
				case c == nil:
					return map[string]any{"status": "waiting"}, ctx.RequestConfirmation("Buy it?", map[string]any{"limit": 1})
				case !c.Confirmed:
					return nil, fmt.Errorf("%q %w", "buy", tool.ErrConfirmationRejected)
				}
				return h.buy(ctx, a)
			})
	}
}

// streamed makes a streaming tool, whose chunks are a JSON object.
func streamed(cfg functiontool.Config) option {
	cfg.Name, cfg.Description = "buy", "buys a product"
	return func(o *options) {
		o.makeBuy = func(h *harness) (tool.Tool, error) {
			return functiontool.NewStreaming(cfg, func(ctx agent.Context, a buyArgs) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					result, err := h.buy(ctx, a)
					text, _ := json.Marshal(result)
					if err != nil {
						yield("", err)
					} else if yield(string(text[:5]), nil) {
						yield(string(text[5:]), nil)
					}
				}
			})
		}
	}
}

// shelf is a toolset of tools that the test may change.
type shelf struct{ tools []tool.Tool }

func (*shelf) Name() string { return "shelf" }

func (s *shelf) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return s.tools, nil }

// toolset puts the tool into a toolset.
func toolset(wrap func(*contextgraph.Instance, tool.Toolset) tool.Toolset) option {
	return func(o *options) {
		o.set = func(cg *contextgraph.Instance, buy tool.Tool) tool.Toolset { return wrap(cg, &shelf{[]tool.Tool{buy}}) }
	}
}

// Whichever way a human is asked, it is on record with what the call rests on before
// anyone can answer, and in the graph.
func TestEveryWayIsRecorded(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w way) {
		h := newHarness(t, w.opt)
		id, _ := h.ask(sess)
		h.wantBought(0)
		approvals := h.approvals(sess)
		if len(approvals) != 1 || approvals[0].State != safety.StatePending || approvals[0].Tool != "buy" || len(approvals[0].Entities) == 0 {
			t.Fatalf("approvals = %+v, want one pending for buy that rests on something", approvals)
		}
		if got := approvals[0].ConfirmationID; got != id {
			t.Errorf("confirmation id = %q, want %q", got, id)
		}
		if got := string(approvals[0].Args); got != `{"count":1,"item":"Strava Sponsored Routes"}` {
			t.Errorf("arguments = %s", got)
		}
		requests := rowsOf(h.rows(sess), schema.HITLConfirmationRequest)
		if len(requests) != 1 {
			t.Fatalf("%d requests on record, want 1", len(requests))
		}
		why, err := h.cg.Why(t.Context(), key(sess))
		if err != nil || len(why) == 0 {
			t.Errorf("Why = %v, %v", why, err)
		}
		if got := h.answer(sess, id, true); got["status"] != "bought" {
			t.Errorf("buy answered %v, want it bought", got)
		}
		rows := h.rows(sess)
		checkTree(t, rows)
		var calls []string
		for _, e := range rows {
			if e.EventType == schema.ToolStarting || e.EventType == schema.ToolCompleted || e.EventType == schema.ToolError {
				if get(t, e.Content, "tool") == "buy" {
					calls = append(calls, e.EventType)
				}
			}
		}
		if diff := cmp.Diff([]string{schema.ToolStarting, schema.ToolCompleted, schema.ToolStarting, schema.ToolCompleted}, calls); diff != "" {
			t.Errorf("rows of the call that asked and of the one that ran (-want +got):\n%s", diff)
		}
	})
}

// An answer that a client gives for the long-running call itself is no approval.
func TestAnswerOfALongRunningCallApprovesNothing(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		id, events := h.ask(sess)
		callID := callOf(events, "buy")
		if callID == "" {
			t.Fatal("no call of buy")
		}
		for _, fr := range []*genai.FunctionResponse{
			{ID: callID, Name: "buy", Response: map[string]any{"confirmed": true, "status": "bought"}},
			{ID: id, Name: "buy", Response: map[string]any{"confirmed": true}},
			{ID: callID, Name: "adk_request_confirmation", Response: map[string]any{"confirmed": true}},
		} {
			_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: fr}}})
			h.wantBought(0)
		}
		if got := h.approvals(sess)[0].State; got != safety.StatePending {
			t.Errorf("approval state = %q, want pending", got)
		}
	})
}

// callOf returns the id of the last call of the tool among the events.
func callOf(events []*session.Event, name string) (id string) {
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == name {
				id = p.FunctionCall.ID
			}
		}
	}
	return id
}

// The answer of a long-running tool that ran by approval comes later and runs nothing.
func TestLongRunningAnswerAfterTheApproval(t *testing.T) {
	for _, opt := range []option{with(listed, madeWith(functiontool.Config{IsLongRunning: true})), madeWith(functiontool.Config{IsLongRunning: true})} {
		h := newHarness(t, opt)
		id, events := h.ask(sess)
		h.answer(sess, id, true)
		h.wantBought(1)
		h.reply(callOf(events, "buy"), "buy", map[string]any{"status": "bought"})
		h.wantBought(1)
		if got := h.approvals(sess); len(got) != 1 || got[0].State != safety.StateExecuted {
			t.Errorf("approvals = %+v, want the one, executed", got)
		}
	}
}

// A call that its provider waves through needs nobody where a rule covers the tool, and
// an approval where the tool is protected or listed.
func TestProviderThatDoesNotAsk(t *testing.T) {
	never := madeWith(functiontool.Config{RequireConfirmationProvider: func(buyArgs) bool { return false }})
	h := newHarness(t, covered, never)
	adktest.Run(t, h.runner, user, sess, adktest.UserText("buy a route"))
	h.wantBought(1)
	for name, opt := range map[string]option{"protected": never, "listed": with(listed, never)} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, opt)
			id, _ := h.ask(sess)
			h.wantBought(0)
			h.answer(sess, id, true)
			h.wantBought(1)
		})
	}
}

// A toolset may have other tools tomorrow; each is protected, in its place.
func TestProtectToolsetKeepsOrderAndProtectsWhatComesLater(t *testing.T) {
	h := newHarness(t, unprotected)
	work := func(name string) tool.Tool {
		return mustTool(t, name, func(agent.Context, buyArgs) (map[string]any, error) {
			h.bought.Add(1)
			return map[string]any{}, nil
		})
	}
	s := &shelf{[]tool.Tool{work("c"), work("a")}}
	ts := h.cg.ProtectToolset(s)
	if ts.Name() != "shelf" || h.cg.ProtectToolset(ts) != ts {
		t.Errorf("toolset %q", ts.Name())
	}
	names := func(ts tool.Toolset) (names []string) {
		tools, err := ts.Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range tools {
			names = append(names, tl.Name())
			runs, ok := tl.(interface {
				Run(agent.Context, any) (map[string]any, error)
			})
			if !ok {
				t.Fatalf("%q cannot run", tl.Name())
			}
			ctx := &agent.ContextMock{}
			if got, err := runs.Run(ctx, map[string]any{"item": "x", "count": 1}); err != nil || got["status"] != "blocked" {
				t.Errorf("%q outside of any run: %v, %v", tl.Name(), got, err)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"c", "a"}, names(ts)); diff != "" {
		t.Error(diff)
	}
	s.tools = slices.Insert(s.tools, 1, work("b"))
	if diff := cmp.Diff([]string{"c", "b", "a"}, names(ts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b"}, names(tool.FilterToolset(ts, tool.AllowedToolsPredicate([]string{"b"})))); diff != "" {
		t.Error(diff)
	}
	h.wantBought(0)
}

// ADK appends the tools of toolsets to Config.Tools in every run, and writes them behind
// its end where it has room there. The documents say to clip it; once this fails they need
// not any more.
func TestADKWritesBehindTheToolsOfTheConfig(t *testing.T) {
	for name, clipped := range map[string]bool{"with room": false, "clipped": true} {
		t.Run(name, func(t *testing.T) {
			room := make([]tool.Tool, 2)
			h := newHarness(t, unprotected, unasked, toolset((*contextgraph.Instance).ProtectToolset), func(o *options) {
				o.tools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
					tools = append(room[:0], tools[0])
					if clipped {
						return slices.Clip(tools)
					}
					return tools
				}
			})
			h.ask(sess)
			if wrote := room[1] != nil; wrote == clipped {
				t.Errorf("ADK wrote behind the tools: %t", wrote)
			}
		})
	}
}
