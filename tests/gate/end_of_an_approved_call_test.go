// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/safety"
)

type protectable interface {
	Declaration() *genai.FunctionDeclaration
	Run(agent.Context, any) (map[string]any, error)
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

// Another plugin may run a tool again that failed, and only Protect stands between; or it makes a
// result of the failure. The ledger says that the call failed.
func TestPluginAfterAFailure(t *testing.T) {
	for name, after := range map[string]func(p protectable, ctx agent.Context, args map[string]any) (map[string]any, error){
		"runs it again": func(p protectable, ctx agent.Context, args map[string]any) (map[string]any, error) {
			return p.Run(ctx, args)
		},
		"makes a result": func(protectable, agent.Context, map[string]any) (map[string]any, error) {
			return map[string]any{"status": "try again"}, nil
		},
	} {
		cgtest.OnEach(t, cgtest.Ways(), func(t *testing.T, w cgtest.Way) {
			if strings.Contains(w.Name, "streaming") {
				return // ADK calls no plugin around it
			}
			h := cgtest.New(t, w.Option, func(o *cgtest.Options) {
				o.Plugins = append(o.Plugins, cgtest.NewPlugin(t, plugin.Config{Name: "after", OnToolErrorCallback: func(ctx agent.Context, tl tool.Tool, args map[string]any, err error) (map[string]any, error) {
					if p, ok := tl.(protectable); ok && !errors.Is(err, tool.ErrConfirmationRequired) {
						return after(p, ctx, args)
					}
					return nil, nil
				}}))
			})
			h.Effect = func(agent.Context) error { return errors.New("out of stock") }
			id, _ := h.Ask(cgtest.SessionID)
			h.Answer(cgtest.SessionID, id, true)
			if w.Innermost || name == "makes a result" {
				h.WantBought(1)
			} else {
				h.WantBought(2)
			}
			if got := h.Approvals(cgtest.SessionID)[0].State; got != safety.StateFailed {
				t.Errorf("%s: approval state = %q, want failed", name, got)
			}
		})
	}
}
