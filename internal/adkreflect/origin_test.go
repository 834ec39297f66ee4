// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// embedding is an agent of the host's own around one of ADK's.
type embedding struct{ agent.Agent }

// toolset is a list of tools.
type toolset []tool.Tool

func (toolset) Name() string                                       { return "set" }
func (s toolset) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return s, nil }

func localAgent(t *testing.T, name string, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := llmagent.New(llmagent.Config{Name: name, SubAgents: subs, Model: &adktest.Model{}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOriginOfTools(t *testing.T) {
	function, err := functiontool.New(functiontool.Config{Name: "transfer_to_agent"}, func(agent.Context, noArgs) (map[string]any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	rec := newTestRecorder(t, &discard{})
	sub := agenttool.New(localAgent(t, "near"), nil)
	confirmed, err := tool.WithConfirmation(toolset{sub}, true, nil).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"a function, whatever its name", function, originLocal},
		{"a protected function", rec.Protect(function), originLocal},
		{"an agent", sub, originSubAgent},
		{"a protected agent", rec.Protect(sub), originSubAgent},
		{"an agent with a confirmation", confirmed[0], originSubAgent},
		{"a protected one with a confirmation", rec.Protect(confirmed[0]), originSubAgent},
		{"an agent inside of another", agenttool.New(&embedding{localAgent(t, "near")}, nil), originSubAgent},
		{"an agent behind a nil pointer of the host's", agenttool.New(hosted{Agent: localAgent(t, "near")}, nil), originSubAgent},
		{"the same with AgentTool", rec.AgentTool(hosted{Agent: localAgent(t, "near")}, nil), originSubAgent},
		{"nothing", nil, originUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := originOf(tt.tool, nil); got != tt.want {
				t.Errorf("origin %s, want %s", got, tt.want)
			}
		})
	}
}

// origins is a sink that keeps the origin of each call, by tool and agent_name.
type origins struct {
	mu   sync.Mutex
	rows []schema.Event
}

func (o *origins) Append(e schema.Event) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.EventType == schema.ToolStarting {
		o.rows = append(o.rows, e)
	}
	return true
}

// The tools that ADK makes itself come with the request of a real run.
func TestOriginOfTransfersAndUnknownTools(t *testing.T) {
	for _, tt := range []struct {
		name, target, want string
	}{
		{"transfer_to_agent", "near", originTransferAgent},
		{"transfer_to_agent", "nobody", originTransferAgent},
		{"transfer_to_agent", "", originTransferAgent},
		{"nosuchtool", "far", originUnknown},
	} {
		t.Run(tt.name+" "+tt.target, func(t *testing.T) {
			m := &adktest.Model{Answer: func(req *model.LLMRequest) (*model.LLMResponse, error) {
				if adktest.LastResponse(req) != nil {
					return nil, errors.New("enough")
				}
				return adktest.Calls(&genai.FunctionCall{Name: tt.name, Args: map[string]any{"agent_name": tt.target}}), nil
			}}
			near, err := llmagent.New(llmagent.Config{Name: "near", Model: m})
			if err != nil {
				t.Fatal(err)
			}
			root, err := llmagent.New(llmagent.Config{
				Name: "root", Model: m, SubAgents: []agent.Agent{near},
			})
			if err != nil {
				t.Fatal(err)
			}
			sink := &origins{}
			r, err := runner.New(runner.Config{
				AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
				PluginConfig: newTestRecorder(t, sink).PluginConfig(),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = adktest.TryRun(t.Context(), r, "u", "s", adktest.UserText("go"))
			if len(sink.rows) == 0 {
				t.Fatal("no call is on record")
			}
			if want := `"tool_origin":"` + tt.want + `"`; !strings.Contains(string(sink.rows[0].Content), want) {
				t.Errorf("content %s, want %s", sink.rows[0].Content, want)
			}
		})
	}
}
