// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence_test tests what an approval rests on: which rows show a thing, which only
// name it, and what of it has to be unchanged.
package evidence_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
