// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import "github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"

// schedules returns how many random schedules are tried.
func schedules() int {
	if testsize.Race {
		return 150
	}
	return 2000
}

// burst returns how many rows TestBurst sends.
func burst() int {
	if testsize.Race {
		return 5_000
	}
	return 50_000
}
