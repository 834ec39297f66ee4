// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// plain leaves the tool with its own confirmation: not listed, not protected, no
// rule for it.
func plain(o *options) { o.protect = false }

func TestOtherConfirmationsAreObserved(t *testing.T) {
	h := newHarness(t, plain)
	id, _ := h.ask(sess)
	h.world.set("$52,000", true)
	if got := h.answer(sess, id, true); got["status"] != "bought" {
		t.Fatalf("buy answered %v, want it bought: nothing enforces this tool", got)
	}
	checks := rowsOf(h.rows(sess), schema.WorldChangeCheck)
	if len(checks) != 1 {
		t.Fatalf("%d verdicts, want one", len(checks))
	}
	if got := get(t, checks[0].Attributes, "adk", "verdict"); got != "drift" {
		t.Errorf("verdict = %v, want drift", got)
	}
}

func TestObserveModeStillEnforcesProtect(t *testing.T) {
	h := newHarness(t, func(o *options) { o.cfg.Guard.Mode = contextgraph.ModeObserve })
	id, _ := h.ask(sess)
	h.world.set("$52,000", true)
	h.answer(sess, id, true)
	h.wantBought(0)
}

func TestObserveModeDoesNotEnforceRules(t *testing.T) {
	h := newHarness(t, covered, func(o *options) { o.cfg.Guard.Mode = contextgraph.ModeObserve })
	id, _ := h.ask(sess)
	h.world.set("$52,000", true)
	h.answer(sess, id, true)
	h.wantBought(1)
}

func TestObserveModeWithListedToolsIsAnError(t *testing.T) {
	_, err := contextgraph.Open(t.Context(), contextgraph.Config{Guard: contextgraph.GuardConfig{
		Mode: contextgraph.ModeObserve, Tools: []string{"buy"},
	}})
	if err == nil || !strings.Contains(err.Error(), "cannot remove") {
		t.Fatalf("Open = %v, want an error that says a configuration cannot remove a gate", err)
	}
}

func TestDisabledRecordsNothingAndOpensNoGate(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		events, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy a route"))
		if err != nil {
			t.Fatal(err)
		}
		got := adktest.Responses(events, "buy")
		for _, c := range adktest.Confirmations(events) {
			got = append(got, h.answer(sess, c.ID, true))
		}
		h.wantBought(0)
		if len(got) == 0 || unstreamed(got[len(got)-1])["reason"] != "recorder_off" {
			t.Errorf("buy answered %v, want a denial that says the recorder is off", got)
		}
		if _, err := os.Stat(h.path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a journal was made although recording is off: %v", err)
		}
		if _, err := h.cg.Check(t.Context(), key(sess)); !errors.Is(err, contextgraph.ErrDisabled) {
			t.Errorf("Check = %v, want ErrDisabled", err)
		}
		if err := h.cg.Flush(t.Context()); err != nil {
			t.Errorf("Flush = %v", err)
		}
	}, func(o *options) { o.cfg.Disabled = true })
}

func TestDisabledLeavesOtherToolsAlone(t *testing.T) {
	h := newHarness(t, plain, func(o *options) { o.cfg.Disabled = true })
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	h.wantBought(1)
}

func TestClosedInstanceDenies(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		id, _ := h.ask(sess)
		if err := h.cg.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.answer(sess, id, true); got["reason"] != "closed" {
			t.Errorf("buy answered %v, want a denial that says contextgraph is closed", got)
		}
		h.wantBought(0)
	})
}

func TestStartSaysWhatIsEnforced(t *testing.T) {
	for name, tt := range map[string]struct {
		guard contextgraph.GuardConfig
		want  string
	}{
		"enforce": {contextgraph.GuardConfig{Tools: []string{"buy"}}, "enforced_by_configuration=[buy]"},
		"observe": {contextgraph.GuardConfig{Mode: contextgraph.ModeObserve}, "nothing is blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			cg, err := contextgraph.Open(t.Context(), contextgraph.Config{
				Journal: contextgraph.JournalConfig{Path: filepath.Join(t.TempDir(), "c.db")},
				Guard:   tt.guard, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer cg.Close(t.Context())
			if got := log.String(); strings.Count(got, "level=WARN") != 2 || !strings.Contains(got, tt.want) || !strings.Contains(got, "nothing says who approves") {
				t.Errorf("log = %q, want one warning with %q, and one that nothing says who approves", got, tt.want)
			}
		})
	}
}

func TestApprovalSurvivesARestart(t *testing.T) {
	h := newHarness(t)
	id, _ := h.ask(sess)
	if err := h.cg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same session service stands for one that is durable; everything of
	// contextgraph is new and reads the journal of before.
	again := newHarness(t, func(o *options) {
		o.cfg.Journal.Path = h.path
		o.wrapRunnerCfg = func(rc *runner.Config) { rc.SessionService = h.sessions }
	})
	if got := again.answer(sess, id, true); got["status"] != "bought" {
		t.Fatalf("buy answered %v, want it bought", got)
	}
	again.wantBought(1)
}

