// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// advance is a graphsync.Advance in the form of the tables. It shares no memory with its
// original, because the writer may still use it when the context of the caller has ended.
type advance struct {
	session   record.Session
	from      int64
	to        graphsync.Progress
	results   []graphsync.Result
	calls     []callRow
	sightings []sightingRow
	choices   []graphsync.Choice
	names     map[string]string
	rewritten map[string]string
	runs      []graphsync.Run
	tools     []byte // of to.Rewritten
	rules     []byte // of to.Rules

	// id is the number of the session in the tables, set by begin.
	id int64
}

// callRow is a call of a model with its intervals as JSON.
type callRow struct {
	eventID string
	seq     int64
	names   []string
	results []byte
	own     []byte
}

// sightingRow is a sighting with its lists as JSON, and with the attributes it is found by.
type sightingRow struct {
	graphsync.Sighting
	norm, attributes, echoes []byte
	seen                     []seenAttribute
}

// seenAttribute is an attribute of a sighting. The name is "" if it has none.
type seenAttribute struct {
	name    string
	reading bool
}

func encodeAdvance(a graphsync.Advance) (*advance, error) {
	out := &advance{
		session: a.Session, from: a.From, to: a.To, results: slices.Clone(a.Results), choices: slices.Clone(a.Choices),
		names: maps.Clone(a.Names), rewritten: maps.Clone(a.Rewritten), runs: slices.Clone(a.Runs),
	}
	var err error
	if out.tools, err = json.Marshal(a.To.Rewritten); err != nil {
		return nil, err
	}
	if out.rules, err = json.Marshal(a.To.Rules); err != nil {
		return nil, err
	}
	for i := range out.runs {
		out.runs[i].Turns = slices.Clone(out.runs[i].Turns)
	}
	for _, c := range a.Calls {
		out.calls = append(out.calls, callRow{c.EventID, c.Row, slices.Clone(c.Names), encodeSpans(c.Read), encodeSpans(c.Own)})
	}
	for _, s := range a.Sightings {
		row, err := encodeSighting(s)
		if err != nil {
			return nil, fmt.Errorf("entity %s %q: %w", s.Type, s.Value, err)
		}
		out.sightings = append(out.sightings, row)
	}
	return out, nil
}

// encodeSpans returns the bounds of intervals as a JSON array.
func encodeSpans(spans []graphsync.Span) []byte {
	out := []byte{'['}
	for i, s := range spans {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(strconv.AppendInt(out, s.First, 10), ','), s.Last, 10)
	}
	return append(out, ']')
}

// decodeSpans reads what encodeSpans writes.
func decodeSpans(data []byte) (spans []graphsync.Span, err error) {
	var bounds []int64
	if err := json.Unmarshal(data, &bounds); err != nil {
		return nil, err
	}
	if len(bounds)%2 != 0 {
		return nil, errors.New("an interval has no end")
	}
	for i := 0; i < len(bounds); i += 2 {
		spans = append(spans, graphsync.Span{First: bounds[i], Last: bounds[i+1]})
	}
	return spans, nil
}

