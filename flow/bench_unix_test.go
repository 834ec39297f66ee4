// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package flow_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
)

// BenchmarkNode is what a function node costs: a workflow of ADK, the same as a flow, and as a graph.
func BenchmarkNode(b *testing.B) {
	agents := chains(b)
	for _, name := range []string{"adk", "flow", "graph"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			cpu := cgtest.CPUTime(b)
			for i := 0; i < b.N; i += chained {
				runChain(b, agents[name])
			}
			b.ReportMetric(float64(cgtest.CPUTime(b)-cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}
