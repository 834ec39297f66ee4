// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package replicate_test

// schedules is how many random schedules are tried, and burst how many rows TestBurst
// sends: fewer with the race detector, which is slow and watches each of them more
// closely.
const (
	schedules = 150
	burst     = 5_000
)
