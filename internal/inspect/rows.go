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

// row is a row with what its attributes say.
type row struct {
	*record.Event
	attributes
	// span is the key of its node, run that of its run; "" outside of any.
	span string
	run  string
}

// attributes are those that are looked at. What has another type than it should is
// left out.
type attributes struct {
	ADK struct {
		schema.CallIDs
		Branch         string `json:"branch"`
		ConfirmationID string `json:"confirmation_id"`
		ApprovalID     string `json:"approval_id"`
		Replaces       string `json:"replaces"`
		InterruptID    string `json:"interrupt_id"`
		Enforced       *bool  `json:"enforced"`
		Confirmed      *bool  `json:"confirmed"`
		Accepted       *bool  `json:"accepted"`
		Authenticated  bool   `json:"authenticated"`
		Approver       string `json:"approver"`
		Reason         string `json:"reason"`
		Verdict        string `json:"verdict"`
		Stage          string `json:"stage"`
		Scope          struct {
			ID string `json:"id"`
		} `json:"scope"`
	} `json:"adk"`
	Model         string `json:"model"`
	ModelVersion  string `json:"model_version"`
	ResponseText  string `json:"response_text"`
	FunctionCalls []struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"function_calls"`
	Usage struct {
		Prompt     count `json:"prompt_token_count"`
		Completion count `json:"candidates_token_count"`
		Total      count `json:"total_token_count"`
	} `json:"usage_metadata"`
}

// count is a number of tokens, however it was written.
type count int64

// UnmarshalJSON reads any number; what is no count of anything is 0.
func (c *count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < 1<<53 {
		*c = count(math.Round(f))
	}
	return nil
}

// decode makes rows of events, which must be in order and must not change.
func decode(events []record.Event) []row {
	rows := make([]row, len(events))
	for i := range events {
		e := &events[i]
		rows[i] = row{Event: e, span: graphsync.RowNodeKey(e), run: runOf(e)}
		unmarshal(e.Attributes, &rows[i].attributes)
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

func (r *row) at() time.Time { return clock(time.UnixMicro(r.Timestamp)) }

// clock returns t in UTC, and the zero time for what JSON has no form for.
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
			Prompt     count `json:"prompt"`
			Completion count `json:"completion"`
			Total      count `json:"total"`
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
