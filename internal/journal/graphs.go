// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// rowsOf returns the destination whose graphs the one with the name gets, and false if it gets rows itself.
func rowsOf(name string) (of string, graphs bool) {
	return strings.CutPrefix(name, store.GraphDestination(""))
}

func (o *outbox) Graphs() store.Outbox { return o.journal.Outbox(store.GraphDestination(o.name)) }

func (o *outbox) Position(ctx context.Context) (int64, error) {
	return get(ctx, o.journal, "position of "+o.name, func(conn *sqlite.Conn) (int64, error) {
		d, _, err := getDestination(conn, o.name)
		return d.cursor, err
	})
}

// Triggers implements [store.Outbox]. It reads an index alone.
func (o *outbox) Triggers(ctx context.Context, after int64, limit int) (list []store.Trigger, through int64, err error) {
	of, graphs := rowsOf(o.name)
	if !graphs || limit <= 0 {
		return nil, 0, fmt.Errorf("journal: triggers of %s: at most %d: it has to be positive, and a destination of graphs", o.name, limit)
	}
	err = o.journal.read(ctx, "triggers of "+o.name, func(conn *sqlite.Conn) error {
		d, _, err := getDestination(conn, of)
		if err != nil {
			return err
		}
		through = max(after, d.cursor)
		return query(conn, selectTriggersSQL, func(b *binder) { b.integer(after, through, int64(limit)) }, func(stmt *sqlite.Stmt) error {
			list = append(list, store.Trigger{Seq: stmt.ColumnInt64(0), Session: columnSession(stmt, 1)})
			return nil
		})
	})
	if len(list) == limit {
		through = list[limit-1].Seq
	}
	return list, through, err
}

// Writer implements [store.Publisher]. The name has the number of the last row that was removed.
func (j *Journal) Writer(ctx context.Context, s record.Session) (string, error) {
	to, err := get(ctx, j, "look for removed rows", func(conn *sqlite.Conn) (int64, error) {
		_, to, err := removedRows(conn, s)
		return to, err
	})
	if err != nil || to == 0 {
		return j.ID(), err
	}
	return fmt.Sprintf("%s:%d", j.ID(), to), nil
}

// describeDestination names a destination, and what goes there, for people.
func describeDestination(name string) string {
	if of, graphs := rowsOf(name); graphs {
		return fmt.Sprintf("%q has the graphs up to", of)
	}
	return fmt.Sprintf("%q has acknowledged", name)
}
