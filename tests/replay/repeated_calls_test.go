// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// inventory is a shop whose only checker is its own search tool, called again.
type inventory struct {
	*cgtest.Harness
	// calls counts the calls of search, with those that are repeated.
	calls atomic.Int64
	// again, when set, answers in the place of search once the agent has searched.
	again func(agent.Context, cgtest.SearchArgs) (map[string]any, error)
}

func newInventory(t *testing.T, replay config.Replay, opts ...cgtest.Option) *inventory {
	t.Helper()
	v := &inventory{}
	first := func(o *cgtest.Options) {
		o.Config.CheckFuncs = nil
		o.Config.Checkers = []config.Checker{{Type: "Product", Replay: &replay}}
		o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			search, err := cg.Replayable(tools[0])
			if err != nil {
				t.Fatal(err)
			}
			if search != tools[0] {
				t.Error("Replayable gave another tool back")
			}
			return tools
		}
	}
	last := func(o *cgtest.Options) {
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			if n := v.calls.Add(1); n > 1 && v.again != nil {
				return v.again(ctx, a)
			}
			return search(ctx, a)
		}
	}
	opts = slices.Concat([]cgtest.Option{first}, opts, []cgtest.Option{last})
	v.Harness = cgtest.New(t, opts...)
	return v
}

// A call that is repeated has the arguments of the first one, whatever they are.
func TestReplayArguments(t *testing.T) {
	v := newInventory(t, config.Replay{})
	var query string
	v.again = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		query = a.Query
		if ctx.AgentName() != "root" || ctx.UserID() != cgtest.User || ctx.SessionID() != cgtest.SessionID || ctx.AppName() != cgtest.App || ctx.UserContent() != nil || ctx.Branch() != "" {
			t.Errorf("agent %q, user %q, session %q of %q", ctx.AgentName(), ctx.UserID(), ctx.SessionID(), ctx.AppName())
		}
		if !strings.HasPrefix(ctx.InvocationID(), "replay-") || ctx.FunctionCallID() == "" || ctx.ToolConfirmation() != nil {
			t.Errorf("invocation %q, call %q", ctx.InvocationID(), ctx.FunctionCallID())
		}
		return cgtest.FoundItems(cgtest.Item), nil
	}
	id, _ := v.Ask(cgtest.SessionID)
	v.Answer(cgtest.SessionID, id, true)
	v.WantBought(1)
	if query != "routes" {
		t.Errorf("the repeated call asks for %q", query)
	}
}

// Whatever a repeated call tries beside reading fails the check, and has no effect.
func TestReplayOnlyReads(t *testing.T) {
	part := genai.NewPartFromText("x")
	v := newInventory(t, config.Replay{})
	id, _ := v.Ask(cgtest.SessionID) // a check that fails leaves the request open
	for name, test := range map[string]struct {
		do   func(agent.Context) error
		want string
	}{
		"state":            {func(ctx agent.Context) error { return ctx.State().Set("k", "v") }, "changes the state of the session"},
		"state, unnoticed": {func(ctx agent.Context) error { ctx.State().Set("k", "v"); return nil }, "changes the state of the session"},
		"state delta":      {func(ctx agent.Context) error { ctx.Actions().StateDelta["k"] = "v"; return nil }, "changes the state of the session"},
		"state of the run": {func(ctx agent.Context) error { ctx.WithICDelta(nil).Session().State().Set("k", "v"); return nil }, "changes the state of the session"},
		"artifact":         {func(ctx agent.Context) error { ctx.Artifacts().Save(ctx, "a", part); return nil }, "saves an artifact"},
		"artifact delta":   {func(ctx agent.Context) error { ctx.Actions().ArtifactDelta["a"] = 1; return nil }, "saves an artifact"},
		"memory":           {func(ctx agent.Context) error { return ctx.WithICDelta(nil).Memory().AddSessionToMemory(ctx, nil) }, "adds the session to the memory"},
		"no memory":        {func(ctx agent.Context) error { ctx.SearchMemory(ctx, "q"); return nil }, "reads the memory"},
		"no artifacts":     {func(ctx agent.Context) error { ctx.Artifacts().List(ctx); return nil }, "reads an artifact"},
		"confirmation":     {func(ctx agent.Context) error { return ctx.RequestConfirmation("?", nil) }, "asks for a confirmation"},
		"required":         {func(agent.Context) error { return fmt.Errorf("search %w", tool.ErrConfirmationRequired) }, "requires confirmation"},
		"transfer":         {func(ctx agent.Context) error { ctx.Actions().TransferToAgent = "other"; return nil }, "transfers to another agent"},
		"escalation":       {func(ctx agent.Context) error { ctx.Actions().Escalate = true; return nil }, "escalates"},
		"end of the run":   {func(ctx agent.Context) error { ctx.WithICDelta(nil).EndInvocation(); return nil }, "ends the run"},
		"error":            {func(agent.Context) error { return errors.New("the shop is closed") }, "the shop is closed"},
		"panic":            {func(agent.Context) error { panic("boom") }, "boom"},
		"end of goroutine": {func(agent.Context) error { runtime.Goexit(); return nil }, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
				if err := test.do(ctx); err != nil {
					return nil, err
				}
				return cgtest.FoundItems(cgtest.Item), nil
			}
			got := v.Answer(cgtest.SessionID, id, true)
			v.WantBought(0)
			if got["reason"] != "check_failed" {
				t.Errorf("buy answered %v", got)
			}
			if report := string(v.Approvals(cgtest.SessionID)[0].Report); !strings.Contains(report, test.want) {
				t.Errorf("want a failure about %q: %s", test.want, report)
			}
			s := v.Session(cgtest.User, cgtest.SessionID)
			if _, err := s.State().Get("k"); err == nil {
				t.Error("the repeated call has written the state of the session")
			}
		})
	}
}

