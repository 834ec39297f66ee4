// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/plugin/retryandreflect"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/adk/v2/workflow"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// scenarios are the scripts of the golden suite. Together they give cause for every
// event type that ADK can.
func scenarios() []scenario {
	return []scenario{
		{name: "text_answer", run: textAnswer},
		{name: "usage", run: usage},
		{name: "streamed_answer", run: streamedAnswer},
		{name: "streamed_answer_chunks", options: []cgtest.Option{recording(config.Record{Chunks: true})}, run: streamedAnswer},
		{name: "thoughts", run: thoughts},
		{name: "prompt_delta", options: []cgtest.Option{recording(config.Record{PromptHistory: config.PromptDelta})}, run: threeTurns},
		{name: "tags_metadata_otel", options: []cgtest.Option{recording(config.Record{
			Tags: map[string]string{"team": "media"}, Metadata: []string{"ticket", "trace_*"},
		})}, run: tagsMetadataOTel},
		{name: "spans_of_adk", run: spansOfADK},
		{name: "user_message_parts", run: userMessageParts},
		{name: "user_message_parts_not_stored", options: []cgtest.Option{recording(config.Record{
			Artifacts: config.Artifacts{Store: config.StoreOff},
		})}, run: userMessageParts},
		{name: "answer_parts", run: answerParts},
		{name: "checkpoints", run: checkpoints},

		{name: "tool", run: oneTool},
		{name: "tool_failures", run: toolFailures},
		{name: "tool_result_is_error", options: []cgtest.Option{func(o *cgtest.Options) { o.Config.Classify = classify }}, run: toolResults},
		{name: "tool_retry_and_reflect", run: retryAndReflect},
		{name: "tool_with_secrets", run: secrets},
		{name: "tool_with_much", options: []cgtest.Option{recording(config.Record{MaxString: 200, MaxRow: 10_000})}, run: muchText},
		{name: "tools_at_once", run: toolsAtOnce},
		{name: "tool_result_rewritten", run: maskedResult},
		{name: "tool_results_given", run: givenResults},
		{name: "tool_results_streamed", run: streamedResults},
		{name: "broken_turn", broken: true, run: brokenTurn},
		{name: "tool_args_changed", run: argsChanged},
		{name: "tool_reads_state", options: []cgtest.Option{cgtest.Replay, regional}, run: oneSearch},
		{name: "final_response_tool", options: []cgtest.Option{recording(config.Record{FinalResponseTools: []string{"submit"}})}, run: finalResponseTool},
		{name: "long_running", run: longRunningTool},
		{name: "state", run: state},
		{name: "artifacts", run: artifacts},

		{name: "transfer", run: transferAndBack},
		{name: "agent_as_tool", run: agentAsTool},
		{name: "agent_as_tool_fails", run: agentAsToolFails},
		{name: "agent_as_tool_twice", run: agentAsToolTwice},
		{name: "single_turn_delegate", run: singleTurn},
		{name: "task_delegate", run: task},
		{name: "skipped_agent", run: skippedAgent},
		{name: "agents_at_once", run: agentsAtOnce},

		{name: "confirmed", run: func(t *testing.T, h *cgtest.Harness) { confirmation(t, h, true) }},
		{name: "rejected", run: func(t *testing.T, h *cgtest.Harness) { confirmation(t, h, false) }},
		{name: "changed_and_overridden", options: []cgtest.Option{people, shopGoesDown}, run: changedAndOverridden},
		{name: "drifted", run: drifted},
		{name: "declared_and_drifted", options: []cgtest.Option{numbered, cgtest.NotChecked}, run: declaredAndDrifted},
		{name: "asked_again", options: []cgtest.Option{func(o *cgtest.Options) { o.Answer = (&cgtest.Repeater{}).Answer }}, run: drifted},
		{name: "check_failed", options: []cgtest.Option{checkFails}, run: func(t *testing.T, h *cgtest.Harness) { confirmation(t, h, true) }},
		{name: "answer_to_nothing", run: answerToNothing},
		{name: "check_outside_of_a_run", run: checkOutside},
		{name: "replay_changed", options: []cgtest.Option{cgtest.Replay, changedOnTheWay}, run: func(t *testing.T, h *cgtest.Harness) { confirmation(t, h, true) }},
		{name: "replayed", options: []cgtest.Option{cgtest.Replay}, run: func(t *testing.T, h *cgtest.Harness) { confirmation(t, h, true) }},

		{name: "model_error", run: modelError},
		{name: "model_without_answer", run: modelWithoutAnswer},
		{name: "model_refused", run: modelRefused},
		{name: "two_answers", run: twoAnswers},
		{name: "short_circuited", run: shortCircuited},
		{name: "early_stop", stops: true, run: earlyStop},
		{name: "agent_error_event", run: agentErrorEvent},

		{name: "workflow", run: workflowNodes},
		{name: "workflow_input", run: workflowInput},
		{name: "workflow_input_guarded", options: []cgtest.Option{cgtest.FoundByNode, cgtest.GuardInputs("review")}, run: guardedInput},
		{name: "workflow_input_of_two", options: []cgtest.Option{cgtest.FoundByNode, reviewedByTwo}, run: inputOfTwo},
		{name: "workflow_node_error", run: workflowNodeError},
		{name: "remote_agent", run: remoteAgent},
		{name: "remote_agent_as_tool", run: remoteAgentAsTool},
		{name: "remote_agent_fails", run: remoteAgentFails},
		{name: "credential", run: credential},
		{name: "live", run: live},
	}
}

