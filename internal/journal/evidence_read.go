// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// evidenceReader reads inside of one transaction. Each statement uses an index, so none takes
// longer in a long session.
type evidenceReader struct {
	conn     *sqlite.Conn // nil after the end of the transaction
	session  record.Session
	id       int64
	progress graphsync.Progress
}

var errViewEnded = errors.New("the evidence is read after the end of View")

func (r *evidenceReader) query(text string, bind func(*binder), scan func(*sqlite.Stmt) error) error {
	if r.conn == nil {
		return errViewEnded
	}
	return query(r.conn, text, bind, scan)
}

// texts returns the first column of a statement.
func (r *evidenceReader) texts(text string, bind func(*binder)) (list []string, err error) {
	err = r.query(text, bind, func(stmt *sqlite.Stmt) error {
		list = append(list, stmt.ColumnText(0))
		return nil
	})
	return list, err
}

// Progress returns how far the session was extracted.
func (r *evidenceReader) Progress() (graphsync.Progress, error) { return r.progress, nil }

// LastRow returns the number of the last row, 0 if there is none.
func (r *evidenceReader) LastRow() (seq int64, err error) {
	err = r.query(selectLastRowSQL, func(b *binder) { b.session(r.session) }, func(stmt *sqlite.Stmt) error {
		seq = stmt.ColumnInt64(0)
		return nil
	})
	return seq, err
}

// Rows returns the rows after a number, in order, at most limit.
func (r *evidenceReader) Rows(after int64, limit int) ([]record.Event, error) {
	if r.conn == nil {
		return nil, errViewEnded
	}
	return readEvents(r.conn, r.session, after, limit, math.MaxInt64)
}

// Row returns the row with an event id, of any session.
func (r *evidenceReader) Row(eventID string) (e record.Event, found bool, err error) {
	if r.conn == nil {
		return e, false, errViewEnded
	}
	return readRow(r.conn, eventID)
}

// Results returns the results with a call id and a digest, in order.
func (r *evidenceReader) Results(callID, digest string) ([]graphsync.Result, error) {
	return r.results(selectResultsSQL, func(b *binder) {
		b.integer(r.id)
		b.text(callID, digest)
	})
}

// Result returns the result that a row brought.
func (r *evidenceReader) Result(eventID string) (graphsync.Result, bool, error) {
	list, err := r.results(selectResultSQL, func(b *binder) {
		b.integer(r.id)
		b.text(eventID)
	})
	if err != nil || len(list) == 0 {
		return graphsync.Result{}, false, err
	}
	return list[0], true, nil
}

// ResultsOfRun returns the results of a run up to a row, in order.
func (r *evidenceReader) ResultsOfRun(run string, upTo int64) ([]graphsync.Result, error) {
	return r.results(selectResultsOfRunSQL, func(b *binder) {
		b.integer(r.id)
		b.text(run)
		b.integer(upTo)
	})
}

func (r *evidenceReader) results(text string, bind func(*binder)) (list []graphsync.Result, err error) {
	err = r.query(text, bind, func(stmt *sqlite.Stmt) error {
		list = append(list, graphsync.Result{
			Number:  stmt.ColumnInt64(0),
			Row:     stmt.ColumnInt64(1),
			Start:   stmt.ColumnInt64(2),
			EventID: stmt.ColumnText(3),
			RunID:   stmt.ColumnText(4),
			CallID:  stmt.ColumnText(5),
			Digest:  stmt.ColumnText(6),
		})
		return nil
	})
	return list, err
}

// ModelCalls returns the calls of models with a name, in order.
func (r *evidenceReader) ModelCalls(name string) ([]graphsync.ModelCall, error) {
	return r.calls(selectCallsSQL, func(b *binder) {
		b.integer(r.id)
		b.text(name)
	})
}

// LastModelCall returns the call of a model with the greatest row.
func (r *evidenceReader) LastModelCall() (graphsync.ModelCall, bool, error) {
	list, err := r.calls(selectLastCallSQL, func(b *binder) { b.integer(r.id) })
	if err != nil || len(list) == 0 {
		return graphsync.ModelCall{}, false, err
	}
	return list[0], true, nil
}

