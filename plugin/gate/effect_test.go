// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/tool/toolutils"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// raw is a tool that recovers nothing.
type raw struct{ do func(agent.Context) error }

func (raw) Name() string        { return "pay" }
func (raw) Description() string { return "pays" }
func (raw) IsLongRunning() bool { return false }
func (r raw) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: "pay", Description: "pays"}
}
func (r raw) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	return toolutils.PackTool(req, r)
}
func (r raw) Run(ctx agent.Context, _ any) (map[string]any, error) {
	return m{"paid": true}, r.do(ctx)
}

// payment is a session in which a protected tool was asked for.
type payment struct {
	gate      *gate.Gate
	ledger    safety.Ledger
	runner    *runner.Runner
	sessions  session.Service
	artifacts artifact.Service
	asked     []*genai.FunctionCall
}

// artifacts is a service of which the first call of a kind fails.
type artifacts struct {
	artifact.Service
	fails any
}

func (a *artifacts) fail(kind string) error {
	if a.fails != kind {
		return nil
	}
	a.fails = nil
	return errors.New("the bucket is away")
}

func (a *artifacts) List(ctx context.Context, r *artifact.ListRequest) (*artifact.ListResponse, error) {
	if err := a.fail("list"); err != nil {
		return nil, err
	}
	return a.Service.List(ctx, r)
}

func (a *artifacts) Load(ctx context.Context, r *artifact.LoadRequest) (*artifact.LoadResponse, error) {
	if err := a.fail("load"); err != nil {
		return nil, err
	}
	return a.Service.Load(ctx, r)
}

// slow is a ledger that takes its time to store that an effect has ended.
type slow struct {
	safety.Ledger
	is bool
}

func (l slow) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	if l.is && t.To == safety.StateExecuted {
		time.Sleep(100 * time.Millisecond)
	}
	return l.Ledger.Transition(ctx, t)
}

var paying = record.Session{App: "app", User: "u", ID: "s"}

// ask has a model call the tool, in a session with a state.
func ask(t *testing.T, state m, timeout time.Duration, pay tool.Tool, others ...*plugin.Plugin) *payment {
	p := &payment{ledger: new(store.Memory).Open().Ledger(), sessions: session.InMemoryService(), artifacts: &artifacts{Service: artifact.InMemoryService(), fails: state["fails"]}}
	mk := &market{}
	guard := must(safety.NewGuard(safety.GuardConfig{
		Ledger: slow{p.ledger, state["ledger"] == "slow"}, Evidence: mk, Checkers: map[string]safety.Checker{"Product": mk}, Policy: actsOnNothing,
	}))
	_, p.gate = newGate(recorder.Config{Sink: &rowtest.Sink{}, Secret: []byte("secret")}, gate.Config{Guard: guard, Settings: config.Guard{EffectTimeout: timeout}})
	root := asks("root", adktest.Script(adktest.Calls(call("c1", "pay", m{"item": "Strava"})), adktest.Text("wait"), adktest.Text("done")), p.gate.Protect(pay))
	p.runner = must(runner.New(runner.Config{AppName: "app", Agent: root, SessionService: p.sessions, ArtifactService: p.artifacts, PluginConfig: plugins(p.gate, others...)}))
	must(p.sessions.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "u", SessionID: "s", State: state}))
	for _, name := range []string{"a.txt", "gone.txt"} {
		must(p.artifacts.Save(t.Context(), &artifact.SaveRequest{AppName: "app", UserID: "u", SessionID: "s", FileName: name, Part: genai.NewPartFromText("old")}))
	}
	if name, ok := state["bin"].(string); ok {
		must(p.artifacts.Save(t.Context(), &artifact.SaveRequest{AppName: "app", UserID: "u", SessionID: "s", FileName: name, Part: genai.NewPartFromBytes(make([]byte, 16<<20), "application/octet-stream")}))
	}
	p.asked = adktest.Confirmations(adktest.Run(t, p.runner, "u", "s", adktest.UserText("go")))
	if len(p.asked) != 1 {
		t.Fatalf("%d requests", len(p.asked))
	}
	return p
}