func encodeSighting(s graphsync.Sighting) (sightingRow, error) {
	r := sightingRow{Sighting: s}
	var err error
	if !s.Norm.IsZero() {
		if r.norm, err = json.Marshal(s.Norm); err != nil {
			return r, err
		}
	}
	if len(s.Attributes) > 0 {
		if r.attributes, err = json.Marshal(s.Attributes); err != nil {
			return r, err
		}
	}
	if len(s.Echoes) > 0 {
		if r.echoes, err = json.Marshal(s.Echoes); err != nil {
			return r, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		r.seen = append(r.seen, seenAttribute{name, s.Source.Reading() && !slices.Contains(s.Echoes, name)})
	}
	if len(r.seen) == 0 {
		r.seen = []seenAttribute{{"", s.Source.Reading()}}
	}
	r.Attributes, r.Echoes = nil, nil // the JSON has them; they belong to the caller
	return r, nil
}

func (a *advance) storeResults(conn *sqlite.Conn) error {
	for _, r := range a.results {
		err := exec(conn, insertResultSQL, func(b *binder) {
			b.integer(a.id, r.Number, r.Row, r.Start)
			b.text(r.EventID, r.RunID, r.CallID, r.Digest)
		})
		if err != nil {
			return fmt.Errorf("result %d: %w", r.Number, err)
		}
	}
	return nil
}

func (a *advance) storeCalls(conn *sqlite.Conn) error {
	for _, c := range a.calls {
		err := exec(conn, insertCallSQL, func(b *binder) {
			b.integer(a.id, c.seq)
			b.text(c.eventID)
			b.json(c.results, c.own)
		})
		if err != nil {
			return fmt.Errorf("call of a model %s: %w", c.eventID, err)
		}
		for _, name := range c.names {
			err := exec(conn, insertNameSQL, func(b *binder) {
				b.integer(a.id)
				b.text(name)
				b.integer(c.seq)
			})
			if err != nil {
				return err
			}
		}
	}
	for name, eventID := range a.names {
		err := exec(conn, addNameSQL, func(b *binder) {
			b.integer(a.id)
			b.text(name, eventID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attributeKey is an attribute of a thing.
type attributeKey struct{ key, name string }

func (a *advance) storeSightings(conn *sqlite.Conn) error {
	known := make(map[attributeKey]attributeID)
	for i := range a.sightings {
		s := &a.sightings[i]
		if err := exec(conn, insertSightingSQL, func(b *binder) { s.bind(b, a.id) }); err != nil {
			return fmt.Errorf("entity %s %q: %w", s.Type, s.Value, err)
		}
		sighting := conn.LastInsertRowID()
		for _, seen := range s.seen {
			k := attributeKey{s.Key, seen.name}
			attribute := known[k]
			if err := attribute.find(conn, a.id, k, s.Row); err != nil {
				return err
			}
			known[k] = attribute
			err := exec(conn, insertSeenSQL, func(b *binder) {
				b.integer(a.id, attribute.id)
				b.boolean(seen.reading)
				b.integer(s.Row, sighting)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *advance) storeChoices(conn *sqlite.Conn) error {
	for _, c := range a.choices {
		err := exec(conn, insertChoiceSQL, func(b *binder) {
			b.integer(a.id)
			b.text(c.Key)
			b.integer(c.Row, c.Result, int64(c.Rule))
			b.boolean(c.Reading)
		})
		if err != nil {
			return fmt.Errorf("choice of %s in row %d: %w", c.Key, c.Row, err)
		}
	}
	return nil
}

// bind sets the parameters of insert_sighting.sql.
func (r *sightingRow) bind(b *binder, session int64) {
	b.integer(session)
	b.text(r.Key)
	b.integer(r.Row, r.Start, r.Result)
	b.text(string(r.Source), r.Type, r.Value)
	b.json(r.norm, r.attributes, r.echoes)
	b.optional(r.ArtifactURI)
	b.real(r.Confidence)
	b.text(r.EventID, r.TechNode, r.SpanID)
	b.time(r.SeenAt)
	b.integer(int64(r.Repeats))
}

// attributeID is the number of an attribute of a thing, and the first row that shows it.
type attributeID struct{ id, first int64 }

// find makes sure that the attribute is stored, with a first row that is no later than row.
func (at *attributeID) find(conn *sqlite.Conn, session int64, k attributeKey, row int64) error {
	if at.id == 0 {
		err := query(conn, selectAttributeSQL, func(b *binder) {
			b.integer(session)
			b.text(k.key, k.name)
		}, func(stmt *sqlite.Stmt) error {
			at.id, at.first = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if at.id != 0 && at.first <= row {
		return nil
	}
	at.first = row
	return query(conn, upsertAttributeSQL, func(b *binder) {
		b.integer(session)
		b.text(k.key, k.name)
		b.integer(row)
	}, func(stmt *sqlite.Stmt) error {
		at.id = stmt.ColumnInt64(0)
		return nil
	})
}

// rewrite stores the digests of results that models read in another form than the rows have. A
// sighting in such a result that was a reading is now a claim.
func (a *advance) rewrite(conn *sqlite.Conn) error {
	for eventID, digest := range a.rewritten {
		var results []int64
		err := query(conn, rewriteResultSQL, func(b *binder) {
			b.integer(a.id)
			b.text(eventID, digest)
		}, func(stmt *sqlite.Stmt) error {
			results = append(results, stmt.ColumnInt64(0))
			return nil
		})
		if err != nil {
			return err
		}
		for _, number := range results {
			for _, text := range []string{rewriteSeenSQL, rewriteSightingsSQL, rewriteChoicesSQL} {
				if err := exec(conn, text, func(b *binder) { b.integer(a.id, number) }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (a *advance) storeRuns(conn *sqlite.Conn) error {
	for _, r := range a.runs {
		var id int64
		err := query(conn, upsertRunSQL, func(b *binder) {
			b.integer(a.id)
			b.text(r.ID, r.Turn)
			b.time(r.Started)
			b.integer(r.First)
			b.boolean(r.Completed)
			b.integer(r.Expected, r.Stored)
		}, func(stmt *sqlite.Stmt) error {
			id = stmt.ColumnInt64(0)
			return nil
		})
		if err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
		for _, turn := range r.Turns {
			err := exec(conn, insertTurnSQL, func(b *binder) {
				b.integer(a.id)
				b.text(turn)
				b.integer(id)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// scanSighting reads a row of select_sightings.sql.
func scanSighting(stmt *sqlite.Stmt, key string) (graphsync.Sighting, error) {
	s := graphsync.Sighting{
		Key:    key,
		Row:    stmt.ColumnInt64(0),
		Start:  stmt.ColumnInt64(1),
		Result: stmt.ColumnInt64(2),
		Entity: entity.Entity{
			Source:      entity.Source(stmt.ColumnText(3)),
			Type:        stmt.ColumnText(4),
			Value:       stmt.ColumnText(5),
			ArtifactURI: stmt.ColumnText(9),
			Confidence:  stmt.ColumnFloat(10),
			EventID:     stmt.ColumnText(11),
			TechNode:    stmt.ColumnText(12),
			SpanID:      stmt.ColumnText(13),
			SeenAt:      columnTime(stmt, 14),
			Repeats:     stmt.ColumnInt(15),
		},
	}
	for _, c := range []struct {
		col int
		dst any
	}{{6, &s.Norm}, {7, &s.Attributes}, {8, &s.Echoes}} {
		if stmt.ColumnIsNull(c.col) {
			continue
		}
		if err := json.Unmarshal(columnJSON(stmt, c.col), c.dst); err != nil {
			return s, fmt.Errorf("the sighting of %s in row %d is damaged: %w", key, s.Row, err)
		}
	}
	return s, nil
}
