// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkSQLite stores rows of 0.8 KB without a queue, a reader and the list of sessions: the
// limit of SQLite for rows of so many sessions that come in turn. See BenchmarkSoak.
func BenchmarkSQLite(b *testing.B) {
	for _, sessions := range []int{50, 10_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			j, err := Open(b.Context(), Config{Journal: config.Journal{Path: b.TempDir() + "/j.db"}})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := j.Close(b.Context()); err != nil {
					b.Error(err)
				}
			}()
			e := record.Event{
				EventType: record.ToolCompleted, AppName: "shop", UserID: "ann", InvocationID: "inv-run", Agent: "buyer", RunID: "run",
				Status: record.StatusOK, TraceID: strings.Repeat("a", 32), SpanID: strings.Repeat("b", 16), ParentSpanID: strings.Repeat("c", 16),
				Content:    []byte(`{"tool":"query","result":"` + strings.Repeat("x", 500) + `"}`),
				Attributes: []byte(`{"adk":{"app_name":"shop","branch":"` + strings.Repeat("y", 200) + `"}}`), LatencyMS: []byte(`{"total_ms":12}`),
			}
			b.ResetTimer()
			for n := 0; n < b.N; {
				err := j.w.doAt(b.Context(), syncNormal, func(conn *sqlite.Conn) error {
					in := newInserter(conn)
					stmt, err := conn.Prepare(insertEventSQL)
					if err != nil {
						return err
					}
					for range min(txRows, b.N-n) {
						e.EventID, e.SessionID, e.RunSeq = fmt.Sprintf("%032x", n), fmt.Sprint("session-", n/3%sessions), int64(n)
						var res queue.Result
						if err := in.row(stmt, &e, &res); err != nil {
							return err
						}
						n++
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
