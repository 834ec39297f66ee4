// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// recorded are rows of the demo in examples/adcp: a request that was answered and blocked, one
// that waits, and a session without a request.
//
//go:embed rows.ndjson
var recorded []byte

// asked is the session that questions are about.
var asked = record.Session{App: "adcp", User: "buyer-agent", ID: "sess-nike-summer"}

// demo is the record that is streamed, in a journal of its own, and what the journal says of it.
type demo struct {
	dir      string
	journal  *journal.Journal
	folds    *graphsync.Sessions
	rows     []record.Event
	sessions []record.Session
	graphs   map[record.Session]*graphsync.Graph
	// graph is that of the session asked, decision its request for a confirmation.
	graph    *graphsync.Graph
	decision string
}

// newDemo makes the journal in a new directory. Its last row is of the minute before now.
func newDemo(ctx context.Context, now time.Time) (d *demo, err error) {
	read, err := rowfile.Read(ctx, bytes.NewReader(recorded), "rows.ndjson", rowfile.Options{})
	if err != nil {
		return nil, err
	}
	d = &demo{rows: read.Rows, graphs: make(map[record.Session]*graphsync.Graph)}
	shift(d.rows, now.Add(-time.Minute))
	if d.dir, err = os.MkdirTemp("", "contextgraph-verify-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close(ctx))
		}
	}()
	d.journal, err = journal.Open(ctx, journal.Config{Journal: config.Journal{Path: filepath.Join(d.dir, "contextgraph.db"), OnFull: config.Block}})
	if err != nil {
		return nil, err
	}
	if err := store.Import(ctx, d.journal, d.rows); err != nil {
		return nil, err
	}
	d.folds = graphsync.NewSessions(d.journal, nil)
	for i := range d.rows {
		s := d.rows[i].Session()
		if d.graphs[s] != nil {
			continue
		}
		d.sessions = append(d.sessions, s)
		folded, err := d.folds.Fold(ctx, s)
		if err != nil {
			return nil, err
		}
		d.graphs[s] = folded.Graph()
	}
	d.graph = d.graphs[asked]
	var ok bool
	if d.graph != nil {
		d.decision, ok = d.graph.Decision()
	}
	if !ok {
		return nil, fmt.Errorf("verify: the record has no request in session %s", asked.ID)
	}
	return d, nil
}

// shift moves the rows in time, so that the last of them is of that time.
func shift(rows []record.Event, last time.Time) {
	var latest int64
	for i := range rows {
		latest = max(latest, rows[i].Timestamp)
	}
	by := last.UnixMicro() - latest
	for i := range rows {
		rows[i].Timestamp += by
	}
}

// close removes the journal.
func (d *demo) close(ctx context.Context) error {
	var err error
	if d.journal != nil {
		err = d.journal.Close(context.WithoutCancel(ctx))
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// from and to are a time around all rows.
func (d *demo) from() time.Time { return time.UnixMicro(d.rows[0].Timestamp).Add(-time.Hour).UTC() }
func (d *demo) to() time.Time {
	return time.UnixMicro(d.rows[len(d.rows)-1].Timestamp).Add(time.Hour).UTC()
}

// product is a product that the request rests on.
func (d *demo) product() entity.Entity {
	reasons, err := d.graph.Why(d.decision)
	if err != nil {
		return entity.Entity{}
	}
	for _, r := range reasons {
		if r.Entity.Type == "Product" {
			return entity.Entity{Type: r.Entity.Type, Value: r.Entity.Value}
		}
	}
	return entity.Entity{}
}

// answers are what a graph of the session asked says, as lines.
func (d *demo) answers(g *graphsync.Graph) (lines []string, err error) {
	for _, n := range g.Nodes() {
		lines = append(lines, fmt.Sprintf("step %s %s %s %s of %s", n.SpanID, n.Kind, n.Name, n.Status, n.Agent))
	}
	for _, e := range g.Edges() {
		lines = append(lines, fmt.Sprintf("edge %s %s %s", e.From, e.Kind, e.To))
	}
	for _, n := range g.Causes(d.decision, 0) {
		lines = append(lines, "cause "+n.SpanID)
	}
	for _, n := range g.Effects(g.Nodes()[0].Key, 0) {
		lines = append(lines, "effect "+n.SpanID)
	}
	reasons, err := g.Why(d.decision)
	if err != nil {
		return nil, err
	}
	for _, r := range reasons {
		line := fmt.Sprintf("why %s %s %s, %d hops:", r.Entity.Key, r.Entity.Value, r.Origin, r.Hops)
		for _, s := range r.Path {
			line += " " + s.Node.SpanID
		}
		lines = append(lines, line)
	}
	seen, err := g.SeenBefore(d.decision)
	if err != nil {
		return nil, err
	}
	for _, e := range seen {
		line := fmt.Sprintf("seen %s %s, confidence %.3f, %d times:", e.Key, e.Value, e.Confidence, len(e.Seen))
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			line += fmt.Sprintf(" %s=%s", name, e.Attributes[name])
		}
		lines = append(lines, line)
	}
	return lines, nil
}
