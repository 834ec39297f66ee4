// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
)

// calling returns an agent whose model calls the tool once.
func calling(t tool.Tool, args m) agent.Agent {
	return asks("root", adktest.CallsOnce(call("call-1", t.Name(), args)), t)
}

// Nobody can be asked inside of a tool call: guarded tools are denied there, whether
// they are listed, covered or wrapped, and so in a nested agent tool.
func TestGuardedToolsInsideOfAnAgentTool(t *testing.T) {
	for _, depth := range []int{1, 2} {
		for _, how := range []string{"listed", "covered", "protected"} {
			t.Run(fmt.Sprint(how, depth), func(t *testing.T) {
				sink := &rowtest.Sink{}
				cfg := gate.Config{Guard: unusedGuard()}
				switch how {
				case "listed":
					cfg.Settings.Tools = config.Tools("buy")
				case "covered":
					cfg.Covered = []string{"buy"}
				}
				rec, g := newGate(recorder.Config{Sink: sink}, cfg)
				ran := false
				buy := must(functiontool.New(functiontool.Config{Name: "buy", RequireConfirmation: how == "covered"}, func(agent.Context, struct{}) (map[string]any, error) {
					ran = true
					return map[string]any{}, nil
				}))
				if how == "protected" {
					buy = g.Protect(buy)
				}
				mdl := adktest.CallsOnce(call("", "buy", m{}))
				a := asks("buyer", mdl, buy)
				for range depth {
					a = calling(rec.AgentTool(a, nil, plugins(g)), m{"request": "buy"})
				}
				r := newRunner(a, plugins(g))
				adktest.Run(t, r, "u", "s", adktest.UserText("go"))
				requests := mdl.Requests()
				if ran || len(requests) != 2 {
					t.Fatalf("ran = %v, %d requests", ran, len(requests))
				}
				got := fmt.Sprint(adktest.LastResponse(requests[1]).Response)
				if !strings.Contains(got, gate.CodeCannotAsk) || !strings.Contains(got, "runs as a tool") {
					t.Errorf("the model was told %s", got)
				}
				if n := len(sink.Of(record.HITLConfirmationRequest)); n != 0 {
					t.Errorf("%d approvals were asked for where nobody can answer", n)
				}
			})
		}
	}
}

// A confirmation that a tool without a guard asks for inside is lost, as with ADK's
// tool; no approval is opened that nobody could answer.
func TestConfirmationInsideOfAnAgentTool(t *testing.T) {
	var log bytes.Buffer
	rec, g := newGate(recorder.Config{Sink: &rowtest.Sink{}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, gate.Config{Guard: unusedGuard()})
	ask := must(functiontool.New(functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
		return nil, errors.New("must not run")
	}))
	at := rec.AgentTool(calling(ask, nil), nil, plugins(g))
	r := newRunner(asks("outer", adktest.CallsOnce(call("", at.Name(), m{"request": "x"})), at), plugins(g))
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	if got := adktest.Responses(events, at.Name()); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("the tool answered %v, want {}", got)
	}
	if !strings.Contains(log.String(), "nobody sees it") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("log:\n%s", &log)
	}
}

// The wiring is missing: that is said once per tool.
func TestAgentToolOfADKIsNoticed(t *testing.T) {
	var log bytes.Buffer
	rec, g := newGate(recorder.Config{Sink: &rowtest.Sink{}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, gate.Config{})
	run := func(at tool.Tool) {
		adktest.Run(t, newRunner(calling(at, m{"request": "x"}), plugins(g)), "u", "s", adktest.UserText("go"))
	}
	ours := rec.AgentTool(asks("wired", adktest.Says("x")), nil, plugins(g))
	for range 2 {
		run(agenttool.New(asks("a", adktest.Says("x")), nil))
		run(agenttool.New(asks("b", adktest.Says("x")), nil))
		run(ours)
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 2 || !strings.Contains(log.String(), "tool=a") || !strings.Contains(log.String(), "tool=b") {
		t.Errorf("%d warnings, want one each for a and b:\n%s", got, &log)
	}
}
