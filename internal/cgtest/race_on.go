// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package cgtest

// RaceEnabled says whether the race detector watches the test.
const RaceEnabled = true
