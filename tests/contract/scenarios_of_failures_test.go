// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/remoteagent/v2"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/server/adka2a/v2"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func confirmation(t *testing.T, h *cgtest.Harness, yes bool) {
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, yes)
}

// changedOnTheWay has a callback of the agent change the arguments of two searches, of which
// the first fails.
func changedOnTheWay(o *cgtest.Options) {
	o.Answer = searchTimes(2)
	o.BeforeTool = append(o.BeforeTool, func(_ agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
		if t.Name() == "search" {
			args["query"] = "changed " + args["query"].(string)
		}
		return nil, nil
	})
	o.Search = func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		if a.Query == "changed q0" {
			return nil, errors.New("no such place")
		}
		return cgtest.FoundItems(cgtest.Item), nil
	}
}

func drifted(t *testing.T, h *cgtest.Harness) {
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	h.Answer(cgtest.SessionID, id, true)
}

// numbered has search find a thing whose value is a number.
func numbered(o *cgtest.Options) {
	o.Config.Extract[0].ValueType = entity.KindNumber
	o.Search = func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return cgtest.FoundItems("7"), nil }
}

// declaredAndDrifted is drifted with a plugin that declares what the refused call names.
func declaredAndDrifted(t *testing.T, h *cgtest.Harness) {
	declares := declaringPlugin(t, &h, product(t))
	h.Serve(cgtest.RootAgent(t, h.Model, h.Tools...), declares)
	drifted(t, h)
}

func checkFails(o *cgtest.Options) {
	cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{}, errors.New("the shop is closed")
	})(o)
}

func checkOutside(t *testing.T, h *cgtest.Harness) {
	h.Ask(cgtest.SessionID)
	if _, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil {
		t.Fatal(err)
	}
}

// offline is a model that fails.
func offline() *adktest.Model {
	return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return nil, errors.New("model offline") }}
}

func modelError(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, offline()))
	fail(h, "Hello")
}

func modelWithoutAnswer(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, several{}))
	_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("Hello"))
}

// modelRefused has an answer that the model ended early.
func modelRefused(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Script(&model.LLMResponse{
		ErrorCode: string(genai.FinishReasonSafety), ErrorMessage: "blocked for safety", FinishReason: genai.FinishReasonSafety, ModelVersion: "scripted-1",
	})))
	_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("Hello"))
}

// twoAnswers has a model that gives two whole answers to one request.
func twoAnswers(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, several{[]*model.LLMResponse{adktest.Text("One."), adktest.Text("Two.")}}))
	h.Say("Hello")
}

func shortCircuited(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: offline(), BeforeModelCallbacks: []llmagent.BeforeModelCallback{
		func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return adktest.Text("From the cache."), nil
		},
	}}))
	h.Say("Hello")
}

// earlyStop has a consumer that stops in the middle of the model's answer.
func earlyStop(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Stalled{}, found(t)))
	for _, err := range h.Runner.Run(t.Context(), cgtest.User, cgtest.SessionID, adktest.UserText("Find routes"), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

// agentErrorEvent has an agent that says with an event what went wrong.
func agentErrorEvent(t *testing.T, h *cgtest.Harness) {
	a := must(agent.New(agent.Config{Name: "broken", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Author, ev.ErrorCode, ev.ErrorMessage = "broken", "BROKEN", "the agent broke down"
			yield(ev, nil)
		}
	}}))
	h.Serve(a)
	h.Say("Hello")
}

func answerToNothing(t *testing.T, h *cgtest.Harness) {
	h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, "adk-nobody-asked", true)
}

