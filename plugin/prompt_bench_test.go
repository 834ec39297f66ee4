// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/config"
)

// BenchmarkPromptGrowth records the model requests of a session of n turns, each with
// all turns before it, and reports what the rows hold. With the full history the cost
// of a session grows with the square of its turns, with the delta it does not.
func BenchmarkPromptGrowth(b *testing.B) {
	for _, history := range []config.PromptHistory{config.PromptFull, config.PromptDelta} {
		for _, turns := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/turns=%d", history, turns), func(b *testing.B) {
				sink := &discard{}
				rec, err := New(Config{Sink: sink, Record: config.Record{PromptHistory: history}})
				if err != nil {
					b.Fatal(err)
				}
				req := request(2*turns - 1)
				contents := req.Contents
				inTool(b, rec, func(ctx agent.Context, _ tool.Tool) {
					r := rec.runs.lookup(ctx)
					a := r.agent(ctx.AgentName(), ctx.Branch())
					before := sink.bytes
					for b.Loop() {
						rec.prompts.last.Purge()
						for i := range turns {
							req.Contents = contents[:2*i+1]
							_, _ = rec.beforeModel(ctx, req)
							r.takeLLM(a)
						}
					}
					b.ReportMetric(float64(sink.bytes-before)/float64(b.N)/float64(turns), "row-bytes/turn")
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(turns), "us/turn")
				})
			})
		}
	}
}
