// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"testing"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

func TestApprovalSurvivesARestart(t *testing.T) {
	h := cgtest.New(t, cgtest.OnFile)
	id, _ := h.Ask(cgtest.SessionID)
	if err := h.CG.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same session service stands for one that is durable; everything of
	// contextgraph is new and reads the journal of before.
	again := cgtest.New(t, cgtest.OnFile, func(o *cgtest.Options) {
		o.Config.Journal.Path = h.Path
		o.ChangeRunner = func(rc *runner.Config) { rc.SessionService = h.Sessions }
	})
	if got := again.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Fatalf("buy answered %v, want it bought", got)
	}
	again.WantBought(1)
}
