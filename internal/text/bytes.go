// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "fmt"

// Bytes writes a number of bytes for people.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, units := float64(n)/1024, "KMGT"
	for f >= 1024 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", f, units[0])
}