// approve says yes, with a change of the state.
func (p *payment) approve(ctx context.Context, delta m) (said []map[string]any) {
	var events []*session.Event
	for ev, err := range p.runner.Run(ctx, "u", "s", adktest.Answer(p.asked[0].ID, true), agent.RunConfig{}, runner.WithStateDelta(delta)) {
		if err == nil {
			events = append(events, ev)
		}
	}
	return adktest.Responses(events, "pay")
}

// want compares the end of the approval.
func (p *payment) want(t *testing.T, state safety.ApprovalState, note string) {
	t.Helper()
	list := must(p.ledger.List(t.Context(), safety.Query{Session: paying}))
	if len(list) != 1 {
		t.Fatalf("%d approvals", len(list))
	}
	steps := must(p.ledger.History(t.Context(), list[0].ID))
	if last := steps[len(steps)-1]; list[0].State != state || !strings.Contains(last.Note, note) {
		t.Errorf("the approval is %s with the note %q, want %s with %q", list[0].State, last.Note, state, note)
	}
}

func function(do func(agent.Context) error) tool.Tool {
	return must(functiontool.New(functiontool.Config{Name: "pay", Description: "pays"}, func(ctx agent.Context, _ m) (map[string]any, error) {
		return m{"paid": true}, do(ctx)
	}))
}

func streaming(do func(agent.Context) error) tool.Tool {
	return must(functiontool.NewStreaming(functiontool.Config{Name: "pay", Description: "pays"}, func(ctx agent.Context, _ m) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			if err := do(ctx); yield("pa", err) {
				yield("id", nil)
			}
		}
	}))
}

// Whatever way a tool reads a changed key, it does not get behind the read.
func TestReadOfAChangedKeyEndsTheTool(t *testing.T) {
	get := func(s session.ReadonlyState) { _, _ = s.Get("to") } // a default would follow
	ways := map[string]func(agent.Context){
		"State":         func(ctx agent.Context) { get(ctx.State()) },
		"ReadonlyState": func(ctx agent.Context) { get(ctx.ReadonlyState()) },
		"All": func(ctx agent.Context) {
			for range ctx.State().All() {
			}
		},
		"All of ReadonlyState": func(ctx agent.Context) {
			for range ctx.ReadonlyState().All() {
			}
		},
		"WithAgentCancel": func(ctx agent.Context) {
			ctx, cancel := ctx.WithAgentCancel()
			defer cancel()
			get(ctx.State())
		},
		"WithAgentTimeout": func(ctx agent.Context) {
			ctx, cancel := ctx.WithAgentCancel()
			defer cancel()
			ctx, stop := ctx.WithAgentTimeout(time.Minute)
			defer stop()
			get(ctx.Session().State())
		},
		"WithDelta":   func(ctx agent.Context) { get(ctx.WithDelta(&agent.CommonContextDelta{}).State()) },
		"WithICDelta": func(ctx agent.Context) { get(ctx.WithICDelta(&agent.InvocationContextDelta{}).Session().State()) },
		"WithContext": func(ctx agent.Context) {
			get(ctx.WithDelta(nil).WithContext(context.WithValue(ctx, userKey{}, 1)).Session().State())
		},
		"WithAgentContext": func(ctx agent.Context) {
			get(ctx.WithDelta(nil).WithAgentContext(context.WithValue(ctx, userKey{}, 1)).State())
		},
		"InvocationContext": func(ctx agent.Context) {
			run := ctx.WithDelta(nil).(interface {
				InvocationContext() agent.InvocationContext
			}).InvocationContext()
			get(run.WithContext(context.WithValue(ctx, userKey{}, 1)).Session().State())
		},
		"NewToolContext":     func(ctx agent.Context) { get(agent.NewToolContext(ctx.WithICDelta(nil), "", nil, nil).State()) },
		"a new artifact":     func(ctx agent.Context) { _, _ = ctx.Artifacts().Load(ctx, "new.txt") },
		"an artifact":        func(ctx agent.Context) { _, _ = ctx.Artifacts().Load(ctx, "a.txt") },
		"a version":          func(ctx agent.Context) { _, _ = ctx.Artifacts().LoadVersion(ctx, "a.txt", 2) },
		"a deleted artifact": func(ctx agent.Context) { _, _ = ctx.Artifacts().Load(ctx, "gone.txt") },
		"a derived artifact": func(ctx agent.Context) {
			_, _ = ctx.WithDelta(&agent.CommonContextDelta{}).Artifacts().Load(ctx, "a.txt")
		},
	}
	for name, way := range ways {
		for kind, make := range map[string]func(func(agent.Context) error) tool.Tool{"function": function, "streaming": streaming, "raw": func(do func(agent.Context) error) tool.Tool { return raw{do} }} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				began, after, cleaned := 0, 0, 0
				p := ask(t, m{"to": "Acme"}, 0, make(func(ctx agent.Context) error {
					began++
					defer func() { cleaned++ }()
					way(ctx)
					after++
					return nil
				}))
				for _, name := range []string{"a.txt", "new.txt"} {
					must(p.artifacts.Save(t.Context(), &artifact.SaveRequest{AppName: "app", UserID: "u", SessionID: "s", FileName: name, Part: genai.NewPartFromText("other")}))
				}
				if err := p.artifacts.Delete(t.Context(), &artifact.DeleteRequest{AppName: "app", UserID: "u", SessionID: "s", FileName: "gone.txt"}); err != nil {
					t.Fatal(err)
				}
				said := p.approve(t.Context(), m{"to": "Mallory"})
				if began != 1 || after != 0 || cleaned != 1 || len(said) != 1 || !strings.Contains(fmt.Sprint(said), "state_changed") {
					t.Errorf("began %d times, went on %d times, cleaned up %d times; the model reads %v", began, after, cleaned, said)
				}
				p.want(t, safety.StateFailed, "state_changed")
			})
		}
	}
}

