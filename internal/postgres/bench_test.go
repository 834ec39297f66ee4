// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// stores are what is compared: CONTEXTGRAPH_POSTGRES_FSYNC=1 go test ./internal/postgres -run - -bench .
var stores = map[string]func(b *testing.B) store.Store{
	"sqlite": func(b *testing.B) store.Store {
		j, err := journal.Open(b.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(b)}, Logger: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = j.Close(context.Background()) })
		return j
	},
	"postgres": func(b *testing.B) store.Store { return opened(b, pgtest.Database(b)) },
	"pooled":   func(b *testing.B) store.Store { return opened(b, pgtest.Pooled(b, pgtest.Database(b))) },
}

// BenchmarkRows stores rows of 1.3 KB.
func BenchmarkRows(b *testing.B) {
	rows := 50_000
	if testing.Short() {
		rows = 2_000
	}
	payload := []byte(`{"result":"` + strings.Repeat("abcdefghij", 100) + `"}`)
	for _, sessions := range []int{50, 10_000} {
		for _, name := range []string{"sqlite", "postgres", "pooled"} {
			b.Run(fmt.Sprintf("%d/%s", sessions, name), func(b *testing.B) {
				s := stores[name](b)
				for b.Loop() {
					for n := range rows {
						e := rowIn(fmt.Sprint("s", n%sessions), n)
						e.EventID = fmt.Sprintf("%032x", s.Stats().Accepted)
						e.Content, e.Attributes = payload, []byte(`{"adk":{"app_name":"app","call_id":"adk-0123456789","model":"m"}}`)
						e.TraceID, e.SpanID, e.ParentSpanID, e.InvocationID = e.EventID, e.EventID[16:], e.EventID[16:], e.EventID
						if !s.Append(e) {
							b.Fatal("a row was refused")
						}
						if n%20_000 == 0 {
							if err := s.Flush(b.Context()); err != nil {
								b.Fatal(err)
							}
						}
					}
					if err := s.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(s.Stats().Stored)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkPair asks for a guarded call, and runs it after a yes, in a session of its own.
func BenchmarkPair(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres", "pooled"} {
		b.Run(name, func(b *testing.B) {
			h := cgtest.New(b, func(o *cgtest.Options) {
				o.Config.Memory, o.Config.Journal.CommitInterval = nil, 0
				if name == "sqlite" {
					return
				}
				url := pgtest.Database(b)
				if name == "pooled" {
					url = pgtest.Pooled(b, url)
				}
				o.Config.Journal.Path, o.Config.Part, o.Config.Store.Postgres.DSN = "", part{}, config.Secret(url)
			})
			n := 0
			for b.Loop() {
				n++
				session := fmt.Sprint("s", n)
				id, _ := h.Ask(session)
				if got := h.Answer(session, id, true); got["status"] != "bought" {
					b.Fatal(got)
				}
			}
		})
	}
}

// BenchmarkEvidence folds a session of 10,000 rows that the store never saw, and then one more row.
func BenchmarkEvidence(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres", "pooled"} {
		s := stores[name](b)
		n := 0
		more := func(rows int) {
			for range rows {
				n++
				e := rowIn("s", n)
				e.Content = []byte(`{"tool":"search","result":{"text":"` + strings.Repeat("abcdefghij", 100) + `"}}`)
				s.Append(e)
			}
			if err := s.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if !testing.Short() {
			more(9_000)
		}
		more(1_000)
		of := record.Session{App: "app", User: "u", ID: "s"}
		b.Run(name+"/all", func(b *testing.B) {
			for b.Loop() {
				if _, err := graphsync.NewSessions(s, nil).Select(b.Context(), of, record.Decision{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/one more", func(b *testing.B) {
			sessions := graphsync.NewSessions(s, nil)
			for b.Loop() {
				more(1)
				if _, err := sessions.Select(b.Context(), of, record.Decision{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
