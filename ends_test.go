// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// wrapper is a tool around another one.
type wrapper struct{ tool.Tool }

func (w wrapper) inner() protectable { return w.Tool.(protectable) }

type protectable interface {
	Declaration() *genai.FunctionDeclaration
	Run(agent.Context, any) (map[string]any, error)
}

func (w wrapper) Declaration() *genai.FunctionDeclaration { return w.inner().Declaration() }

func (w wrapper) Run(ctx agent.Context, args any) (map[string]any, error) {
	return w.inner().Run(ctx, args)
}

// The ledger says of an approved call what became of it, also where others stand between.
func TestApprovalEndsAsTheCallDid(t *testing.T) {
	failing := func(o *options) {
		o.makeBuy = func(h *harness) (tool.Tool, error) {
			h.effect = func(agent.Context) error { return errors.New("out of stock") }
			return functiontool.New(functiontool.Config{Name: "buy", Description: "buys a product", RequireConfirmation: o.confirm}, h.buy)
		}
	}
	consoling := func(o *options) {
		p, err := plugin.New(plugin.Config{Name: "consoles", OnToolErrorCallback: func(_ agent.Context, _ tool.Tool, _ map[string]any, err error) (map[string]any, error) {
			if errors.Is(err, tool.ErrConfirmationRequired) {
				return nil, nil
			}
			return map[string]any{"status": "try again"}, nil
		}})
		if err != nil {
			panic(err)
		}
		o.plugins = append(o.plugins, p)
	}
	changing := func(o *options) {
		o.beforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
			if t.Name() == "buy" && ctx.ToolConfirmation() != nil {
				args["count"] = 1000
			}
			return nil, nil
		}}
	}
	twice := func(o *options) {
		o.tools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			tools[1] = cg.Protect(wrapper{tools[1]})
			return tools
		}
	}
	for name, tt := range map[string]struct {
		opt  option
		runs int64
		want safety.ApprovalState
	}{
		"protected twice, with a wrapper between":       {twice, 0, safety.StateFailed},
		"listed, fails, and a plugin makes a result":    {with(listed, failing, consoling), 1, safety.StateFailed},
		"covered, fails, and a plugin makes a result":   {with(covered, failing, consoling), 1, safety.StateFailed},
		"protected, fails, and a plugin makes a result": {with(failing, consoling), 1, safety.StateFailed},
		"listed, and a callback changes the arguments":  {with(listed, changing), 1, safety.StateFailed},
		"listed, and nothing is in between":             {listed, 1, safety.StateExecuted},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, tt.opt)
			id, _ := h.ask(sess)
			h.answer(sess, id, true)
			h.wantBought(tt.runs)
			if got := h.approvals(sess)[0].State; got != tt.want {
				t.Errorf("approval state = %q, want %q", got, tt.want)
			}
		})
	}
}

// An agent's own callback may answer in the place of the tool. Only Protect knows.
func TestCallbackThatAnswersForTheTool(t *testing.T) {
	answers := func(o *options) {
		o.beforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, t tool.Tool, _ map[string]any) (map[string]any, error) {
			if t.Name() == "buy" && ctx.ToolConfirmation() != nil {
				return map[string]any{"status": "as good as bought"}, nil
			}
			return nil, nil
		}}
	}
	for want, opt := range map[safety.ApprovalState]option{
		safety.StateExecuted:  with(listed, answers),
		safety.StatePermitted: answers,
	} {
		h := newHarness(t, opt)
		id, _ := h.ask(sess)
		h.answer(sess, id, true)
		h.wantBought(0)
		if got := h.approvals(sess)[0].State; got != want {
			t.Errorf("approval state = %q, want %q", got, want)
		}
		h.answer(sess, id, true)
		h.wantBought(0)
	}
}

// A protected tool that calls itself runs once, and the record says that it did.
func TestToolThatCallsItself(t *testing.T) {
	for _, w := range []way{{"protected", func(*options) {}, true}, {"streaming", streamed(functiontool.Config{}), true}} {
		t.Run(w.name, func(t *testing.T) {
			var self tool.Tool
			h := newHarness(t, w.opt, func(o *options) {
				o.tools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
					self = tools[1]
					return tools
				}
			})
			again := ""
			h.effect = func(ctx agent.Context) error {
				args := map[string]any{"item": "Strava Sponsored Routes", "count": 1}
				if s, ok := self.(interface {
					RunStream(agent.Context, any) iter.Seq2[string, error]
				}); ok {
					for _, err := range s.RunStream(ctx, args) {
						again = err.Error()
					}
					return nil
				}
				result, err := self.(protectable).Run(ctx, args)
				again = fmt.Sprint(result["reason"])
				return err
			}
			id, _ := h.ask(sess)
			if got := h.answer(sess, id, true); got["status"] != "bought" {
				t.Errorf("buy answered %v, want it bought", got)
			}
			h.wantBought(1)
			if !strings.Contains(again, safety.CodeAlreadyUsed) && !strings.Contains(again, "being read already") {
				t.Errorf("the second call was answered %q", again)
			}
			if got := h.approvals(sess)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed", got)
			}
			rows := h.rows(sess)
			if failed := rowsOf(rows, schema.ToolError); len(failed) != 0 {
				t.Errorf("the record says that the call failed: %+v", failed)
			}
			checkTree(t, rows)
		})
	}
}

