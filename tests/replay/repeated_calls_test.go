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

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
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

// An agent with a plain tool and a rule, and no code that checks anything.
func TestReplay(t *testing.T) {
	v := newInventory(t, config.Replay{})
	id, _ := v.Ask(cgtest.SessionID)
	if got := v.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Fatalf("buy answered %v, want it bought: nothing has changed", got)
	}
	if n := v.calls.Load(); n != 3 {
		t.Errorf("search ran %d times, want once for the agent, once for the answer and once for the execution", n)
	}
	// The repeated calls are in the checks and nowhere else.
	rows := v.Rows(cgtest.SessionID)
	if n := len(rowtest.Of(rows, record.ToolStarting)) - 2; n != 1 { // buy is called twice
		t.Errorf("%d calls of search on record, want that of the agent", n)
	}
	checks := rowtest.Of(rows, record.WorldChangeCheck)
	if len(checks) != 2 {
		t.Fatalf("%d checks", len(checks))
	}
	for _, c := range checks {
		replays, _ := rowtest.Field(t, c.Attributes, "adk", "replays").([]any)
		if len(replays) != 1 {
			t.Fatalf("replays %v", replays)
		}
		first, _ := replays[0].(map[string]any)
		if first["name"] != "search" || first["kind"] != "replay" || first["call"] == "" {
			t.Errorf("replay %v", first)
		}
	}
	for _, r := range v.Model.Requests() {
		n := 0
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				if p.FunctionResponse != nil && p.FunctionResponse.Name == "search" {
					n++
				}
			}
		}
		if n > 1 {
			t.Errorf("the model sees %d answers of search", n)
		}
	}
}

func TestReplayFindsDrift(t *testing.T) {
	v := newInventory(t, config.Replay{})
	id, _ := v.Ask(cgtest.SessionID)
	v.Shop.Set("$52,000", false)
	got := v.Answer(cgtest.SessionID, id, true)
	v.WantBought(0)
	if got["status"] != "blocked" || got["reason"] != "drift" {
		t.Errorf("buy answered %v, want drift", got)
	}
	a := v.Approvals(cgtest.SessionID)[0]
	if a.State != safety.StateBlocked {
		t.Errorf("approval is %s", a.State)
	}
	if report := string(a.Report); !strings.Contains(report, `"price_changed"`) || !strings.Contains(report, `"unavailable"`) || !strings.Contains(report, `"origins":[{"kind":"replay","name":"search"`) {
		t.Errorf("report %s", report)
	}
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
		return cgtest.FoundItems(cgtest.Item, "another"), nil
	}
	id, _ := v.Ask(cgtest.SessionID)
	v.Answer(cgtest.SessionID, id, true)
	v.WantBought(1)
	if query != "routes" {
		t.Errorf("the repeated call asks for %q", query)
	}
}

// A callback of the agent has the tool look elsewhere than the record says. Repeated as
// recorded, the call would answer for a place that nobody looked at.
func TestReplayOfArgumentsThatACallbackChanged(t *testing.T) {
	v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
		o.BeforeTool = append(o.BeforeTool, func(_ agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
			if t.Name() == "search" {
				args["query"] = "warehouse 2"
			}
			return nil, nil
		})
	})
	v.again = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		if a.Query == "warehouse 2" {
			return cgtest.FoundItems("sold out here"), nil
		}
		return cgtest.FoundItems(cgtest.Item), nil
	}
	id, _ := v.Ask(cgtest.SessionID)
	if got := v.Answer(cgtest.SessionID, id, true); got["reason"] != "check_failed" {
		t.Errorf("buy answered %v, want a check that failed", got)
	}
	v.WantBought(0)
	if report := string(v.Approvals(cgtest.SessionID)[0].Report); !strings.Contains(report, "its arguments were changed after they were recorded") {
		t.Errorf("report %s", report)
	}
}