func TestRecordEntityIsAnExactSource(t *testing.T) {
	h := newHarness(t, func(o *options) { o.cfg.Extract = nil })
	declared := entity.Entity{Type: "Product", Value: "Strava Sponsored Routes", Attributes: map[string]entity.Value{
		"price": money(t, "$40,000"), "availability": entity.Bool(true),
	}}
	// The tool is made again, now with the instance at hand.
	search, err := functiontool.New(functiontool.Config{Name: "search"}, func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
		return map[string]any{"ok": true}, h.cg.RecordEntity(ctx, declared)
	})
	if err != nil {
		t.Fatal(err)
	}
	buy, err := functiontool.New(functiontool.Config{Name: "buy"}, func(agent.Context, buyArgs) (map[string]any, error) {
		h.bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := llmagent.New(llmagent.Config{Name: "root", Model: h.model, Tools: []tool.Tool{search, h.cg.Protect(buy)}})
	if err != nil {
		t.Fatal(err)
	}
	h.runner, err = runner.New(runner.Config{AppName: app, Agent: root, SessionService: h.sessions, PluginConfig: h.cg.PluginConfig(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := h.ask(sess)
	reasons, err := h.cg.Why(t.Context(), key(sess))
	if err != nil {
		t.Fatal(err)
	}
	if len(reasons) != 1 || reasons[0].Entity.Value != declared.Value || reasons[0].Entity.Confidence != 1 {
		t.Fatalf("Why = %+v, want the declared entity", reasons)
	}
	if got := reasons[0].Path[0].Node.Name; got != "search" {
		t.Errorf("the path starts at %q, want the tool that declared the entity", got)
	}
	if got := h.answer(sess, id, true); got["status"] != "bought" {
		t.Errorf("buy answered %v", got)
	}
	h.wantBought(1)
}

func TestRecordEntityOutsideOfACall(t *testing.T) {
	h := newHarness(t)
	err := h.cg.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product", Value: "x"})
	if err == nil {
		t.Fatal("RecordEntity outside of a recorded call succeeded")
	}
	if err := h.cg.RecordEntity(agent.NewToolContext(&nowhere{}, "call", nil, nil), entity.Entity{Type: "Product"}); err == nil || !strings.Contains(err.Error(), "value") {
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

func TestProtectDeniesWithoutThePlugins(t *testing.T) {
	h := newHarness(t, func(o *options) {
		o.wrapRunnerCfg = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	})
	events, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	h.wantBought(0)
	if got := adktest.Responses(events, "buy"); len(got) != 1 || got[0]["reason"] != "cannot_ask" {
		t.Errorf("buy answered %v, want a denial that says why", got)
	}
}

func TestProtectDeniesOnceClosedWithoutThePlugins(t *testing.T) {
	h := newHarness(t, func(o *options) {
		o.wrapRunnerCfg = func(rc *runner.Config) { rc.PluginConfig = runner.PluginConfig{} }
	})
	if err := h.cg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, err := adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("buy a route"))
	if err != nil {
		t.Fatal(err)
	}
	h.wantBought(0)
	if got := adktest.Responses(events, "buy"); len(got) != 1 || got[0]["reason"] != "closed" {
		t.Errorf("buy answered %v, want a denial that says contextgraph is closed", got)
	}
}

func TestProtectDeniesInsideAnAgentRunAsATool(t *testing.T) {
	h := newHarness(t)
	buy, err := functiontool.New(functiontool.Config{Name: "buy"}, func(agent.Context, buyArgs) (map[string]any, error) {
		h.bought.Add(1)
		return map[string]any{"status": "bought"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := llmagent.New(llmagent.Config{Name: "buyer", Description: "buys", Tools: []tool.Tool{h.cg.Protect(buy)},
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("tried"), nil
			}
			return adktest.Call("buy", map[string]any{"item": "x", "count": 1}), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := llmagent.New(llmagent.Config{Name: "root", Tools: []tool.Tool{agenttool.New(inner, nil)},
		Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call("buyer", map[string]any{"request": "buy x"}), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: app, Agent: outer, SessionService: h.sessions, PluginConfig: h.cg.PluginConfig(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adktest.TryRun(t.Context(), r, user, sess, adktest.UserText("go")); err != nil {
		t.Fatal(err)
	}
	h.wantBought(0)
	checkTree(t, h.rows(sess))
}

// A plugin that answers for everything hides nothing from the observer and
// changes nothing at the gate.
func TestGreedyPluginInBetween(t *testing.T) {
	greedy, err := plugin.New(plugin.Config{
		Name:                  "greedy",
		OnUserMessageCallback: func(_ agent.InvocationContext, c *genai.Content) (*genai.Content, error) { return c, nil },
		OnEventCallback:       func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) { return ev, nil },
		AfterToolCallback: func(_ agent.Context, _ tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
			return result, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(o *options) { o.plugins = []*plugin.Plugin{greedy} })
	id, _ := h.ask(sess)
	h.answer(sess, id, true)
	h.wantBought(1)
	checkTree(t, h.rows(sess))
}

func TestOtherPluginsSeeEverything(t *testing.T) {
	seen := make(map[string]int)
	watcher, err := plugin.New(plugin.Config{
		Name: "watcher",
		OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			seen["user message"]++
			return nil, nil
		},
		OnEventCallback: func(agent.InvocationContext, *session.Event) (*session.Event, error) {
			seen["event"]++
			return nil, nil
		},
		BeforeToolCallback: func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			seen["before tool"]++
			return nil, nil
		},
		AfterToolCallback: func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			seen["after tool"]++
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(o *options) { o.plugins = []*plugin.Plugin{watcher} })
	_, events := h.ask(sess)
	want := map[string]int{"user message": 1, "event": len(events), "before tool": 2, "after tool": 2}
	for what, n := range want {
		if seen[what] != n {
			t.Errorf("the plugin behind the observer saw %d of %d: %s", seen[what], n, what)
		}
	}
}

func TestTheHumanSeesWhatIsApproved(t *testing.T) {
	h := newHarness(t)
	_, events := h.ask(sess)
	call := adktest.Confirmations(events)[0]
	shown := shownIn(t, call)
	if shown["approval_id"] == "" || shown["fingerprint"] == "" {
		t.Errorf("the summary lacks id or fingerprint: %v", shown)
	}
	entities, _ := shown["entities"].([]any)
	if len(entities) != 1 {
		t.Fatalf("the summary shows %v, want one entity", shown["entities"])
	}
	e, _ := entities[0].(map[string]any)
	attrs, _ := e["attributes"].(map[string]any)
	if e["value"] != "Strava Sponsored Routes" || attrs["price"] != "$40,000" || e["age"] == "" {
		t.Errorf("entity = %v", e)
	}
}

func shownIn(t *testing.T, call *genai.FunctionCall) map[string]any {
	t.Helper()
	confirmation, ok := call.Args["toolConfirmation"].(toolconfirmation.ToolConfirmation)
	if !ok {
		t.Fatalf("toolConfirmation is a %T", call.Args["toolConfirmation"])
	}
	payload, _ := confirmation.Payload.(map[string]any)
	shown, ok := payload["contextgraph"].(map[string]any)
	if !ok {
		t.Fatalf("payload = %v, want a summary under contextgraph", confirmation.Payload)
	}
	return shown
}

func TestFromFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "contextgraph.yaml")
	db := filepath.Join(dir, "x.db")
	if err := os.WriteFile(file, []byte("journal: {path: "+db+"}\nguard: {tools: [buy]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cg, err := contextgraph.FromFile(file, contextgraph.WithLogger(quiet()),
		contextgraph.WithChecker("Product", safety.CheckerFunc(func(context.Context, entity.Canonical) (safety.State, error) { return safety.State{}, nil })))
	if err != nil {
		t.Fatal(err)
	}
	if cg.JournalPath() != db {
		t.Errorf("JournalPath = %q, want %q", cg.JournalPath(), db)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cg.Close(t.Context()); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := os.WriteFile(file, []byte("guard:\n  mdoe: enforce\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = contextgraph.FromFile(file)
	if err == nil || !strings.Contains(err.Error(), "contextgraph.yaml:2:3") || !strings.Contains(err.Error(), "mode") {
		t.Errorf("FromFile = %v, want an error with line and remedy", err)
	}
}

// What will make every approval fail is said at the start, not after a human said
// yes.
func TestStartWarnsOfTypesThatNothingChecks(t *testing.T) {
	cfg, err := contextgraph.ParseConfig("test.yaml", []byte(`
extract:
  - {name: offers, tool: search, type: Produkt, value: $.name}
  - {name: prices, tool: search, type: Product, value: $.name, attributes: {price: {path: $.p, type: money}, reach: {path: $.r, type: number}}}
checkers:
  - {type: Product, http: {url: "http://127.0.0.1:1/{value}", attributes: {price: {path: $.p, type: money}}}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cfg.Journal.Path = filepath.Join(t.TempDir(), "c.db")
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	cg, err := contextgraph.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cg.Close(t.Context())
	for _, want := range []string{`type \"Produkt\", which no checker checks`, `did you mean \"Product\"?`, `attribute \"reach\" of type \"Product\"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), `attribute \"price\"`) {
		t.Errorf("log complains of an attribute that is answered:\n%s", log.String())
	}
}