func recording(c config.Record) cgtest.Option {
	return func(o *cgtest.Options) { o.Config.Record = c }
}

func textAnswer(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.NewAgent(t, llmagent.Config{
		Name: "root", Description: "answers", Model: adktest.Script(adktest.Text("It is sunny.")), Instruction: "Answer in one sentence.",
		Tools: []tool.Tool{found(t)},
		GenerateContentConfig: &genai.GenerateContentConfig{
			Temperature: genai.Ptr[float32](0.5), TopP: genai.Ptr[float32](0.75), TopK: genai.Ptr[float32](40), CandidateCount: 1,
			MaxOutputTokens: 256, StopSequences: []string{"END"}, PresencePenalty: genai.Ptr[float32](0.25), FrequencyPenalty: genai.Ptr[float32](0.125),
			ResponseMIMEType: "application/json", ResponseSchema: &genai.Schema{Type: genai.TypeObject}, Seed: genai.Ptr[int32](7),
			ResponseLogprobs: true, Logprobs: genai.Ptr[int32](2), Labels: map[string]string{"team": "media"},
		},
	}))
	h.Say("How is the weather?")
}

// usage is an answer with every count of usage there is, and a cache.
func usage(t *testing.T, h *cgtest.Harness) {
	answer := adktest.Text("Cached.")
	answer.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: 100, CandidatesTokenCount: 10, TotalTokenCount: 135, CachedContentTokenCount: 80, ThoughtsTokenCount: 20, ToolUsePromptTokenCount: 5,
		PromptTokensDetails: []*genai.ModalityTokenCount{{Modality: genai.MediaModalityText, TokenCount: 100}},
	}
	none := adktest.Text("No usage.")
	none.UsageMetadata, none.ModelVersion, none.FinishReason = nil, "", ""
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", Model: adktest.Script(answer, none), GenerateContentConfig: &genai.GenerateContentConfig{CachedContent: "caches/1"}}))
	h.Say("Hello")
	h.Say("Again")
}

func streamedAnswer(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, chunked{[]string{"one ", "two ", "three"}, adktest.Text("one two three")}))
	for _, err := range h.Runner.Run(t.Context(), cgtest.User, cgtest.SessionID, adktest.UserText("Count"), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func thoughts(t *testing.T, h *cgtest.Harness) {
	answer := parts(&genai.Part{Text: "The user wants a number.", Thought: true}, &genai.Part{Text: "42"})
	answer.UsageMetadata.ThoughtsTokenCount = 9
	h.Serve(cgtest.RootAgent(t, adktest.Script(answer)))
	h.Say("Which number?")
}

func threeTurns(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Text("one"), adktest.Text("two"), adktest.Text("three"))))
	for _, text := range []string{"first", "second", "third"} {
		h.Say(text)
	}
}

func tagsMetadataOTel(t *testing.T, h *cgtest.Harness) {
	answer := adktest.Text("Done.")
	answer.CustomMetadata = map[string]any{"ticket": "T-1", "trace_id": "x", "private": "y"}
	h.Serve(cgtest.RootAgent(t, adktest.Script(answer)))
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5, 6}, TraceFlags: trace.FlagsSampled,
	}))
	if _, err := adktest.TryRun(ctx, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("Go")); err != nil {
		t.Fatal(err)
	}
}