// What is unchanged, and what the call writes itself, ends nothing.
func TestReadsThatEndNothing(t *testing.T) {
	for name, way := range map[string]func(agent.Context) error{
		"unchanged": func(ctx agent.Context) error { _, err := ctx.State().Get("same"); return err },
		"missing":   func(ctx agent.Context) error { _, err := ctx.State().Get("none"); return missing(err) },
		"its own": func(ctx agent.Context) error {
			return errors.Join(ctx.State().Set("to", "x"), second(ctx.State().Get("to")))
		},
		"its own actions": func(ctx agent.Context) error {
			ctx.Actions().StateDelta["to"] = "x"
			return second(ctx.State().Get("to"))
		},
		"of its session": func(ctx agent.Context) error {
			s := ctx.WithICDelta(nil).Session().State()
			return errors.Join(s.Set("to", "x"), second(s.Get("to")))
		},
		"an artifact": func(ctx agent.Context) error { return second(ctx.Artifacts().Load(ctx, "a.txt")) },
		"an artifact that is not there": func(ctx agent.Context) error {
			if _, err := ctx.Artifacts().Load(ctx, "none.txt"); err == nil {
				return errors.New("it is there")
			}
			return nil
		},
		"an artifact of its own": func(ctx agent.Context) error {
			return errors.Join(second(ctx.Artifacts().Save(ctx, "b.txt", genai.NewPartFromText("b"))), second(ctx.Artifacts().Load(ctx, "b.txt")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, m{"to": "Acme", "same": m{"a": 1}}, 0, function(way))
			if said := p.approve(t.Context(), m{"to": "Mallory"}); len(said) != 1 || said[0]["paid"] != true {
				t.Errorf("the model reads %v", said)
			}
			p.want(t, safety.StateExecuted, "")
		})
	}
}

func second[T any](_ T, err error) error { return err }

