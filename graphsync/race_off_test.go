// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package graphsync_test

const raceEnabled = false