// spansOfADK has a tracer provider with the span processor.
func spansOfADK(t *testing.T, h *cgtest.Harness) {
	traceADK(t).RegisterSpanProcessor(h.CG.SpanProcessor())
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")), found(t)))
	h.Say("Find routes")
	h.Serve(cgtest.RootAgent(t, offline()))
	fail(h, "Find routes")
}

func userMessageParts(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Text("Seen."))))
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
		{Text: "Look at this"},
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}},
		{FileData: &genai.FileData{MIMEType: "application/pdf", FileURI: "gs://briefs/spring.pdf"}},
		{Text: strings.Repeat("All work and no play. ", 2_000)},
	}})
}

func answerParts(t *testing.T, h *cgtest.Harness) {
	h.Serve(cgtest.RootAgent(t, adktest.Script(parts(
		&genai.Part{Text: "Computed:"},
		&genai.Part{ExecutableCode: &genai.ExecutableCode{Language: genai.LanguagePython, Code: "print(6*7)"}},
		&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "42"}},
		&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("\x89PNG")}},
		&genai.Part{Text: "42"},
	))))
	h.Say("Compute")
}

// found is a tool that finds a product.
func found(t testing.TB) tool.Tool {
	return cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"items": []any{map[string]any{"name": "Strava Sponsored Routes", "price": "$40,000"}}}, nil
	})
}

// product is an entity with all there is to one.
func product(t testing.TB) entity.Entity {
	return entity.Entity{
		Type: "Product", Value: "Strava Sponsored Routes", Norm: entity.Text("strava sponsored routes"), ArtifactURI: "gs://catalog/routes.json",
		Attributes: map[string]entity.Value{"price": cgtest.Money(t, "$40,000")},
	}
}

func oneTool(t *testing.T, h *cgtest.Harness) {
	search := cgtest.NewTool(t, "search", func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"found": 1}, h.CG.RecordEntity(ctx, product(t), entity.Entity{Type: "Category", Value: "routes", Confidence: 0.5})
	})
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("One route.")), search))
	h.Say("Find routes")
}

func toolFailures(t *testing.T, h *cgtest.Harness) {
	broken := cgtest.NewTool(t, "broken", func(ctx agent.Context, _ cgtest.SearchArgs) (map[string]any, error) {
		return nil, errors.Join(h.CG.RecordEntity(ctx, product(t)), errors.New("index offline"))
	})
	h.Serve(cgtest.RootAgent(t, adktest.Script(
		adktest.Call("broken", map[string]any{"query": "x"}), adktest.Call("nosuchtool", map[string]any{"a": 1}), adktest.Text("Nothing works."),
	), broken))
	h.Say("Find routes")
}

func classify(t tool.Tool, _, result map[string]any) error {
	if t.Name() == "search" && result["count"] == 0.0 {
		return errors.New("nothing found")
	}
	return nil
}

func toolResults(t *testing.T, h *cgtest.Harness) {
	flagged := cgtest.NewTool(t, "flagged", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"isError": true, "content": "no such index"}, nil
	})
	empty := cgtest.NewTool(t, "search", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) { return map[string]any{"count": 0}, nil })
	h.Serve(cgtest.RootAgent(t, adktest.Script(
		adktest.Call("flagged", map[string]any{"query": "x"}), adktest.Call("search", map[string]any{"query": "x"}), adktest.Text("Nothing."),
	), flagged, empty))
	h.Say("Find routes")
}

func retryAndReflect(t *testing.T, h *cgtest.Harness) {
	tries := 0
	flaky := cgtest.NewTool(t, "flaky", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		if tries++; tries == 1 {
			return nil, errors.New("try again")
		}
		return map[string]any{"found": 1}, nil
	})
	call := func() *model.LLMResponse { return adktest.Call("flaky", map[string]any{"query": "x"}) }
	h.Serve(cgtest.RootAgent(t, adktest.Script(call(), call(), adktest.Text("Found.")), flaky), retryandreflect.MustNew())
	h.Say("Find routes")
}

func secrets(t *testing.T, h *cgtest.Harness) {
	login := cgtest.NewTool(t, "login", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{
			"access_token": "hunter2", "note": "Authorization: Bearer hunter2hunter2", "body": `{"password":"hunter2"}`,
			"link": "https://bucket.example/x?X-Goog-Signature=hunter2hunter2&part=1",
		}, nil
	})
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("login", map[string]any{"query": "x"}), adktest.Text("Logged in.")), login))
	h.Say("Log in")
	for _, e := range h.Rows(cgtest.SessionID) {
		if strings.Contains(string(e.Content)+string(e.Attributes), "hunter2") {
			t.Errorf("%s holds a secret: %s", e.EventType, e.Content)
		}
		if e.IsTruncated {
			t.Errorf("%s is marked as truncated; redaction must not say that the record lacks something", e.EventType)
		}
	}
}

