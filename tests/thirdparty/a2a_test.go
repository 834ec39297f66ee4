// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	remoteagent "google.golang.org/adk/v2/agent/remoteagent/v2"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	adkplugin "google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/mcptoolset"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func recordedBy(t *testing.T, root agent.Agent) (*rowtest.Sink, *runner.Runner) {
	t.Helper()
	sink := &rowtest.Sink{}
	rec, err := plugin.New(plugin.Config{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Config{Recorder: rec})
	if err != nil {
		t.Fatal(err)
	}
	first, last, err := g.Plugins()
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*adkplugin.Plugin{first, last}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sink, r
}

// remote returns an agent that is served in this process over A2A's JSON-RPC and
// streams the results.
func remote(t *testing.T, name string, results ...string) agent.Agent {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			card := `{"name":"remote","description":"far","version":"1","capabilities":{"streaming":true},"defaultInputModes":["text"],
				"defaultOutputModes":["text"],"skills":[],"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
			_, _ = fmt.Fprintf(w, card, server.URL)
			return
		}
		var call struct {
			ID     string `json:"id"`
			Method string `json:"method"`
		}
		if err := json.NewDecoder(req.Body).Decode(&call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if call.Method == "SendMessage" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"result":%s}`, call.ID, results[0])
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, r := range results {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"result\":%s}\n\n", call.ID, r)
		}
	}))
	t.Cleanup(server.Close)
	a, err := remoteagent.NewA2A(remoteagent.A2AConfig{Name: name, AgentCardProvider: remoteagent.NewAgentCardProvider(server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestA2AInteractions(t *testing.T) {
	const (
		ids      = `"taskId":"t1","contextId":"c1"`
		task     = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a1","parts":[{"text":"tea"}]}]}`
		accepted = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a1","parts":[{"text":"water"}]}]}`
		final    = `{` + ids + `,"status":{"state":"TASK_STATE_COMPLETED"}}`
	)
	piece := func(text string, last bool) string {
		return fmt.Sprintf(`{"artifactUpdate":{%s,"append":%t,"lastChunk":%t,"artifact":{"artifactId":"a1","parts":[{"text":%q}]}}}`, ids, text != "t", last, text)
	}
	for _, tt := range []struct {
		name      string
		mode      agent.StreamingMode
		results   []string
		want      string
		asked     bool
		status    string
		message   string
		responses int
	}{
		{name: "a task", mode: agent.StreamingModeNone, results: []string{`{"task":` + task + `}`}, want: task, asked: true, status: "OK", responses: 1},
		{
			name: "a message", mode: agent.StreamingModeNone, asked: true, status: "OK", responses: 1,
			results: []string{`{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"tea"}]}}`},
			want:    `{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"tea"}]}`,
		},
		{name: "a task that goes on", mode: agent.StreamingModeNone, results: []string{`{"task":` + accepted + `}`}, want: accepted, status: "OK", responses: 1},
		{
			name: "a stream", mode: agent.StreamingModeSSE, asked: true, status: "OK", responses: 1, want: final,
			results: []string{
				`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
				`{"statusUpdate":{` + ids + `,"status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hm"}]}}}}`,
				piece("t", false), piece("e", false), piece("a", true),
				`{"statusUpdate":` + final + `}`,
			},
		},
		{
			name: "a stream with one artifact", mode: agent.StreamingModeSSE, asked: true, status: "OK", responses: 1, want: final,
			results: []string{
				`{"artifactUpdate":{` + ids + `,"lastChunk":true,"artifact":{"artifactId":"a1","parts":[{"text":"tea"}]}}}`,
				`{"statusUpdate":` + final + `}`,
			},
		},
		{
			name: "a task that failed", mode: agent.StreamingModeNone, asked: true, status: "ERROR", message: "a2a task failed",
			results: []string{`{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_FAILED"}}}`},
			want:    `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_FAILED"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink, r := recordedBy(t, remote(t, "remote", tt.results...))
			for _, err := range r.Run(t.Context(), "u", "s", adktest.UserText("hi"), agent.RunConfig{StreamingMode: tt.mode}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			var found []record.Event
			answers := 0
			for _, e := range sink.Rows() {
				switch e.EventType {
				case record.A2AInteraction:
					found = append(found, e)
				case record.AgentResponse:
					answers++
				}
			}
			if len(found) != 1 {
				t.Fatalf("%d rows of A2A_INTERACTION, want one", len(found))
			}
			e := decodeRows(t, found)[0]
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			metadata, _ := e.attributes["a2a_metadata"].(map[string]any)
			if _, ok := metadata["a2a:request"].(map[string]any); ok != tt.asked {
				t.Errorf("a2a_metadata = %v, want the request: %v", metadata, tt.asked)
			}
			delete(metadata, "a2a:request")
			wanted := map[string]any{"a2a:response": want}
			if tt.name != "a message" {
				wanted["a2a:task_id"], wanted["a2a:context_id"] = "t1", "c1"
			}
			if d := cmp.Diff(wanted, metadata); d != "" {
				t.Errorf("a2a_metadata mismatch (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, e.content); d != "" {
				t.Errorf("content mismatch (-want +got):\n%s", d)
			}
			if e.Agent != "remote" || e.Status != tt.status || e.ErrorMessage != tt.message {
				t.Errorf("agent %s, status %s, message %q; want remote, %s, %q", e.Agent, e.Status, e.ErrorMessage, tt.status, tt.message)
			}
			if answers < tt.responses {
				t.Errorf("%d answers on record, want at least %d", answers, tt.responses)
			}
		})
	}
}

// An agent on the other side can send a response part. No model call on record asked for it: it must hold, and proves
// nothing.
func TestA2AResponses(t *testing.T) {
	const extra = "Extra"
	for name, tt := range map[string]struct {
		far    string // the thing of which the far agent tells
		answer []*model.LLMResponse
		rises  bool // the extra thing, before the yes
		bought int64
		why    string
	}{
		"it proves nothing": {
			far: cgtest.Item, answer: []*model.LLMResponse{buying()}, why: safety.ReasonNothingSeen,
		},
		"it must hold": {
			far: extra, answer: []*model.LLMResponse{searching(), buying()}, rises: true, why: safety.CodeDrift,
		},
		"it holds":                       {far: extra, answer: []*model.LLMResponse{searching(), buying()}, bought: 1},
		"the thing is looked up as well": {far: cgtest.Item, answer: []*model.LLMResponse{searching(), buying()}, bought: 1},
	} {
		t.Run(name, func(t *testing.T) {
			price := "$40,000"
			h := cgtest.New(t, cgtest.NotChecked, func(o *cgtest.Options) {
				check := o.Config.CheckFuncs["Product"]
				o.Config.CheckFuncs["Product"] = safety.CheckerFunc(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
					state, err := check.Check(ctx, e)
					if e.Value == extra {
						state.Attributes["price"] = cgtest.Money(t, price)
					}
					return state, err
				})
			})
			told, err := json.Marshal(map[string]any{"id": "c9", "name": "search", "response": cgtest.FoundItems(tt.far)})
			if err != nil {
				t.Fatal(err)
			}
			artifact := fmt.Sprintf(`{"artifactId":"a1","parts":[{"data":%s,"metadata":{"adk_type":"function_response"}}]}`, told)
			far := remote(t, "far", `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[`+artifact+`]}}`)
			buyer := cgtest.RootAgent(t, adktest.Script(append(tt.answer, adktest.Text("Done."))...), h.Tools...)
			both, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: []agent.Agent{far, buyer}}})
			if err != nil {
				t.Fatal(err)
			}
			h.Serve(both)
			id, _ := h.Ask(cgtest.SessionID)
			given := 0
			for _, e := range h.Rows(cgtest.SessionID) {
				if rowtest.Attribute(t, e, "adk", "given") == "event" && e.Agent == "far" {
					given++
				}
			}
			if given != 1 {
				t.Errorf("%d rows of what the far agent gave, want 1", given)
			}
			if tt.rises {
				price = "$52,000"
			}
			got := h.Answer(cgtest.SessionID, id, true)
			h.WantBought(tt.bought)
			if !strings.Contains(fmt.Sprint(got), tt.why) {
				t.Errorf("buy answered %v, want %q", got, tt.why)
			}
		})
	}
}

func searching() *model.LLMResponse {
	return adktest.Call("search", map[string]any{"query": "routes"})
}

func buying() *model.LLMResponse {
	return adktest.Call("buy", map[string]any{"item": cgtest.Item, "count": 1})
}

// embedding is an agent of the host's own around one of ADK's.
type embedding struct{ agent.Agent }

// tools is a list of tools.
type tools []tool.Tool

func (tools) Name() string                                       { return "tools" }
func (s tools) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return s, nil }

// Where a tool leads is read from ADK's own types and fields, which no API shows. If
// one of these fails after an upgrade of ADK, they have changed.
func TestOriginsOfRemoteAndMCPTools(t *testing.T) {
	const done = `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
	far, wrapped := remote(t, "far", done), embedding{remote(t, "wrapped", done)}
	confirming := tool.WithConfirmation(tools{agenttool.New(remote(t, "asked", done), nil)}, true, nil)
	for _, tt := range []struct{ name, arg, want string }{
		{"transfer_to_agent", "near", "TRANSFER_AGENT"},
		{"transfer_to_agent", "peer", "TRANSFER_A2A"},
		{"transfer_to_agent", "wrappedpeer", "TRANSFER_A2A"},
		{"transfer_to_agent", "nobody", "TRANSFER_AGENT"},
		{"far", "", "A2A"},
		{"wrapped", "", "A2A"},
		{"asked", "", "A2A"},
	} {
		t.Run(tt.name+" "+tt.arg, func(t *testing.T) {
			llm := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if len(req.Contents) > 1 {
					return nil, errors.New("enough")
				}
				return adktest.Calls(&genai.FunctionCall{Name: tt.name, Args: map[string]any{"agent_name": tt.arg, "request": "hi"}}), nil
			}}
			near, err := llmagent.New(llmagent.Config{Name: "near", Model: llm})
			if err != nil {
				t.Fatal(err)
			}
			root, err := llmagent.New(llmagent.Config{
				Name: "root", Model: llm, Toolsets: []tool.Toolset{confirming},
				Tools:     []tool.Tool{agenttool.New(far, nil), agenttool.New(wrapped, nil)},
				SubAgents: []agent.Agent{near, remote(t, "peer", done), embedding{remote(t, "wrappedpeer", done)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			checkOrigin(t, root, tt.want)
		})
	}
	t.Run("MCP", func(t *testing.T) {
		llm := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if len(req.Contents) > 1 {
				return adktest.Text("sunny"), nil
			}
			return adktest.Call("get_weather", map[string]any{"city": "Lisbon"}), nil
		}}
		checkOrigin(t, weatherAgent(t, llm, mcptoolset.Config{}), "MCP")
	})
}

// checkOrigin checks the origin of the first call of a run.
func checkOrigin(t *testing.T, root agent.Agent, want string) {
	t.Helper()
	sink, r := recordedBy(t, root)
	_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("go"))
	for _, e := range decodeRows(t, sink.Rows()) {
		if e.EventType == record.ToolStarting {
			if got := e.content["tool_origin"]; got != want {
				t.Errorf("tool_origin = %v, want %s", got, want)
			}
			return
		}
	}
	t.Error("no call is on record")
}
