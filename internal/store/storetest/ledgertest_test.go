// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryLedger(t *testing.T) {
	storetest.RunLedger(t, func(*testing.T) safety.Ledger { return new(store.MemoryLedger) })
}