func muchText(t *testing.T, h *cgtest.Harness) {
	long := cgtest.NewTool(t, "read", func(agent.Context, cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"text": strings.Repeat("é", 200)}, nil
	})
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("read", map[string]any{"query": "x"}), adktest.Text("Read.")), long))
	h.Say("Read it")
}

// toolsAtOnce has two calls begin in one order and end in the other.
func toolsAtOnce(t *testing.T, h *cgtest.Harness) {
	order := newTurnstile("begin a", "begin b", "end b", "end a")
	search := cgtest.NewTool(t, "search", func(_ agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		order.await("end " + a.Query)
		return map[string]any{"found": a.Query}, nil
	})
	call := func(q string) *genai.FunctionCall {
		return &genai.FunctionCall{Name: "search", Args: map[string]any{"query": q}}
	}
	step := func(phase string, args map[string]any) string { return phase + " " + args["query"].(string) }
	around(h, cgtest.RootAgent(t, adktest.Script(adktest.Calls(call("a"), call("b")), adktest.Text("Both.")), search), plugin.Config{
		BeforeToolCallback: func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
			order.await(step("begin", args))
			return nil, nil
		},
	}, plugin.Config{
		BeforeToolCallback: func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
			order.done(step("begin", args))
			return nil, nil
		},
		AfterToolCallback: func(_ agent.Context, _ tool.Tool, args, _ map[string]any, _ error) (map[string]any, error) {
			order.done(step("end", args))
			return nil, nil
		},
	})
	h.Say("Find a and b")
}

// finalResponseTool submits a plan of none, which fails, and one of two.
func finalResponseTool(t *testing.T, h *cgtest.Harness) {
	submit := cgtest.NewTool(t, "submit", func(_ agent.Context, a cgtest.BuyArgs) (map[string]any, error) {
		if a.Count == 0 {
			return nil, errors.New("an empty plan")
		}
		return map[string]any{"ok": true}, nil
	})
	call := func(count int) *model.LLMResponse {
		return adktest.Call("submit", map[string]any{"item": "routes", "count": count})
	}
	h.Serve(cgtest.RootAgent(t, adktest.Script(call(0), call(2), adktest.Text("Submitted.")), submit))
	h.Say("Submit a plan")
}

func longRunningTool(t *testing.T, h *cgtest.Harness) {
	sign := must(functiontool.New(functiontool.Config{Name: "sign", Description: "signs", IsLongRunning: true},
		func(agent.Context, cgtest.BuyArgs) (map[string]any, error) {
			return map[string]any{"status": "pending", "ticket": "T-1"}, nil
		}))
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("sign", map[string]any{"item": "contract", "count": 1}), adktest.Text("Waiting."), adktest.Text("Signed.")), sign))
	id := longRunning(t, h.Say("Sign it"), "sign")
	h.Clock.Advance(time.Minute)
	h.Reply(id, "sign", map[string]any{"status": "signed"})
}

// state has a session with state, a tool that changes it, an agent that keeps its
// answer in it, and a change between two runs.
func state(t *testing.T, h *cgtest.Harness) {
	if _, err := h.Sessions.Create(t.Context(), &session.CreateRequest{
		AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID, State: map[string]any{"budget": 50000, "temp:draft": "x"},
	}); err != nil {
		t.Fatal(err)
	}
	save := cgtest.NewTool(t, "save", func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		return map[string]any{"saved": true}, errors.Join(ctx.State().Set("query", a.Query), ctx.State().Set("temp:step", 1))
	})
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", OutputKey: "answer", Tools: []tool.Tool{save},
		Model: adktest.Script(adktest.Call("save", map[string]any{"query": "routes"}), adktest.Text("Saved."), adktest.Text("Still there."), adktest.Text("Now too."))}))
	h.Say("Save it")
	for _, err := range h.Runner.Run(t.Context(), cgtest.User, cgtest.SessionID, adktest.UserText("Still there?"), agent.RunConfig{}, runner.WithStateDelta(map[string]any{"budget": 60000})) {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.Say("And now?")
}

