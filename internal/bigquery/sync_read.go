// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// readAtOnce is how many sessions one statement reads. However many they are, it reads their
// days of the whole table.
const readAtOnce = 100

// SessionSpan is a session and the time from which its rows count.
type SessionSpan struct {
	Session record.Session
	From    time.Time
}

// SessionRows are the rows of one session.
type SessionRows struct {
	Session record.Session
	Rows    []record.Event
}

// ReadSession returns the rows of one session between two times, see [Dataset.ReadSessions].
func (d *Dataset) ReadSession(ctx context.Context, s record.Session, from, to time.Time) ([]record.Event, error) {
	for read, err := range d.ReadSessions(ctx, []SessionSpan{{s, from}}, to) {
		return read.Rows, err
	}
	return nil, nil
}

// ReadSessions returns the rows of sessions up to a time, each event once: those that all hosts
// streamed. Rows of the Python implementation that do not name their application are among those
// of each session of their id. Every session comes once, also one without rows; those with one id
// come together, else in the order of the spans. One query reads 100 sessions; where they are too large for BigQuery,
// two read the halves. No more than the rows of one id are held at a time.
//
// The error beside a session is of that session alone. One without a session is the last element.
//
// The rows of a run stand in the order in which they were recorded, and those of several
// runs by time. When every row says its place in its run, Seq is its place in this
// order, from 1; else it is 0, as everything that makes a graph of rows expects of rows
// that come without an order. JSON comes as the warehouse normalises it.
func (d *Dataset) ReadSessions(ctx context.Context, spans []SessionSpan, to time.Time) iter.Seq2[SessionRows, error] {
	return func(yield func(SessionRows, error) bool) {
		for chunk := range slices.Chunk(spans, readAtOnce) {
			err := d.readChunk(ctx, chunk, to, yield)
			if err != nil && !errors.Is(err, errEnough) {
				yield(SessionRows{}, err)
			}
			if err != nil {
				return
			}
		}
	}
}

// errEnough ends the reading of rows that nobody wants.
var errEnough = errors.New("enough")

// readChunk yields the rows of some sessions, of one query if that is possible.
func (d *Dataset) readChunk(ctx context.Context, spans []SessionSpan, to time.Time, yield func(SessionRows, error) bool) error {
	g := &grouped{of: make(map[string][]SessionSpan), yield: yield}
	var users []string
	from := spans[0].From
	for _, s := range spans {
		if _, known := g.of[s.Session.ID]; !known {
			g.ids = append(g.ids, s.Session.ID)
		}
		g.of[s.Session.ID] = append(g.of[s.Session.ID], s)
		users = append(users, s.Session.User)
		if s.From.Before(from) {
			from = s.From
		}
	}
	err := d.query(ctx, job{
		statement: "sync_read_sessions", feature: featureSync,
		params: []bq.QueryParameter{
			param("sessions", g.ids), param("users", distinct(users)), param("from", from.UTC()), param("to", to.UTC()),
		},
	}, g.add)
	switch half := len(spans) / 2; {
	case err == nil:
		return g.through("")
	case half == 0 || !HasReason(err, reasonResources):
		return err
	default:
		if err := d.readChunk(ctx, spans[:half], to, yield); err != nil {
			return err
		}
		return d.readChunk(ctx, spans[half:], to, yield)
	}
}

// distinct returns the texts sorted, each once.
func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// grouped makes sessions of rows, which come in the order of ids.
type grouped struct {
	ids   []string // those that were not yielded
	of    map[string][]SessionSpan
	rows  []readRow // of the first id
	yield func(SessionRows, error) bool
}

// readRow is a row of sync_read_sessions, or why it cannot be read. Named says whether it names its
// application.
type readRow struct {
	event record.Event
	named bool
	err   error
}

func (g *grouped) add(r *row) error {
	e, err := eventOf(r)
	if stop := g.through(e.SessionID); stop != nil {
		return stop
	}
	g.rows = append(g.rows, readRow{event: e, named: r.columns["app"] != nil, err: err})
	return nil
}

// through yields the sessions with the ids before this one, all for none.
func (g *grouped) through(id string) error {
	for len(g.ids) > 0 && g.ids[0] != id {
		for _, span := range g.of[g.ids[0]] {
			if !g.yield(sessionOf(span, g.rows)) {
				return errEnough
			}
		}
		g.ids, g.rows = g.ids[1:], nil
	}
	return nil
}

