// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package doctor

// freeDisk does not know.
func freeDisk(string) (int64, bool) { return 0, false }
