// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package contract_test tests the rows that are written, against docs/row-contract.md and
// the golden files in testdata, and how rows and ADK's spans lead to each other.
package contract_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
