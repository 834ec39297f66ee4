// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// featureSync is the label of the jobs that read what graphs of sessions are made of.
const featureSync = "graph-sync"

// maxPart is how large a part of a graph becomes: what a request may hold is more than twice as
// much, and one step that is larger alone may still fit.
const maxPart = 4 << 20

// SyncReport says what graphs brought to the dataset.
type SyncReport struct {
	// Nodes, Edges, Entities and Checks are their numbers.
	Nodes, Edges, Entities, Checks int
	// Parts is the number of rows that were appended, and Bytes their size as they were sent.
	Parts int
	Bytes int64
}

// GraphWriter appends graphs of sessions to the table session_graphs, over one stream. The caller
// closes it, and calls its methods from one goroutine.
type GraphWriter struct {
	table warehouse.Table
	now   func() time.Time
	*appender
}

// GraphWriter returns a GraphWriter. It connects with the first graph.
func (d *Dataset) GraphWriter() *GraphWriter {
	t := warehouse.SessionGraphsTable()
	return &GraphWriter{t, d.now, d.appendTo(t)}
}

// Write appends one version of each graph, as one row or several parts, and returns when all are
// acknowledged. Nothing that is there is changed: readers see a version once all of its parts are
// there, and until then, or if Write fails, the one before it. A part may be there twice, which they
// see too. The error wraps [warehouse.ErrNoRows] for a graph without steps, which would say that the
// session has none.
//
// What may pass is tried again for some seconds. The rest is a [replicate.Error].
func (w *GraphWriter) Write(ctx context.Context, graphs ...warehouse.SessionGraph) (SyncReport, error) {
	var report SyncReport
	for _, g := range graphs {
		if err := w.graph(ctx, g, &report); err != nil {
			return report, fmt.Errorf("bigquery: graph of session %s: %w", g.Session.ID, err)
		}
	}
	return report, nil
}

// graph appends one graph and counts it.
func (w *GraphWriter) graph(ctx context.Context, g warehouse.SessionGraph, report *SyncReport) error {
	// Of two graphs of one version, by other rules, the later one is newer.
	g.SyncID = fmt.Sprintf("%016x%s", w.now().UnixMicro(), rand.Text())
	parts, err := g.Parts(maxPart)
	var rows [][]byte
	switch {
	case err == nil && len(parts) == 0:
		err = warehouse.ErrNoRows
	case err == nil:
		rows, err = encodeRows(w.table, parts)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGraph, err)
	}
	report.Nodes += len(g.Nodes)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		report.Edges += len(n.CausedBy)
		report.Entities += len(n.Entities)
		report.Checks += len(n.Checks)
	}
	report.Parts += len(rows)
	for _, row := range rows {
		report.Bytes += int64(len(row))
	}
	return w.all(ctx, rows)
}

// Close ends the stream.
func (w *GraphWriter) Close() { w.disconnect() }

// JournalGraph makes the graph that a journal has of a session. Its version is the number of the last
// row, so the graph of more rows is newer. The error wraps [warehouse.ErrNoRows] when the journal has
// no rows of the session.
func JournalGraph(ctx context.Context, j store.Publisher, sessions *graphsync.Sessions, s record.Session) (warehouse.SessionGraph, error) {
	folded, err := sessions.Fold(ctx, s)
	if err != nil {
		return warehouse.SessionGraph{}, err
	}
	// After the rows: a removal during their reading shows there.
	writer, err := j.Writer(ctx, s)
	if err != nil {
		return warehouse.SessionGraph{}, err
	}
	out, err := warehouse.NewSessionGraph(s, folded)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errGraph, err)
	}
	out.Writer, out.WriterID, out.Version = warehouse.WriterJournal, writer, folded.Counts().Watermark
	return out, nil
}

// errGraph says that the graph of a session, as it stands in the journal, is not one that can be
// brought. Trying again changes nothing.
var errGraph = errors.New("the graph cannot be made")
