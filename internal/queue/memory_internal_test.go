// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

func TestQueueInLittleMemory(t *testing.T) {
	for _, test := range []struct {
		name       string
		configured config.Size
		limit      uint64
		want       config.Size
	}{
		{"no limit", 384 << 20, math.MaxInt64, 384 << 20},
		{"no limit of a control group", 384 << 20, math.MaxUint64, 384 << 20},
		{"enough", 384 << 20, 2 << 30, 384 << 20},
		{"a quarter", 384 << 20, 512 << 20, 128 << 20},
		{"hardly any", 384 << 20, 64 << 20, 64 << 20},
		{"none", 384 << 20, 0, 64 << 20},
		{"a small queue in little memory", 2 << 20, 64 << 20, 2 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := boundQueue(test.configured, test.limit); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestMemoryLimitOfTheRuntime(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(200 << 20))
	if got := memoryLimit(); got > 200<<20 {
		t.Errorf("%d bytes, want at most those of GOMEMLIMIT", got)
	}
}
