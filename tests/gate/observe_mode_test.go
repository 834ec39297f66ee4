// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestOtherConfirmationsAreObserved(t *testing.T) {
	h := cgtest.New(t, cgtest.Unprotected)
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
		t.Fatalf("buy answered %v, want it bought: nothing enforces this tool", got)
	}
	checks := rowtest.Of(h.Rows(cgtest.SessionID), record.WorldChangeCheck)
	if len(checks) != 1 {
		t.Fatalf("%d verdicts, want one", len(checks))
	}
	if got := rowtest.Field(t, checks[0].Attributes, "adk", "verdict"); got != "drift" {
		t.Errorf("verdict = %v, want drift", got)
	}
}

func TestObserveModeStillEnforcesProtect(t *testing.T) {
	h := cgtest.New(t, func(o *cgtest.Options) { o.Config.Guard.Mode = config.ModeObserve })
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(0)
}

func TestObserveModeDoesNotEnforceRules(t *testing.T) {
	h := cgtest.New(t, cgtest.Covered, func(o *cgtest.Options) { o.Config.Guard.Mode = config.ModeObserve })
	id, _ := h.Ask(cgtest.SessionID)
	h.Shop.Set("$52,000", true)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(1)
}
