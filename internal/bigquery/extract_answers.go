// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
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
	rows []extractedRow
	// since is the time of the earliest row, before which none was read.
	since time.Time
	// entities are by session and key, traces the traces of their nodes.
	entities map[record.Session]map[string]entity.Entity
	traces   map[string]string
}

// use reads the answers and adds what is in them to the dataset, together with which
// rows were read.
func (x *extraction) use(ctx context.Context) error {
	found := findings{entities: make(map[record.Session]map[string]entity.Entity), traces: make(map[string]string)}
	waiting := 0
	err := each(x.table(x.answers.Name).Read(ctx), func(r *row) error {
		waiting = max(waiting, r.int("pending"))
		found.rows = append(found.rows, x.read(r, &found))
		return nil
	})
	if err != nil {
		return fmt.Errorf("bigquery: extract: read table %s: %w", x.answers.Name, err)
	}
	x.report.Sent = len(found.rows)
	x.report.Left = max(0, waiting-x.report.Sent)
	if len(found.rows) == 0 {
		return nil
	}
	return x.append(ctx, &found)
}

// read adds the entities of one row of the table of answers to found and returns what became of the
// row.
func (x *extraction) read(r *row, found *findings) extractedRow {
	of := record.Event{
		AppName: r.text("app_name"), UserID: r.text("user_id"), SessionID: r.text("session_id"), EventID: r.text("event_id"),
		TraceID: r.text("trace_id"), SpanID: r.text("span_id"),
	}
	seenAt, status := r.time("seen_at"), r.text("status")
	x.touched[of.Session()] = true
	if found.since.IsZero() || seenAt.Before(found.since) {
		found.since = seenAt
	}
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
	node := graphsync.RowNodeKey(&of)
	found.traces[node] = of.TraceID
	for _, e := range answer.Entities {
		e.EventID, e.TechNode, e.SpanID, e.SeenAt = of.EventID, node, of.SpanID, seenAt
		// A document whose name cannot be shown is not worth the entity.
		e.ArtifactURI = r.text("artifact_uri")
		if e.Validate() != nil {
			e.ArtifactURI = ""
		}
		found.add(of.Session(), e)
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

// add merges an entity into those of the same step, type and value: the first row
// stands for it, with the greatest confidence.
func (f *findings) add(s record.Session, e entity.Entity) {
	if f.entities[s] == nil {
		f.entities[s] = make(map[string]entity.Entity)
	}
	key := warehouse.BizKey(e.TechNode, e.Type, e.Value)
	if other, known := f.entities[s][key]; known {
		if other.SeenAt.Before(e.SeenAt) || other.SeenAt.Equal(e.SeenAt) && other.EventID < e.EventID {
			e, other = other, e
		}
		e.Confidence = max(e.Confidence, other.Confidence)
		e.ArtifactURI = cmp.Or(e.ArtifactURI, other.ArtifactURI)
	}
	f.entities[s][key] = e
}

// append brings the findings to the dataset, and then says which rows were read. A second use of
// the same answers gives the same versions of the same graphs, and rows that count once.
func (x *extraction) append(ctx context.Context, found *findings) error {
	w := x.GraphWriter()
	defer w.Close()
	for sessions := range slices.Chunk(slices.SortedFunc(maps.Keys(found.entities), bySession), readAtOnce) {
		known, err := x.KnownGraphs(ctx, sessions, found.since)
		if err != nil {
			return err
		}
		for _, s := range sessions {
			var es []entity.Entity
			for _, key := range slices.Sorted(maps.Keys(found.entities[s])) {
				e := found.entities[s][key]
				es = append(es, e)
				x.report.Entities[e.Type]++
			}
			g, err := warehouse.ModelGraph(s, es, found.traces)
			if err != nil {
				return fmt.Errorf("bigquery: extract: %w", err)
			}
			g.WriterID, g.Version = warehouse.ExtractionID(x.answers.Name), 1
			if _, err := w.Write(ctx, known.Split(g)...); err != nil {
				return err
			}
		}
	}
	t := warehouse.ExtractedRowsTable()
	rows, err := encodeRows(t, found.rows)
	if err != nil {
		return fmt.Errorf("bigquery: extract: %w", err)
	}
	to := x.appendTo(t)
	defer to.disconnect()
	return to.all(ctx, rows)
}

func bySession(a, b record.Session) int {
	return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User), cmp.Compare(a.ID, b.ID))
}
