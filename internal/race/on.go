// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package race

// Enabled says whether the race detector is part of the test.
const Enabled = true
