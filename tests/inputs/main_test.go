// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs_test tests guarded inputs: the requests of nodes of a workflow that a
// person answers.
package inputs_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
