// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"errors"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/rowtest"
	recorder "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// Where the recorder or the guard panics after a tool has asked, nobody is asked: the
// request is withdrawn, and the model is told that the call is refused.
func TestPanicAfterAToolThatAsks(t *testing.T) {
	for name, sink := range map[string]recorder.Sink{"of the guard": &rowtest.Sink{}, "of the recorder too": &rowtest.Broken{}} {
		t.Run(name, func(t *testing.T) {
			// The dependencies of this guard are nil.
			_, g := newGate(recorder.Config{Sink: sink}, gate.Config{Guard: unusedGuard()})
			pay := g.Protect(must(functiontool.New(functiontool.Config{Name: "pay", RequireConfirmation: true},
				func(agent.Context, struct{}) (map[string]any, error) { return nil, errors.New("must not run") })))
			r := newRunner(asks("root", adktest.CallsOnce(call("c1", "pay", nil)), pay), plugins(g))
			events := adktest.Run(t, r, "u", "s", adktest.UserText("go"))
			if asked := adktest.Confirmations(events); len(asked) > 0 {
				t.Errorf("somebody is asked: %+v", asked)
			}
			if got := adktest.Responses(events, "pay"); len(got) != 1 || got[0]["status"] != "blocked" {
				t.Errorf("pay answered %v, want one refusal", got)
			}
		})
	}
}
