// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
	"github.com/adk-contextgraph/contextgraph/safety/ledgertest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryLedger(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) safety.Ledger { return new(ledgertest.MemoryLedger) })
}
