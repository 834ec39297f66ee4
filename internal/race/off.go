// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package race tells tests whether the race detector runs. It makes everything about ten times
// slower and allocates, so tests of allocations skip, and tests of many states take fewer.
package race

// Enabled says whether the race detector is part of the test.
const Enabled = false
