// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"errors"
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
	"google.golang.org/adk/v2/agent/workflowagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/server/adka2a/v2"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func confirmation(t *testing.T, h *harness, yes bool) {
	id, _ := h.ask(sess)
	h.answer(sess, id, yes)
}

// changedOnTheWay has a callback of the agent change the arguments of two searches, of which
// the first fails.
func changedOnTheWay(o *options) {
	o.answer = searching(2)
	o.beforeTool = append(o.beforeTool, func(_ agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
		if t.Name() == "search" {
			args["query"] = "changed " + args["query"].(string)
		}
		return nil, nil
	})
	o.search = func(_ agent.Context, a searchArgs) (map[string]any, error) {
		if a.Query == "changed q0" {
			return nil, errors.New("no such place")
		}
		return items(item), nil
	}
}

func drifted(t *testing.T, h *harness) {
	id, _ := h.ask(sess)
	h.world.set("$52,000", true)
	h.answer(sess, id, true)
}

// declaredAndDrifted is drifted with a plugin that declares what the refused call names.
func declaredAndDrifted(t *testing.T, h *harness) {
	declares := declaring(t, &h, product(t))
	h.serve(root(t, h.model, h.tools...), declares)
	drifted(t, h)
}

func checkFails(o *options) {
	checker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{}, errors.New("the shop is closed")
	})(o)
}

func checkOutside(t *testing.T, h *harness) {
	h.ask(sess)
	if _, err := h.cg.Check(t.Context(), key(sess)); err != nil {
		t.Fatal(err)
	}
}

// offline is a model that fails.
func offline() *adktest.Model {
	return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) { return nil, errors.New("model offline") }}
}

func modelError(t *testing.T, h *harness) {
	h.serve(root(t, offline()))
	h.fail("Hello")
}

func modelErrorAnswered(t *testing.T, h *harness) {
	h.serve(root(t, offline()), mustPlugin(t, plugin.Config{Name: "apologises",
		OnModelErrorCallback: func(agent.Context, *model.LLMRequest, error) (*model.LLMResponse, error) {
			return adktest.Text("Sorry."), nil
		}}))
	h.say("Hello")
}

func modelWithoutAnswer(t *testing.T, h *harness) {
	h.serve(root(t, several{}))
	_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("Hello"))
}

// modelRefused has an answer that the model ended early.
func modelRefused(t *testing.T, h *harness) {
	h.serve(root(t, answering(&model.LLMResponse{
		ErrorCode: string(genai.FinishReasonSafety), ErrorMessage: "blocked for safety", FinishReason: genai.FinishReasonSafety, ModelVersion: "scripted-1",
	})))
	_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("Hello"))
}

// twoAnswers has a model that gives two whole answers to one request.
func twoAnswers(t *testing.T, h *harness) {
	h.serve(root(t, several{[]*model.LLMResponse{adktest.Text("One."), adktest.Text("Two.")}}))
	h.say("Hello")
}

func shortCircuited(t *testing.T, h *harness) {
	h.serve(mustAgent(t, llmagent.Config{Name: "root", Model: offline(), BeforeModelCallbacks: []llmagent.BeforeModelCallback{
		func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return adktest.Text("From the cache."), nil
		},
	}}))
	h.say("Hello")
}

// told returns what runs a turn through the Instance, which sees what the consumer
// sees, untold what runs one without it.
func (h *harness) told() runFunc {
	return func(ctx context.Context, userID, sessionID string, msg *genai.Content, cfg agent.RunConfig, opts ...runner.RunOption) iter.Seq2[*session.Event, error] {
		return h.cg.Run(ctx, h.runner, userID, sessionID, msg, cfg, opts...)
	}
}

func (h *harness) untold() runFunc { return h.runner.Run }

type runFunc func(context.Context, string, string, *genai.Content, agent.RunConfig, ...runner.RunOption) iter.Seq2[*session.Event, error]

// earlyStop has a consumer that stops in the middle of the model's answer.
func earlyStop(t *testing.T, h *harness, run func() runFunc) {
	h.serve(root(t, adktest.Stalled{}, found(t)))
	for _, err := range run()(t.Context(), user, sess, adktest.UserText("Find routes"), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

// cancelled has a client that hangs up while a tool runs.
func cancelled(t *testing.T, h *harness) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hang := mustTool(t, "hang", func(ctx agent.Context, _ searchArgs) (map[string]any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ends := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if adktest.LastResponse(req) == nil {
			return adktest.Call("hang", map[string]any{"query": "x"}), nil
		}
		return nil, context.Canceled
	}}
	h.serve(root(t, ends, hang))
	if _, err := adktest.TryRun(ctx, h.runner, user, sess, adktest.UserText("Hang")); err == nil {
		t.Fatal("the run did not fail")
	}
}

// brokenAgent is an agent that ends with an error.
func brokenAgent(t *testing.T) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: "broken", Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("the agent broke down")) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func agentError(t *testing.T, h *harness, run func() runFunc) {
	h.serve(brokenAgent(t))
	var last error
	for _, err := range run()(t.Context(), user, sess, adktest.UserText("Hello"), agent.RunConfig{}) {
		last = err
	}
	if last == nil {
		t.Fatal("the run did not fail")
	}
}