// workflowNodes has a node of every kind: functions, two of them side by side, a
// join, a tool, an agent, and one that runs a node of its own making.
func workflowNodes(t *testing.T, h *cgtest.Harness) {
	order := newTurnstile("left", "right")
	side := func(name string) workflow.Node {
		return cgtest.FunctionNode(name, func(agent.Context, any) (string, error) {
			order.await(name)
			return "from the " + name, nil
		})
	}
	plan := cgtest.FunctionNode("plan", func(agent.Context, any) (map[string]any, error) { return map[string]any{"query": "routes"}, nil })
	left, right := side("left"), side("right")
	join := workflow.NewJoinNode("join")
	query := cgtest.FunctionNode("query", func(_ agent.Context, in map[string]any) (map[string]any, error) {
		return map[string]any{"query": in["left"]}, nil
	})
	search := must(workflow.NewToolNode(found(t), workflow.NodeConfig{}))
	step := cgtest.FunctionNode("step", func(_ agent.Context, in string) (string, error) { return in + "!", nil })
	dynamic := workflow.NewDynamicNode("dynamic", func(ctx agent.Context, _ any, _ func(*session.Event) error) (string, error) {
		return workflow.RunNode[string](ctx, step, "made")
	}, workflow.NodeConfig{})
	writer := must(workflow.NewAgentNode(cgtest.NewAgent(t, llmagent.Config{Name: "writer", Model: adktest.Script(adktest.Text("Written."))}), workflow.NodeConfig{}))
	edges := workflow.NewEdgeBuilder().
		Add(workflow.Start, plan).AddFanOut(plan, left, right).AddFanIn(join, left, right).
		Add(join, query).Add(query, search).Add(search, dynamic).Add(dynamic, writer).Build()
	cgtest.ServeWorkflow(t, h, edges, func(c *runner.Config) {
		c.PluginConfig = h.CG.PluginConfig(cgtest.NewPlugin(t, plugin.Config{Name: "order",
			OnEventCallback: func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) {
				if ev.Output == "from the left" {
					order.done("left")
				}
				return nil, nil
			}}))
	})
	h.Say("Go")
}

// workflowInput pauses for an input of a person and goes on with it.
func workflowInput(t *testing.T, h *cgtest.Harness) {
	yes := true
	ask := workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		reply, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "colour", Message: "Which colour?", Payload: map[string]any{"colours": []string{"red", "green"}}})
		if err != nil {
			return "", err
		}
		s, _ := reply.(string)
		return s, nil
	}, workflow.NodeConfig{RerunOnResume: &yes})
	paint := cgtest.FunctionNode("paint", func(_ agent.Context, in string) (string, error) { return "painted " + in, nil })
	cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, ask, paint), func(*runner.Config) {})
	id := longRunning(t, h.Say("Paint it"), workflow.WorkflowInputFunctionCallName)
	h.Reply(id, workflow.WorkflowInputFunctionCallName, map[string]any{"payload": "green"})
}

// credential has an agent that asks for a credential as ADK for Python does. Beside it stands a
// call that nobody waits for.
func credential(t *testing.T, h *cgtest.Harness) {
	const name = "adk_request_credential"
	a := must(agent.New(agent.Config{Name: "login", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Author = "login"
			if answers(ctx.UserContent()) {
				ev.Content = genai.NewContentFromText("Logged in.", genai.RoleModel)
			} else {
				ev.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
					{FunctionCall: &genai.FunctionCall{ID: "login-1", Name: name, Args: map[string]any{"auth_config": map[string]any{"credential_key": "k"}}}},
					{FunctionCall: &genai.FunctionCall{ID: "login-2", Name: name}},
				}}
				ev.LongRunningToolIDs = []string{"login-1"}
			}
			yield(ev, nil)
		}
	}}))
	h.Serve(a)
	h.Reply(longRunning(t, h.Say("Log in"), name), name, map[string]any{"credential_key": "k"})
}

// answers reports whether the message is the result of a call.
func answers(msg *genai.Content) bool {
	return msg != nil && len(msg.Parts) > 0 && msg.Parts[0].FunctionResponse != nil
}

// workflowNodeError has a node that says with an event what went wrong.
func workflowNodeError(t *testing.T, h *cgtest.Harness) {
	buy := workflow.NewEmittingFunctionNode("buy", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		ev := session.NewEvent(ctx, ctx.InvocationID())
		ev.ErrorCode, ev.ErrorMessage = "BUDGET_EXCEEDED", "the plan costs more than the budget"
		return "nothing bought", emit(ev)
	}, workflow.NodeConfig{})
	cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, buy), func(*runner.Config) {})
	h.Say("Buy it")
}

// remote starts a server with an agent behind it and returns the agent that asks it.
func remote(t *testing.T, m model.LLM, streaming bool) agent.Agent {
	t.Helper()
	expert, mode := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Model: m}), agent.StreamingModeNone
	if streaming {
		mode = agent.StreamingModeSSE
	}
	server := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(adka2a.NewExecutor(adka2a.ExecutorConfig{
		RunnerConfig: runner.Config{AppName: "expert", Agent: expert, SessionService: session.InMemoryService(), AutoCreateSession: true},
		RunConfig:    agent.RunConfig{StreamingMode: mode},
	}))))
	t.Cleanup(server.Close)
	return must(remoteagent.NewA2A(remoteagent.A2AConfig{Name: "remote", Description: "knows", AgentCard: &a2a.AgentCard{
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL, a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: streaming},
	}}))
}

