// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adkreflect_test

import (
	"iter"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/session"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// extras is what an agent of the host's own may embed by a pointer and not have: its
// fields have the names of those of ADK's agents.
type extras struct{ State, AgentType, Agent, InputSchema string }

type hosted struct {
	agent.Agent
	*extras
}

func TestInstructionOf(t *testing.T) {
	m := &adktest.Model{}
	written, err := llmagent.New(llmagent.Config{Name: "a", Model: m, Instruction: "Plan for {brand}."})
	if err != nil {
		t.Fatal(err)
	}
	given, err := llmagent.New(llmagent.Config{Name: "b", Model: m, InstructionProvider: func(agent.ReadonlyContext) (string, error) { return "x", nil }})
	if err != nil {
		t.Fatal(err)
	}
	custom, err := agent.New(agent.Config{Name: "c", Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) {}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		agent agent.Agent
		want  string
	}{
		{"written", written, "Plan for {brand}."},
		{"given by a function", given, ""},
		{"without a model", custom, ""},
		{"wrapped by the host", struct{ agent.Agent }{written}, "Plan for {brand}."},
		{"behind a nil pointer of the host's", hosted{Agent: written}, "Plan for {brand}."},
		{"none", nil, ""},
	} {
		if got := adkreflect.Instruction(tt.agent); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