// A repeated call has to show the very name that was read. Two things of one list that differ
// in their spelling alone are two.
func TestReplayGoesByExactNames(t *testing.T) {
	list := func(first, second string) map[string]any {
		return map[string]any{"items": []any{
			map[string]any{"name": cgtest.Item, "price": first, "available": true},
			map[string]any{"name": strings.ToUpper(cgtest.Item), "price": second, "available": true},
		}}
	}
	v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return list("$40,000", "$40,000"), nil }
	})
	v.Ask(cgtest.SessionID)
	for _, test := range []struct {
		now  map[string]any
		want safety.Verdict
	}{
		{list("$40,000", "$40,000"), safety.Safe},
		{list("$52,000", "$40,000"), safety.Drift},
		{list("$40,000", "$52,000"), safety.Drift},
		{map[string]any{"items": list("$40,000", "$40,000")["items"].([]any)[1:]}, safety.CheckFailed},
		{map[string]any{"items": list("$40,000", "$40,000")["items"].([]any)[:1]}, safety.CheckFailed},
	} {
		v.again = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return test.now, nil }
		if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != test.want {
			t.Errorf("error %v, want %s\n%s", err, test.want, r.Summary())
		}
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

// A repeated call reads the state of the session as the first one did. What it does to what it
// reads is done to nothing.
func TestReplayReadsState(t *testing.T) {
	read := func(ctx agent.Context) (map[string]any, error) {
		region, err := ctx.State().Get("region")
		if err != nil {
			return nil, err
		}
		m, _ := region.(map[string]any)
		n := 0
		for range ctx.ReadonlyState().All() {
			n++
		}
		if m["name"] != "eu" || n == 0 {
			return nil, fmt.Errorf("region %v of %d values", region, n)
		}
		return m, nil
	}
	newReader := func(t *testing.T, first func(agent.Context) error) *inventory {
		v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
			o.Search = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
				return cgtest.FoundItems(cgtest.Item), first(ctx)
			}
		})
		v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
			region, err := read(ctx)
			if err != nil {
				return nil, err
			}
			region["name"] = "us"
			return cgtest.FoundItems(cgtest.Item), nil
		}
		_, err := v.Sessions.Create(t.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, State: map[string]any{
			"region": map[string]any{"name": "eu", "codes": []any{"de"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	t.Run("what the first call read", func(t *testing.T) {
		v := newReader(t, func(ctx agent.Context) error { _, err := read(ctx); return err })
		id, _ := v.Ask(cgtest.SessionID)

		// Outside of a run nobody knows the state, which is no reason to guess.
		report, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
		if err != nil || !report.CheckFailed() || !strings.Contains(report.Summary(), "reads the state of the session, which is at hand only while its agent runs") {
			t.Errorf("error %v\n%s", err, report.Summary())
		}
		v.Answer(cgtest.SessionID, id, true)
		v.WantBought(1)
	})
	t.Run("what the first call did not read", func(t *testing.T) {
		v := newReader(t, func(agent.Context) error { return nil })
		id, _ := v.Ask(cgtest.SessionID)
		if got := v.Answer(cgtest.SessionID, id, true); got["reason"] != safety.CodeCheckFailed {
			t.Errorf("buy answered %v, want a check that failed", got)
		}
		v.WantBought(0)
		if report := string(v.Approvals(cgtest.SessionID)[0].Report); !strings.Contains(report, `was not recorded when the tool was called first`) {
			t.Errorf("report %s", report)
		}
	})
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

// An entity that is not in the result any more is never safe.
func TestReplayGone(t *testing.T) {
	v := newInventory(t, config.Replay{})
	v.Ask(cgtest.SessionID)
	for name, test := range map[string]struct {
		result map[string]any
		want   string
	}{
		"out of the list": {cgtest.FoundItems("one", "two"), "2 other Product entities are in its result, this one is gone from it"},
		"an empty list":   {cgtest.FoundItems(), "does not show it any more"},
		"no result":       {nil, "does not show it any more"},
		"an error":        {map[string]any{"error": "no route"}, "does not show it any more"},
		"says it failed":  {map[string]any{"isError": true, "items": []any{}}, "is an error"},
		"another form":    {map[string]any{"items": []any{map[string]any{"title": cgtest.Item}}}, "value $.name"},
		"too large":       {map[string]any{"items": strings.Repeat("x", 2_000_000)}, "larger than the limits of the record"},
		"without a price": {map[string]any{"items": []any{map[string]any{"name": cgtest.Item, "available": true}}}, "price $.price"},
		"spelt otherwise": {cgtest.FoundItems("  strava sponsored ROUTES "), "1 other Product entities are in its result, this one is gone from it"},
		"among others":    {cgtest.FoundItems("one", cgtest.Item, "two"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			v.again = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return test.result, nil }
			r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
			if err != nil || r.IsSafeToApprove() != (test.want == "") || !strings.Contains(r.Summary(), test.want) {
				t.Errorf("error %v\n%s", err, r.Summary())
			}
			if strings.Contains(test.want, "gone") && r.Failures()[0].Reason != safety.ReasonMissingEntity {
				t.Errorf("failures %v", r.Failures())
			}
		})
	}
}

// All entities of one call share its repetition, and the budget counts calls.
func TestReplayIsShared(t *testing.T) {
	names := make([]string, 30)
	for i := range names {
		names[i] = fmt.Sprintf("item %d", i)
	}
	v := newInventory(t, config.Replay{MaxCalls: 1}, func(o *cgtest.Options) {
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return cgtest.FoundItems(names...), nil
		}
	})
	v.Ask(cgtest.SessionID)
	r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || !r.IsSafeToApprove() || r.TotalEntities() != 30 {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	if n := v.calls.Load(); n != 2 {
		t.Errorf("search ran %d times, want 2", n)
	}
}

func TestReplayBudget(t *testing.T) {
	for most, safe := range map[int]bool{2: false, 3: true} {
		v := newInventory(t, config.Replay{MaxCalls: most}, func(o *cgtest.Options) {
			o.Answer = cgtest.SearchTimes(3)
			o.Search = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
				return cgtest.FoundItems("product of " + a.Query), nil
			}
		})
		v.Ask(cgtest.SessionID)
		r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
		if err != nil || r.IsSafeToApprove() != safe || r.TotalEntities() != 3 || strings.Contains(r.Summary(), "more than 2 calls") == safe {
			t.Errorf("max_calls %d: error %v\n%s", most, err, r.Summary())
		}
		if n := v.calls.Load(); n != int64(3+most) {
			t.Errorf("max_calls %d: search ran %d times", most, n)
		}
	}
}

// max_calls is of one type: what is too much for one is repeated for another that has
// entities from the same call.
func TestReplayBudgetIsOfOneType(t *testing.T) {
	v := newInventory(t, config.Replay{MaxCalls: 1}, func(o *cgtest.Options) {
		o.Answer = cgtest.SearchTimes(3)
		o.Search = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			return cgtest.FoundItems("product of " + a.Query), nil
		}
		delete(o.Config.CheckFuncs, "Product")
		other := o.Config.Extract[0]
		other.Name, other.Type = "aimed at", "Targeting"
		o.Config.Extract = append(o.Config.Extract, other)
		o.Config.Checkers = append(o.Config.Checkers, config.Checker{Type: "Targeting", Replay: &config.Replay{}})
	})
	v.Ask(cgtest.SessionID)
	r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(map[string]int)
	for _, f := range r.Failures() {
		failed[f.EntityType]++
	}
	if diff := cmp.Diff(map[string]int{"Product": 2}, failed); diff != "" {
		t.Errorf("failures by type (-want +got):\n%s%s", diff, r.Summary())
	}
	if n := v.calls.Load(); n != 6 {
		t.Errorf("search ran %d times, want three times for the agent and three times for the check", n)
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

// What a tool declares counts again, with what it declares the second time.
func TestReplayOfDeclaredEntities(t *testing.T) {
	price := atomic.Pointer[string]{}
	price.Store(new("$40,000"))
	var v *inventory
	v = newInventory(t, config.Replay{}, func(o *cgtest.Options) {
		o.Config.Extract = nil
		o.Search = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
			for _, name := range []string{cgtest.Item, "another"} {
				err := v.CG.RecordEntity(ctx, entity.Entity{Type: "Product", Value: name, Attributes: map[string]entity.Value{"price": cgtest.Money(t, *price.Load())}})
				if err != nil {
					return nil, err
				}
			}
			return map[string]any{"found": 2}, nil
		}
	})
	v.Ask(cgtest.SessionID)
	r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || !r.IsSafeToApprove() || r.TotalEntities() != 2 {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	price.Store(new("$52,000"))
	if r, err = v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Drift || r.StaleEntities() != 2 {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		for i := range 200 {
			if err := v.CG.RecordEntity(ctx, entity.Entity{Type: "Product", Value: fmt.Sprint(i), ArtifactURI: strings.Repeat("x", 4000)}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if r, err = v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !strings.Contains(r.Summary(), "128 KiB") {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// A value that is all there is of an entity is unchanged when it is found again.
func TestReplayOfValues(t *testing.T) {
	budget := atomic.Pointer[string]{}
	budget.Store(new("$50,000"))
	v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
		o.Config.Extract[0].Type, o.Config.Extract[0].Each, o.Config.Extract[0].Value = "Product", "$", "$.budget"
		o.Config.Extract[0].ValueType, o.Config.Extract[0].Currency, o.Config.Extract[0].Attributes = entity.KindMoney, "USD", nil
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"budget": *budget.Load()}, nil
		}
	})
	v.Ask(cgtest.SessionID)
	budget.Store(new("50000 USD")) // the same
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.IsSafeToApprove() {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	budget.Store(new("$40,000"))
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.CheckFailed() || r.Failures()[0].Reason != safety.ReasonMissingEntity {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// A look-up whose result lacks the name of the thing is repeated with the name in its
// arguments.
func TestReplayOfValuesFromArguments(t *testing.T) {
	price := atomic.Pointer[string]{}
	price.Store(new("$40,000"))
	v := newInventory(t, config.Replay{}, cgtest.Covered, func(o *cgtest.Options) {
		o.Config.Extract[0].Each, o.Config.Extract[0].Value, o.Config.Extract[0].ValueArgs = "$", "", "$.query"
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			return map[string]any{"price": *price.Load(), "available": true}, nil
		}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if adktest.LastResponse(req) == nil {
				return adktest.Call("search", map[string]any{"query": cgtest.Item}), nil
			}
			return cgtest.Shopper(req)
		}
	})
	v.Ask(cgtest.SessionID)
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.IsSafeToApprove() || r.TotalEntities() != 1 {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
	price.Store(new("$52,000"))
	if r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Drift {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// A call whose row does not hold its arguments exactly cannot be repeated.
func TestReplayNeedsTheArguments(t *testing.T) {
	for name, test := range map[string]struct {
		query string
		opt   cgtest.Option
		want  string
	}{
		"redacted": {"password=hunter2", func(*cgtest.Options) {}, "its arguments were redacted"},
		"cut":      {strings.Repeat("x", 20_000), func(o *cgtest.Options) { o.Config.Record.MaxString = 1000 }, "were cut or changed"},
		"formatted": {"routes", func(o *cgtest.Options) {
			o.Config.Format = func(_ string, content []byte) ([]byte, error) { return content, nil }
		}, "the configuration changes or leaves out the content of TOOL_STARTING"},
		"another tool": {"routes", func(o *cgtest.Options) { o.Config.Checkers[0].Replay.Tool = "details" }, "the configuration has details called again for this type, not search"},
		"not registered": {"routes", func(o *cgtest.Options) {
			o.ChangeTools = func(_ *contextgraph.Instance, tools []tool.Tool) []tool.Tool { return tools }
		}, "its tool was not registered with Replayable when it was called"},
		"another tool of that name": {"routes", func(o *cgtest.Options) {
			o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
				other := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
					return cgtest.FoundItems(cgtest.Item), nil
				})
				if _, err := cg.Replayable(other); err != nil {
					t.Error(err)
				}
				return tools
			}
		}, "its tool was not registered with Replayable when it was called"},
		"guarded since": {"routes", func(o *cgtest.Options) {
			before := o.ChangeTools
			o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
				tools = before(cg, tools)
				o.Later = func() { cg.Protect(tools[0]) }
				return tools
			}
		}, "the tool is guarded: it is not called for a check"},
	} {
		t.Run(name, func(t *testing.T) {
			var o *cgtest.Options
			v := newInventory(t, config.Replay{}, test.opt, func(opts *cgtest.Options) {
				o = opts
				opts.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if adktest.LastResponse(req) == nil {
						return adktest.Call("search", map[string]any{"query": test.query}), nil
					}
					return cgtest.Shopper(req)
				}
			})
			v.Ask(cgtest.SessionID)
			if o.Later != nil {
				o.Later()
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

// A repeated call that reaches a guarded tool has left its bounds.
func TestReplayCannotRunGuardedTools(t *testing.T) {
	v := newInventory(t, config.Replay{})
	var ran atomic.Int64
	pay := v.CG.Protect(cgtest.CountingTool(t, &ran))
	v.again = func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		pay.(interface {
			Run(agent.Context, any) (map[string]any, error)
		}).Run(ctx, map[string]any{"item": cgtest.Item, "count": 1})
		return cgtest.FoundItems(cgtest.Item), nil
	}
	id, _ := v.Ask(cgtest.SessionID)
	v.Answer(cgtest.SessionID, id, true)
	v.WantBought(0)
	if report := string(v.Approvals(cgtest.SessionID)[0].Report); ran.Load() != 0 || !strings.Contains(report, "calls a guarded tool, or an agent") {
		t.Errorf("the guarded tool ran %d times: %s", ran.Load(), report)
	}
}

// What names a thing anywhere but in the result of a tool shows nothing, and there is no call
// to be asked again.
func TestReplayOfArguments(t *testing.T) {
	v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{
			Name: "asked", Tool: "search", In: config.InArgs, Type: "Product", Value: "$.query",
			Attributes: map[string]config.Attribute{"query": {Path: "$.query"}},
		}, config.Extract{Name: "said", Event: record.UserMessageReceived, Type: "Product", Value: "$.text_summary"})
	})
	v.Ask(cgtest.SessionID)
	r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || r.IsSafeToApprove() {
		t.Fatalf("error %v\n%s", err, r.Summary())
	}
	for _, want := range []struct{ value, reason, detail string }{
		{"routes", safety.ReasonNothingSeen, `rule "found" in the results of "search" should have`},
		{"routes", safety.ReasonError, "it was never seen in the result of a tool"},
		{"buy a route", safety.ReasonNothingSeen, `rule "found" in the results of "search" should have`},
		{"buy a route", safety.ReasonError, "it was never seen in the result of a tool"},
	} {
		if !slices.ContainsFunc(r.Failures(), func(f safety.Failure) bool {
			return f.Entity == want.value && f.Reason == want.reason && strings.Contains(f.Detail, want.detail)
		}) {
			t.Errorf("want %v:\n%s", want, r.Summary())
		}
	}
}

func TestReplayableRefuses(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Config.Guard.Tools = []string{"listed_*"} })
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

// lookingUp has the model call a second tool before it buys. Like the first one it is called again
// for a check.
func lookingUp(t *testing.T, look func() map[string]any) cgtest.Option {
	return cgtest.With(cgtest.Replay, func(o *cgtest.Options) {
		registered := o.ChangeTools
		o.ChangeTools = func(cg *contextgraph.Instance, tools []tool.Tool) []tool.Tool {
			second, err := cg.Replayable(cgtest.NewTool(t, "look", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
				return look(), nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			return append(registered(cg, tools), second)
		}
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" {
				return adktest.Call("look", map[string]any{"query": cgtest.Item}), nil
			} else if last != nil && last.Name == "look" {
				return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1}), nil
			}
			return cgtest.Shopper(req)
		}
	})
}

// An entity whose facts come from two tools is asked for at both.
func TestReplayOfTwoTools(t *testing.T) {
	var searched, looked, reach atomic.Int64
	reach.Store(7)
	look := func() map[string]any {
		looked.Add(1)
		return map[string]any{"name": cgtest.Item, "reach": reach.Load()}
	}
	h := cgtest.New(t, lookingUp(t, look), func(o *cgtest.Options) {
		o.Config.Extract = append(o.Config.Extract, config.Extract{
			Name: "reached", Tool: "look", Type: "Product", Value: "$.name",
			Attributes: map[string]config.Attribute{"reach": {Path: "$.reach", Type: entity.KindNumber}},
		})
		o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
			searched.Add(1)
			return cgtest.FoundItems(cgtest.Item), nil
		}
	})
	h.Ask(cgtest.SessionID)
	r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || !r.IsSafeToApprove() || searched.Load() != 2 || looked.Load() != 2 {
		t.Errorf("%d and %d calls, error %v\n%s", searched.Load(), looked.Load(), err, r.Summary())
	}
	var tools []string
	for _, o := range r.Entities()[0].Origins {
		tools = append(tools, o.Name)
	}
	if len(tools) != 2 || !cmp.Equal(map[string]bool{tools[0]: true, tools[1]: true}, map[string]bool{"search": true, "look": true}) {
		t.Errorf("origins %v", tools)
	}
	reach.Store(8)
	if r, err = h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Drift {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}

// What two repeated calls say differently, where neither said it before, is not known: not
// even that the item is still to be had.
func TestReplayContradiction(t *testing.T) {
	rule := func(tool, name string, kind entity.Kind) config.Extract {
		return config.Extract{Name: tool, Tool: tool, Type: "Product", Value: "$.name", Attributes: map[string]config.Attribute{
			name: {Path: "$." + name, Type: kind}, "availability": {Path: "$.available", Type: entity.KindBool, Optional: true},
		}}
	}
	for _, gone := range []string{"search", "look"} {
		var later atomic.Bool
		say := func(tool, name string, value any) map[string]any {
			m := map[string]any{"name": cgtest.Item, name: value}
			if later.Load() {
				m["available"] = tool != gone
			}
			return m
		}
		look := func() map[string]any { return say("look", "reach", 7) }
		h := cgtest.New(t, lookingUp(t, look), func(o *cgtest.Options) {
			o.Config.Extract = []config.Extract{rule("search", "color", entity.KindText), rule("look", "reach", entity.KindNumber)}
			o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
				return say("search", "color", "red"), nil
			}
		})
		h.Ask(cgtest.SessionID)
		if r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || !r.IsSafeToApprove() {
			t.Fatalf("error %v\n%s", err, r.Summary())
		}
		later.Store(true)
		if r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.IsSafeToApprove() || !strings.Contains(r.Summary(), "do not say the same of availability") {
			t.Errorf("%s: error %v\n%s", gone, err, r.Summary())
		}
	}
}