func goodRoutes() model.LLM {
	return chunked{[]string{"Routes ", "are "}, adktest.Text("Routes are good.")}
}

// delegating is an agent that transfers to the one agent below it.
func delegating(t *testing.T, to agent.Agent) agent.Agent {
	t.Helper()
	return cgtest.NewAgent(t, llmagent.Config{Name: "root", SubAgents: []agent.Agent{to},
		Model: adktest.Script(adktest.Call("transfer_to_agent", map[string]any{"agent_name": to.Name()}))})
}

func remoteAgent(t *testing.T, h *cgtest.Harness) {
	h.Serve(delegating(t, remote(t, goodRoutes(), false)))
	h.Say("Are routes good?")
}

func remoteAgentAsTool(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("remote", map[string]any{"request": "Are routes good?"}), adktest.Text("They are.")),
		h.CG.AgentTool(remote(t, goodRoutes(), true), nil)))
	h.Say("Are routes good?")
}

func remoteAgentFails(t *testing.T, h *cgtest.Harness) {
	h.Serve(delegating(t, remote(t, offline(), true)))
	_, _ = adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("Are routes good?"))
}

// traceADK makes ADK's tracer write its spans to the provider that it returns, until the test
// ends. ADK takes its tracer from the global provider once and for all, so the provider is one
// that passes spans on or does not.
func traceADK(t *testing.T) *sdktrace.TracerProvider {
	t.Helper()
	provider := sdktrace.NewTracerProvider()
	installTracing.Do(func() { otel.SetTracerProvider(&tracing) })
	tracing.to.Store(provider)
	t.Cleanup(func() {
		tracing.to.Store(nil)
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return provider
}

var (
	installTracing sync.Once
	tracing        switchedTracing
)

// switchedTracing is a tracer provider that is off unless it has one to pass on to.
type switchedTracing struct {
	embedded.TracerProvider
	to atomic.Pointer[sdktrace.TracerProvider]
}

func (p *switchedTracing) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return &switchedTracer{provider: p, name: name, opts: opts}
}

type switchedTracer struct {
	embedded.Tracer
	provider *switchedTracing
	name     string
	opts     []trace.TracerOption
}

func (s *switchedTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	var p trace.TracerProvider = noop.NewTracerProvider()
	if to := s.provider.to.Load(); to != nil {
		p = to
	}
	return p.Tracer(s.name, s.opts...).Start(ctx, name, opts...)
}

// searchTimes returns a model that calls search n times before it buys.
func searchTimes(n int) func(*model.LLMRequest) (*model.LLMResponse, error) {
	return func(req *model.LLMRequest) (*model.LLMResponse, error) {
		last, done := adktest.LastResponse(req), 0
		for _, c := range req.Contents {
			for _, p := range c.Parts {
				if p.FunctionResponse != nil && p.FunctionResponse.Name == "search" {
					done++
				}
			}
		}
		if (last == nil || last.Name == "search") && done < n {
			return adktest.Call("search", map[string]any{"query": fmt.Sprintf("q%d", done)}), nil
		}
		if last == nil {
			last = &genai.FunctionResponse{Name: "search"}
		}
		return cgtest.Shopper(&model.LLMRequest{Contents: []*genai.Content{{Parts: []*genai.Part{{FunctionResponse: last}}}}})
	}
}

// declaringPlugin returns a plugin of the host. It declares an entity in each call of buy that a
// person approved, before the gate decides about it.
func declaringPlugin(t testing.TB, h **cgtest.Harness, e entity.Entity) *plugin.Plugin {
	return cgtest.NewPlugin(t, plugin.Config{Name: "declares",
		BeforeToolCallback: func(ctx agent.Context, tl tool.Tool, _ map[string]any) (map[string]any, error) {
			if tl.Name() == "buy" && ctx.ToolConfirmation() != nil {
				return nil, (*h).CG.RecordEntity(ctx, e)
			}
			return nil, nil
		}})
}
