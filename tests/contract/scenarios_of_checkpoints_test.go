// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// checkpoints has a session go back, and go on.
func checkpoints(t *testing.T, h *cgtest.Harness) {
	cps, key := checkpoint.New(h.CG), cgtest.Key(cgtest.SessionID)
	h.Sessions = cps.Sessions(h.Sessions)
	h.Serve(cgtest.RootAgent(t, adktest.Says("Hello.")))
	h.Say("one")
	cp, err := cps.Create(t.Context(), key, "after one")
	if err != nil {
		t.Fatal(err)
	}
	h.Say("two")
	if _, err := cps.Rewind(t.Context(), key, cp.ID); err != nil {
		t.Fatal(err)
	}
	if err := cps.Delete(t.Context(), key, cp.ID); err != nil {
		t.Fatal(err)
	}
	h.Say("three")
}
