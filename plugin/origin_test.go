// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
)

// hosted is an agent of the host's own that embeds a pointer which it does not have, to
// fields with the names of those of ADK's agents.
type hosted struct {
	agent.Agent
	*extras
}

type extras struct{ State, AgentType, Agent, InputSchema string }

// What AgentTool returns runs an agent of this process, whatever kind of agent that is.
func TestOriginOfAnAgentTool(t *testing.T) {
	rec := must(recorder.New(recorder.Config{Sink: &rowtest.Sink{}}))
	near := modelAgent("near", adktest.Says("hi"))
	for name, a := range map[string]agent.Agent{"ADK's": near, "the host's": hosted{Agent: near}} {
		at := rec.AgentTool(a, nil, recorder.Plugins(rec))
		if got := adkreflect.Origin(at, nil); got != adkreflect.OriginSubAgent {
			t.Errorf("an agent of %s: origin %s, want %s", name, got, adkreflect.OriginSubAgent)
		}
	}
}
