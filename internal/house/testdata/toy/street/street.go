// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package street has a gate.
package street

import door "toy/gate"

// Open opens the gate.
func Open() int { return door.New(1).Try(1) }
