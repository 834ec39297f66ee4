// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// letterJSON is a dead letter as programs read it.
type letterJSON struct {
	Seq       int64          `json:"seq"`
	EventID   string         `json:"event_id"`
	At        time.Time      `json:"at"`
	Session   record.Session `json:"session"`
	EventType string         `json:"event_type"`
	Bytes     int            `json:"bytes"`
	Code      string         `json:"code"`
	Reason    string         `json:"reason"`
}

func newLetterJSON(l store.DeadLetter) letterJSON {
	return letterJSON{
		Seq: l.Seq, EventID: l.EventID, At: l.At.UTC(), Session: l.Session, EventType: l.EventType,
		Bytes: l.Bytes, Code: l.Code, Reason: l.Reason,
	}
}

// rowJSON is a row of agent_events, in the columns of the table and the further ones of the
// journal.
type rowJSON struct {
	Seq          int64     `json:"seq"`
	Timestamp    time.Time `json:"timestamp"`
	EventID      string    `json:"event_id"`
	EventType    string    `json:"event_type"`
	Agent        string    `json:"agent"`
	AppName      string    `json:"app_name"`
	UserID       string    `json:"user_id"`
	SessionID    string    `json:"session_id"`
	InvocationID string    `json:"invocation_id"`
	RunID        string    `json:"run_id"`
	RunSeq       int64     `json:"run_seq"`
	TraceID      string    `json:"trace_id"`
	SpanID       string    `json:"span_id"`
	ParentSpanID string    `json:"parent_span_id"`
	Content      any       `json:"content"`
	ContentParts any       `json:"content_parts"`
	Attributes   any       `json:"attributes"`
	LatencyMS    any       `json:"latency_ms"`
	Status       string    `json:"status"`
	ErrorMessage string    `json:"error_message"`
	IsTruncated  bool      `json:"is_truncated"`
}

func newRowJSON(e *record.Event) rowJSON {
	return rowJSON{
		Seq: e.Seq, Timestamp: e.Time(), EventID: e.EventID, EventType: e.EventType, Agent: e.Agent,
		AppName: e.AppName, UserID: e.UserID, SessionID: e.SessionID, InvocationID: e.InvocationID, RunID: e.RunID, RunSeq: e.RunSeq,
		TraceID: e.TraceID, SpanID: e.SpanID, ParentSpanID: e.ParentSpanID,
		Content: rowfile.Document(e.Content), ContentParts: rowfile.Document(e.ContentParts), Attributes: rowfile.Document(e.Attributes), LatencyMS: rowfile.Document(e.LatencyMS),
		Status: e.Status, ErrorMessage: e.ErrorMessage, IsTruncated: e.IsTruncated,
	}
}

// listDeadLetters prints what is refused.
func (a *app) listDeadLetters(ctx context.Context, o store.Outbox, f deadLetterFlags) error {
	letters, err := o.DeadLetters(ctx, f.limit)
	if err != nil {
		return err
	}
	list := make([]letterJSON, len(letters))
	for i, l := range letters {
		list[i] = newLetterJSON(l)
	}
	if err := a.print(list, func(t *table) { letterTable(t, list, f.width) }); err != nil {
		return err
	}
	if len(letters) == 0 {
		a.say("%s has no dead letters in this journal", o.Destination())
		return nil
	}
	all, err := o.Backlog(ctx)
	if err != nil {
		return err
	}
	if more := all.DeadLetters - int64(len(letters)); more > 0 {
		a.note("%d more are not listed; use --limit", more)
	}
	return nil
}

// letterTable prints letters. The last column, the words of the server, is cut first where a line
// would be wider than most.
func letterTable(t *table, letters []letterJSON, most int) {
	if len(letters) == 0 {
		return
	}
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = letters[i].EventID
	}
	t.width = most
	t.columns([]string{"SEQ", t.zoned("TIME"), "SESSION", "TYPE", "BYTES", "CODE", "EVENT", "REASON"}, 7, 3, 2)
	for i, id := range inspect.ShortIDs(ids) {
		l := &letters[i]
		t.row(l.Seq, t.when(l.At), sessionID(l.Session.ID), l.EventType, l.Bytes, l.Code, id, l.Reason)
	}
}

// showDeadLetter prints one row and the server's words about it.
func (a *app) showDeadLetter(ctx context.Context, o store.Outbox, id string) error {
	row, err := findDeadRow(ctx, o, id)
	if err != nil {
		return err
	}
	// Letters are listed from the first on, so as many are read as there are.
	l, err := o.Backlog(ctx)
	if err != nil {
		return err
	}
	letters, err := o.DeadLetters(ctx, max(1, int(l.DeadLetters)))
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.EventID != id {
			continue
		}
		return a.print(struct {
			DeadLetter letterJSON `json:"dead_letter"`
			Row        rowJSON    `json:"row"`
		}{newLetterJSON(l), newRowJSON(row)}, nil)
	}
	return noDeadLetter(o, id)
}

// Bounds of the rows that are read at a time.
const (
	deadRows  = 256
	deadBytes = 1 << 20
)

// findDeadRow returns the row of a dead letter.
func findDeadRow(ctx context.Context, o store.Outbox, id string) (*record.Event, error) {
	for after := int64(0); ; {
		rows, err := o.DeadRows(ctx, after, deadRows, deadBytes)
		switch {
		case err != nil:
			return nil, err
		case len(rows) == 0:
			return nil, noDeadLetter(o, id)
		}
		for i := range rows {
			if rows[i].EventID == id {
				return &rows[i], nil
			}
		}
		after = rows[len(rows)-1].Seq
	}
}

func noDeadLetter(o store.Outbox, id string) error {
	return fmt.Errorf("%s has no dead letter with the event id %q", o.Destination(), id)
}
