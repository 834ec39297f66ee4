// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate

// New makes what only the package itself can name.
func New(key int) interface{ Try(int) int } { return &Gate{lock: lock(key)} }
