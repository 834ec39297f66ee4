// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/geminitool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
)

// lines is a log that tests can read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// renamed offers a tool to the model under another name than its own.
type renamed struct {
	tool.Tool
	as string
}

func (r renamed) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	if err := r.Tool.(interface {
		ProcessRequest(agent.Context, *model.LLMRequest) error
	}).ProcessRequest(ctx, req); err != nil {
		return err
	}
	req.Tools[r.as] = req.Tools[r.Name()]
	delete(req.Tools, r.Name())
	return nil
}

// caller is an agent that asks for one call of the tool and no more.
func caller(t testing.TB, name, call string, args map[string]any, tools ...tool.Tool) agent.Agent {
	t.Helper()
	a := cgtest.NewAgent(t, llmagent.Config{Name: name, Description: name, Tools: tools, Model: &adktest.Model{
		Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) != nil {
				return adktest.Text("done"), nil
			}
			return adktest.Call(call, args), nil
		},
	}})
	return a
}

var aRoute = map[string]any{"item": "a route", "count": 1}

// Each way in which a guarded tool runs without the gate is named before it runs: once
// in the log, or by refusing the model request that offers it.
func TestUnguardedToolIsNamed(t *testing.T) {
	plainBuy := func(t testing.TB, h *cgtest.Harness) tool.Tool { return cgtest.NewTool(t, "buy", h.Buy) }
	streamingBuy := func(t testing.TB, h *cgtest.Harness) tool.Tool {
		var o cgtest.Options
		cgtest.Streamed(functiontool.Config{})(&o)
		buy, err := o.MakeBuy(h)
		if err != nil {
			t.Fatal(err)
		}
		return buy
	}
	for name, tt := range map[string]struct {
		opt   cgtest.Option
		agent func(t testing.TB, h *cgtest.Harness) agent.Agent
		tool  string // as it is named
		of    string
		want  string
		// runs says that the call gets around the gate.
		runs bool
	}{
		"streaming twin of a protected one": {cgtest.Unprotected, func(t testing.TB, h *cgtest.Harness) agent.Agent {
			h.CG.Protect(streamingBuy(t, h))
			return caller(t, "root", "buy", aRoute, streamingBuy(t, h))
		}, "buy", "root", "streams", true},
		"offered under a guarded name": {cgtest.Listed, func(t testing.TB, h *cgtest.Harness) agent.Agent {
			return caller(t, "root", "buy", aRoute, renamed{cgtest.NewTool(t, "purchase", h.Buy), "buy"})
		}, "buy", "root", "has another", true},
		"in an agent that runs as a protected tool": {cgtest.Listed, func(t testing.TB, h *cgtest.Harness) agent.Agent {
			buyer := caller(t, "buyer", "buy", aRoute, plainBuy(t, h))
			return caller(t, "root", "buyer", map[string]any{"request": "buy"}, h.CG.Protect(agenttool.New(buyer, nil)))
		}, "buy", "buyer", "without plugins", false},
		"deep in agents that run as tools": {cgtest.Listed, func(t testing.TB, h *cgtest.Harness) agent.Agent {
			buyer := caller(t, "buyer", "buy", aRoute, plainBuy(t, h))
			helper := caller(t, "helper", "buyer", map[string]any{"request": "buy"}, agenttool.New(buyer, nil))
			return caller(t, "root", "helper", map[string]any{"request": "buy"}, agenttool.New(helper, nil))
		}, "buy", "helper", "without plugins", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("warn", func(t *testing.T) {
				var log lines
				h := cgtest.New(t, tt.opt, func(o *cgtest.Options) { o.Config.Logger = log.logger() })
				h.Serve(tt.agent(t, h))
				for _, s := range []string{cgtest.SessionID, "another session"} {
					if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, s, adktest.UserText("buy")); err != nil {
						t.Fatal(err)
					}
				}
				if ran := h.Bought.Load() > 0; ran != tt.runs {
					t.Errorf("the tool ran: %v, want %v", ran, tt.runs)
				}
				if n := log.count("not guarded that should be"); n != 1 {
					t.Errorf("logged %d times, want once", n)
				}
				if n := h.CG.Stats().Gate.Unguarded; n != 1 {
					t.Errorf("Stats.Unguarded = %d, want 1", n)
				}
			})
			t.Run("error", func(t *testing.T) {
				h := cgtest.New(t, tt.opt, func(o *cgtest.Options) { o.Config.Guard.Unguarded = config.UnguardedError })
				h.Serve(tt.agent(t, h))
				_, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy"))
				h.WantBought(0)
				var unguarded *gate.UnguardedError
				if !errors.As(err, &unguarded) {
					t.Fatalf("the run ended with %v, want an UnguardedError", err)
				}
				if unguarded.Tool != tt.tool || unguarded.Agent != tt.of || !strings.Contains(unguarded.Problem, tt.want) || unguarded.Remedy == "" {
					t.Errorf("got %+v, want tool %q of agent %q: %s", unguarded, tt.tool, tt.of, tt.want)
				}
				rows := h.Rows(cgtest.SessionID)
				cgtest.CheckTree(t, rows)
				failed := rowtest.Of(rows, record.LLMError)
				if len(failed) != 1 || !strings.Contains(failed[0].ErrorMessage, tt.want) {
					t.Errorf("LLM_ERROR rows = %+v, want one that says it", failed)
				}
			})
		})
	}
}

