// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
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
	looks    map[record.Session]*inspect.Session
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
	d = &demo{rows: read.Rows, graphs: make(map[record.Session]*graphsync.Graph), looks: make(map[record.Session]*inspect.Session)}
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
		if d.looks[s], err = inspect.Look(ctx, inspect.NewJournal(d.journal), s, now); err != nil {
			return nil, err
		}
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

// of returns the ids of the rows of a type, in all sessions; of all types for "".
func (d *demo) of(eventType string) (ids []string) {
	for i := range d.rows {
		if eventType == "" || d.rows[i].EventType == eventType {
			ids = append(ids, d.rows[i].EventID)
		}
	}
	return ids
}

// requested are the sessions with a request for an approval.
func (d *demo) requested() []record.Session {
	return slices.DeleteFunc(slices.Clone(d.sessions), func(s record.Session) bool { return len(d.looks[s].Approvals) == 0 })
}
