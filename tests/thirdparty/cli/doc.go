// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli tests the command contextgraph as people run it: the program is built once,
// and each script in testdata runs it with a journal that real agents recorded.
package cli
