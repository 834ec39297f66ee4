// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade_test opens files of earlier versions: a journal, a file of rows and
// configurations. Each folder of testdata holds the files of one version, by its commit or tag.
package upgrade_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
