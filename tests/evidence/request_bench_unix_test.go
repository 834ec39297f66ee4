// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package evidence_test

import (
	"fmt"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
)

// BenchmarkGateSeenInEverySpan is an approval in a session in which every span showed the
// same thing. The gate's share is the time of the processor that a turn takes with the
// gate, less that of the same turn of a session as long where nobody is asked; in
// milliseconds. Its goal is a share that 10,000 spans do not double.
func BenchmarkGateSeenInEverySpan(b *testing.B) {
	for _, spans := range []int{10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprint("spans=", spans), func(b *testing.B) {
			b.Run("first request", func(b *testing.B) {
				var gated, free time.Duration
				var size int64
				for range b.N {
					h, bare := searched(b, spans, cgtest.Covered), searched(b, spans, cgtest.Unprotected, cgtest.Unasked)
					gated += cpuOfTurn(h, func() { h.Ask(cgtest.SessionID) })
					free += cpuOfTurn(bare, func() { bare.Say("buy a route") })
					b.StopTimer()
					size += storedEntities(h)
				}
				b.ReportMetric(share(b, gated-free), "gate-cpu-ms/op")
				b.ReportMetric(share(b, gated), "turn-cpu-ms/op")
				b.ReportMetric(float64(size)/float64(b.N), "entities-bytes")
			})
			b.Run("answer and run", func(b *testing.B) {
				var gated, free time.Duration
				for range b.N {
					h, bare := searched(b, spans, cgtest.Covered), searched(b, spans, cgtest.Unprotected, cgtest.Unasked)
					id, _ := h.Ask(cgtest.SessionID)
					bare.Say("buy a route")
					gated += cpuOfTurn(h, func() {
						if got := h.Answer(cgtest.SessionID, id, true); got["status"] != "bought" {
							b.Fatal(got)
						}
					})
					free += cpuOfTurn(bare, func() { bare.Say("buy a route") })
					b.StopTimer()
				}
				b.ReportMetric(share(b, gated-free), "gate-cpu-ms/op")
				b.ReportMetric(share(b, gated), "turn-cpu-ms/op")
			})
		})
	}
}

// searched returns a harness whose session called search so many times, many in one
// response, so that the prompts are few.
func searched(b *testing.B, spans int, opts ...cgtest.Option) *cgtest.Harness {
	b.StopTimer()
	b.Helper()
	const together = 1_000
	left := spans
	h := cgtest.New(b, append(opts, cgtest.OnFile, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if told := lastTold(req); told == "buy a route" {
				return buys(req), nil
			} else if told == "<buy" || left == 0 {
				return adktest.Text("Done."), nil
			}
			n := min(left, together)
			left -= n
			list := make([]*genai.FunctionCall, n)
			for i := range list {
				list[i] = &genai.FunctionCall{Name: "search", Args: map[string]any{"query": "routes"}}
			}
			return adktest.Calls(list...), nil
		}
	})...)
	h.Say("find")
	if err := h.CG.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	// Rows are extracted in the background, once each; a check waits for that.
	if _, err := h.CG.Check(b.Context(), cgtest.Key(cgtest.SessionID)); err != nil {
		b.Fatal(err)
	}
	return h
}

// cpuOfTurn returns the time of the processor that a turn takes, until its rows are stored.
func cpuOfTurn(h *cgtest.Harness, f func()) time.Duration {
	b := h.T.(*testing.B)
	b.StartTimer()
	start := cgtest.CPUTime(b)
	f()
	if err := h.CG.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	took := cgtest.CPUTime(b) - start
	b.StopTimer()
	return took
}

func share(b *testing.B, d time.Duration) float64 { return float64(d) / float64(b.N) / 1e6 }

// storedEntities returns the bytes that the approvals keep of what they rest on.
func storedEntities(h *cgtest.Harness) (size int64) {
	h.T.Helper()
	conn, err := sqlite.OpenConn(h.Path, sqlite.OpenReadOnly)
	if err != nil {
		h.T.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.ExecuteTransient(conn, "SELECT sum(length(CAST(entities AS BLOB))) FROM approvals", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			size = s.ColumnInt64(0)
			return nil
		},
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return size
}