// agentErrorEvent has an agent that says with an event what went wrong.
func agentErrorEvent(t *testing.T, h *harness) {
	a, err := agent.New(agent.Config{Name: "broken", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Author, ev.ErrorCode, ev.ErrorMessage = "broken", "BROKEN", "the agent broke down"
			yield(ev, nil)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(a)
	h.say("Hello")
}

func answerToNothing(t *testing.T, h *harness) {
	h.ask(sess)
	h.answer(sess, "adk-nobody-asked", true)
}

func refusedRun(t *testing.T, h *harness) {
	h.serve(root(t, offline()), mustPlugin(t, plugin.Config{Name: "refuses",
		BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			return genai.NewContentFromText("Not today.", genai.RoleModel), nil
		}}))
	h.say("Hello")
}

func serveWorkflow(t *testing.T, h *harness, edges []workflow.Edge, change func(*runner.Config)) {
	t.Helper()
	flow, err := workflowagent.New(workflowagent.Config{Name: "flow", Edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	h.serveWith(flow, change)
}

func function[IN, OUT any](name string, f func(agent.Context, IN) (OUT, error)) workflow.Node {
	return workflow.NewFunctionNode(name, f, workflow.NodeConfig{})
}

// workflowNodes has a node of every kind: functions, two of them side by side, a
// join, a tool, an agent, and one that runs a node of its own making.
func workflowNodes(t *testing.T, h *harness) {
	order := newTurnstile("left", "right")
	side := func(name string) workflow.Node {
		return function(name, func(agent.Context, any) (string, error) {
			order.await(name)
			return "from the " + name, nil
		})
	}
	plan := function("plan", func(agent.Context, any) (map[string]any, error) { return map[string]any{"query": "routes"}, nil })
	left, right := side("left"), side("right")
	join := workflow.NewJoinNode("join")
	query := function("query", func(_ agent.Context, in map[string]any) (map[string]any, error) {
		return map[string]any{"query": in["left"]}, nil
	})
	search, err := workflow.NewToolNode(found(t), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	step := function("step", func(_ agent.Context, in string) (string, error) { return in + "!", nil })
	dynamic := workflow.NewDynamicNode("dynamic", func(ctx agent.Context, _ any, _ func(*session.Event) error) (string, error) {
		return workflow.RunNode[string](ctx, step, "made")
	}, workflow.NodeConfig{})
	writer, err := workflow.NewAgentNode(mustAgent(t, llmagent.Config{Name: "writer", Model: answering(adktest.Text("Written."))}), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	edges := workflow.NewEdgeBuilder().
		Add(workflow.Start, plan).AddFanOut(plan, left, right).AddFanIn(join, left, right).
		Add(join, query).Add(query, search).Add(search, dynamic).Add(dynamic, writer).Build()
	serveWorkflow(t, h, edges, func(c *runner.Config) {
		c.PluginConfig = h.cg.PluginConfig(mustPlugin(t, plugin.Config{Name: "order",
			OnEventCallback: func(_ agent.InvocationContext, ev *session.Event) (*session.Event, error) {
				if ev.Output == "from the left" {
					order.done("left")
				}
				return nil, nil
			}}))
	})
	h.say("Go")
}

// workflowInput pauses for an input of a person and goes on with it.
func workflowInput(t *testing.T, h *harness) {
	yes := true
	ask := workflow.NewEmittingFunctionNode("ask", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		reply, err := workflow.ResumeOrRequestInput(ctx, emit, session.RequestInput{InterruptID: "colour", Message: "Which colour?", Payload: map[string]any{"colours": []string{"red", "green"}}})
		if err != nil {
			return "", err
		}
		s, _ := reply.(string)
		return s, nil
	}, workflow.NodeConfig{RerunOnResume: &yes})
	paint := function("paint", func(_ agent.Context, in string) (string, error) { return "painted " + in, nil })
	serveWorkflow(t, h, workflow.Chain(workflow.Start, ask, paint), func(*runner.Config) {})
	id := longRunning(t, h.say("Paint it"), workflow.WorkflowInputFunctionCallName)
	h.reply(id, workflow.WorkflowInputFunctionCallName, map[string]any{"payload": "green"})
}

// credential has an agent that asks for a credential as ADK for Python does.
func credential(t *testing.T, h *harness) {
	const name = "adk_request_credential"
	a, err := agent.New(agent.Config{Name: "login", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			ev := session.NewEvent(ctx, ctx.InvocationID())
			ev.Author = "login"
			if answers(ctx.UserContent()) {
				ev.Content = genai.NewContentFromText("Logged in.", genai.RoleModel)
			} else {
				ev.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{
					ID: "login-1", Name: name, Args: map[string]any{"auth_config": map[string]any{"credential_key": "k"}},
				}}}}
				ev.LongRunningToolIDs = []string{"login-1"}
			}
			yield(ev, nil)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.serve(a)
	h.reply(longRunning(t, h.say("Log in"), name), name, map[string]any{"credential_key": "k"})
}

// answers reports whether the message is the result of a call.
func answers(msg *genai.Content) bool {
	return msg != nil && len(msg.Parts) > 0 && msg.Parts[0].FunctionResponse != nil
}

// workflowNodeError has a node that says with an event what went wrong.
func workflowNodeError(t *testing.T, h *harness) {
	buy := workflow.NewEmittingFunctionNode("buy", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		ev := session.NewEvent(ctx, ctx.InvocationID())
		ev.ErrorCode, ev.ErrorMessage = "BUDGET_EXCEEDED", "the plan costs more than the budget"
		return "nothing bought", emit(ev)
	}, workflow.NodeConfig{})
	serveWorkflow(t, h, workflow.Chain(workflow.Start, buy), func(*runner.Config) {})
	h.say("Buy it")
}

func workflowFunctionFails(t *testing.T, h *harness) {
	buy := function("buy", func(agent.Context, any) (string, error) { return "", errors.New("no budget") })
	serveWorkflow(t, h, workflow.Chain(workflow.Start, buy), func(*runner.Config) {})
	h.fail("Buy it")
}

// workflowRoute has a node that chooses the next by a route.
func workflowRoute(t *testing.T, h *harness) {
	choose := workflow.NewEmittingFunctionNode("choose", func(ctx agent.Context, _ any, emit func(*session.Event) error) (string, error) {
		ev := session.NewEvent(ctx, ctx.InvocationID())
		ev.Routes = []string{"buy"}
		return "chosen", emit(ev)
	}, workflow.NodeConfig{})
	buy := function("buy", func(_ agent.Context, in string) (string, error) { return "bought the " + in, nil })
	wait := function("wait", func(agent.Context, string) (string, error) { return "waited", nil })
	edges := workflow.NewEdgeBuilder().Add(workflow.Start, choose).AddRoutes(choose, map[string]workflow.Node{"buy": buy, "wait": wait}).Build()
	serveWorkflow(t, h, edges, func(*runner.Config) {})
	h.say("Choose")
}

// remote starts a server with an agent behind it and returns the agent that asks it.
func remote(t *testing.T, m model.LLM, streaming bool) agent.Agent {
	t.Helper()
	expert, mode := mustAgent(t, llmagent.Config{Name: "expert", Model: m}), agent.StreamingModeNone
	if streaming {
		mode = agent.StreamingModeSSE
	}
	server := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(adka2a.NewExecutor(adka2a.ExecutorConfig{
		RunnerConfig: runner.Config{AppName: "expert", Agent: expert, SessionService: session.InMemoryService(), AutoCreateSession: true},
		RunConfig:    agent.RunConfig{StreamingMode: mode},
	}))))
	t.Cleanup(server.Close)
	a, err := remoteagent.NewA2A(remoteagent.A2AConfig{Name: "remote", Description: "knows", AgentCard: &a2a.AgentCard{
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(server.URL, a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: streaming},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func goodRoutes() model.LLM {
	return chunked{[]string{"Routes ", "are "}, adktest.Text("Routes are good.")}
}

// delegating is an agent that transfers to the one agent below it.
func delegating(t *testing.T, to agent.Agent) agent.Agent {
	t.Helper()
	return mustAgent(t, llmagent.Config{Name: "root", SubAgents: []agent.Agent{to},
		Model: answering(adktest.Call("transfer_to_agent", map[string]any{"agent_name": to.Name()}))})
}

func remoteAgent(t *testing.T, h *harness, streamed bool) {
	h.serve(delegating(t, remote(t, goodRoutes(), streamed)))
	if streamed {
		stream(t, h)
		return
	}
	h.say("Are routes good?")
}

func remoteAgentAsTool(t *testing.T, h *harness) {
	h.serve(root(t, answering(adktest.Call("remote", map[string]any{"request": "Are routes good?"}), adktest.Text("They are.")),
		h.cg.AgentTool(remote(t, goodRoutes(), true), nil)))
	h.say("Are routes good?")
}

func remoteAgentFails(t *testing.T, h *harness) {
	h.serve(delegating(t, remote(t, offline(), true)))
	_, _ = adktest.TryRun(t.Context(), h.runner, user, sess, adktest.UserText("Are routes good?"))
}

// traceADK makes ADK's tracer write spans to the processor until the test ends. ADK
// takes its tracer from the global provider once and for all, so the provider is one
// that passes spans on or does not.
func traceADK(t *testing.T, p sdktrace.SpanProcessor) {
	t.Helper()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	installTracing.Do(func() { otel.SetTracerProvider(&tracing) })
	tracing.to.Store(provider)
	t.Cleanup(func() {
		tracing.to.Store(nil)
		if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
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
