// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Evidence returns the evidence of sessions: the content of their rows, by thing and attribute.
// Processes that have the same file open share it. Stored evidence survives whatever its rows
// survive. Retention removes it with its session.
func (j *Journal) Evidence() graphsync.EvidenceStore { return &evidence{j: j} }

type evidence struct{ j *Journal }

// Waiting implements [graphsync.EvidenceStore], see [Journal.Waiting].
func (ev *evidence) Waiting(s record.Session) (rows []record.Event, known bool) {
	return ev.j.Waiting(s)
}

// Settle implements [graphsync.EvidenceStore] in one transaction, as durable as rows are. f runs on
// the goroutine of the writer.
func (ev *evidence) Settle(ctx context.Context, s record.Session, f func(graphsync.EvidenceReader) (graphsync.Advance, bool, error)) error {
	err := ev.j.w.join(ctx, ev.j.w.level, func(conn *sqlite.Conn) error {
		r := &evidenceReader{conn: conn, session: s}
		defer func() { r.conn = nil }()
		var err error
		if r.id, r.progress, err = getProgress(conn, s); err != nil {
			return err
		}
		a, ok, err := f(r)
		if err != nil || !ok {
			return err
		}
		add, err := encodeAdvance(a)
		if err != nil {
			return err
		}
		return add.store(conn)
	})
	if err != nil {
		return fmt.Errorf("journal: settle the evidence of session %s: %w", s.ID, err)
	}
	return nil
}

// View calls f in one read transaction, on one of [Config.Readers] connections: f must not
// wait for another View.
func (ev *evidence) View(ctx context.Context, s record.Session, f func(graphsync.EvidenceReader) error) error {
	return ev.j.read(ctx, "read the evidence of session "+s.ID, func(conn *sqlite.Conn) error {
		return atOnce(conn, func() error {
			r := &evidenceReader{conn: conn, session: s}
			defer func() { r.conn = nil }()
			var err error
			if r.id, r.progress, err = getProgress(conn, s); err != nil {
				return err
			}
			return f(r)
		})
	})
}

// atOnce runs fn in a transaction that reads: all statements see one state.
func atOnce(conn *sqlite.Conn, fn func() error) (err error) {
	if err := exec(conn, "BEGIN", func(*binder) {}); err != nil {
		return err
	}
	defer func() {
		// Also when the context has ended, or fn panics: the connection is used again.
		done := conn.SetInterrupt(nil)
		defer conn.SetInterrupt(done)
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, exec(conn, "ROLLBACK", func(*binder) {}))
		}
	}()
	return fn()
}

// getProgress returns how far a session was extracted, and its number in the tables; 0
// stands for a session without evidence.
func getProgress(conn *sqlite.Conn, s record.Session) (id int64, p graphsync.Progress, err error) {
	err = query(conn, selectProgressSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		id = stmt.ColumnInt64(0)
		p = graphsync.Progress{
			Watermark: stmt.ColumnInt64(1),
			Rows:      stmt.ColumnInt(2),
			Failed:    stmt.ColumnInt(3),
			Truncated: stmt.ColumnInt(4),
			Error:     stmt.ColumnText(5),
			Version:   stmt.ColumnText(6),
			Results:   stmt.ColumnInt64(7),
			Unmatched: stmt.ColumnInt(8),
		}
		return errors.Join(json.Unmarshal(columnJSON(stmt, 9), &p.Rewritten), json.Unmarshal(columnJSON(stmt, 10), &p.Rules))
	})
	return id, p, err
}

// Advance stores a in one transaction, as durably as rows: evidence that is lost with rows is made
// from them again. If retention removed rows after a was made, the session counts as advanced in
// between.
func (ev *evidence) Advance(ctx context.Context, a graphsync.Advance) error {
	add, err := encodeAdvance(a)
	if err == nil {
		err = ev.j.w.doAt(ctx, ev.j.w.level, add.store)
	}
	if err != nil {
		return fmt.Errorf("journal: advance the evidence of session %s: %w", a.Session.ID, err)
	}
	return nil
}

// store runs inside the transaction of the writer.
func (a *advance) store(conn *sqlite.Conn) error {
	if err := a.begin(conn); err != nil {
		return err
	}
	for _, part := range []func(*sqlite.Conn) error{a.storeResults, a.storeCalls, a.storeSightings, a.storeChoices, a.rewrite, a.storeRuns} {
		if err := part(conn); err != nil {
			return err
		}
	}
	return nil
}

// begin makes sure that a follows what is stored, and stores how far it leads.
func (a *advance) begin(conn *sqlite.Conn) error {
	stored, p, err := getProgress(conn, a.session)
	if err != nil {
		return err
	}
	other := p.Version != a.to.Version
	if p.Watermark != a.from && (a.from != 0 || !other) || a.from != 0 && other {
		return graphsync.ErrMoved
	}
	gone, err := removedUpTo(conn, a.session)
	if err != nil {
		return err
	}
	if gone > 0 && a.to.Watermark <= gone {
		return graphsync.ErrMoved
	}
	if stored != 0 && other {
		if _, err := removeEvidence(conn, a.session, noLimit); err != nil {
			return err
		}
	}
	return query(conn, upsertProgressSQL, func(b *binder) {
		b.session(a.session)
		b.integer(a.to.Watermark, int64(a.to.Rows), int64(a.to.Failed), int64(a.to.Truncated))
		b.text(a.to.Error, a.to.Version)
		b.integer(a.to.Results, int64(a.to.Unmatched))
		b.json(a.tools)
		b.json(a.rules)
	}, func(stmt *sqlite.Stmt) error {
		a.id = stmt.ColumnInt64(0)
		return nil
	})
}

// removedUpTo returns the number up to which the rows of s were removed. It returns 0 while they
// are being removed: the evidence made from them is then removed with the last of them.
func removedUpTo(conn *sqlite.Conn, s record.Session) (to int64, err error) {
	err = query(conn, selectRemovedSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		if removing := stmt.ColumnBool(2); !removing {
			to = stmt.ColumnInt64(1)
		}
		return nil
	})
	return to, err
}

// removeEvidence removes at most limit rows of the evidence of a session, which stays one
// with progress, and returns how many it may remove beyond them.
func removeEvidence(conn *sqlite.Conn, s record.Session, limit int64) (left int64, err error) {
	for _, text := range []string{
		removeChoicesSQL, removeSeenSQL, removeSightingsSQL, removeAttributesSQL, removeNamesSQL, removeCallsSQL, removeResultsSQL, removeTurnsSQL, removeRunsSQL,
	} {
		err := exec(conn, text, func(b *binder) {
			b.session(s)
			b.integer(limit)
		})
		if err != nil {
			return 0, err
		}
		if limit == noLimit {
			continue
		}
		if limit -= int64(conn.Changes()); limit <= 0 {
			return 0, nil
		}
	}
	return limit, nil
}