// sessionOf returns what is of one session among rows with its id.
func sessionOf(span SessionSpan, rows []readRow) (SessionRows, error) {
	out, key := SessionRows{Session: span.Session}, span.Session
	for _, r := range rows {
		e := r.event
		if e.UserID != key.User || r.named && e.AppName != key.App || e.Time().Before(span.From) {
			continue
		}
		if r.err != nil {
			return SessionRows{Session: key}, fmt.Errorf("bigquery: read session %s: %w", key.ID, r.err)
		}
		e.AppName = key.App
		out.Rows = append(out.Rows, e)
	}
	inspect.Order(out.Rows)
	return out, nil
}

// eventOf returns a row of the table of events. The error is about its content_parts.
func eventOf(r *row) (record.Event, error) {
	s := r.session("app", "user", "session")
	e := record.Event{
		Timestamp: r.time("timestamp").UnixMicro(), EventID: r.text("event_id"), EventType: r.text("event_type"), Agent: r.text("agent"),
		AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: r.text("invocation_id"),
		TraceID: r.text("trace_id"), SpanID: r.text("span_id"), ParentSpanID: r.text("parent_span_id"),
		Content: r.raw("content"), Attributes: r.raw("attributes"), LatencyMS: r.raw("latency_ms"),
		Status: cmp.Or(r.text("status"), record.StatusOK), ErrorMessage: r.text("error_message"), IsTruncated: r.flag("is_truncated"),
		RunID: r.text("run_id"), RunSeq: value[int64](r, "run_seq"),
	}
	var err error
	if e.ContentParts, err = compactParts(r.raw("content_parts")); err != nil {
		err = fmt.Errorf("row %s: content_parts: %w", e.EventID, err)
	}
	return e, err
}

// compactParts returns content_parts as rows are recorded: without the members that a
// part does not have, which are NULL in the table, and nil for none.
func compactParts(text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	var parts []map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&parts); err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, nil
	}
	for _, p := range parts {
		dropNulls(p)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(parts); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// dropNulls removes the members that are null, and objects of such members alone.
func dropNulls(m map[string]any) {
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			if dropNulls(inner); len(inner) == 0 {
				v = nil
			}
		}
		if v == nil {
			delete(m, k)
		}
	}
}

// manyParams returns the parameters of statements about the graphs of some sessions. An id may be
// that of sessions which are not among them.
func manyParams(sessions []record.Session, from, to time.Time) []bq.QueryParameter {
	var apps, users, ids []string
	for _, s := range sessions {
		apps, users, ids = append(apps, s.App), append(users, s.User), append(ids, s.ID)
	}
	return []bq.QueryParameter{
		param("apps", distinct(apps)), param("users", distinct(users)), param("sessions", distinct(ids)),
		param("from", from.UTC()), param("to", to.UTC()),
	}
}

// FoundSession is one session that has rows in the dataset.
type FoundSession struct {
	Session record.Session
	// First and Last are the times of the earliest and the latest row that was found.
	First, Last time.Time
	// Events counts the rows, each event once.
	Events int64
}

// FindSessions returns the sessions with rows between two times, the one with the latest
// row first. Empty fields of s select all, and an id those that it names, see [inspect.Named]. It
// reads these days of the whole table, and of each row its attributes.
func (d *Dataset) FindSessions(ctx context.Context, s record.Session, from, to time.Time) ([]FoundSession, error) {
	begins, ends, _ := strings.Cut(s.ID, "…")
	found, err := all(ctx, d, job{
		statement: "sync_find_sessions", feature: featureSync,
		params: []bq.QueryParameter{
			param("app", s.App), param("user", s.User), param("begins", begins), param("ends", ends), param("from", from.UTC()), param("to", to.UTC()),
		},
	}, func(r *row) FoundSession {
		f := foundOf(r)
		f.Events = value[int64](r, "events")
		return f
	})
	if s.ID != "" {
		found = inspect.Named(found, s.ID, func(f FoundSession) string { return f.Session.ID })
	}
	return found, err
}

// foundOf returns a session of a row of one of the statements that look for sessions.
func foundOf(r *row) FoundSession {
	return FoundSession{Session: r.session("app", "user", "session"), First: r.time("first"), Last: r.time("last")}
}
