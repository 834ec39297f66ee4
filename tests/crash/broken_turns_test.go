// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// brokenTurn is a session whose first turn looks things up, and whose record loses rows of that turn. The second turn
// buys the product of the shop.
type brokenTurn struct {
	// first and second are what the model answers in the turns. By default the first looks the product up and the
	// second does so again, and buys.
	first, second []*model.LLMResponse
	// lost selects the rows of the first turn that are lost. By default these are the result and all behind it.
	lost string
	// then happens between the turns, later before the answer.
	then, later func(h *cgtest.Harness)
	options     []cgtest.Option
}

const fromTheResultOn = `seq >= (SELECT seq FROM agent_events WHERE event_type = 'TOOL_COMPLETED' ORDER BY seq LIMIT 1)`

// run returns what the guarded tool answered, and how the approval ended.
func (b brokenTurn) run(t *testing.T) (h *cgtest.Harness, got map[string]any) {
	t.Helper()
	if b.first == nil {
		b.first = []*model.LLMResponse{looking("routes"), adktest.Text("It is there.")}
	}
	if b.second == nil {
		b.second = []*model.LLMResponse{looking("routes"), buying()}
	}
	script := adktest.Script(append(append(b.first, b.second...), adktest.Text("Done."))...)
	h = cgtest.New(t, append([]cgtest.Option{cgtest.OnFile, cgtest.NotChecked, func(o *cgtest.Options) { o.Answer = script.Answer }}, b.options...)...)
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("what is there?"))
	if b.lost == "" {
		b.lost = fromTheResultOn
	}
	lose(t, h, b.lost)
	if b.then != nil {
		b.then(h)
	}
	calls := adktest.Confirmations(adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy it")))
	if len(calls) != 1 {
		t.Fatalf("%d requests for a confirmation, want 1", len(calls))
	}
	if b.later != nil {
		b.later(h)
	}
	return h, h.Answer(cgtest.SessionID, calls[0].ID, true)
}

func buying() *model.LLMResponse {
	return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1})
}

// lose deletes rows, as a process that was killed never wrote them.
func lose(t *testing.T, h *cgtest.Harness, where string) {
	t.Helper()
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteTransient(conn, `DELETE FROM agent_events WHERE `+where, nil); err != nil || conn.Changes() == 0 {
		t.Fatalf("%d rows removed, %v", conn.Changes(), err)
	}
}

// reasons are the reasons in a refusal, and what gaps say.
func reasons(got map[string]any) string {
	var list []string
	failures, _ := got["failures"].([]any)
	for _, f := range failures {
		list = append(list, fmt.Sprint(f.(map[string]any)["reason"], ": ", f.(map[string]any)["detail"]))
	}
	return strings.Join(list, "\n")
}

// extra is a thing that only the first turn looks up: by the search for it, by a declaration of the tool, or by an
// agent that runs as a tool.
const extra = "Extra"

