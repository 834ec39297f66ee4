// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package replicate_test

// schedules is how many random schedules are tried, and burst how many rows TestBurst
// sends.
const (
	schedules = 2000
	burst     = 50_000
)
