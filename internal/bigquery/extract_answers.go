// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The statuses of extracted_rows.
const (
	rowOK          = "OK"
	rowEmpty       = "EMPTY"
	rowFailed      = "FAILED"
	rowUnparseable = "UNPARSEABLE"
)

// What a report and the table say of a failure, at most.
const (
	maxReason  = 200
	maxReasons = 20
)

// extractedRow is a row of extracted_rows.
type extractedRow struct {
	AppName     string    `json:"app_name"`
	UserID      string    `json:"user_id"`
	SessionID   string    `json:"session_id"`
	EventID     string    `json:"event_id"`
	Extractor   string    `json:"extractor"`
	Status      string    `json:"status"`
	Error       string    `json:"error,omitempty"`
	Entities    int       `json:"entities"`
	Dropped     int       `json:"dropped"`
	Truncated   bool      `json:"truncated"`
	Attempt     int64     `json:"attempt"`
	ProcessedAt time.Time `json:"processed_at"`
}

// findings is what was made of the answers of one extraction.
type findings struct {
	read []extractedRow
	// about are the rows in which entities were found, by their event ids.
	about    map[string]record.Event
	entities []entity.Entity
}

// use reads the answers and adds what is in them to the dataset, together with which
// rows were read.
func (x *extraction) use(ctx context.Context) error {
	found := findings{about: make(map[string]record.Event)}
	waiting := 0
	err := each(x.table(x.answers.Name).Read(ctx), func(r *row) error {
		waiting = max(waiting, r.int("pending"))
		found.read = append(found.read, x.read(r, &found))
		return nil
	})
	if err != nil {
		return fmt.Errorf("bigquery: extract: read table %s: %w", x.answers.Name, err)
	}
	x.report.Sent = len(found.read)
	x.report.Left = max(0, waiting-x.report.Sent)
	if len(found.read) == 0 {
		return nil
	}
	return x.append(ctx, &found)
}

// read adds the entities of one row of the table of answers to found and returns what became of the
// row.
func (x *extraction) read(r *row, found *findings) extractedRow {
	of := record.Event{
		AppName: r.text("app_name"), UserID: r.text("user_id"), SessionID: r.text("session_id"), EventID: r.text("event_id"),
		Timestamp: r.time("seen_at").UnixMicro(), Agent: r.text("agent"), InvocationID: r.text("invocation_id"),
		TraceID: r.text("trace_id"), SpanID: r.text("span_id"), ParentSpanID: r.text("parent_span_id"),
	}
	status := r.text("status")
	truncated := r.flag("truncated")
	if truncated {
		x.report.Truncated++
	}
	out := extractedRow{
		AppName: of.AppName, UserID: of.UserID, SessionID: of.SessionID, EventID: of.EventID, Extractor: x.report.Extractor,
		Truncated: truncated, Attempt: max(value[int64](r, "attempt"), 1), ProcessedAt: x.now.UTC().Truncate(time.Microsecond),
	}
	// A status beside an answer is a warning, such as of an answer that was cut: the
	// answer itself shows whether it is whole.
	if r.columns["answer"] == nil {
		x.report.Failed++
		out.Status, out.Error = rowFailed, x.reason(cmp.Or(status, "neither an answer nor a status"))
		return out
	}
	answer, err := warehouse.ReadAnswer(r.text("answer"), x.cfg.Extract.EntityTypes)
	if err != nil {
		x.report.Unparseable++
		out.Status, out.Error = rowUnparseable, x.reason(cmp.Or(status, err.Error()))
		return out
	}
	x.report.Dropped += answer.Dropped
	out.Entities, out.Dropped = len(answer.Entities), answer.Dropped
	if out.Entities == 0 {
		x.report.Empty++
		out.Status = rowEmpty
		return out
	}
	x.report.OK++
	out.Status = rowOK
	found.about[of.EventID] = of
	for _, e := range answer.Entities {
		// A document whose name cannot be shown is not worth the entity.
		e.EventID, e.ArtifactURI = of.EventID, r.text("artifact_uri")
		if e.Validate() != nil {
			e.ArtifactURI = ""
		}
		found.entities = append(found.entities, e)
		x.report.Entities[e.Type]++
	}
	return out
}

// reason counts why a row gave nothing and returns it at the length at which it is kept.
func (x *extraction) reason(s string) string {
	s = text.Clip(s, maxReason)
	counted := s
	if _, known := x.report.Reasons[s]; !known && len(x.report.Reasons) >= maxReasons {
		counted = "other"
	}
	x.report.Reasons[counted]++
	return s
}

// append brings the findings to the dataset as rows of their own, and then says which rows were read. A second use of
// the same answers gives the same rows, which count once.
func (x *extraction) append(ctx context.Context, found *findings) error {
	rows, err := foundRows(found.about, found.entities)
	if err != nil {
		return fmt.Errorf("bigquery: extract: %w", err)
	}
	encoded := make([][]byte, len(rows))
	for i := range rows {
		if encoded[i], err = replicate.Encode(&rows[i]); err != nil {
			return fmt.Errorf("bigquery: extract: encode row %s: %w", rows[i].EventID, err)
		}
	}
	events := &appender{target: x.Target(), timeout: x.ackTimeout}
	defer events.disconnect()
	if err := events.all(ctx, encoded); err != nil {
		return err
	}
	x.report.Found = rows
	t := warehouse.ExtractedRowsTable()
	read, err := encodeRows(t, found.read)
	if err != nil {
		return fmt.Errorf("bigquery: extract: %w", err)
	}
	to := x.appendTo(t)
	defer to.disconnect()
	return to.all(ctx, read)
}