// Outside of a run the tool is called all the same, if its arguments are all it needs.
func TestReplayOutsideOfRuns(t *testing.T) {
	v := newInventory(t, config.Replay{})
	v.Ask(cgtest.SessionID)
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.IsSafeToApprove() {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	v.Shop.Set("$52,000", true)
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Drift {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	for name, read := range map[string]func(agent.Context){
		"state":    func(ctx agent.Context) { ctx.State().All()(func(string, any) bool { return true }) },
		"artifact": func(ctx agent.Context) { ctx.Artifacts().Load(ctx, "a") },
		"version":  func(ctx agent.Context) { ctx.Artifacts().LoadVersion(ctx, "a", 1) },
	} {
		v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
			read(ctx)
			return cgtest.FoundItems(cgtest.Item), nil
		}
		if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.CheckFailed() || !strings.Contains(r.Summary(), "at hand only while its agent runs") {
			t.Errorf("%s: error %v\n%s", name, err, r.Summary())
		}
	}
}

// A tool that hangs is abandoned; what it does later is too late.
func TestReplayTimeout(t *testing.T) {
	v := newInventory(t, config.Replay{}, func(o *cgtest.Options) { o.Config.Guard.CheckTimeout = 20 * time.Millisecond })
	release, late := make(chan struct{}), make(chan error, 3)
	v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		<-release
		<-ctx.Done()
		late <- v.CG.RecordEntity(ctx, entity.Entity{Type: "Product", Value: cgtest.Item})
		_, err := ctx.State().Get("region")
		late <- err
		_, err = ctx.Artifacts().List(ctx)
		late <- err
		return cgtest.FoundItems(cgtest.Item), nil
	}
	v.Ask(cgtest.SessionID)
	r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || !r.CheckFailed() || r.Failures()[0].Reason != safety.ReasonTimeout {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	close(release)
	for range 3 {
		if err := <-late; err == nil {
			t.Error("the abandoned call could go on")
		}
	}
}

// What a tool declares in a repeated call has a bound.
func TestReplayOfTooManyDeclaredEntities(t *testing.T) {
	v := newInventory(t, config.Replay{})
	v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		for i := range 200 {
			if err := v.CG.RecordEntity(ctx, entity.Entity{Type: "Product", Value: fmt.Sprint(i), ArtifactURI: strings.Repeat("x", 4000)}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	v.Ask(cgtest.SessionID)
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !strings.Contains(r.Summary(), "128 KiB") {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// A call is not repeated if its row may lack something, if a tool of the same name may be called in
// the place of its tool, or if its tool is guarded by now.
func TestReplayCannotCallAgain(t *testing.T) {
	for name, test := range map[string]struct {
		opt  cgtest.Option
		want string
	}{
		"formatted": {func(o *cgtest.Options) {
			o.Config.Format = func(_ string, content []byte) ([]byte, error) { return content, nil }
		}, "the configuration changes or leaves out the content of TOOL_STARTING"},
		"another tool of that name": {func(o *cgtest.Options) {
			o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
				other := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return nil, nil })
				if _, err := cg.Replayable(other); err != nil {
					t.Error(err)
				}
				return tools
			}
		}, "its tool was not registered with Replayable when it was called"},
		"guarded since": {func(*cgtest.Options) {}, "the tool is guarded: it is not called for a check"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newInventory(t, config.Replay{}, cgtest.NotChecked, test.opt)
			v.Ask(cgtest.SessionID)
			if name == "guarded since" {
				v.CG.Protect(v.Tools[0])
			}
			r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
			if err != nil || r.IsSafeToApprove() || !strings.Contains(r.Summary(), test.want) {
				t.Errorf("want a failure about %q: error %v\n%s", test.want, err, r.Summary())
			}
			if n := v.calls.Load(); n != 1 {
				t.Errorf("search ran %d times, want once", n)
			}
		})
	}
}

func TestReplayableRefuses(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Config.Guard.Tools = config.Tools("listed_*") })
	plain := func(name string) tool.Tool {
		return cgtest.NewTool(t, name, func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return nil, nil })
	}
	slow, err := functiontool.New(functiontool.Config{Name: "slow", IsLongRunning: true}, func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	helper := cgtest.NewAgent(t, llmagent.Config{Name: "helper", Model: h.Model})
	for name, test := range map[string]struct {
		tool tool.Tool
		want string
	}{
		"nil":               {nil, "the tool is nil"},
		"protected":         {h.CG.Protect(plain("pay")), "it is guarded"},
		"of a guarded name": {plain("buy"), "it is guarded"},
		"listed":            {plain("listed_tool"), "it is guarded"},
		"long-running":      {slow, "it is long-running"},
		"agent":             {agenttool.New(helper, nil), "it runs an agent"},
		"recorded agent":    {h.CG.AgentTool(helper, nil), "it runs an agent"},
		"no Run":            {servedTool{}, "nothing in this process runs it"},
	} {
		got, err := h.CG.Replayable(test.tool)
		if err == nil || got != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, error %v, want %q", name, got, err, test.want)
		}
	}
	first := plain("look")
	for range 2 {
		if got, err := h.CG.Replayable(first); err != nil || got != first {
			t.Errorf("%v, error %v", got, err)
		}
	}
	if _, err := h.CG.Replayable(plain("look")); err == nil || !strings.Contains(err.Error(), "another tool of that name") {
		t.Errorf("error %v", err)
	}
}

// servedTool is a tool that only the service of the model runs.
type servedTool struct{}

func (servedTool) Name() string        { return "bare" }
func (servedTool) Description() string { return "" }
func (servedTool) IsLongRunning() bool { return false }