// withExtra has the checker give what price says of the extra thing.
func withExtra(price *string) cgtest.Option {
	return func(o *cgtest.Options) {
		search, check := o.Search, o.Config.CheckFuncs["Product"]
		var cg *contextgraph.Instance
		seen := func() map[string]any { return map[string]any{"name": extra, "price": *price, "available": true} }
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			switch a.Query {
			case "extra":
				return map[string]any{"items": []any{seen()}}, nil
			case "declare":
				e := entity.Entity{Type: "Product", Value: extra, Attributes: map[string]entity.Value{"price": must(entity.ParseMoney(*price, "USD"))}}
				return map[string]any{"items": []any{}}, cg.RecordEntity(ctx, e)
			}
			return search(ctx, a)
		}
		o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
			state, err := check.Check(ctx, e)
			if e.Value == extra {
				state.Attributes["price"] = must(entity.ParseMoney(*price, "USD"))
			}
			return state, err
		})
		o.ChangeTools = func(of *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			cg = of
			scout := must(llmagent.New(llmagent.Config{
				Name: "scout", Description: "looks around", Tools: tools[:1:1],
				Model: adktest.Script(looking("extra"), adktest.Text("All is fine.")),
			}))
			return append(tools, of.AgentTool(scout, nil))
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func looking(query string) *model.LLMResponse {
	return adktest.Call("search", map[string]any{"query": query})
}

// A process was killed in mid-turn, or rows were lost. Whoever looks things up again can go on.
func TestBrokenTurns(t *testing.T) {
	price := "$7"
	changed := func(*cgtest.Harness) { price = "$9" }
	scouting := []*model.LLMResponse{adktest.Call("scout", map[string]any{"request": "look"}), adktest.Text("It is there.")}
	for name, tt := range map[string]struct {
		brokenTurn
		bought int64
		why    string // a reason, or a part of what a refusal says
	}{
		"looked up again":                           {bought: 1},
		"asked at once":                             {brokenTurn: brokenTurn{second: []*model.LLMResponse{buying()}}, why: "nothing_seen"},
		"the price had risen before":                {brokenTurn: brokenTurn{then: func(h *cgtest.Harness) { h.Shop.Set("$52,000", true) }}, bought: 1},
		"only the end is lost":                      {brokenTurn: brokenTurn{lost: `event_type = 'INVOCATION_COMPLETED'`}, bought: 1},
		"only the beginning of the look-up is lost": {brokenTurn: brokenTurn{lost: `event_type = 'TOOL_STARTING'`}, bought: 1},
		"its beginning is lost, and it is not looked up again": {
			brokenTurn: brokenTurn{lost: `event_type = 'TOOL_STARTING'`, second: []*model.LLMResponse{buying()}}, why: "nothing_seen",
		},
		"all but its first row is lost": {brokenTurn: brokenTurn{lost: `run_seq > 1`}, bought: 1},
		"it read nothing, and the row that closes it waits": {
			brokenTurn: brokenTurn{first: []*model.LLMResponse{adktest.Text("Hello.")}, lost: `run_seq > 1`, options: []cgtest.Option{func(o *cgtest.Options) {
				o.Config.Journal.CommitInterval = time.Second
			}}},
			bought: 1,
		},
		"what only that turn saw stays": {
			brokenTurn: brokenTurn{first: []*model.LLMResponse{looking("extra"), adktest.Text("Well.")}}, bought: 1,
		},
		"what only that turn saw changed": {
			brokenTurn: brokenTurn{first: []*model.LLMResponse{looking("extra"), adktest.Text("Well.")}, later: changed}, why: "drift",
		},
		"what a tool declared changed": {
			brokenTurn: brokenTurn{first: []*model.LLMResponse{looking("declare"), adktest.Text("Well.")}, later: changed}, why: "drift",
		},
		"what an agent read that ran as a tool changed": {
			brokenTurn: brokenTurn{first: scouting, lost: `app_name <> 'scout' AND ` + lastResultOn, later: changed}, why: "drift",
		},
		"what an agent read that ran as a tool stays": {
			brokenTurn: brokenTurn{first: scouting, lost: `app_name <> 'scout' AND ` + lastResultOn}, bought: 1,
		},
		"an agent that ran as a tool was killed too": {
			brokenTurn: brokenTurn{first: scouting, lost: `app_name <> 'scout' AND ` + lastResultOn + ` OR app_name = 'scout' AND event_type = 'INVOCATION_COMPLETED'`},
			why:        "has gaps",
		},
		"nothing is left of an agent that ran as a tool": {
			brokenTurn: brokenTurn{first: scouting, lost: `app_name = 'scout' OR ` + lastResultOn}, why: "which ran as a tool, has gaps",
		},
		"a rule reads other rows": {
			brokenTurn: brokenTurn{options: []cgtest.Option{func(o *cgtest.Options) {
				o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "state", Event: "STATE_DELTA", Each: "$.none[*]", Type: "Product", Value: "$.name"})
			}}},
			why: `rule "state" reads rows that the history of the session does not have: start a new session`,
		},
		"a window of the session service has cut it": {
			brokenTurn: brokenTurn{options: []cgtest.Option{func(o *cgtest.Options) {
				o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = window{rc.SessionService, 1} }
			}}},
			why: "the history of the session lacks its beginning: start a new session",
		},
		"a larger window has cut it": {
			brokenTurn: brokenTurn{options: []cgtest.Option{func(o *cgtest.Options) {
				o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = window{rc.SessionService, 3} }
			}}},
			why: "the history of the session lacks its beginning: start a new session",
		},
		"a window has all of it": {
			brokenTurn: brokenTurn{options: []cgtest.Option{func(o *cgtest.Options) {
				o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = window{rc.SessionService, 4} }
			}}},
			bought: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			price = "$7"
			tt.options = append(tt.options, withExtra(&price))
			h, got := tt.run(t)
			h.WantBought(tt.bought)
			if said := fmt.Sprint(got["reason"], got, reasons(got)); !strings.Contains(said, tt.why) {
				t.Errorf("buy answered %v\n%s\nwant %q", got, reasons(got), tt.why)
			}
		})
	}
}

// lastResultOn selects the last result of the session itself, and all behind it.
const lastResultOn = `seq >= (SELECT max(seq) FROM agent_events WHERE event_type = 'TOOL_COMPLETED' AND app_name <> 'scout')`

// window is a session service that gives the last events only.
type window struct {
	session.Service
	events int
}

func (w window) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	last := *req
	last.NumRecentEvents = w.events
	return w.Service.Get(ctx, &last)
}

