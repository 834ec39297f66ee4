// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package testsize

// Race says whether the race detector is part of the test. It allocates, so tests that count
// allocations skip.
const Race = false
