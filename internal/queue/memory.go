// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/adk-contextgraph/contextgraph/config"
)

// The rows that wait take at most one part in shareOfMemory of the memory that the process may use,
// because garbage is collected only when the heap has doubled, and the agent needs memory too.
// leastQueue is taken in any case.
const (
	shareOfMemory = 4
	leastQueue    = 64 << 20
)

// Bound returns how many of the configured bytes a queue may hold in the memory of this process.
func Bound(configured config.Size) config.Size { return boundQueue(configured, memoryLimit()) }

// boundQueue returns the bound of a queue in a process that may use limit bytes.
func boundQueue(configured config.Size, limit uint64) config.Size {
	return min(configured, max(leastQueue, config.Size(min(limit/shareOfMemory, math.MaxInt64))))
}

// memoryLimit returns how many bytes the process may use: by GOMEMLIMIT or its control group,
// whichever is less. Without either it is a number that no process reaches.
func memoryLimit() uint64 {
	limit := uint64(max(0, debug.SetMemoryLimit(-1)))
	if group, err := memlimit.FromCgroup(); err == nil && group > 0 {
		limit = min(limit, group)
	}
	return limit
}
