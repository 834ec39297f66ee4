// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// asking switches the check before asking on, which most tests leave aside.
func asking(cfg *safety.GuardConfig) { cfg.Policy.CheckBeforeAsking = new(true) }

// tryAsk asks, and returns the refusal of a request that was withheld.
func (b *bench) tryAsk(change ...func(*safety.Request)) (safety.Approval, *safety.Refusal) {
	b.t.Helper()
	r := b.request()
	for _, f := range change {
		f(&r)
	}
	a, err := b.guard.Ask(b.t.Context(), r)
	refusal, _ := errors.AsType[*safety.Refusal](err)
	if err != nil && refusal == nil {
		b.t.Fatal(err)
	}
	if asked := len(b.list()); (asked == 1) != (err == nil) {
		b.t.Errorf("the ledger has %d requests, error %v", asked, err)
	}
	return a, refusal
}

// Nobody is asked for what no answer can make good. Of what the record alone refuses no source hears.
func TestNobodyIsAskedInVain(t *testing.T) {
	claimed := sighted("Product", "Strava Sponsored Routes", entity.Entity{Attributes: values{"price": usd("$40,000")}, Source: entity.SourceAction, TechNode: "node-1"})
	notRead := bought("Product", "Strava Sponsored Routes", values{"price": usd("$40,000")}, values{})
	for i := range notRead.Seen {
		notRead.Seen[i].Read = false
	}
	for name, tt := range map[string]struct {
		thing  entity.Canonical
		change func(*bench)
		// code is that of the refusal, "" if a person is asked. says are words of it; calls is how often a source was asked.
		code  string
		says  []string
		calls int
	}{
		"nothing has changed": {thing: strava, calls: 1},
		"an invented thing": {
			thing: claimed, code: safety.CodeCheckFailed,
			says: []string{"Nobody was asked about provision_campaign: Product Strava Sponsored Routes: not seen", "look up what is missing"},
		},
		"a thing that the model has not read": {
			thing: notRead, change: func(b *bench) { b.record.snap.Asked = true }, code: safety.CodeCheckFailed, says: []string{"had not read it"},
		},
		"another price in the arguments": {
			thing: bought("Product", "Strava Sponsored Routes", values{"price": usd("$40,000")}, values{"price": usd("$41,000")}),
			code:  safety.CodeCheckFailed, says: []string{"price is $41,000 in the arguments and was read as $40,000"},
		},
		"a gap in the record": {
			thing: strava, change: func(b *bench) { b.record.snap.Gaps = []string{"one row was lost"} }, code: safety.CodeCheckFailed, says: []string{"one row was lost"},
		},
		"another price": {
			thing: strava, change: func(b *bench) { b.world.put(strava, "price", usd("$52,000")) }, code: safety.CodeDrift, calls: 1,
			says: []string{"price of Product Strava Sponsored Routes: $40,000 → $52,000", "make the same call again, and a person is asked", "choose another"},
		},
		"it is not to be had": {
			thing:  thing("Product", "Strava Sponsored Routes", values{"price": usd("$40,000")}),
			change: func(b *bench) { b.world.put(strava, "availability", entity.Bool(false)) }, code: safety.CodeDrift, calls: 1,
			says: []string{"availability of Product Strava Sponsored Routes: unavailable"},
		},
		"a tool shows it": {
			thing: strava, code: safety.CodeDrift, calls: 1, says: []string{"look up Product with get_product"},
			change: func(b *bench) {
				b.world.put(strava, "price", usd("$52,000"))
				b.record.snap.Expected = []entity.Shown{{Type: "Product", Attribute: "price", Rule: "shown", Tool: "get_product"}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, asking, tt.thing)
			b.world.states[strava.Key] = safety.State{Attributes: values{"price": usd("$40,000"), "availability": entity.Bool(true), safety.Exists: entity.Bool(true)}}
			if tt.change != nil {
				tt.change(b)
			}
			_, refusal := b.tryAsk()
			code := ""
			if refusal != nil {
				code = refusal.Code
				said, _ := json.Marshal(refusal.Map())
				for _, words := range tt.says {
					if !strings.Contains(string(said), words) {
						t.Errorf("the model is not told %q: %s", words, said)
					}
				}
				if !refusal.Unasked || refusal.ApprovalID != "" || refusal.Report.ApprovalID() != "" {
					t.Errorf("%+v", refusal)
				}
			}
			if code != tt.code || b.world.calls != tt.calls {
				t.Errorf("code %q, want %q; %d calls of a source, want %d", code, tt.code, b.world.calls, tt.calls)
			}
		})
	}
}

// Of many reasons the first are told.
func TestManyReasonsBeforeAsking(t *testing.T) {
	var unseen []entity.Canonical
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		unseen = append(unseen, sighted("Product", name, entity.Entity{Attributes: values{"price": usd("$1")}, Source: entity.SourceAction, TechNode: "node-1"}))
	}
	_, refusal := newBench(t, asking, unseen...).tryAsk()
	if refusal == nil || !strings.Contains(refusal.Message, "Product e: not seen") || !strings.Contains(refusal.Message, "; and 2 more") {
		t.Errorf("%+v", refusal)
	}
}

