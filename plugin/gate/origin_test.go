// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"

	"github.com/adk-contextgraph/contextgraph/internal/adkreflect"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// A protected tool comes from where the tool inside comes from.
func TestOriginOfProtectedTools(t *testing.T) {
	rec, g := newGate(recorder.Config{Sink: &rowtest.Sink{}}, gate.Config{})
	helper := asks("helper", adktest.Says("hi"))
	for name, tt := range map[string]struct {
		tool tool.Tool
		want string
	}{
		"a function":    {gives("buy", nil), adkreflect.OriginLocal},
		"an agent":      {agenttool.New(helper, nil), adkreflect.OriginSubAgent},
		"our AgentTool": {rec.AgentTool(helper, nil, plugins(g)), adkreflect.OriginSubAgent},
	} {
		if got := adkreflect.Origin(g.Protect(tt.tool), nil); got != tt.want {
			t.Errorf("%s: origin %s, want %s", name, got, tt.want)
		}
	}
}