// What a callback writes before the tool runs is none of the call's own writes, and goes with its event.
func TestCallbackThatWritesBeforeTheTool(t *testing.T) {
	ways := map[string]func(agent.Context, string, any) error{
		"State":   func(ctx agent.Context, key string, v any) error { return ctx.State().Set(key, v) },
		"Actions": func(ctx agent.Context, key string, v any) error { ctx.Actions().StateDelta[key] = v; return nil },
	}
	for name, write := range ways {
		for key, want := range map[string]safety.ApprovalState{"to": safety.StateFailed, "same": safety.StateExecuted} {
			t.Run(name+"/"+key, func(t *testing.T) {
				callback := must(plugin.New(plugin.Config{Name: "other", BeforeToolCallback: func(ctx agent.Context, _ tool.Tool, _ map[string]any) (map[string]any, error) {
					if ctx.ToolConfirmation() == nil {
						return nil, nil
					}
					return nil, errors.Join(write(ctx, "to", "Mallory"), write(ctx, "same", 1))
				}}))
				p := ask(t, m{"to": "Acme", "same": 1}, 0, function(func(ctx agent.Context) error {
					return errors.Join(second(ctx.State().Get(key)), ctx.State().Set("same", 2))
				}), callback)
				p.approve(t.Context(), nil)
				p.want(t, want, "")
				s := must(p.sessions.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "u", SessionID: "s"})).Session.State()
				if to, _ := s.Get("to"); to != "Mallory" {
					t.Errorf("the session has %v of the callback", to)
				}
				if same, _ := s.Get("same"); want == safety.StateExecuted && same != 2 {
					t.Errorf("the session has %v of the tool", same)
				}
			})
		}
	}
}

// There is a bound for what is digested, and behind it nothing is taken for unchanged.
func TestKeysBeyondTheBound(t *testing.T) {
	many := m{"zz": "same", "large": strings.Repeat("x", 1<<20)}
	for i := range 999 {
		many[fmt.Sprint("k", i)] = i
	}
	for key, want := range map[string]safety.ApprovalState{"k5": safety.StateExecuted, "zz": safety.StateExecuted, "large": safety.StateFailed} {
		p := ask(t, many, 0, function(func(ctx agent.Context) error { return second(ctx.State().Get(key)) }))
		if hint := fmt.Sprint(p.asked[0].Args["toolConfirmation"]); !strings.Contains(hint, "1 key of the state") {
			t.Errorf("the hint says %s", hint)
		}
		p.approve(t.Context(), nil)
		p.want(t, want, "")
	}
	many["k999"] = 1 // one more, and zz is beyond
	p := ask(t, many, 0, function(func(ctx agent.Context) error { return second(ctx.State().Get("zz")) }))
	p.approve(t.Context(), nil)
	p.want(t, safety.StateFailed, "there was too much")
}

// Artifacts that could not be read when the approval was asked are not taken for unchanged, and the others are.
func TestArtifactsThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		fails, loads string
		want         safety.ApprovalState
	}{{"list", "a.txt", safety.StateFailed}, {"load", "a.txt", safety.StateFailed}, {"load", "gone.txt", safety.StateExecuted}} {
		p := ask(t, m{"fails": tt.fails}, 0, function(func(ctx agent.Context) error { return second(ctx.Artifacts().Load(ctx, tt.loads)) }))
		p.approve(t.Context(), nil)
		p.want(t, tt.want, "")
	}
}

// There is a bound for artifacts, and behind it nothing is taken for unchanged.
func TestArtifactsBeyondTheBound(t *testing.T) {
	for name, want := range map[string]safety.ApprovalState{"a.txt": safety.StateExecuted, "gone.txt": safety.StateFailed} {
		p := ask(t, m{"bin": "b.bin"}, 0, function(func(ctx agent.Context) error { return second(ctx.Artifacts().Load(ctx, name)) }))
		if hint := fmt.Sprint(p.asked[0].Args["toolConfirmation"]); !strings.Contains(hint, "2 keys of the state, or artifacts") {
			t.Errorf("the hint says %s", hint)
		}
		p.approve(t.Context(), nil)
		p.want(t, want, "")
	}
}

