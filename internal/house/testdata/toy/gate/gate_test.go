// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

import "testing"

// Tested is in a test, and not counted.
type Tested struct{ Gate }

func TestRing(t *testing.T) {
	if (&Gate{}).Ring() != Loud {
		t.Error("silent")
	}
}
