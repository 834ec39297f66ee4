// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package doctor

import (
	"math"
	"syscall"
)

// freeDisk returns how many bytes the file system of dir has left for us, and whether that
// is known.
func freeDisk(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	free := float64(s.Bavail) * float64(s.Bsize)
	return int64(min(free, math.MaxInt64/2)), true
}
