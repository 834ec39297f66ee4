// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
)

// A call that is repeated must read the state that the first one read.
func TestStateOfReplayableCalls(t *testing.T) {
	get := func(key string) func(agent.Context) error {
		return func(ctx agent.Context) error { _, err := ctx.State().Get(key); return missing(err) }
	}
	readonly := func(ctx agent.Context) error { _, err := ctx.ReadonlyState().Get("region"); return missing(err) }
	all := func(ctx agent.Context) error { _ = maps.Collect(ctx.State().All()); return nil }
	for name, tt := range map[string]struct {
		read  func(agent.Context) error
		later m // what a client changes
		want  any
		fails string
	}{
		"nothing":            {read: func(agent.Context) error { return nil }, later: m{"region": "EU"}},
		"the same":           {read: get("region"), want: m{"region": "US"}},
		"another key":        {read: get("region"), later: m{"limit": 8}, want: m{"region": "US"}},
		"changed":            {read: get("region"), later: m{"region": "EU"}, want: m{"region": "US"}, fails: `key "region" has another value`},
		"changed, read only": {read: readonly, later: m{"region": "EU"}, want: m{"region": "US"}, fails: `key "region" has another value`},
		"another spelling":   {read: get("limit"), later: m{"limit": 7.0}, want: m{"limit": 7.0}},
		"missing":            {read: get("color"), want: m{"color": nil}},
		"added":              {read: get("color"), later: m{"color": "red"}, want: m{"color": nil}, fails: `key "color" has another value`},
		"all":                {read: all, want: m{"region": "US", "limit": 7.0}},
		"all, one is added":  {read: all, later: m{"color": "red"}, want: m{"region": "US", "limit": 7.0}, fails: `key "color" was not recorded`},
		"not to be recorded": {read: get("api_token"), fails: `key "api_token" was not recorded`},
		"too large":          {read: get("large"), fails: `key "large" was not recorded`},
		"only when it is again": {read: func() func(agent.Context) error {
			n := 0
			return func(ctx agent.Context) error {
				if n++; n == 1 {
					return nil
				}
				_, err := ctx.State().Get("region")
				return err
			}
		}(), fails: `key "region" was not recorded`},
	} {
		t.Run(name, func(t *testing.T) {
			var again func(agent.Context) error
			look := must(functiontool.New(functiontool.Config{Name: "look", Description: "looks"}, func(ctx agent.Context, _ m) (map[string]any, error) {
				return m{"ok": true}, tt.read(ctx)
			}))
			probe := must(functiontool.New(functiontool.Config{Name: "probe", Description: "repeats"}, func(ctx agent.Context, _ m) (map[string]any, error) {
				return m{"ok": true}, again(ctx)
			}))
			sink, svc := &rowtest.Sink{}, session.InMemoryService()
			_, g := newGate(recorder.Config{Sink: sink}, gate.Config{})
			if same := must(g.Replayable(look)); same != look {
				t.Error("Replayable gave another tool back")
			}
			mdl := adktest.Script(adktest.Calls(call("c1", "look", m{})), adktest.Text("done"), adktest.Calls(call("c2", "probe", m{})), adktest.Text("done"))
			r := must(runner.New(runner.Config{
				AppName: "app", Agent: asks("root", mdl, look, probe), SessionService: svc, PluginConfig: plugins(g),
			}))
			state := m{"region": "US", "limit": 7}
			switch key := strings.Trim(fmt.Sprint(tt.fails), `key" `); {
			case strings.HasPrefix(key, "api_token"):
				state["api_token"] = "hunter2"
			case strings.HasPrefix(key, "large"):
				state["large"] = strings.Repeat("x", 20_000)
			}
			must(svc.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s", State: state}))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			end := sink.Of(record.ToolCompleted)[0]
			diff(t, "attributes.adk.state", tt.want, rowtest.Attribute(t, end, "adk", "state"))
			if rowtest.Attribute(t, sink.Of(record.ToolStarting)[0], "adk", "replay") != schema.ReplayReady || !strings.Contains(string(end.Content), "LOCAL") {
				t.Errorf("the call is %s", end.Content)
			}

			recorded := make(map[string]json.RawMessage)
			if got, ok := rowtest.Attribute(t, end, "adk", "state").(map[string]any); ok {
				for k, v := range got {
					recorded[k] = must(json.Marshal(v))
				}
			}
			var err error
			again = func(ctx agent.Context) error {
				rctx, cancel := recorder.Detach(ctx, time.Minute)
				defer cancel()
				_, err = g.Replay(rctx, record.Session{App: "app", User: "u", ID: "s"},
					graphsync.Call{Tool: "look", Agent: "root", Args: m{}, State: recorded})
				return nil
			}
			for range r.Run(t.Context(), "u", "s", adktest.UserText("again"), agent.RunConfig{}, runner.WithStateDelta(tt.later)) {
			}
			if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("the repeated call: %v, want an error with %q", err, tt.fails)
			}
		})
	}
}

func missing(err error) error {
	if errors.Is(err, session.ErrStateKeyNotExist) {
		return nil
	}
	return err
}

// The agent keeps its tool; the request gets what observes it, with the same face.
func TestObservedToolsAreTheSame(t *testing.T) {
	look := gives("look", m{"price": 1})
	sink := &rowtest.Sink{}
	var seen []string
	_, g := newGate(recorder.Config{Sink: sink, Options: recorder.Options{Classify: func(got tool.Tool, _, _ map[string]any) error {
		if got != look {
			seen = append(seen, fmt.Sprintf("%T", got))
		}
		return nil
	}}}, gate.Config{})
	must(g.Replayable(look))
	mdl := adktest.Script(adktest.Calls(call("c1", "look", m{"q": 1})), adktest.Text("done"))
	r := newRunner(asks("root", mdl, look), plugins(g))
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	if got := adktest.Responses(events, "look"); len(got) != 1 || len(seen) != 0 {
		t.Errorf("responses %v; the classifier saw %v", got, seen)
	}
	for _, req := range mdl.Requests() {
		var names []string
		for _, d := range req.Config.Tools[0].FunctionDeclarations {
			names = append(names, d.Name)
		}
		if !slices.Equal(names, []string{"look"}) || req.Tools["look"].(tool.Tool).Description() != look.Description() {
			t.Errorf("the request offers %v", names)
		}
	}
}
