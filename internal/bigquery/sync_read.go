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
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// eventRow is a row of sync_read_session.
type eventRow struct {
	Timestamp    time.Time     `bigquery:"timestamp"`
	EventID      bq.NullString `bigquery:"event_id"`
	EventType    bq.NullString `bigquery:"event_type"`
	Agent        bq.NullString `bigquery:"agent"`
	InvocationID bq.NullString `bigquery:"invocation_id"`
	TraceID      bq.NullString `bigquery:"trace_id"`
	SpanID       bq.NullString `bigquery:"span_id"`
	ParentSpanID bq.NullString `bigquery:"parent_span_id"`
	Content      bq.NullString `bigquery:"content"`
	ContentParts bq.NullString `bigquery:"content_parts"`
	Attributes   bq.NullString `bigquery:"attributes"`
	LatencyMS    bq.NullString `bigquery:"latency_ms"`
	Status       bq.NullString `bigquery:"status"`
	ErrorMessage bq.NullString `bigquery:"error_message"`
	IsTruncated  bq.NullBool   `bigquery:"is_truncated"`
	RunID        bq.NullString `bigquery:"run_id"`
	RunSeq       bq.NullInt64  `bigquery:"run_seq"`
}

// ReadSession returns the rows of one session between two times, each event once: those
// that all hosts streamed. Rows of the Python implementation that do not name their
// application are among them.
//
// The rows of a run stand in the order in which they were recorded, and those of several
// runs by time. When every row says its place in its run, Seq is its place in this
// order, from 1; else it is 0, as everything that makes a graph of rows expects of rows
// that come without an order. JSON comes as the warehouse normalises it.
func (d *Dataset) ReadSession(ctx context.Context, s record.Session, from, to time.Time) ([]record.Event, error) {
	var events []record.Event
	err := query(ctx, d, job{
		statement: "sync_read_session", feature: featureSync,
		params: []bq.QueryParameter{
			param("app", s.App), param("user", s.User), param("session", s.ID), param("from", from.UTC()), param("to", to.UTC()),
		},
	}, func(r *eventRow) error {
		e, err := r.event(s)
		if err != nil {
			return fmt.Errorf("bigquery: read session %s: row %s: %w", s.ID, r.EventID.StringVal, err)
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	inspect.Order(events)
	return events, nil
}

func (r *eventRow) event(s record.Session) (record.Event, error) {
	parts, err := compactParts(r.ContentParts)
	if err != nil {
		return record.Event{}, fmt.Errorf("content_parts: %w", err)
	}
	return record.Event{
		Timestamp: r.Timestamp.UnixMicro(), EventID: r.EventID.StringVal, EventType: r.EventType.StringVal, Agent: r.Agent.StringVal,
		AppName: s.App, UserID: s.User, SessionID: s.ID, InvocationID: r.InvocationID.StringVal,
		TraceID: r.TraceID.StringVal, SpanID: r.SpanID.StringVal, ParentSpanID: r.ParentSpanID.StringVal,
		Content: text(r.Content), ContentParts: parts, Attributes: text(r.Attributes), LatencyMS: text(r.LatencyMS),
		Status: cmp.Or(r.Status.StringVal, record.StatusOK), ErrorMessage: r.ErrorMessage.StringVal, IsTruncated: r.IsTruncated.Bool,
		RunID: r.RunID.StringVal, RunSeq: r.RunSeq.Int64,
	}, nil
}

// text returns a JSON text, nil for NULL.
func text(s bq.NullString) []byte {
	if !s.Valid {
		return nil
	}
	return []byte(s.StringVal)
}

// compactParts returns content_parts as rows are recorded: without the members that a
// part does not have, which are NULL in the table, and nil for none.
func compactParts(s bq.NullString) ([]byte, error) {
	if !s.Valid {
		return nil, nil
	}
	var parts []map[string]any
	dec := json.NewDecoder(bytes.NewReader([]byte(s.StringVal)))
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

// GraphStart returns the time of the first step that the graph in the dataset has of a
// session since 90 days before from; the zero time when it has none. A graph of [warehouse.RecorderDataset] has to
// be made of the rows since then: one of later rows would lack the edges from earlier
// steps, and take them for out of date.
func (d *Dataset) GraphStart(ctx context.Context, s record.Session, from time.Time) (time.Time, error) {
	scope, _, err := d.session(ctx, ask.Scope{Session: s, From: from.Add(-graphAge)}, askJob("ask_session", nil, nil), param("decision", ""))
	if errors.Is(err, ask.ErrUnknownSession) {
		return time.Time{}, nil
	}
	return scope.From, err
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
// reads these days of the whole table, and of each row its attributes; twice for a part of an id.
func (d *Dataset) FindSessions(ctx context.Context, s record.Session, from, to time.Time) ([]FoundSession, error) {
	found, err := d.findSessions(ctx, s, from, to)
	if err != nil || len(found) > 0 || s.ID == "" {
		return found, err
	}
	found, err = d.findSessions(ctx, record.Session{App: s.App, User: s.User}, from, to)
	return inspect.Named(found, s.ID, func(f FoundSession) string { return f.Session.ID }), err
}

func (d *Dataset) findSessions(ctx context.Context, s record.Session, from, to time.Time) ([]FoundSession, error) {
	var found []FoundSession
	err := query(ctx, d, job{
		statement: "sync_find_sessions", feature: featureSync,
		params: []bq.QueryParameter{
			param("app", s.App), param("user", s.User), param("session", s.ID), param("from", from.UTC()), param("to", to.UTC()),
		},
	}, func(r *struct {
		App     string    `bigquery:"app"`
		User    string    `bigquery:"user"`
		Session string    `bigquery:"session"`
		Events  int64     `bigquery:"events"`
		First   time.Time `bigquery:"first"`
		Last    time.Time `bigquery:"last"`
	}) error {
		found = append(found, FoundSession{
			Session: record.Session{App: r.App, User: r.User, ID: r.Session}, First: r.First.UTC(), Last: r.Last.UTC(), Events: r.Events,
		})
		return nil
	})
	return found, err
}