// A process was killed between the first row of a turn and its first event. The session has older events, so no window
// has cut the turn: nothing was read in it.
func TestTurnThatTheSessionNeverGot(t *testing.T) {
	var failing refusing
	script := adktest.Script(adktest.Text("Hello."), looking("routes"), buying(), adktest.Text("Done."))
	killed := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer, o.ChangeRunner = script.Answer, func(rc *runner.Config) { failing.Service, rc.SessionService = rc.SessionService, &failing }
	})
	killed.Say("hello")
	failing.on = true
	if _, err := adktest.TryRun(t.Context(), killed.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("are you there?")); err == nil {
		t.Fatal("the session got the message")
	}
	if err := killed.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := cgtest.New(t, cgtest.Beside(killed), func(o *cgtest.Options) {
		o.Answer, o.ChangeRunner = script.Answer, func(rc *runner.Config) { rc.SessionService = killed.Sessions }
	})
	id, _ := h.Ask(cgtest.SessionID)
	got := h.Answer(cgtest.SessionID, id, true)
	if h.Bought.Load() != 1 {
		t.Errorf("buy answered %v\n%s", got, reasons(got))
	}
}

// refusing is a session service that takes no events while it is on.
type refusing struct {
	session.Service
	on bool
}

func (r *refusing) AppendEvent(ctx context.Context, to session.Session, ev *session.Event) error {
	if r.on {
		return errors.New("the database is gone")
	}
	return r.Service.AppendEvent(ctx, to, ev)
}

// A turn that another journal has is missing, whatever was read in it, and however it was read.
func TestTurnOfAnotherJournal(t *testing.T) {
	price := "$7"
	for name, first := range map[string]*model.LLMResponse{
		"a result":               looking("extra"),
		"a declaration":          looking("declare"),
		"an agent ran as a tool": adktest.Call("scout", map[string]any{"request": "look"}),
	} {
		t.Run(name, func(t *testing.T) {
			script := adktest.Script(first, adktest.Text("Well."))
			other := cgtest.New(t, cgtest.OnFile, func(o *cgtest.Options) { o.Answer = script.Answer }, withExtra(&price))
			other.Say("what is there?")
			h := cgtest.New(t, cgtest.OnFile, cgtest.NotChecked, withExtra(&price), func(o *cgtest.Options) {
				o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = other.Sessions }
				o.Answer = adktest.Script(looking("routes"), buying(), adktest.Text("Done.")).Answer
			})
			h.Sessions = other.Sessions
			wantTurnMissing(t, h, "1 turn of the session is not on record", "which another instance ran")
		})
	}
}

// Wherever a turn is broken off, an honest purchase in the same session runs, if its agent looks the thing up. This is
// so as well if the price is another one by then. It is so if another process goes on: its first request shows all results.
func TestTurnBrokenOffAnywhere(t *testing.T) {
	for name, first := range map[string][]*model.LLMResponse{
		"it looks":         {looking("routes"), looking("more routes"), adktest.Text("It is there.")},
		"it looks at once": {adktest.Calls(searching("routes"), searching("more routes")), adktest.Text("It is there.")},
		"it asks":          {looking("routes"), buying()},
	} {
		for _, then := range []struct {
			price   string
			restart bool
		}{{"$40,000", false}, {"$52,000", false}, {"$40,000", true}, {"$52,000", true}} {
			t.Run(fmt.Sprintf("%s, %+v", name, then), func(t *testing.T) {
				rounds := 0
				for cut, left := int64(1), true; left; cut++ {
					script := adktest.Script(slices.Concat(first, []*model.LLMResponse{looking("routes"), buying(), adktest.Text("Done.")})...)
					h := cgtest.New(t, func(o *cgtest.Options) { o.Answer, o.Config.Memory = script.Answer, new(store.Memory) })
					h.Say("what is there?")
					if err := h.CG.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
					left = false
					h.Memory.Lose(func(e *record.Event) bool {
						left = left || e.RunSeq > cut
						return e.RunSeq > cut
					})
					if then.restart {
						of := h
						h = cgtest.New(t, cgtest.Beside(of), func(o *cgtest.Options) {
							o.Answer, o.ChangeRunner = script.Answer, func(rc *runner.Config) { rc.SessionService = of.Sessions }
						})
					}
					h.Shop.Set(then.price, true)
					calls := adktest.Confirmations(h.Say("buy it"))
					if len(calls) != 1 {
						t.Fatalf("cut after row %d: %d requests for a confirmation, want 1", cut, len(calls))
					}
					if got := h.Answer(cgtest.SessionID, calls[0].ID, true); h.Bought.Load() != 1 {
						t.Errorf("cut after row %d: buy answered %v\n%s", cut, got, reasons(got))
					}
					rounds++
				}
				if rounds < 10 {
					t.Errorf("%d rows of a turn, want more", rounds)
				}
			})
		}
	}
}

func searching(query string) *genai.FunctionCall {
	return &genai.FunctionCall{Name: "search", Args: map[string]any{"query": query}}
}
