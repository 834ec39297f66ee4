// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
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

func newLetterJSON(l journal.DeadLetter) letterJSON {
	return letterJSON{
		Seq: l.Seq, EventID: l.EventID, At: l.At.UTC(), Session: l.Session, EventType: l.EventType,
		Bytes: l.Bytes, Code: l.Code, Reason: l.Reason,
	}
}

// rowJSON is a row of agent_events, in the columns of the table and what the journal
// has beside them.
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
func (a *app) listDeadLetters(ctx context.Context, o *journal.Outbox, f deadLetterFlags) error {
	letters, err := o.DeadLetters(ctx, f.limit)
	if err != nil {
		return err
	}
	if f.json {
		e := encoder(a.stdout)
		for _, l := range letters {
			if err := e.Encode(newLetterJSON(l)); err != nil {
				return err
			}
		}
	} else if len(letters) > 0 {
		letterTable(a.stdout, letters, f.width)
	}
	if len(letters) == 0 {
		fmt.Fprintf(a.stderr, "%s has no dead letters in this journal\n", o.Destination())
		return nil
	}
	all, err := o.Backlog(ctx)
	if err != nil {
		return err
	}
	if more := all.DeadLetters - int64(len(letters)); more > 0 {
		fmt.Fprintf(a.stderr, "note: %d more are not listed; use --limit\n", more)
	}
	return nil
}

// minReason is how much of the words of a server a table shows at least.
const minReason = 20

// letterTable prints letters in columns. The last one, the words of the server, is cut where a
// line would be longer than width.
func letterTable(w io.Writer, letters []journal.DeadLetter, width int) {
	lines := [][]string{{"SEQ", "TIME", "SESSION", "TYPE", "BYTES", "CODE", "EVENT", "REASON"}}
	for _, l := range letters {
		lines = append(lines, []string{
			strconv.FormatInt(l.Seq, 10), l.At.UTC().Format(time.DateTime), printable(l.Session.ID), printable(l.EventType),
			strconv.Itoa(l.Bytes), printable(l.Code), printable(l.EventID), printable(l.Reason),
		})
	}
	last := len(lines[0]) - 1
	widths := make([]int, last)
	rest := width
	for i := range widths {
		for _, line := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
		rest -= widths[i] + 2
	}
	rest = max(rest, minReason)
	for _, line := range lines {
		for i, n := range widths {
			fmt.Fprintf(w, "%-*s  ", n, line[i])
		}
		fmt.Fprintln(w, cut(line[last], rest))
	}
}

// showDeadLetter prints one row and what was said about it.
func (a *app) showDeadLetter(ctx context.Context, o *journal.Outbox, id string) error {
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
		e := encoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			DeadLetter letterJSON `json:"dead_letter"`
			Row        rowJSON    `json:"row"`
		}{newLetterJSON(l), newRowJSON(row)})
	}
	return noDeadLetter(o, id)
}

// Bounds of what is read of rows at a time.
const (
	deadRows  = 256
	deadBytes = 1 << 20
)

// findDeadRow returns the row of a dead letter.
func findDeadRow(ctx context.Context, o *journal.Outbox, id string) (*record.Event, error) {
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

func noDeadLetter(o *journal.Outbox, id string) error {
	return fmt.Errorf("%s has no dead letter with the event id %q", o.Destination(), id)
}