// failing is a toolset that cannot be listed.
type failing struct{ panics bool }

func (failing) Name() string { return "failing" }

func (f failing) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	if f.panics {
		panic("boom")
	}
	return nil, errors.New("offline")
}

// curious is a toolset that wants to know about the run.
type curious struct{ cgtest.Shelf }

func (c *curious) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	_, err := ctx.ReadonlyState().Get("x")
	for range ctx.ReadonlyState().All() {
		err = nil
	}
	if err == nil || ctx.UserContent() != nil || ctx.AgentName()+ctx.AppName()+ctx.UserID()+ctx.SessionID()+ctx.Branch()+ctx.InvocationID() != "" {
		return nil, errors.New("a run, where there is none")
	}
	return c.Content, nil
}

func TestCheckTools(t *testing.T) {
	guardAll := func(tools ...string) cgtest.Option {
		return cgtest.With(cgtest.Listed, func(o *cgtest.Options) { o.Config.Guard.Tools = config.Tools(tools...) })
	}
	noop := func(t testing.TB, name string) tool.Tool {
		return cgtest.NewTool(t, name, func(agent.Context, cgtest.BuyArgs) (map[string]any, error) { return map[string]any{}, nil })
	}
	for name, tt := range map[string]struct {
		opt   cgtest.Option
		tools func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset)
		want  []string // one part of each error
	}{
		"all is well": {guardAll("buy", "provision_*"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{noop(t, "search"), noop(t, "buy"), nil}, []tool.Toolset{&curious{cgtest.Shelf{Content: []tool.Tool{noop(t, "provision_campaign")}}}, nil}
		}, nil},
		"misspelt": {guardAll("buuy", "provison_*", "zebra"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{noop(t, "buy"), noop(t, "provision_campaign")}, nil
		}, []string{`guard.tools names "buuy", but no known tool has that name`, `did you mean "buy"?`, `did you mean "provision_campaign"?`, `names "zebra"`}},
		"in a toolset": {guardAll("buy"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			var o cgtest.Options
			cgtest.Streamed(functiontool.Config{})(&o)
			buy, err := o.MakeBuy(h)
			if err != nil {
				t.Fatal(err)
			}
			return nil, []tool.Toolset{&cgtest.Shelf{Content: []tool.Tool{buy}}}
		}, []string{"streams"}},
		"in an agent run as a tool": {guardAll("buy"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{agenttool.New(caller(t, "buyer", "buy", aRoute, noop(t, "buy")), nil)}, nil
		}, []string{`"buy" of agent "buyer"`}},
		"protected in an agent run as a tool": {cgtest.Unprotected, func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{agenttool.New(caller(t, "buyer", "buy", aRoute, h.CG.Protect(noop(t, "buy"))), nil)}, nil
		}, nil},
		"in an agent run as a tool of ours": {guardAll("buy"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{h.CG.AgentTool(caller(t, "buyer", "buy", aRoute, noop(t, "buy")), nil)}, nil
		}, nil},
		"toolsets that fail": {guardAll("search"), func(t testing.TB, h *cgtest.Harness) ([]tool.Tool, []tool.Toolset) {
			return []tool.Tool{noop(t, "search")}, []tool.Toolset{failing{}, failing{panics: true}}
		}, []string{"offline", "panic: boom"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log lines
			for _, mode := range []config.Unguarded{config.UnguardedError, config.UnguardedWarn} {
				h := cgtest.New(t, tt.opt, func(o *cgtest.Options) {
					o.Config.Guard.Unguarded, o.Config.Logger = mode, log.logger()
				})
				tools, toolsets := tt.tools(t, h)
				err := h.CG.CheckTools(t.Context(), tools, toolsets...)
				if mode == config.UnguardedWarn || len(tt.want) == 0 {
					if err != nil {
						t.Errorf("%s: %v", mode, err)
					}
					continue
				}
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error lacks %q:\n%v", want, err)
					}
				}
				if n := len(err.(interface{ Unwrap() []error }).Unwrap()); n > len(tt.want) {
					t.Errorf("%d findings:\n%v", n, err)
				}
			}
			if n := log.count("level=WARN msg=\"contextgraph: a tool is not guarded that should be") + log.count("level=WARN msg=\"contextgraph: guard.tools names"); (n > 0) != (len(tt.want) > 0) {
				t.Errorf("logged %d times", n)
			}
		})
	}
}

