// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/record"
)

// graphPrefix stands before the name of a destination in that of its graphs.
const graphPrefix = "graphs of "

// GraphDestination returns the name in [Config.Destinations] for the graphs that go to a destination.
func GraphDestination(destination string) string { return graphPrefix + destination }

// Graphs returns the second position of the destination: up to which row the graphs of sessions are
// there. It has a lease of its own. For people the two are one destination: Backlog and Forget of
// the first know of the second, and [Examine] lists the first.
func (o *Outbox) Graphs() *Outbox { return o.journal.Outbox(GraphDestination(o.name)) }

// Position returns the position of the destination, as Acquire does, without a lease; 0 for one that
// does not exist.
func (o *Outbox) Position(ctx context.Context) (position int64, err error) {
	err = o.journal.read(ctx, "position of "+o.name, func(conn *sqlite.Conn) error {
		d, _, err := getDestination(conn, o.name)
		position = d.cursor
		return err
	})
	return position, err
}

// Trigger is a row after which the graph of its session says something new about an approval: a
// request for a confirmation, its answer, or a verdict.
type Trigger struct {
	Seq     int64
	Session record.Session
}

// Triggers returns the triggers with a number greater than after and up to through, in the order of
// the numbers, at most limit. It reads an index alone.
func (j *Journal) Triggers(ctx context.Context, after, through int64, limit int) (list []Trigger, err error) {
	err = j.read(ctx, "read triggers", func(conn *sqlite.Conn) error {
		return query(conn, selectTriggersSQL, func(b *binder) { b.integer(after, through, int64(limit)) }, func(stmt *sqlite.Stmt) error {
			list = append(list, Trigger{
				Seq: stmt.ColumnInt64(0), Session: record.Session{App: stmt.ColumnText(1), User: stmt.ColumnText(2), ID: stmt.ColumnText(3)},
			})
			return nil
		})
	})
	return list, err
}

// Writer names the journal as the one that has the rows of a session. Where retention removed rows of
// it, the name also has the number of the last of them: a graph of the rows since then says nothing
// about the steps before, and so does not take the place of theirs.
func (j *Journal) Writer(ctx context.Context, s record.Session) (string, error) {
	var to int64
	err := j.read(ctx, "look for removed rows", func(conn *sqlite.Conn) (err error) {
		_, to, err = removedRows(conn, s)
		return err
	})
	if err != nil || to == 0 {
		return j.ID(), err
	}
	return fmt.Sprintf("%s:%d", j.ID(), to), nil
}

// describeDestination names a destination, and what goes there, for people.
func describeDestination(name string) string {
	if of, graphs := strings.CutPrefix(name, graphPrefix); graphs {
		return fmt.Sprintf("%q has the graphs up to", of)
	}
	return fmt.Sprintf("%q has acknowledged", name)
}
