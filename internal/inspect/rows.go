// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"time"
	"unicode/utf8"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// row is a row with its decoded attributes.
type row struct {
	*record.Event
	schema.Attributes
	// span is the key of its node, run the id of its run; "" outside of any.
	span string
	run  string
}

// decode makes rows of events, which must be in order and must not change.
func decode(events []record.Event) []row {
	rows := make([]row, len(events))
	for i := range events {
		e := &events[i]
		rows[i] = row{Event: e, span: graphsync.RowNodeKey(e), run: runOf(e)}
		_ = rows[i].Attributes.Read(e.Attributes) // what cannot be read stays empty
	}
	return rows
}

// unmarshal decodes as much of data as can be: what cannot stays empty.
func unmarshal(data []byte, v any) {
	if len(data) > 0 {
		_ = json.Unmarshal(data, v)
	}
}

// runOf names the run of a row. Other recorders than this one leave it to the trace and
// the invocation to tell runs apart.
func runOf(e *record.Event) string {
	switch {
	case e.RunID != "":
		return "run:" + e.RunID
	case e.InvocationID != "":
		return "trace:" + e.TraceID + ":" + e.InvocationID
	}
	return ""
}

func (r *row) endsRun() bool {
	return r.EventType == record.InvocationCompleted || r.EventType == record.InvocationError
}

func (r *row) at() time.Time { return clock(r.Time()) }

// clock returns t in UTC, and the zero time if JSON has no form for t.
func clock(t time.Time) time.Time {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}

// finite returns f if JSON can hold it, else 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// shownRows returns the rows as they are shown.
func (x *builder) shownRows() []Row {
	out := make([]Row, len(x.rows))
	for i := range x.rows {
		r := &x.rows[i]
		out[i] = Row{
			EventID: r.EventID, Timestamp: r.at(), EventType: r.EventType, Agent: r.Agent, Span: r.span,
			InvocationID: r.InvocationID, TraceID: r.TraceID, SpanID: r.SpanID, ParentSpanID: r.ParentSpanID,
			Content: raw(r.Content), ContentParts: raw(r.ContentParts), Attributes: raw(r.Event.Attributes), LatencyMS: raw(r.LatencyMS),
			Status: r.Status, Error: r.ErrorMessage, Truncated: r.IsTruncated,
		}
	}
	return out
}

// raw returns data as it is if it is JSON, and as a JSON string if it is not.
func raw(data []byte) json.RawMessage {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data) && utf8.Valid(data):
		return data
	case json.Valid(data):
		return bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	text, err := json.Marshal(string(data))
	if err != nil {
		return nil
	}
	return text
}

// usage returns the tokens that a row says a model call used.
func (r *row) usage() Tokens {
	var c struct {
		Usage struct {
			Prompt     schema.Count `json:"prompt"`
			Completion schema.Count `json:"completion"`
			Total      schema.Count `json:"total"`
		} `json:"usage"`
	}
	unmarshal(r.Content, &c)
	t := Tokens{
		Prompt:     int64(cmp.Or(c.Usage.Prompt, r.Usage.Prompt)),
		Completion: int64(cmp.Or(c.Usage.Completion, r.Usage.Completion)),
		Total:      int64(cmp.Or(c.Usage.Total, r.Usage.Total)),
	}
	t.Total = max(t.Total, t.Prompt+t.Completion)
	return t
}

func (t *Tokens) add(u Tokens) {
	t.Prompt += u.Prompt
	t.Completion += u.Completion
	t.Total += u.Total
}

// parentKey returns the key of the span that a row says it lies in.
func parentKey(r *row) string {
	return graphsync.TechNodeKey(r.Session(), r.TraceID, r.ParentSpanID)
}
