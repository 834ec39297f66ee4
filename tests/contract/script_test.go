// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

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

// several is a model that gives more than one answer to a request, or none.
type several struct{ answers []*model.LLMResponse }

func (several) Name() string { return "several" }

func (m several) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, a := range m.answers {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// parts returns an answer of the given parts.
func parts(ps ...*genai.Part) *model.LLMResponse {
	r := adktest.Text("")
	r.Content.Parts = ps
	return r
}

// fail runs a turn that must end with an error.
func fail(h *cgtest.Harness, text string) {
	h.T.Helper()
	if _, err := adktest.TryRun(h.T.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText(text)); err == nil {
		h.T.Fatal("the run did not fail")
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
func around(h *cgtest.Harness, root agent.Agent, before, after plugin.Config) {
	h.T.Helper()
	before.Name, after.Name = "before", "after"
	h.ServeWith(root, func(c *runner.Config) {
		c.PluginConfig = h.CG.PluginConfig(cgtest.NewPlugin(h.T, after))
		c.PluginConfig.Plugins = slices.Insert(c.PluginConfig.Plugins, 0, cgtest.NewPlugin(h.T, before))
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
