// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// callbackNames returns the names of the callbacks of a plugin of ADK.
func callbackNames() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[plugin.Config]()) {
		if strings.HasSuffix(f.Name, "Callback") {
			names = append(names, f.Name)
		}
	}
	return names
}

// A value of a callback keeps the plugins behind it, or ADK itself, from their work. The
// recorder only looks on, also where its sink fails.
func TestObserverReturnsNothing(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{"of a memory": &rowtest.Sink{}, "that panics": &rowtest.Broken{}} {
		t.Run(name, func(t *testing.T) {
			rec := must(recorder.New(recorder.Config{Sink: sink, Logger: slog.New(slog.DiscardHandler)}))
			var mu sync.Mutex
			called := make(map[string]int)
			watch := func(c *plugin.Config) {
				for _, name := range callbackNames() {
					f := reflect.ValueOf(c).Elem().FieldByName(name)
					inner := reflect.ValueOf(f.Interface())
					if inner.IsNil() {
						t.Errorf("the recorder has no %s", name)
						continue
					}
					f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
						out := inner.Call(args)
						mu.Lock()
						defer mu.Unlock()
						called[name]++
						for _, v := range out {
							if !v.IsNil() {
								t.Errorf("%s returned %v", name, v)
							}
						}
						return out
					}))
				}
			}
			ask := functionTool(t, functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
				return m{"done": true}, nil
			})
			fails := functionTool(t, functiontool.Config{Name: "fails"}, func(agent.Context, struct{}) (map[string]any, error) {
				return nil, errors.New("failed")
			})
			broke := false
			mdl := adktest.CallsOnce(call("c1", "ask", nil), call("c2", "fails", nil), call("c3", "nosuchtool", nil))
			root := llm(t, llmagent.Config{
				Name: "root", Tools: []tool.Tool{ask, fails},
				Model: &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
					if broke {
						return nil, errModel
					}
					return mdl.Answer(req)
				}},
			})
			r := must(runner.New(runner.Config{
				AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
				PluginConfig: recorder.PluginsWith(rec, watch),
			}))
			asked := adktest.Confirmations(adktest.Run(t, r, "u", "s", adktest.UserText("go")))
			if len(asked) != 1 {
				t.Fatalf("%d confirmations, want one", len(asked))
			}
			if got := adktest.Responses(adktest.Run(t, r, "u", "s", adktest.Answer(asked[0].ID, true)), "ask"); len(got) != 1 || got[0]["done"] != true {
				t.Errorf("ask answered %v", got)
			}
			broke = true
			if _, err := adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("again")); err == nil {
				t.Error("the model did not fail")
			}
			for _, name := range callbackNames() {
				if called[name] == 0 {
					t.Errorf("%s was never called", name)
				}
			}
		})
	}
}

// Without a gate nobody checks what a confirmation rests on, so the answer to it is on record
// as one that nobody took, whatever it says and whatever becomes of the call.
func TestConfirmationsWithoutAGate(t *testing.T) {
	for name, tt := range map[string]struct {
		answer    m
		confirmed bool
	}{
		"yes":                        {m{"confirmed": true}, true},
		"no":                         {m{"confirmed": false}, false},
		"as the developer UI says":   {m{"response": `{"confirmed":true}`}, true},
		"nobody can read the answer": {m{"confirmed": "perhaps"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ask := functionTool(t, functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
				return m{"done": true}, nil
			})
			sink, r := recorded(t, recorder.Config{}, llm(t, llmagent.Config{Name: "root", Tools: []tool.Tool{ask}, Model: adktest.CallsOnce(call("c1", "ask", nil))}))
			id := adktest.Confirmations(adktest.Run(t, r, "u", "s", adktest.UserText("go")))[0].ID
			_, _ = adktest.TryRun(t.Context(), r, "u", "s", responds(id, "adk_request_confirmation", tt.answer))
			diff(t, "row", shape{
				Type: record.HITLConfirmationRequestCompleted, Agent: "root", Status: "OK",
				Content: m{"tool": "adk_request_confirmation", "result": tt.answer},
				Attributes: m{"adk": m{
					"pause_kind": "hitl_confirmation", "confirmation_id": id, "approver": "u",
					"confirmed": tt.confirmed, "accepted": false, "waited_ms": fresh,
				}},
			}, shapeOf(t, one(t, sink, record.HITLConfirmationRequestCompleted), "waited_ms"))
		})
	}
}

// The row of a request tells of an approval only where a noted call made the request: a model
// or an agent of the host's can write such a request too.
func TestRequestsThatNoNotedCallMade(t *testing.T) {
	type approval struct{ ID, Replaces, Enforced any }
	noted := recorder.Confirmation{ApprovalID: "a-2", Replaces: "a-1", Enforced: true}
	request := func(original string) *genai.FunctionCall {
		return call("made-up", "adk_request_confirmation", m{
			"originalFunctionCall": m{"id": original, "name": "ask", "args": m{}}, "toolConfirmation": m{"hint": "really?"},
		})
	}
	for name, tt := range map[string]struct {
		note  bool
		emits *session.Event // in the place of ADK's request
		want  approval
	}{
		"noted":                       {note: true, want: approval{"a-2", "a-1", true}},
		"not noted":                   {want: approval{Enforced: false}},
		"of an agent":                 {emits: event("e1", []string{"made-up"}, request("c1")), want: approval{Enforced: false}},
		"of an agent, beside a call":  {emits: event("e1", []string{"made-up"}, request("c1"), call("c9", "look", nil)), want: approval{Enforced: false}},
		"of an agent, without a call": {emits: event("e1", []string{"made-up"}, call("made-up", "adk_request_confirmation", nil)), want: approval{Enforced: false}},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &rowtest.Sink{}
			rec := must(recorder.New(recorder.Config{Sink: sink, Logger: slog.New(slog.DiscardHandler)}))
			ask := functionTool(t, functiontool.Config{Name: "ask", RequireConfirmation: true}, func(agent.Context, struct{}) (map[string]any, error) {
				return nil, nil
			})
			root := llm(t, llmagent.Config{Name: "root", Tools: []tool.Tool{ask}, Model: adktest.CallsOnce(call("c1", "ask", nil))})
			if tt.emits != nil {
				root = emits(t, "root", tt.emits)
			}
			r := must(runner.New(runner.Config{
				AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
				PluginConfig: recorder.PluginsWith(rec, func(c *plugin.Config) {
					c.AfterToolCallback = func(ctx agent.Context, tl tool.Tool, args, result map[string]any, err error) (map[string]any, error) {
						run, c := rec.LookupCall(ctx)
						c = rec.EndTool(ctx, run, c, tl, args, result, err, recorder.End{})
						if tt.note {
							run.Asked(c, noted)
						}
						return nil, nil
					}
				}),
			}))
			adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			e := one(t, sink, record.HITLConfirmationRequest)
			diff(t, "approval", tt.want, approval{
				rowtest.Attribute(t, e, "adk", "approval_id"), rowtest.Attribute(t, e, "adk", "replaces"), rowtest.Attribute(t, e, "adk", "enforced"),
			})
			if starts := sink.Of(record.ToolStarting); tt.note && e.ParentSpanID != starts[0].SpanID {
				t.Errorf("the request stands below span %s, want the call's %s", e.ParentSpanID, starts[0].SpanID)
			}
		})
	}
}
