// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay_test tests checks that repeat a call of a tool of the agent.
package replay_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
