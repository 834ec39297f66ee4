// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rowfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Writer writes a file of rows in the columns of the table, with columns of JSON as JSON. It
// is not safe for concurrent use.
type Writer struct {
	out     *bufio.Writer
	encoder *json.Encoder
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer {
	out := bufio.NewWriterSize(w, 1<<16)
	e := json.NewEncoder(text.JSONWriter{W: out})
	e.SetEscapeHTML(false)
	return &Writer{out: out, encoder: e}
}

// Write writes one row. It is buffered until Flush.
func (w *Writer) Write(e *record.Event) error { return w.encoder.Encode(Row(e)) }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.out.Flush() }

// row is a row in the 17 columns of the table, in their order: that of the row
// contract.
type row struct {
	Timestamp    string  `json:"timestamp"`
	EventID      *string `json:"event_id"`
	EventType    *string `json:"event_type"`
	Agent        *string `json:"agent"`
	SessionID    *string `json:"session_id"`
	InvocationID *string `json:"invocation_id"`
	UserID       *string `json:"user_id"`
	TraceID      *string `json:"trace_id"`
	SpanID       *string `json:"span_id"`
	ParentSpanID *string `json:"parent_span_id"`
	Content      any     `json:"content"`
	ContentParts any     `json:"content_parts"`
	Attributes   any     `json:"attributes"`
	LatencyMS    any     `json:"latency_ms"`
	Status       *string `json:"status"`
	ErrorMessage *string `json:"error_message"`
	IsTruncated  bool    `json:"is_truncated"`
}

// rowTime is RFC 3339 with microseconds, all six.
const rowTime = "2006-01-02T15:04:05.000000Z07:00"

// Row returns e for JSON as it stands in the dataset: an empty text is NULL, and the place of
// the row in its run is in attributes.adk.
func Row(e *record.Event) any {
	attributes := e.Attributes
	if e.RunID != "" && e.RunSeq > 0 {
		attributes = withRun(attributes, e.RunID, e.RunSeq)
	}
	parts := document(e.ContentParts)
	if parts == nil {
		parts = []any{}
	}
	return row{
		Timestamp: e.Time().Format(rowTime),
		EventID:   orNull(e.EventID), EventType: orNull(e.EventType), Agent: orNull(e.Agent), SessionID: orNull(e.SessionID),
		InvocationID: orNull(e.InvocationID), UserID: orNull(e.UserID),
		TraceID: orNull(e.TraceID), SpanID: orNull(e.SpanID), ParentSpanID: orNull(e.ParentSpanID),
		Content: document(e.Content), ContentParts: parts, Attributes: document(attributes), LatencyMS: document(e.LatencyMS),
		Status: orNull(e.Status), ErrorMessage: orNull(e.ErrorMessage), IsTruncated: e.IsTruncated,
	}
}

// document returns a JSON text as it is, and one that is not valid as a string: rows that were
// refused may hold such a text.
func document(text []byte) any {
	switch {
	case text == nil:
		return nil
	case json.Valid(text):
		return json.RawMessage(text)
	}
	return string(text)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// runMembers is how attributes begin that name the run, as recorders write them.
func runMembers(run string, seq int64) []byte {
	name, err := json.Marshal(run)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"adk":{"run_id":%s,"run_seq":%d`, name, seq)
}

// adkBegin is how attributes begin as recorders write them.
const adkBegin = `{"adk":{`

// withRun adds the run to attributes.adk.
func withRun(attributes []byte, run string, seq int64) []byte {
	if rest, ok := bytes.CutPrefix(attributes, []byte(adkBegin)); ok && json.Valid(attributes) {
		out := runMembers(run, seq)
		if rest[0] != '}' {
			out = append(out, ',')
		}
		return append(out, rest...)
	}
	return editADK(attributes, func(adk map[string]json.RawMessage) {
		adk["run_id"], _ = json.Marshal(run) // a string always has a form
		adk["run_seq"] = fmt.Appendf(nil, "%d", seq)
	})
}

// withoutRun takes it out again, and leaves all else as it was.
func withoutRun(attributes []byte, run string, seq int64) []byte {
	if rest, ok := bytes.CutPrefix(attributes, runMembers(run, seq)); ok {
		switch rest[0] {
		case ',':
			return append([]byte(adkBegin), rest[1:]...)
		case '}':
			return append([]byte(adkBegin), rest...)
		}
	}
	return editADK(attributes, func(adk map[string]json.RawMessage) {
		delete(adk, "run_id")
		delete(adk, "run_seq")
	})
}

// editADK changes the members of attributes.adk. Attributes that are no object, or that have an adk
// that is none, stay as they are.
func editADK(attributes []byte, edit func(map[string]json.RawMessage)) []byte {
	var all map[string]json.RawMessage
	if len(attributes) == 0 {
		attributes = []byte(`{}`)
	}
	if json.Unmarshal(attributes, &all) != nil || all == nil {
		return attributes
	}
	var adk map[string]json.RawMessage
	if text := all["adk"]; len(text) > 0 && json.Unmarshal(text, &adk) != nil {
		return attributes
	}
	if adk == nil {
		adk = make(map[string]json.RawMessage)
	}
	edit(adk)
	text, err := json.Marshal(adk)
	if err != nil {
		return attributes
	}
	all["adk"] = text
	out, err := json.Marshal(all)
	if err != nil {
		return attributes
	}
	return out
}