// A tool behind the gates of two instances can pass only one of them: it is denied before
// anybody is asked, and no approval says that it was carried out.
func TestProtectedByTwoInstances(t *testing.T) {
	for _, w := range []way{{"protected", unasked, true}, {"streaming", streamed(functiontool.Config{}), true}} {
		t.Run(w.name, func(t *testing.T) {
			other := newHarness(t)
			h := newHarness(t, w.opt, func(o *options) {
				made := o.makeBuy
				o.makeBuy = func(h *harness) (tool.Tool, error) {
					if made != nil {
						buy, err := made(h)
						return other.cg.Protect(buy), err
					}
					return other.cg.Protect(mustTool(h.t, "buy", h.buy)), nil
				}
			})
			events := adktest.Run(t, h.runner, user, sess, adktest.UserText("buy a route"))
			if n := len(adktest.Confirmations(events)); n != 0 {
				t.Errorf("%d confirmations, want none", n)
			}
			if got := adktest.Responses(events, "buy"); len(got) != 1 || unstreamed(got[0])["reason"] != gate.CodeUnsupported {
				t.Errorf("buy answered %v, want a refusal", got)
			}
			if got := h.approvals(sess); len(got) != 0 {
				t.Errorf("approvals = %+v, want none", got)
			}
			h.wantBought(0)
		})
	}
}

// Another plugin may run a tool again that failed. Only Protect stands between.
func TestPluginThatRunsTheToolAgain(t *testing.T) {
	again := func(o *options) {
		p, err := plugin.New(plugin.Config{Name: "again", OnToolErrorCallback: func(ctx agent.Context, t tool.Tool, args map[string]any, err error) (map[string]any, error) {
			if p, ok := t.(protectable); ok && !errors.Is(err, tool.ErrConfirmationRequired) {
				return p.Run(ctx, args)
			}
			return nil, nil
		}})
		if err != nil {
			panic(err)
		}
		o.plugins = append(o.plugins, p)
	}
	onEveryWay(t, func(t *testing.T, w way) {
		if strings.Contains(w.name, "streaming") {
			return // ADK calls no plugin around it
		}
		h := newHarness(t, w.opt, again)
		h.effect = func(agent.Context) error { return errors.New("out of stock") }
		id, _ := h.ask(sess)
		h.answer(sess, id, true)
		if w.innermost {
			h.wantBought(1)
		} else {
			h.wantBought(2)
		}
		if got := h.approvals(sess)[0].State; got != safety.StateFailed {
			t.Errorf("approval state = %q, want failed", got)
		}
	})
}

// Of two calls of one turn a person approves one and rejects the other, in one message
// that says more: one runs, and it is that one.
func TestOneYesAndOneNoInOneMessage(t *testing.T) {
	onEveryGuard(t, func(t *testing.T, h *harness) {
		events := adktest.Run(t, h.runner, user, sess, adktest.UserText("buy a route"))
		requests := adktest.Confirmations(events)
		if len(requests) != 2 {
			t.Fatalf("%d confirmations, want 2", len(requests))
		}
		msg := adktest.Answer(requests[0].ID, false)
		msg.Parts = append(msg.Parts, &genai.Part{Text: "and buy two more"}, adktest.Answer(requests[1].ID, true).Parts[0])
		_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, msg)
		h.wantBought(1)
		if got := h.lastBuy.Load(); got != (buyArgs{"Strava Sponsored Routes", 2}) {
			t.Errorf("bought %+v, want what was approved", got)
		}
		for _, a := range h.approvals(sess) {
			want := safety.StateRejected
			if strings.Contains(string(a.Args), `"count":2`) {
				want = safety.StateExecuted
			}
			if a.State != want {
				t.Errorf("approval of %s is %q, want %q", a.Args, a.State, want)
			}
		}
	}, func(o *options) {
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
				return adktest.Calls(
					&genai.FunctionCall{Name: "buy", Args: map[string]any{"item": "Strava Sponsored Routes", "count": 1}},
					&genai.FunctionCall{Name: "buy", Args: map[string]any{"item": "Strava Sponsored Routes", "count": 2}}), nil
			}
			return shopper(req)
		}
	})
}
