// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
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

// Behind two gates of one instance nothing runs, and the ledger says so.
func TestProtectedTwice(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			tools[1] = cg.Protect(wrapper{tools[1]})
			return tools
		}
	})
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
	if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateFailed {
		t.Errorf("approval state = %q, want failed", got)
	}
}

// An agent's own callback may answer in the place of the tool. Only Protect knows.
func TestCallbackThatAnswersForTheTool(t *testing.T) {
	answers := func(o *cgtest.Options) {
		o.BeforeTool = []llmagent.BeforeToolCallback{func(ctx agent.Context, t tool.Tool, _ map[string]any) (map[string]any, error) {
			if t.Name() == "buy" && ctx.ToolConfirmation() != nil {
				return map[string]any{"status": "as good as bought"}, nil
			}
			return nil, nil
		}}
	}
	for want, opt := range map[safety.ApprovalState]cgtest.Option{
		safety.StateExecuted:  cgtest.With(cgtest.Listed, answers),
		safety.StatePermitted: answers,
	} {
		h := cgtest.New(t, opt)
		id, _ := h.Ask(cgtest.SessionID)
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(0)
		if got := h.Approvals(cgtest.SessionID)[0].State; got != want {
			t.Errorf("approval state = %q, want %q", got, want)
		}
		h.Answer(cgtest.SessionID, id, true)
		h.WantBought(0)
	}
}

// A protected tool that calls itself runs once, and the record says that it did.
func TestToolThatCallsItself(t *testing.T) {
	for _, w := range []cgtest.Way{{Name: "protected", Option: func(*cgtest.Options) {}, Innermost: true}, {Name: "streaming", Option: cgtest.Streamed(functiontool.Config{}), Innermost: true}} {
		t.Run(w.Name, func(t *testing.T) {
			var self tool.Tool
			h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
				o.ChangeTools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
					self = tools[1]
					return tools
				}
			})
			again := ""
			h.Effect = func(ctx agent.Context) error {
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
			id, _ := h.Ask(cgtest.SessionID)
			if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
				t.Errorf("buy answered %v, want it bought", got)
			}
			h.WantBought(1)
			if !strings.Contains(again, safety.CodeAlreadyUsed) && !strings.Contains(again, "being read already") {
				t.Errorf("the second call was answered %q", again)
			}
			if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateExecuted {
				t.Errorf("approval state = %q, want executed", got)
			}
			rows := h.Rows(cgtest.SessionID)
			if failed := rowtest.Of(rows, record.ToolError); len(failed) != 0 {
				t.Errorf("the record says that the call failed: %+v", failed)
			}
			cgtest.CheckTree(t, rows)
		})
	}
}

// A tool behind the gates of two instances can pass only one of them: it is denied before
// anybody is asked, and no approval says that it was carried out.
func TestProtectedByTwoInstances(t *testing.T) {
	for _, w := range []cgtest.Way{{Name: "protected", Option: cgtest.Unasked, Innermost: true}, {Name: "streaming", Option: cgtest.Streamed(functiontool.Config{}), Innermost: true}} {
		t.Run(w.Name, func(t *testing.T) {
			other := cgtest.New(t)
			h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
				made := o.MakeBuy
				o.MakeBuy = func(h *cgtest.Harness) (tool.Tool, error) {
					if made != nil {
						buy, err := made(h)
						return other.CG.Protect(buy), err
					}
					return other.CG.Protect(cgtest.NewTool(h.T, "buy", h.Buy)), nil
				}
			})
			events := adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
			if n := len(adktest.Confirmations(events)); n != 0 {
				t.Errorf("%d confirmations, want none", n)
			}
			if got := adktest.Responses(events, "buy"); len(got) != 1 || cgtest.Unstreamed(got[0])["reason"] != gate.CodeUnsupported {
				t.Errorf("buy answered %v, want a refusal", got)
			}
			if got := h.Approvals(cgtest.SessionID); len(got) != 0 {
				t.Errorf("approvals = %+v, want none", got)
			}
			h.WantBought(0)
		})
	}
}

// Another plugin may run a tool again that failed. Only Protect stands between.
func TestPluginThatRunsTheToolAgain(t *testing.T) {
	again := func(o *cgtest.Options) {
		p, err := plugin.New(plugin.Config{Name: "again", OnToolErrorCallback: func(ctx agent.Context, t tool.Tool, args map[string]any, err error) (map[string]any, error) {
			if p, ok := t.(protectable); ok && !errors.Is(err, tool.ErrConfirmationRequired) {
				return p.Run(ctx, args)
			}
			return nil, nil
		}})
		if err != nil {
			panic(err)
		}
		o.Plugins = append(o.Plugins, p)
	}
	cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
		if strings.Contains(w.Name, "streaming") {
			return // ADK calls no plugin around it
		}
		h := cgtest.New(t, w.Option, again)
		h.Effect = func(agent.Context) error { return errors.New("out of stock") }
		id, _ := h.Ask(cgtest.SessionID)
		h.Answer(cgtest.SessionID, id, true)
		if w.Innermost {
			h.WantBought(1)
		} else {
			h.WantBought(2)
		}
		if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateFailed {
			t.Errorf("approval state = %q, want failed", got)
		}
	})
}
