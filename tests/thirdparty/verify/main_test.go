// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

func TestMain(m *testing.M) { emulator.Main(m) }