// A value that was taken out of the record is the same mark before and after.
func TestReplayOfRedactedValues(t *testing.T) {
	for name, rule := range map[string]func(*config.Extract){
		"attribute": func(e *config.Extract) {
			e.Attributes = map[string]config.Attribute{"contact": {Path: "$.contact", Type: entity.KindText}}
		},
		"value": func(e *config.Extract) { e.Value, e.Attributes = "$.contact", nil },
	} {
		t.Run(name, func(t *testing.T) {
			var contact atomic.Value
			contact.Store("agent-007")
			v := newInventory(t, config.Replay{}, func(o *cgtest.Options) {
				o.Config.Record.Redact.Patterns = []string{"agent-[0-9]+"}
				o.Config.Extract = []config.Extract{{Name: "found", Tool: "search", Type: "Product", Value: "$.name"}}
				rule(&o.Config.Extract[0])
				o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
					return map[string]any{"name": cgtest.Item, "contact": contact.Load()}, nil
				}
			})
			v.Ask(cgtest.SessionID)
			contact.Store("agent-008")
			r, err := v.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
			if err != nil || r.IsSafeToApprove() || !strings.Contains(r.Summary(), "was redacted") {
				t.Errorf("error %v\n%s", err, r.Summary())
			}
		})
	}
}