func artifacts(t *testing.T, h *cgtest.Harness) {
	save := cgtest.NewTool(t, "save", func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
		saved, err := ctx.Artifacts().Save(ctx, a.Query, genai.NewPartFromText("the plan"))
		if err != nil {
			return nil, err
		}
		return map[string]any{"version": saved.Version}, nil
	})
	call := func(name string) *model.LLMResponse { return adktest.Call("save", map[string]any{"query": name}) }
	h.ServeWith(cgtest.RootAgent(t, adktest.Script(call("plan.txt"), call("plan.txt"), call("user:logo.png"), adktest.Text("Saved.")), save), func(c *runner.Config) {
		c.ArtifactService = artifact.InMemoryService()
	})
	h.Say("Save the plan")
}

func transferAndBack(t *testing.T, h *cgtest.Harness) {
	to := func(name string) *model.LLMResponse {
		return adktest.Call("transfer_to_agent", map[string]any{"agent_name": name})
	}
	planner := cgtest.NewAgent(t, llmagent.Config{Name: "planner", Description: "plans", Tools: []tool.Tool{found(t)},
		Model: adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), to("root"))})
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", SubAgents: []agent.Agent{planner}, Model: adktest.Script(to("planner"), adktest.Text("There is one route."))}))
	h.Say("Plan it")
}

// agentAsTool has an agent with a runner of its own behind a tool.
func agentAsTool(t *testing.T, h *cgtest.Harness) {
	expert := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Description: "knows", Model: adktest.Script(adktest.Text("Routes are good."))})
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("expert", map[string]any{"request": "Are routes good?"}), adktest.Text("They are.")), h.CG.AgentTool(expert, nil)))
	h.Say("Are routes good?")
}

// agentAsToolTwice has an agent behind a tool that asks another one behind a tool.
func agentAsToolTwice(t *testing.T, h *cgtest.Harness) {
	ask := func(name string) *model.LLMResponse {
		return adktest.Call(name, map[string]any{"request": "Are routes good?"})
	}
	expert := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Description: "knows", Model: adktest.Script(adktest.Text("Routes are good."))})
	desk := cgtest.NewAgent(t, llmagent.Config{
		Name: "desk", Description: "asks", Tools: []tool.Tool{h.CG.AgentTool(expert, nil)}, Model: adktest.Script(ask("expert"), adktest.Text("They are.")),
	})
	h.Serve(cgtest.RootAgent(t, adktest.Script(ask("desk"), adktest.Text("They are.")), h.CG.AgentTool(desk, nil)))
	h.Say("Are routes good?")
}

func agentAsToolFails(t *testing.T, h *cgtest.Harness) {
	expert := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Description: "knows", Model: offline()})
	h.Serve(cgtest.RootAgent(t, adktest.Script(adktest.Call("expert", map[string]any{"request": "Are routes good?"}), adktest.Text("Nobody knows.")), h.CG.AgentTool(expert, nil)))
	h.Say("Are routes good?")
}

// task delegates to an agent that works in a scope of its own until it says that it is
// done.
func task(t *testing.T, h *cgtest.Harness) {
	expert := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Description: "knows", Mode: llmagent.ModeTask,
		Model: adktest.Script(adktest.Call("finish_task", map[string]any{"result": "Routes are good."}))})
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", SubAgents: []agent.Agent{expert},
		Model: adktest.Script(adktest.Call("expert", map[string]any{"request": "Are routes good?"}), adktest.Text("They are."))}))
	h.Say("Are routes good?")
}

func singleTurn(t *testing.T, h *cgtest.Harness) {
	expert := cgtest.NewAgent(t, llmagent.Config{Name: "expert", Description: "knows", Mode: llmagent.ModeSingleTurn, Model: adktest.Script(adktest.Text("Routes are good."))})
	h.Serve(cgtest.NewAgent(t, llmagent.Config{Name: "root", SubAgents: []agent.Agent{expert},
		Model: adktest.Script(adktest.Call("expert", map[string]any{"request": "Are routes good?"}), adktest.Text("They are."))}))
	h.Say("Are routes good?")
}

// skippedAgent has an agent whose callback answers in its place, and another one after it.
func skippedAgent(t *testing.T, h *cgtest.Harness) {
	closed := cgtest.NewAgent(t, llmagent.Config{Name: "closed", Model: adktest.Script(), BeforeAgentCallbacks: []agent.BeforeAgentCallback{
		func(agent.Context) (*genai.Content, error) {
			return genai.NewContentFromText("Closed.", genai.RoleModel), nil
		},
	}})
	open := cgtest.NewAgent(t, llmagent.Config{Name: "open", Model: adktest.Script(adktest.Text("Hello."))})
	h.Serve(must(sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: []agent.Agent{closed, open}}})))
	h.Say("Hello")
}