// A source that says nothing keeps nobody from being asked. The request says what is not checked yet.
func TestSourceIsAwayBeforeAsking(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		state safety.State
		says  string
	}{
		"down":      {err: down, says: "(source is down)"},
		"slow":      {err: context.DeadlineExceeded, says: "(no answer in time)"},
		"elsewhere": {err: &safety.AnswerError{Reason: safety.ReasonNeedsAgent, Err: errors.New("a tool")}, says: "(only the agent can ask)"},
		"nonsense":  {err: errors.New("no JSON"), says: "(no answer that counts)"},
		"old":       {state: safety.State{Attributes: strava.Attributes, AsOf: epoch.Add(-time.Hour)}, says: "(answer is too old)"},
		"empty":     {says: "(no answer that counts)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, asking, strava, budget)
			b.world.down[strava.Key], b.world.states[strava.Key] = tt.err, tt.state
			a, refusal := b.tryAsk()
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := "availability, price of Product \"Strava Sponsored Routes\" " + tt.says
			check, _ := a.Shown()["check"].(map[string]any)
			if hint := a.Hint("buy"); !strings.Contains(hint, "Not checked yet: "+want+".") || check["verdict"] != "check_failed" || check["not_yet"].([]any)[0] != want {
				t.Errorf("hint %q, check %v", hint, check)
			}
		})
	}
	exists := thing("Ticket", "T-1", values{safety.Exists: entity.Bool(true)})
	b := newBench(t, func(cfg *safety.GuardConfig) {
		asking(cfg)
		cfg.Policy.Types = map[string]config.TypePolicy{"Ticket": {Optional: true}}
	}, exists, strava)
	b.world.down[exists.Key] = down
	if a, refusal := b.tryAsk(); refusal != nil || !strings.Contains(a.Hint("buy"), "Not checked yet: Ticket T-1 (source is down).") {
		t.Errorf("%q, %v", a.Hint("buy"), refusal)
	}
}

// The check before asking has three seconds, and its values stand beside those that were read.
func TestCheckBeforeAsking(t *testing.T) {
	var left time.Duration
	b := newBench(t, func(cfg *safety.GuardConfig) {
		asking(cfg)
		cfg.Policy.Drift = map[string]config.Drift{"price": {Direction: config.Rise}}
		world := cfg.Checkers["Product"]
		cfg.Checkers["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			end, _ := ctx.Deadline()
			left = time.Until(end)
			return world.Check(ctx, e)
		})
	}, strava)
	b.world.put(strava, "price", usd("$39,000"))
	b.world.put(strava, "margin", usd("$9,000"))
	a, refusal := b.tryAsk()
	if refusal != nil || left > 3*time.Second || left < 2*time.Second {
		t.Fatalf("%v, the source had %v", refusal, left)
	}
	shown := a.Shown()
	first, _ := shown["entities"].([]any)[0].(map[string]any)
	now, _ := json.Marshal(first["now"])
	check, _ := shown["check"].(map[string]any)
	if string(now) != `{"availability":"available","price":"$39,000"}` || check["verdict"] != "safe" || len(check["not_yet"].([]any)) != 0 {
		t.Errorf("now %s, check %v", now, check)
	}
	if a.Checked.ApprovalID() != a.ID || a.Checked.Verdict() != safety.Safe {
		t.Errorf("the check is of %q: %s", a.Checked.ApprovalID(), a.Checked.Summary())
	}
}

// Where nothing is withheld, or nothing is looked at, a person is asked as before.
func TestAskedAllTheSame(t *testing.T) {
	gap := func(b *bench) { b.record.snap.Gaps = []string{"one row was lost"} }
	moved := func(b *bench) { b.world.put(strava, "price", usd("$52,000")) }
	input := func(r *safety.Request) { r.Tool, r.Chained = safety.InputTool, false }
	for name, tt := range map[string]struct {
		policy  func(*config.Guard)
		change  func(*bench)
		request func(*safety.Request)
		checked bool
		refused bool
	}{
		"observed":                  {policy: func(g *config.Guard) { g.Mode = config.ModeObserve }, change: moved, checked: true},
		"switched off":              {policy: func(g *config.Guard) { g.CheckBeforeAsking = new(false) }, change: moved},
		"not enforced":              {request: func(r *safety.Request) { r.Chained = false }, change: moved},
		"an input that has changed": {request: input, change: moved},
		"an input without a record": {request: input, change: gap, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				asking(cfg)
				if tt.policy != nil {
					tt.policy(&cfg.Policy)
				}
			}, strava)
			tt.change(b)
			if tt.request == nil {
				tt.request = func(*safety.Request) {}
			}
			a, refusal := b.tryAsk(tt.request)
			if (refusal != nil) != tt.refused || (a.Checked != nil) != tt.checked || !tt.checked && b.world.calls > 0 {
				t.Errorf("refused: %v, checked: %v, %d calls of a source", refusal, a.Checked != nil, b.world.calls)
			}
		})
	}
}