// offering is a toolset that puts tools into the request by itself.
type offering struct {
	cgtest.Shelf
	add func(*model.LLMRequest) error
}

func (o *offering) ProcessRequest(_ agent.Context, req *model.LLMRequest) error { return o.add(req) }

// What a protected toolset puts into a request by itself is protected, or refused.
func TestProtectToolsetGuardsWhatProcessRequestAdds(t *testing.T) {
	type packed interface {
		tool.Tool
		toolutils.Tool
	}
	for name, tt := range map[string]struct {
		add  func(t testing.TB, h *cgtest.Harness, req *model.LLMRequest) error
		want string // of the error
	}{
		"a tool": {add: func(t testing.TB, h *cgtest.Harness, req *model.LLMRequest) error {
			return toolutils.PackTool(req, cgtest.NewTool(t, "buy", h.Buy).(packed))
		}},
		"another tool in the place of one": {add: func(t testing.TB, h *cgtest.Harness, req *model.LLMRequest) error {
			req.Tools["search"] = cgtest.NewTool(t, "buy", h.Buy)
			return nil
		}},
		"no tool": {add: func(t testing.TB, h *cgtest.Harness, req *model.LLMRequest) error {
			req.Tools = map[string]any{"buy": "buy"}
			return nil
		}, want: "cannot stand behind the gate"},
		"a tool of the model service": {add: func(t testing.TB, h *cgtest.Harness, req *model.LLMRequest) error {
			return geminitool.GoogleSearch{}.ProcessRequest(nil, req)
		}, want: "the model service runs"},
		"an error": {add: func(testing.TB, *cgtest.Harness, *model.LLMRequest) error { return errors.New("offline") }, want: "offline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := cgtest.New(t, cgtest.Unprotected, cgtest.NotChecked)
			ts := h.CG.ProtectToolset(&offering{add: func(req *model.LLMRequest) error { return tt.add(t, h, req) }})
			m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				for name := range req.Tools {
					if adktest.LastResponse(req) == nil {
						return adktest.Call(name, aRoute), nil
					}
				}
				return adktest.Text("done"), nil
			}}
			search := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return map[string]any{}, nil })
			var tools []tool.Tool
			if strings.HasPrefix(name, "another") {
				tools = append(tools, search)
			}
			root := cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: m, Tools: tools, Toolsets: []tool.Toolset{ts}})
			h.Serve(root)
			events, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy"))
			h.WantBought(0)
			switch {
			case tt.want != "":
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("the run ended with %v, want %q", err, tt.want)
				}
			case err != nil:
				t.Fatal(err)
			case len(adktest.Confirmations(events)) != 1:
				t.Errorf("%d confirmations, want 1", len(adktest.Confirmations(events)))
			}
		})
	}
}

// A tool that the model service runs cannot be protected, which the first request says.
func TestProtectRefusesAToolOfTheModelService(t *testing.T) {
	h := cgtest.New(t, cgtest.Unprotected)
	h.Serve(caller(t, "root", "google_search", nil, h.CG.Protect(geminitool.GoogleSearch{})))
	_, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("search"))
	if err == nil || !strings.Contains(err.Error(), "run by the model service") {
		t.Errorf("the run ended with %v", err)
	}
}