// A read in another goroutine cannot end the tool: the approval stays in doubt.
func TestReadInAnotherGoroutine(t *testing.T) {
	var cause error
	p := ask(t, m{"to": "Acme"}, 0, function(func(ctx agent.Context) error {
		got := make(chan error)
		go func() { got <- second(ctx.State().Get("to")) }()
		if err := <-got; err == nil {
			t.Error("the other goroutine got the changed value")
		}
		cause = context.Cause(ctx)
		return nil
	}))
	if said := p.approve(t.Context(), m{"to": "Mallory"}); !strings.Contains(fmt.Sprint(said), "Another goroutine") {
		t.Errorf("the model reads %v", said)
	}
	if cause == nil {
		t.Error("the context of the tool was not canceled")
	}
	p.want(t, safety.StateExecuting, "")
}

// A panic of a tool, and the end of its goroutine, reach the caller as if there were no gate.
func TestToolThatPanicsOrExits(t *testing.T) {
	broken := errors.New("broken")
	for name, do := range map[string]func(agent.Context) error{
		"panics": func(agent.Context) error { panic(broken) },
		"exits":  func(agent.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, nil, 0, raw{do})
			ended := make(chan any, 1)
			p.approve(platform.WithTaskRunner(t.Context(), func(ctx context.Context, tasks []func(context.Context)) {
				returned := false
				go func() {
					defer func() {
						ended <- recover()
						if returned {
							t.Error("the tool returned")
						}
					}()
					tasks[0](ctx)
					returned = true
				}()
			}), nil)
			err, failed := (<-ended).(error)
			if failed != (name == "panics") || failed && (!errors.Is(err, broken) || !strings.Contains(err.Error(), "effect_test.go")) {
				t.Errorf("the caller got %v", err)
			}
			p.want(t, safety.StateExecuting, "")
		})
	}
	p := ask(t, nil, 0, function(func(agent.Context) error { panic(broken) })) // which ADK recovers
	p.approve(t.Context(), nil)
	p.want(t, safety.StateFailed, "broken")
}

// A caller that goes away does not cut the effect, and the record says that nobody was told.
func TestCallerThatGoesAway(t *testing.T) {
	for kind, make := range map[string]func(func(agent.Context) error) tool.Tool{"function": function, "streaming": streaming} {
		t.Run(kind, func(t *testing.T) {
			ctx, leave := context.WithCancel(context.WithValue(t.Context(), userKey{}, "ann"))
			p := ask(t, nil, 0, make(func(ctx agent.Context) error {
				leave()
				derived, cancel := ctx.WithAgentCancel()
				defer cancel()
				if _, bounded := ctx.Deadline(); !bounded || ctx.Value(userKey{}) != "ann" || derived.Err() != nil {
					t.Error("the context has no end, or no values, or has ended")
				}
				return ctx.Err()
			}))
			p.approve(ctx, nil)
			p.want(t, safety.StateExecuted, "it ran; the agent was not told")
		})
	}
}

type userKey struct{}

// An effect that takes too long is canceled, and in doubt.
func TestEffectTimeout(t *testing.T) {
	p := ask(t, nil, 20*time.Millisecond, function(func(ctx agent.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	if said := p.approve(t.Context(), nil); !strings.Contains(fmt.Sprint(said), "guard.effect_timeout") || !strings.Contains(fmt.Sprint(said), gate.CodeInDoubt) {
		t.Errorf("the model reads %v", said)
	}
	p.want(t, safety.StateExecuting, "")
}

// Close of an instance waits for the effect within its bound.
func TestWaitForAnEffect(t *testing.T) {
	began, finish, ended := make(chan bool), make(chan bool), make(chan bool)
	p := ask(t, m{"ledger": "slow"}, 0, function(func(agent.Context) error {
		close(began)
		<-finish
		return nil
	}))
	go func() {
		defer close(ended)
		p.approve(t.Context(), nil)
	}()
	<-began
	p.gate.Close()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	p.gate.Wait(short)
	p.want(t, safety.StateExecuting, "")
	close(finish)
	p.gate.Wait(t.Context())
	p.want(t, safety.StateExecuted, "")
	<-ended
}
