// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package mistakes_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/geminitool"
	"google.golang.org/adk/v2/workflow"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// spans is the tracer provider of the process: a program has one, and ADK takes it once.
var spans = sdktrace.NewTracerProvider()

// attempt is a program with a mistake under test.
type attempt struct {
	*cgtest.Harness
	t   *testing.T
	log *slog.Logger
	out strings.Builder
}

// ask runs a turn in which the model calls buy, and notes the error and the refusals.
func (a *attempt) ask() {
	events, err := adktest.TryRun(a.t.Context(), a.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	if err != nil {
		fmt.Fprintf(&a.out, "the run ends with: %v\n", err)
	}
	for _, name := range []string{"buy", "buyer"} {
		for _, r := range adktest.Responses(events, name) {
			a.told(r)
		}
	}
}

// told notes the refusal of a call.
func (a *attempt) told(result map[string]any) {
	result = cgtest.Unstreamed(result)
	if result["status"] == "blocked" {
		fmt.Fprintf(&a.out, "the model is told: %v\n", result["message"])
	}
}

// serve has the harness serve an agent that calls the tool by its name.
func (a *attempt) serve(call string, tools ...tool.Tool) { a.Serve(a.caller("root", call, tools...)) }

func (a *attempt) caller(name, call string, tools ...tool.Tool) agent.Agent {
	return cgtest.NewAgent(a.t, llmagent.Config{Name: name, Description: name, Tools: tools, Mode: llmagent.ModeChat, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call(call, map[string]any{"item": "a route", "count": 1, "request": "buy"}), nil
		},
	}})
}

func (a *attempt) plain() tool.Tool { return cgtest.NewTool(a.t, "buy", a.Buy) }

// flow serves a workflow of one tool.
func (a *attempt) flow(t tool.Tool) {
	n, err := workflow.NewToolNode(t, workflow.NodeConfig{})
	if err != nil {
		a.t.Fatal(err)
	}
	first := cgtest.FunctionNode("first", func(agent.Context, any) (map[string]any, error) {
		return map[string]any{"item": "a route", "count": 1}, nil
	})
	cgtest.ServeWorkflow(a.t, a.Harness, workflow.Chain(workflow.Start, first, n), func(c *runner.Config) { c.PluginConfig = a.CG.PluginConfig() })
}

func strict(o *cgtest.Options) { o.Config.Guard.Unguarded = config.UnguardedError }

// tools names what is guarded.
func tools(names ...string) cgtest.Option {
	return cgtest.With(cgtest.Listed, func(o *cgtest.Options) { o.Config.Guard.Tools = config.Tools(names...) })
}

// rule changes the rule that finds products.
func rule(change func(*config.Extract)) cgtest.Option {
	return func(o *cgtest.Options) { change(&o.Config.Extract[0]) }
}

// noTable is a database without the table of a query.
type noTable struct{}

func (noTable) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errors.New(`ERROR: relation "product" does not exist (SQLSTATE 42P01)`)
}

// renamed offers a tool to the model under another name than its own.
type renamed struct{ tool.Tool }

func (r renamed) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	if err := r.Tool.(interface {
		ProcessRequest(agent.Context, *model.LLMRequest) error
	}).ProcessRequest(ctx, req); err != nil {
		return err
	}
	req.Tools["buy"] = req.Tools[r.Name()]
	delete(req.Tools, r.Name())
	return nil
}

