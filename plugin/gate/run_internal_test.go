// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"log/slog"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	adkplugin "google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The gate keeps its part of a call while the call is under way, and of a run with many calls
// no more than of one with few: it forgets those that it let pass, those that it refused, and
// those whose own code panicked.
func TestCallsAreForgottenWhenTheyEnd(t *testing.T) {
	const steps, atOnce = maxWithheld, 3 // with more, the run would end
	logger := slog.New(slog.DiscardHandler)
	rec, err := plugin.New(plugin.Config{Sink: rowtest.Dropped{}, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := safety.NewGuard(safety.GuardConfig{ // whose ledger panics
		Ledger: struct{ safety.Ledger }{}, Evidence: struct{ safety.Evidence }{},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Recorder: rec, Guard: guard, Settings: config.Guard{Tools: config.Tools("buy")}, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	function := func(name string, f func(agent.Context)) tool.Tool {
		tl, err := functiontool.New(functiontool.Config{Name: name}, func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			f(ctx)
			return map[string]any{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return tl
	}
	looks, most := 0, 0
	known := func(r *plugin.Run) int {
		own, _ := r.Known(runKey{g}).(*run)
		if own == nil {
			return 0
		}
		own.mu.Lock()
		defer own.mu.Unlock()
		return len(own.calls)
	}
	look := function("look", func(ctx agent.Context) {
		r, c := rec.LookupCall(ctx)
		if g.known(r, c) == nil {
			t.Error("the gate does not know the call that runs")
		}
		looks++
		most = max(most, known(r))
	})
	if _, err := g.Replayable(look); err != nil {
		t.Fatal(err)
	}
	buy := function("buy", func(agent.Context) { t.Error("a guarded tool ran") })
	pay := g.Protect(function("pay", func(agent.Context) { t.Error("a protected tool ran") }))
	n := 0
	root, err := llmagent.New(llmagent.Config{
		Name: "root", Tools: []tool.Tool{look, buy, pay},
		Model: &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
			if n++; n > steps {
				return adktest.Text("done"), nil
			}
			args := map[string]any{"n": n}
			return adktest.Calls(&genai.FunctionCall{Name: "look", Args: args}, &genai.FunctionCall{Name: "buy", Args: args}, &genai.FunctionCall{Name: "pay", Args: args}), nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	first, last, err := g.Plugins()
	if err != nil {
		t.Fatal(err)
	}
	var seen *plugin.Run
	between, err := adkplugin.New(adkplugin.Config{
		Name: "between",
		BeforeModelCallback: func(ctx agent.Context, _ *model.LLMRequest) (*model.LLMResponse, error) {
			seen = rec.Lookup(ctx.WithICDelta(nil))
			if got := known(seen); got != 0 {
				t.Errorf("%d calls are remembered between two steps", got)
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*adkplugin.Plugin{first, between, last}},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
	for _, name := range []string{"look", "buy", "pay"} {
		if got := len(adktest.Responses(events, name)); got != steps {
			t.Errorf("%s answered %d times, want %d", name, got, steps)
		}
	}
	if looks != steps || most > atOnce {
		t.Errorf("%d calls ran, and %d were remembered at once; want %d and at most %d", looks, most, steps, atOnce)
	}
	if got := known(seen); got != 0 {
		t.Errorf("%d calls are remembered after the run", got)
	}
	own := seen.Known(runKey{g}).(*run)
	for what, n := range map[string]int{"asked": len(own.asked), "streaming": len(own.streaming), "answers": len(own.answers), "inputs": len(own.inputs)} {
		if n != 0 {
			t.Errorf("%s holds %d", what, n)
		}
	}
	if got := len(own.refused); got > maxRefused {
		t.Errorf("%d refused calls are remembered, want at most %d", got, maxRefused)
	}
}
