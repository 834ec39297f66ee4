// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package street_test

import (
	"testing"

	"toy/gate"
	"toy/street"
)

func TestOpen(t *testing.T) {
	if street.Open() == gate.Loud {
		t.Error("loud")
	}
}