// programs are mistakes that show when agents run. said is a part of what is said.
var programs = []struct {
	name string
	opt  cgtest.Option
	run  func(a *attempt)
	said string
}{
	{"A misspelt tool in guard.tools", tools("buuy"), (*attempt).ask, `did you mean \"buy\"?`},
	{"A misspelt tool in guard.tools, with unguarded: error", cgtest.With(tools("buuy"), strict), (*attempt).ask, "the run ends with"},
	{"A pattern in guard.tools that no tool has", tools("purchase_*"), (*attempt).ask, "guard.tools names"},
	{"A tool in guard.tools that is like no other", tools("transfer_money"), (*attempt).ask, "guard.tools names"},
	{"A tool with an invisible character in its name", tools("buy"), func(a *attempt) {
		a.serve("buy", cgtest.NewTool(a.t, "buy\u200b", a.Buy))
		a.ask()
	}, "did you mean"},
	{"A misspelt tool in a rule", cgtest.With(cgtest.Listed, rule(func(r *config.Extract) { r.Tool = "serch" })), (*attempt).ask, `did you mean \"search\"?`},
	{"A list in a rule that the result does not have", cgtest.With(cgtest.Listed, rule(func(r *config.Extract) { r.Each = "$.itms[*]" })), (*attempt).ask, "did you mean items?"},
	{"A result one level deeper than the rule", cgtest.With(cgtest.Listed, rule(func(r *config.Extract) { r.Each = "$[*]" })), (*attempt).ask, "rule"},
	{"An attribute in a rule that the result does not have", cgtest.With(cgtest.Listed, rule(func(r *config.Extract) {
		r.Attributes["price"] = config.Attribute{Path: "$.prise", Type: entity.KindMoney, Currency: "USD"}
	})), (*attempt).ask, "did you mean price?"},
	{"A misspelt tool in a checker that repeats calls", cgtest.With(cgtest.Listed, func(o *cgtest.Options) {
		o.Config.CheckFuncs = nil
		o.Config.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{Tool: "serch"}}}
	}), (*attempt).ask, `did you mean \"search\"?`},
	{"A misspelt node in guard.inputs", cgtest.With(cgtest.Listed, cgtest.GuardInputs("reveiw")), func(a *attempt) {
		w := &cgtest.Workflow{Harness: a.Harness}
		w.Build()
		a.ask()
	}, `did you mean \"review\"?`},
	{"A tool that asks for a confirmation and is not guarded", cgtest.Unprotected, (*attempt).ask, "confirmed call runs whatever"},
	{"A tool that asks and is not guarded, with unguarded: error", cgtest.With(cgtest.Unprotected, strict), (*attempt).ask, "the run ends with"},
	{"A tool whose code asks for a confirmation and is not guarded", cgtest.With(cgtest.Unprotected, cgtest.AskingInside), (*attempt).ask, "confirmed call runs whatever"},
	{"A tool whose code asks and is not guarded, with unguarded: error", cgtest.With(cgtest.Unprotected, cgtest.AskingInside, strict), (*attempt).ask, "the model is told"},
	{"A rule over an action that never asks", cgtest.With(cgtest.Covered, cgtest.Unasked), (*attempt).ask, "ran without asking"},
	{"A rule over an action that never asks, with unguarded: error", cgtest.With(cgtest.Covered, cgtest.Unasked, strict), (*attempt).ask, "nothing is known to make them ask"},
	{"A checker with replay, and its tool is not registered", cgtest.With(cgtest.Listed, func(o *cgtest.Options) {
		o.Config.CheckFuncs = nil
		o.Config.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{}}}
	}), (*attempt).ask, "hand them to Replayable"},
	{"A query that the database does not take", cgtest.Listed, func(a *attempt) {
		cg, err := contextgraph.Open(a.t.Context(), contextgraph.Config{
			Journal: config.Journal{Path: filepath.Join(a.t.TempDir(), "c.db")},
			Checkers: []config.Checker{{Type: "Product", SQL: &config.SQL{
				Database: "shop", Query: "SELECT price FROM product WHERE name = $1", Args: []string{"{value}"},
				Attributes: map[string]config.Column{"price": {Column: "price", Type: entity.KindMoney, Currency: "USD"}},
			}}},
		}, contextgraph.WithLogger(a.log), contextgraph.WithDatabase("shop", noTable{}))
		if err != nil {
			a.t.Fatal(err)
		}
		cg.PluginConfig()
		if err := cg.Close(a.t.Context()); err != nil {
			a.t.Fatal(err)
		}
	}, "does not take the query"},
	{"A tool that another instance protects", cgtest.Unprotected, func(a *attempt) {
		other := cgtest.New(a.t, cgtest.Unprotected, func(o *cgtest.Options) { o.Config.Logger = a.log })
		a.serve("buy", other.CG.Protect(a.plain()))
		a.ask()
	}, "protect it with the instance whose PluginConfig the runner has"},
	{"A listed tool that streams", cgtest.With(cgtest.Listed, cgtest.Streamed(functiontool.Config{})), (*attempt).ask, "streams"},
	{"A listed tool as a node of a workflow", cgtest.Listed, func(a *attempt) { a.flow(a.plain()); a.ask() }, "runs as a node"},
	{"A listed tool as a node of a workflow, with unguarded: error", cgtest.With(cgtest.Listed, strict), func(a *attempt) { a.flow(a.plain()); a.ask() }, "the run ends with"},
	{"A protected tool as a node of a workflow", cgtest.Unprotected, func(a *attempt) {
		var told map[string]any
		buy := a.CG.Protect(a.plain())
		n, err := workflow.NewToolNode(buy, workflow.NodeConfig{})
		if err != nil {
			a.t.Fatal(err)
		}
		first := cgtest.FunctionNode("first", func(agent.Context, any) (map[string]any, error) {
			return map[string]any{"item": "a route", "count": 1}, nil
		})
		last := cgtest.FunctionNode("last", func(_ agent.Context, r map[string]any) (string, error) { told = r; return "", nil })
		cgtest.ServeWorkflow(a.t, a.Harness, workflow.Chain(workflow.Start, first, n, last), func(c *runner.Config) { c.PluginConfig = a.CG.PluginConfig() })
		a.ask()
		a.told(told)
	}, "did not pass contextgraph's gate"},
	{"A second runner without the plugins, and a protected tool", cgtest.Unprotected, func(a *attempt) {
		root := a.caller("root", "buy", a.CG.Protect(a.plain()))
		a.ServeWith(root, func(c *runner.Config) { c.PluginConfig = runner.PluginConfig{} })
		a.ask()
	}, "its runner lacks the plugins"},
	{"A second runner without the plugins, and a listed tool, with SpanProcessor", cgtest.Listed, func(a *attempt) {
		p := a.CG.SpanProcessor()
		spans.RegisterSpanProcessor(p)
		defer spans.UnregisterSpanProcessor(p)
		a.ServeWith(a.caller("root", "buy", a.plain()), func(c *runner.Config) { c.PluginConfig = runner.PluginConfig{} })
		a.ask()
	}, "a runner without contextgraph's plugins"},
	{"Only the first of the plugins", cgtest.Listed, func(a *attempt) {
		a.ServeWith(a.caller("root", "buy", a.plain()), func(c *runner.Config) {
			c.PluginConfig = runner.PluginConfig{Plugins: a.CG.PluginConfig().Plugins[:1]}
		})
		a.ask()
	}, "and not its last"},
	{"Only the last of the plugins", cgtest.Listed, func(a *attempt) {
		a.ServeWith(a.caller("root", "buy", a.plain()), func(c *runner.Config) {
			c.PluginConfig = runner.PluginConfig{Plugins: a.CG.PluginConfig().Plugins[1:]}
		})
		a.ask()
	}, "the model is told"},
	{"A plugin before those of PluginConfig that answers for the tool", cgtest.Listed, func(a *attempt) {
		other := cgtest.NewPlugin(a.t, plugin.Config{Name: "other", BeforeToolCallback: func(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
			if t.Name() != "buy" {
				return nil, nil
			}
			return t.(interface {
				Run(agent.Context, any) (map[string]any, error)
			}).Run(ctx, args)
		}})
		a.ServeWith(a.caller("root", "buy", a.CG.Protect(a.plain())), func(c *runner.Config) {
			c.PluginConfig.Plugins = append([]*plugin.Plugin{other}, c.PluginConfig.Plugins...)
		})
		a.ask()
	}, "the model is told"},
	{"agenttool.New in the place of AgentTool", cgtest.Listed, func(a *attempt) {
		a.serve("buyer", agenttool.New(a.caller("buyer", "buy", a.plain()), nil))
		a.ask()
	}, "make that agent a tool with AgentTool"},
	{"A guarded tool in an agent that runs as a tool", cgtest.Listed, func(a *attempt) {
		var told map[string]any
		buyer := cgtest.NewAgent(a.t, llmagent.Config{Name: "buyer", Description: "buys", Mode: llmagent.ModeChat, Tools: []tool.Tool{a.plain()}, Model: &adktest.Model{
			Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if r := adktest.LastResponse(req); r != nil {
					told = r.Response
					return adktest.Text("done"), nil
				}
				return adktest.Call("buy", map[string]any{"item": "a route", "count": 1}), nil
			},
		}})
		a.serve("buyer", a.CG.AgentTool(buyer, nil))
		a.ask()
		a.told(told)
	}, "runs as a tool cannot ask"},
	{"A listed tool that is offered under another name", cgtest.Listed, func(a *attempt) {
		a.serve("buy", renamed{cgtest.NewTool(a.t, "purchase", a.Buy)})
		a.ask()
	}, "is offered to the model under a guarded name"},
	{"A tool beside a protected one of the same name", cgtest.Unprotected, func(a *attempt) {
		a.CG.Protect(a.plain())
		a.serve("buy", a.plain())
		a.ask()
	}, "another tool of its name"},
	{"A wrapper around a protected tool", cgtest.Unprotected, func(a *attempt) {
		wrapped, err := tool.WithConfirmation(&cgtest.Shelf{Content: []tool.Tool{a.CG.Protect(a.plain())}}, true, nil).Tools(nil)
		if err != nil {
			a.t.Fatal(err)
		}
		a.serve("buy", wrapped...)
		a.ask()
	}, "wrapper around the other"},
	{"A guarded tool that the model service runs", tools("google_search"), func(a *attempt) {
		a.serve("search", geminitool.GoogleSearch{})
		a.ask()
	}, "nothing in this process runs it"},
	{"A type without a checker", cgtest.With(cgtest.Listed, func(o *cgtest.Options) { o.Config.CheckFuncs = nil }), (*attempt).ask, "no checker checks"},
	{"A guarded tool as a tool that only reads", cgtest.Listed, func(a *attempt) {
		_, err := a.CG.Replayable(a.plain())
		fmt.Fprintf(&a.out, "Replayable returns: %v\n", err)
	}, "cannot be replayable"},
	{"Tools that are handed over without one that is named", tools("pay"), func(a *attempt) {
		if err := a.CG.CheckTools(a.t.Context(), a.Tools); err != nil {
			a.t.Fatal(err)
		}
	}, "guard.tools names"},
	{"No runner with the plugins", cgtest.Listed, func(a *attempt) {
		cg, err := contextgraph.Open(a.t.Context(), contextgraph.Config{Journal: config.Journal{Path: filepath.Join(a.t.TempDir(), "c.db")}}, contextgraph.WithLogger(a.log))
		if err != nil {
			a.t.Fatal(err)
		}
		if err := cg.Close(a.t.Context()); err != nil {
			a.t.Fatal(err)
		}
	}, "no runner got the plugins"},
	{"A run after Close", cgtest.Listed, func(a *attempt) {
		_ = a.CG.Close(a.t.Context())
		a.ask()
	}, "the model is told"},
}

