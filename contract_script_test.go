// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"context"
	"errors"
	"iter"
	"slices"
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

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
)

// answering returns a model that gives the answers one after the other.
func answering(answers ...*model.LLMResponse) *adktest.Model {
	return &adktest.Model{Answer: func(*model.LLMRequest) (*model.LLMResponse, error) {
		if len(answers) == 0 {
			return nil, errors.New("the script has no further answer")
		}
		next := answers[0]
		answers = answers[1:]
		return next, nil
	}}
}

// chunked is a model that gives its answers in chunks where it is asked to stream,
// and then as a whole.
type chunked struct {
	chunks []string
	whole  *model.LLMResponse
}

func (chunked) Name() string { return "chunked" }

func (m chunked) GenerateContent(_ context.Context, _ *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, c := range m.chunks {
			if stream && !yield(&model.LLMResponse{Partial: true, Content: genai.NewContentFromText(c, genai.RoleModel)}, nil) {
				return
			}
		}
		yield(m.whole, nil)
	}
}

// parts returns an answer of the given parts.
func parts(ps ...*genai.Part) *model.LLMResponse {
	r := adktest.Text("")
	r.Content.Parts = ps
	return r
}

func mustAgent(t testing.TB, cfg llmagent.Config) agent.Agent {
	t.Helper()
	a, err := llmagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// root is an agent named root with the model and the tools.
func root(t testing.TB, m model.LLM, tools ...tool.Tool) agent.Agent {
	t.Helper()
	return mustAgent(t, llmagent.Config{Name: "root", Model: m, Tools: tools})
}

func mustPlugin(t testing.TB, cfg plugin.Config) *plugin.Plugin {
	t.Helper()
	p, err := plugin.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serveWith makes the harness serve the agent with a changed runner.
func (h *harness) serveWith(root agent.Agent, change func(*runner.Config)) {
	h.t.Helper()
	cfg := runner.Config{
		AppName: app, Agent: root, SessionService: h.sessions, PluginConfig: h.cg.PluginConfig(), AutoCreateSession: true,
	}
	change(&cfg)
	r, err := runner.New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.runner = r
}

// say runs a turn with a text.
func (h *harness) say(text string) []*session.Event {
	h.t.Helper()
	return adktest.Run(h.t, h.runner, user, sess, adktest.UserText(text))
}

// reply runs a turn with the result of a call.
func (h *harness) reply(id, name string, result map[string]any) []*session.Event {
	h.t.Helper()
	return adktest.Run(h.t, h.runner, user, sess, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: result},
	}}})
}

// fail runs a turn that must end with an error.
func (h *harness) fail(text string) {
	h.t.Helper()
	if _, err := adktest.TryRun(h.t.Context(), h.runner, user, sess, adktest.UserText(text)); err == nil {
		h.t.Fatal("the run did not fail")
	}
}

// longRunning returns the id of the call of that name which the events leave open.
func longRunning(t testing.TB, events []*session.Event, name string) string {
	t.Helper()
	for _, ev := range events {
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == name && slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID) {
				return p.FunctionCall.ID
			}
		}
	}
	t.Fatalf("no call of %s is left open", name)
	return ""
}

// turnstile makes goroutines of ADK take steps in a given order, so that their rows
// have one too. Steps that are not in its list pass.
type turnstile struct {
	mu    sync.Mutex
	moved *sync.Cond
	steps []string
}

func newTurnstile(steps ...string) *turnstile {
	s := &turnstile{steps: steps}
	s.moved = sync.NewCond(&s.mu)
	return s
}

// await returns when it is the step's turn, or when the step is done already.
func (s *turnstile) await(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for slices.Contains(s.steps, step) && s.steps[0] != step {
		s.moved.Wait()
	}
}

// done lets the step after this one go.
func (s *turnstile) done(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) > 0 && s.steps[0] == step {
		s.steps = s.steps[1:]
		s.moved.Broadcast()
	}
}

// around serves the agent with one plugin before those of contextgraph and one among
// the others.
func (h *harness) around(root agent.Agent, before, after plugin.Config) {
	h.t.Helper()
	before.Name, after.Name = "before", "after"
	h.serveWith(root, func(c *runner.Config) {
		c.PluginConfig = h.cg.PluginConfig(mustPlugin(h.t, after))
		c.PluginConfig.Plugins = slices.Insert(c.PluginConfig.Plugins, 0, mustPlugin(h.t, before))
	})
}