func (r *evidenceReader) calls(text string, bind func(*binder)) (list []graphsync.ModelCall, err error) {
	err = r.query(text, bind, func(stmt *sqlite.Stmt) error {
		c := graphsync.ModelCall{Row: stmt.ColumnInt64(0), EventID: stmt.ColumnText(1)}
		var readErr, ownErr error
		c.Read, readErr = decodeSpans(columnJSON(stmt, 2))
		c.Own, ownErr = decodeSpans(columnJSON(stmt, 3))
		if err := errors.Join(readErr, ownErr, json.Unmarshal(columnJSON(stmt, 4), &c.Names)); err != nil {
			return fmt.Errorf("the call of a model in row %d is damaged: %w", c.Row, err)
		}
		list = append(list, c)
		return nil
	})
	return list, err
}

// Keys returns the keys of things after a key, in order, at most limit.
func (r *evidenceReader) Keys(after string, upTo int64, limit int) ([]string, error) {
	return r.texts(selectKeysSQL, func(b *binder) {
		b.integer(r.id)
		b.text(after)
		b.integer(upTo, int64(limit))
	})
}

// Attributes returns the names of the attributes of a thing, in order.
func (r *evidenceReader) Attributes(key string) ([]string, error) {
	return r.texts(selectAttributesSQL, func(b *binder) {
		b.integer(r.id)
		b.text(key)
	})
}

// Sightings returns sightings of an attribute of a thing, the latest first.
func (r *evidenceReader) Sightings(key, attribute string, readings bool, upTo int64, skip, limit int) (list []graphsync.Sighting, err error) {
	err = r.query(selectSightingsSQL, func(b *binder) {
		b.integer(r.id)
		b.text(key, attribute)
		b.boolean(readings)
		b.integer(upTo, int64(skip), int64(limit))
	}, func(stmt *sqlite.Stmt) error {
		s, err := scanSighting(stmt, key)
		list = append(list, s)
		return err
	})
	return list, err
}

// Choices returns the choices of a thing, in order.
func (r *evidenceReader) Choices(key string, upTo int64, skip, limit int) (list []graphsync.Choice, err error) {
	err = r.query(selectChoicesSQL, func(b *binder) {
		b.integer(r.id)
		b.text(key)
		b.integer(upTo, int64(skip), int64(limit))
	}, func(stmt *sqlite.Stmt) error {
		list = append(list, graphsync.Choice{
			Key: key, Row: stmt.ColumnInt64(0), Result: stmt.ColumnInt64(1), Rule: stmt.ColumnInt(2), Reading: stmt.ColumnBool(3),
		})
		return nil
	})
	return list, err
}

// Run returns the run with an id; false if no row of it was extracted.
func (r *evidenceReader) Run(id string) (graphsync.Run, bool, error) {
	list, err := r.runs(selectRunSQL, func(b *binder) {
		b.integer(r.id)
		b.text(id)
	})
	if err != nil || len(list) == 0 {
		return graphsync.Run{}, false, err
	}
	return list[0], true, nil
}

// Found returns what models found in rows of the session.
func (r *evidenceReader) Found() (list []graphsync.Sighting, err error) {
	err = r.query(selectFoundSQL, func(b *binder) { b.session(r.session) }, func(stmt *sqlite.Stmt) error {
		e, err := scanEntity(stmt)
		list = append(list, graphsync.Sighting{Entity: e, Key: e.Identity(), Row: stmt.ColumnInt64(11)})
		return err
	})
	return list, err
}

// OpenRuns returns the runs with missing rows or without an end, in the order of their first rows.
func (r *evidenceReader) OpenRuns() ([]graphsync.Run, error) {
	return r.runs(selectOpenRunsSQL, func(b *binder) { b.integer(r.id) })
}

func (r *evidenceReader) runs(text string, bind func(*binder)) (list []graphsync.Run, err error) {
	err = r.query(text, bind, func(stmt *sqlite.Stmt) error {
		run := graphsync.Run{
			ID:        stmt.ColumnText(0),
			Turn:      stmt.ColumnText(1),
			Started:   columnTime(stmt, 2),
			Completed: stmt.ColumnBool(3),
			Expected:  stmt.ColumnInt64(4),
			Stored:    stmt.ColumnInt64(5),
		}
		run.First = stmt.ColumnInt64(6)
		err := json.Unmarshal(columnJSON(stmt, 7), &run.Turns)
		list = append(list, run)
		return err
	})
	return list, err
}

// RunsOfTurn returns the ids of the runs of a turn, in the order of their first rows.
func (r *evidenceReader) RunsOfTurn(turn string) ([]string, error) {
	return r.texts(selectRunsOfTurnSQL, func(b *binder) {
		b.integer(r.id)
		b.text(turn)
	})
}
