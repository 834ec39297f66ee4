// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package instance_test tests an Instance in a program: how it opens and closes, its metrics,
// and its stream to a dataset.
package instance_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
