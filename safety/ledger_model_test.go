// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/ledgertest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMemoryLedger(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) safety.Ledger { return new(ledgertest.MemoryLedger) })
}