// agentsAtOnce has two agents begin before either goes on to its tool.
func agentsAtOnce(t *testing.T, h *cgtest.Harness) {
	order := newTurnstile("start left", "start right", "run left", "run right")
	var subs []agent.Agent
	for _, name := range []string{"left", "right"} {
		subs = append(subs, cgtest.NewAgent(t, llmagent.Config{Name: name, Description: name, Tools: []tool.Tool{found(t)},
			Model: adktest.Script(adktest.Call("search", map[string]any{"query": name}), adktest.Text("from the "+name))}))
	}
	all := must(parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: subs}}))
	around(h, all, plugin.Config{
		BeforeAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			order.await("start " + ctx.AgentName())
			return nil, nil
		},
		BeforeModelCallback: func(ctx agent.Context, _ *model.LLMRequest) (*model.LLMResponse, error) {
			order.await("run " + ctx.AgentName())
			return nil, nil
		},
	}, plugin.Config{
		BeforeAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			order.done("start " + ctx.AgentName())
			return nil, nil
		},
		AfterAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			order.done("run " + ctx.AgentName())
			return nil, nil
		},
	})
	h.Say("Go")
}

func live(t *testing.T, h *cgtest.Harness) {
	if _, err := h.Sessions.Create(t.Context(), &session.CreateRequest{AppName: cgtest.App, UserID: cgtest.User, SessionID: cgtest.SessionID}); err != nil {
		t.Fatal(err)
	}
	h.Serve(liveAgent{must(agent.New(agent.Config{Name: "voice"}))})
	_, events, err := h.Runner.RunLive(t.Context(), cgtest.User, cgtest.SessionID, agent.LiveRunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range events {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// liveAgent is an agent that says one thing when it is live.
type liveAgent struct{ agent.Agent }

func (a liveAgent) RunLive(ctx agent.InvocationContext) (agent.LiveSession, iter.Seq2[*session.Event, error], error) {
	return deaf{}, func(yield func(*session.Event, error) bool) {
		ev := session.NewEvent(ctx, ctx.InvocationID())
		ev.Author = a.Name()
		ev.LLMResponse = model.LLMResponse{Content: genai.NewContentFromText("Hello.", genai.RoleModel), TurnComplete: true}
		yield(ev, nil)
	}, nil
}

// deaf is a live session that takes everything and does nothing.
type deaf struct{}

func (deaf) Send(agent.LiveRequest) error { return nil }
func (deaf) Close() error                 { return nil }

// guardedInput answers a guarded input, and answers it again.
func guardedInput(t *testing.T, h *cgtest.Harness) {
	id := askInput(t, h)
	h.Reply(id, workflow.WorkflowInputFunctionCallName, map[string]any{"payload": "yes"})
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, cgtest.InputAnswer(id, "yes")); err == nil {
		t.Error("the answer was taken twice")
	}
}

// askInput runs a workflow up to its guarded input and returns the id of the request.
func askInput(t *testing.T, h *cgtest.Harness) string {
	w := &cgtest.Workflow{Harness: h}
	w.Build()
	return longRunning(t, h.Say("Buy a route"), workflow.WorkflowInputFunctionCallName)
}

// brokenTurn asks in a turn behind one that was broken off.
func brokenTurn(t *testing.T, h *cgtest.Harness) {
	quote := cgtest.FunctionNode("quote", func(agent.Context, any) (map[string]any, error) { return map[string]any{"quote": 7}, nil })
	script := adktest.Script(adktest.Call("search", map[string]any{"query": "routes"}), adktest.Text("It is there."),
		adktest.Call("search", map[string]any{"query": "routes"}), adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1}))
	buyer, err := workflow.NewAgentNode(cgtest.NewAgent(t, llmagent.Config{Name: "buyer", Mode: llmagent.ModeSingleTurn, Model: script, Tools: h.Tools}), workflow.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	cgtest.ServeWorkflow(t, h, workflow.Chain(workflow.Start, quote, buyer), func(*runner.Config) {})
	h.Say("what is there?")
	h.Memory.Lose(func(e *record.Event) bool {
		return e.EventType == record.NodeOutput || e.EventType == record.InvocationCompleted
	})
	h.Say("buy it")
}