var (
	hexIDs   = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	adkCalls = regexp.MustCompile(`adk-[0-9a-f-]{36}`)
)

// ofPrograms returns the messages about each mistaken program, in sections of the document.
func ofPrograms(t *testing.T) string {
	var b strings.Builder
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			log := new(lockedBuffer)
			a := &attempt{t: t, log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
			a.Harness = cgtest.New(t, p.opt, func(o *cgtest.Options) { o.Config.Logger = a.log })
			p.run(a)
			if err := a.CG.Flush(t.Context()); err != nil && !strings.Contains(p.name, "Close") {
				t.Fatal(err)
			}
			_, _ = a.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)) // which extracts what was recorded
			lines := slices.Sorted(strings.Lines(unstable.ReplaceAllString(log.String(), "")))
			got := strings.Join(lines, "") + a.out.String()
			got = adkCalls.ReplaceAllString(hexIDs.ReplaceAllString(got, "ID"), "CALL")
			if !strings.Contains(got, p.said) {
				t.Errorf("%q is not said:\n%s", p.said, got)
			}
			fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n", strings.TrimSpace(p.name), strings.TrimSpace(got))
		})
	}
	return b.String()
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A right program logs no warning, however its tool is guarded. It names a guarded tool once more that is not
// behind Protect.
func TestRightProgram(t *testing.T) {
	for name, opt := range map[string]cgtest.Option{
		"protected": nil, "listed": cgtest.Listed, "covered": cgtest.Covered, "covered, decides itself": cgtest.With(cgtest.Covered, cgtest.AskingInside),
		"observed": cgtest.With(cgtest.Unprotected, func(o *cgtest.Options) { o.Config.Guard.Mode = config.ModeObserve }),
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lockedBuffer)
			h := cgtest.New(t, opt, func(o *cgtest.Options) { o.Config.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			h.WantBought(1)
			bare := 0
			if name != "protected" && name != "observed" {
				bare = 1
			}
			got := log.String()
			if strings.Contains(got, "level=WARN") || strings.Contains(got, "level=ERROR") || strings.Count(got, "tools=buy") != 1+bare || strings.Count(got, "guarded tools without Protect") != bare {
				t.Errorf("the log has a warning, or does not name the tool as it should:\n%s", got)
			}
		})
	}
}
