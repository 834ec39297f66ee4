// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"os"
	"testing"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// BenchmarkGraphRows measures what makes the rows of session_graphs of a graph, encoded: that of the
// demo's first session.
func BenchmarkGraphRows(b *testing.B) {
	f, err := os.Open("../verify/rows.ndjson")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	read, err := rowfile.Read(b.Context(), f, "rows.ndjson", rowfile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var rows []record.Event
	s := read.Rows[0].Session()
	for _, e := range read.Rows {
		if e.Session() == s {
			rows = append(rows, e)
		}
	}
	folded := graphsync.Fold(nil, rows)
	b.ReportAllocs()
	bytes := 0
	for b.Loop() {
		out, err := warehouse.NewSessionGraph(s, folded)
		if err != nil {
			b.Fatal(err)
		}
		encoded, err := bigquery.EncodeGraph(out)
		if err != nil {
			b.Fatal(err)
		}
		bytes = len(encoded[0])
	}
	b.ReportMetric(float64(bytes), "bytes/graph")
}
