// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package cgtest

import (
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
)

// Serve makes the harness serve the agent, with other plugins behind those of contextgraph.
func (h *Harness) Serve(root agent.Agent, others ...*plugin.Plugin) {
	h.T.Helper()
	h.ServeWith(root, func(c *runner.Config) { c.PluginConfig = h.CG.PluginConfig(others...) })
}

// NewTool returns a tool that the function is.
func NewTool[A, R any](t testing.TB, name string, f functiontool.Func[A, R]) tool.Tool {
	t.Helper()
	tl, err := functiontool.New(functiontool.Config{Name: name, Description: name}, f)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// NewAgent returns an agent with a model.
func NewAgent(t testing.TB, cfg llmagent.Config) agent.Agent {
	t.Helper()
	a, err := llmagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// RootAgent returns an agent named root with the model and the tools. Its mode is set: ADK would
// else set it in the first run of a runner, without a lock.
func RootAgent(t testing.TB, m model.LLM, tools ...tool.Tool) agent.Agent {
	t.Helper()
	return NewAgent(t, llmagent.Config{Mode: llmagent.ModeChat, Name: "root", Model: m, Tools: tools})
}

// NewPlugin returns a plugin.
func NewPlugin(t testing.TB, cfg plugin.Config) *plugin.Plugin {
	t.Helper()
	p, err := plugin.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ServeWith makes the harness serve the agent with a changed runner.
func (h *Harness) ServeWith(root agent.Agent, change func(*runner.Config)) {
	h.T.Helper()
	cfg := runner.Config{
		AppName: App, Agent: root, SessionService: h.Sessions, PluginConfig: h.CG.PluginConfig(), AutoCreateSession: true,
	}
	change(&cfg)
	r, err := runner.New(cfg)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Runner = r
}

// Say runs a turn with a text.
func (h *Harness) Say(text string) []*session.Event {
	h.T.Helper()
	return adktest.Run(h.T, h.Runner, User, SessionID, adktest.UserText(text))
}

// Reply runs a turn with the result of a call.
func (h *Harness) Reply(id, name string, result map[string]any) []*session.Event {
	h.T.Helper()
	return adktest.Run(h.T, h.Runner, User, SessionID, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: result},
	}}})
}

// Session returns the session of a user, and makes it if there is none.
func (h *Harness) Session(user, id string) session.Session {
	h.T.Helper()
	if got, err := h.Sessions.Get(h.T.Context(), &session.GetRequest{AppName: App, UserID: user, SessionID: id}); err == nil {
		return got.Session
	}
	made, err := h.Sessions.Create(h.T.Context(), &session.CreateRequest{AppName: App, UserID: user, SessionID: id})
	if err != nil {
		h.T.Fatal(err)
	}
	return made.Session
}

// Append writes an event into a session, as a client can.
func (h *Harness) Append(to session.Session, ev *session.Event) {
	h.T.Helper()
	if err := h.Sessions.AppendEvent(h.T.Context(), to, ev); err != nil {
		h.T.Fatal(err)
	}
}
