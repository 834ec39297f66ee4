// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate_test tests the gate before a tool: who is asked and in which way, who may
// answer, what an answer permits, and the attacks on all of these.
package gate_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
