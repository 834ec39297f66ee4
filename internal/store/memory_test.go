// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(*testing.T) func() store.Store { return new(store.Memory).Open }})
}
