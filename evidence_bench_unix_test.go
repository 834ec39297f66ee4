// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package contextgraph_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/genai"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/internal/adktest"
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
					h, bare := searched(b, spans, covered), searched(b, spans, plain, unasked)
					gated += h.turn(func() { h.ask(sess) })
					free += bare.turn(func() { bare.say("buy a route") })
					b.StopTimer()
					size += h.storedEntities()
				}
				b.ReportMetric(share(b, gated-free), "gate-cpu-ms/op")
				b.ReportMetric(share(b, gated), "turn-cpu-ms/op")
				b.ReportMetric(float64(size)/float64(b.N), "entities-bytes")
			})
			b.Run("answer and run", func(b *testing.B) {
				var gated, free time.Duration
				for range b.N {
					h, bare := searched(b, spans, covered), searched(b, spans, plain, unasked)
					id, _ := h.ask(sess)
					bare.say("buy a route")
					gated += h.turn(func() {
						if got := h.answer(sess, id, true); got["status"] != "bought" {
							b.Fatal(got)
						}
					})
					free += bare.turn(func() { bare.say("buy a route") })
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
func searched(b *testing.B, spans int, opts ...option) *harness {
	b.StopTimer()
	b.Helper()
	const together = 1_000
	left := spans
	h := newHarness(b, append(opts, func(o *options) {
		o.answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
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
	h.say("find")
	if err := h.cg.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	// Rows are extracted in the background, once each; a check waits for that.
	if _, err := h.cg.Check(b.Context(), key(sess)); err != nil {
		b.Fatal(err)
	}
	return h
}

// turn returns the time of the processor that a turn takes, until its rows are stored.
func (h *harness) turn(f func()) time.Duration {
	b := h.t.(*testing.B)
	b.StartTimer()
	start := cpuTime(b)
	f()
	if err := h.cg.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	took := cpuTime(b) - start
	b.StopTimer()
	return took
}

func share(b *testing.B, d time.Duration) float64 { return float64(d) / float64(b.N) / 1e6 }

// storedEntities returns the bytes that the approvals keep of what they rest on.
func (h *harness) storedEntities() (size int64) {
	h.t.Helper()
	conn, err := sqlite.OpenConn(h.path, sqlite.OpenReadOnly)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.ExecuteTransient(conn, "SELECT sum(length(CAST(entities AS BLOB))) FROM approvals", &sqlitex.ExecOptions{
		ResultFunc: func(s *sqlite.Stmt) error {
			size = s.ColumnInt64(0)
			return nil
		},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return size
}
