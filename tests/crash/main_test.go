// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package crash_test tests what one process finds that another one left: approvals of a
// process that was killed or restarted, turns of another instance, and records of an earlier
// release.
package crash_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
