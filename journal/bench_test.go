// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/journal"
	"github.com/adk-contextgraph/contextgraph/safety"
	"github.com/adk-contextgraph/contextgraph/safety/ledgertest"
)

// benchEvents returns rows with payloads of about 0.8 KB. Only the event id differs
// from one use to the next.
func benchEvents(n int) []schema.Event {
	rows := make([]schema.Event, n)
	for i := range rows {
		s := schema.Session{App: "shop", User: "ann", ID: fmt.Sprint("session-", i%50)}
		e := event(s, "run", 1, schema.ToolCompleted)
		e.EventID = fmt.Sprintf("%032x", i*0x9e3779b9)
		e.TraceID, e.SpanID, e.ParentSpanID = strings.Repeat("a", 32), strings.Repeat("b", 16), strings.Repeat("c", 16)
		e.Content = []byte(`{"tool":"query","result":"` + strings.Repeat("x", 500) + `"}`)
		e.Attributes = []byte(`{"adk":{"app_name":"shop","branch":"` + strings.Repeat("y", 200) + `"}}`)
		e.LatencyMS = []byte(`{"total_ms":12}`)
		rows[i] = e
	}
	return rows
}

// BenchmarkAppend measures what the caller pays. It also pays for emptying the queue,
// which the writer does otherwise.
func BenchmarkAppend(b *testing.B) {
	j := journal.NewWithoutWriter()
	e := benchEvents(1)[0]
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%1024 == 1023 {
			j.Drain()
		}
		if !j.Append(e) {
			b.Fatal("row refused")
		}
	}
}

// BenchmarkSustained measures rows per second until they are on disk, while a
// reader reads one session over and over.
func BenchmarkSustained(b *testing.B) {
	j := openJournal(b, nil)
	rows := benchEvents(b.N)
	small := schema.Session{App: "shop", User: "ann", ID: "read"}
	for n := range int64(200) {
		appendAll(b, j, event(small, "r", n+1, "X"))
	}
	flush(b, j)
	stop := make(chan struct{})
	var reads atomic.Int64
	done := make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := j.Events(b.Context(), small); err != nil {
				done <- err
				return
			}
			reads.Add(1)
		}
	}()
	b.ResetTimer()
	for i := range rows {
		for !j.Append(rows[i]) {
			flush(b, j)
		}
	}
	flush(b, j)
	b.StopTimer()
	close(stop)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N)/seconds, "rows/s")
	b.ReportMetric(float64(reads.Load())/seconds, "reads/s")
}

// BenchmarkFlush measures one durable commit of one row.
func BenchmarkFlush(b *testing.B) {
	j := openJournal(b, nil)
	rows := benchEvents(b.N)
	b.ResetTimer()
	for i := range rows {
		j.Append(rows[i])
		flush(b, j)
	}
}

// BenchmarkPublish measures publishing a graph of 1,000 spans that has one span more
// than the stored one.
func BenchmarkPublish(b *testing.B) {
	j := openJournal(b, nil)
	var p graphsync.Publication
	p.Session, p.At = testSession, testTime
	grow := func() {
		n := node(fmt.Sprint("span-", len(p.Nodes)))
		if len(p.Nodes) > 0 {
			before := p.Nodes[len(p.Nodes)-1].Key
			p.Edges = append(p.Edges, graphsync.Edge{From: before, To: n.Key, Kind: graphsync.Informs},
				graphsync.Edge{From: p.Nodes[0].Key, To: n.Key, Kind: graphsync.Contains})
		}
		if len(p.Nodes)%10 == 0 {
			e := found("Product", n.Name, n.Name, "e-"+n.Name, entity.SourceRule)
			p.Entities, p.Extracted = append(p.Entities, e), append(p.Extracted, e.EventID)
		}
		p.Nodes = append(p.Nodes, n)
		p.Receipt.Watermark++
	}
	for range 1000 {
		grow()
	}
	if err := j.Publish(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		grow()
		if err := j.Publish(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTransition measures one durable step of an approval.
func BenchmarkTransition(b *testing.B) {
	j := openJournal(b, nil)
	l := j.Ledger()
	a := ledgertest.Pending(1)
	if err := l.Create(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, err := l.Transition(b.Context(), safety.Transition{
			ID: a.ID, From: []safety.ApprovalState{safety.StatePending}, To: safety.StatePending, At: testTime,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvents measures reading a session of 1,000 rows of 0.8 KB.
func BenchmarkEvents(b *testing.B) {
	j := openJournal(b, nil)
	rows := benchEvents(50_000)
	for i := range rows {
		appendAll(b, j, rows[i])
	}
	flush(b, j)
	s := rows[0].Session()
	b.ReportAllocs()
	for b.Loop() {
		got, err := j.Events(b.Context(), s)
		if err != nil || len(got) != 1000 {
			b.Fatalf("%d rows, %v", len(got), err)
		}
	}
}
