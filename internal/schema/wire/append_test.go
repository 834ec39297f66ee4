// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/record"
)

// full is a row with a value in each column.
func full() record.Event {
	return record.Event{
		Timestamp: 1767225600250000, EventID: "0123456789abcdef0123456789abcdef", EventType: record.LLMRequest,
		Agent: "planner", SessionID: "s1", InvocationID: "e-1", UserID: "ada",
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", ParentSpanID: "00f067aa0ba902b6",
		Content: []byte(`{"prompt":[{"role":"user","content":"käse"}]}`),
		ContentParts: []byte(`[{"mime_type":"image/png","uri":"gs://b/o","object_ref":{"uri":"gs://b/o","version":"7",` +
			`"authorizer":"us.c","details":{"gcs_metadata":{"content_type":"image/png"}}},"text":"[MEDIA OFFLOADED]",` +
			`"part_index":3,"part_attributes":"{\"function_name\":\"f\"}","storage_mode":"GCS_REFERENCE"},{"part_index":-1}]`),
		Attributes: []byte(`{"adk":{"app_name":"shop"}}`), LatencyMS: []byte(`{"total_ms":12}`),
		Status: record.StatusError, ErrorMessage: "refused", IsTruncated: true,
		Seq: 9, AppName: "shop", RunID: "r", RunSeq: 4,
	}
}

func TestAppend(t *testing.T) {
	d := descriptor(t)
	with := func(change func(*record.Event)) record.Event {
		e := full()
		change(&e)
		return e
	}
	long := strings.Repeat("long ", 40000)
	for _, tc := range []struct {
		name string
		e    record.Event
		// changed are the columns that differ from those of the row that full returns.
		changed row
		lost    bool
	}{
		{name: "full", e: full()},
		{name: "status alone is written empty", e: record.Event{Timestamp: 1}, changed: row{
			"timestamp": int64(1), "status": "", "is_truncated": false, "event_id": nil, "event_type": nil, "agent": nil, "session_id": nil,
			"invocation_id": nil, "user_id": nil, "trace_id": nil, "span_id": nil, "parent_span_id": nil, "content": nil,
			"content_parts": nil, "attributes": nil, "latency_ms": nil, "error_message": nil,
		}},
		{name: "time before 1970", e: with(func(e *record.Event) { e.Timestamp = -1 }), changed: row{"timestamp": int64(-1)}},
		{name: "time at the limit", e: with(func(e *record.Event) { e.Timestamp = math.MinInt64 }), changed: row{"timestamp": int64(math.MinInt64)}},
		{name: "not UTF-8", e: with(func(e *record.Event) {
			e.Agent, e.Content, e.Status, e.ErrorMessage = "a\xff\xfeb", []byte("\"\xe2\x82\""), "\x80", "\xed\xa0\x80"
		}), changed: row{"agent": "a\ufffd\ufffdb", "content": "\"\ufffd\ufffd\"", "status": "\ufffd", "error_message": "\ufffd\ufffd\ufffd"}},
		{name: "empty documents", e: with(func(e *record.Event) { e.Content, e.Attributes = []byte{}, []byte("null") }),
			changed: row{"content": nil, "attributes": "null"}},
		{name: "nothing beside the number", e: with(func(e *record.Event) { e.Attributes, e.RunSeq = []byte(`{"adk":{}}`), 1234567890 }),
			changed: row{"attributes": `{"adk":{"run_id":"r","run_seq":1234567890}}`}},
		{name: "numbered and not UTF-8", e: with(func(e *record.Event) { e.Attributes = []byte("{\"adk\":{\"a\":\"\xff\"}}") }),
			changed: row{"attributes": "{\"adk\":{\"run_id\":\"r\",\"run_seq\":4,\"a\":\"\ufffd\"}}"}},
		{name: "no run", e: with(func(e *record.Event) { e.RunID = "" }), changed: row{"attributes": `{"adk":{"app_name":"shop"}}`}},
		{name: "no number", e: with(func(e *record.Event) { e.RunSeq = 0 }), changed: row{"attributes": `{"adk":{"app_name":"shop"}}`}},
		{name: "a run id that would need escapes", e: with(func(e *record.Event) { e.RunID = `a"b` }), changed: row{"attributes": `{"adk":{"app_name":"shop"}}`}},
		{name: "attributes of others", e: with(func(e *record.Event) { e.Attributes = []byte(`{"adk": {}}`) }), changed: row{"attributes": `{"adk": {}}`}},
		{name: "attributes cut off", e: with(func(e *record.Event) { e.Attributes = []byte(`{"adk":{`) }), changed: row{"attributes": `{"adk":{`}},
		{name: "long", e: with(func(e *record.Event) { e.ErrorMessage = long }), changed: row{"error_message": long}},
		{name: "what is no JSON is not looked at", e: with(func(e *record.Event) { e.Content = []byte("{") }), changed: row{"content": "{"}},
		{name: "malformed parts", e: with(func(e *record.Event) { e.ContentParts = []byte(`[{"text":"a"},{"text":`) }),
			changed: row{"content_parts": nil}, lost: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wanted := row{
				"timestamp": int64(1767225600250000), "event_id": "0123456789abcdef0123456789abcdef", "event_type": "LLM_REQUEST",
				"agent": "planner", "session_id": "s1", "invocation_id": "e-1", "user_id": "ada",
				"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "parent_span_id": "00f067aa0ba902b6",
				"content": `{"prompt":[{"role":"user","content":"käse"}]}`,
				"content_parts": []row{{
					"mime_type": "image/png", "uri": "gs://b/o", "text": "[MEDIA OFFLOADED]", "part_index": int64(3),
					"object_ref":      row{"uri": "gs://b/o", "version": "7", "authorizer": "us.c", "details": `{"gcs_metadata":{"content_type":"image/png"}}`},
					"part_attributes": `{"function_name":"f"}`, "storage_mode": "GCS_REFERENCE",
				}, {"part_index": int64(-1)}},
				"attributes": `{"adk":{"run_id":"r","run_seq":4,"app_name":"shop"}}`, "latency_ms": `{"total_ms":12}`,
				"status": "ERROR", "error_message": "refused", "is_truncated": true,
			}
			for name, v := range tc.changed {
				if wanted[name] = v; v == nil {
					delete(wanted, name)
				}
			}
			data := wire.RowOf(&tc.e).Append([]byte("before"))
			data, ok := bytes.CutPrefix(data, []byte("before"))
			if !ok {
				t.Fatal("what stood before the message is gone")
			}
			if diff := cmp.Diff(wanted, decode(t, d, data)); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			if size := wire.RowOf(&tc.e).Size(); size != len(data) {
				t.Errorf("Size = %d, Append appended %d bytes", size, len(data))
			}
			if got := wire.RowOf(&tc.e).PartsLost; got != tc.lost {
				t.Errorf("PartsLost = %t", got)
			}
		})
	}
}

func TestParts(t *testing.T) {
	// What is not in the table is compared with encoding/json by FuzzParts, over the
	// same texts.
	for _, tc := range []struct {
		text string
		want []row
		bad  bool
	}{
		{text: ``},
		{text: `[]`},
		{text: " [ ]\n"},
		{text: ` null `},
		{text: `[{}]`, want: []row{{}}},
		{text: `[{"text":"a"}, {"text":""}]`, want: []row{{"text": "a"}, {"text": ""}}},
		{text: `[{"text":"\u00e4\n\"\\\/\ud83d\ude00\ud83d!"}]`, want: []row{{"text": "ä\n\"\\/😀\ufffd!"}}},
		{text: "[{\"text\":\"a\xffb\"}]", want: []row{{"text": "a\ufffdb"}}},
		{text: `[{"te\u0078t":"a"}]`, want: []row{{"text": "a"}}},
		{text: `[{"text":"a","text":"b","text":null}]`, want: []row{{"text": "b"}}},
		{text: `[{"texts":"a","more":{"text":["b",{"text":1e9}]},"text":{"a":1},"part_index":1.0}]`, want: []row{{}}},
		{text: `[{"TEXT":"a"}]`, want: []row{{"text": "a"}}}, // as encoding/json has it
		{text: `[{"part_index":9223372036854775807},{"part_index":9223372036854775808}]`, want: []row{{"part_index": int64(math.MaxInt64)}, {}}},
		{text: `[{"object_ref":{}}]`, want: []row{{"object_ref": row{}}}},
		{text: `[{"object_ref":null},{"object_ref":"gs://b/o"}]`, want: []row{{}, {}}},
		{text: `[{"object_ref":{"uri":"a","version":1,"more":[]},"object_ref":{"version":"2"}}]`, want: []row{{"object_ref": row{"uri": "a", "version": "2"}}}},
		{text: `[{"object_ref":{"details": null}}]`, want: []row{{"object_ref": row{}}}},
		{text: "[{\"object_ref\":{\"details\": \"\xff\" }}]", want: []row{{"object_ref": row{"details": "\"\ufffd\""}}}},
		{text: `[{"more":` + nested(9998) + `}]`, want: []row{{}}},
		{text: `[{"more":[` + strings.Repeat("[],{},", 9999) + `0]}]`, want: []row{{}}},

		{text: `[{"more":` + nested(9999) + `}]`, bad: true},
		{text: ` `, bad: true},
		{text: `{}`, bad: true},
		{text: `[{}`, bad: true},
		{text: `[{},]`, bad: true},
		{text: `[{}]]`, bad: true},
		{text: `[{}] []`, bad: true},
		{text: `null,`, bad: true},
		{text: `[null]`, bad: true},
		{text: `[{"text":"a"},"text"]`, bad: true},
		{text: `[{"text":"a"}{}]`, bad: true},
		{text: `[{"text":"a",}]`, bad: true},
		{text: `[{"text" "a"}]`, bad: true},
		{text: `[{"text":}]`, bad: true},
		{text: `[{"text":tru}]`, bad: true},
		{text: `[{"text":01}]`, bad: true},
		{text: `[{"text":-}]`, bad: true},
		{text: `[{"text":1.}]`, bad: true},
		{text: `[{"text":1e}]`, bad: true},
		{text: `[{"text":"\x"}]`, bad: true},
		{text: `[{"text":"\u12g4"}]`, bad: true},
		{text: `[{"text":"\`, bad: true},
		{text: "[{\"text\":\"\n\"}]", bad: true},
		{text: `[{text:"a"}]`, bad: true},
	} {
		got, ok := wantParts(t, []byte(tc.text))
		if diff := cmp.Diff(tc.want, got); diff != "" || ok == tc.bad {
			t.Errorf("%.80s: the reference reads %v, %t", tc.text, got, ok)
		}
		checkParts(t, []byte(tc.text))
	}
}

// checkParts compares what Append makes of content_parts with what encoding/json does.
func checkParts(t *testing.T, text []byte) {
	t.Helper()
	e := record.Event{ContentParts: text}
	data := wire.RowOf(&e).Append(nil)
	got := decode(t, descriptor(t), data)
	parts, ok := wantParts(t, text)
	if found, _ := got["content_parts"].([]row); !cmp.Equal(parts, found) {
		t.Errorf("%.200q (-want +got):\n%s", text, cmp.Diff(parts, found))
	}
	if lost := wire.RowOf(&e).PartsLost; lost == ok {
		t.Errorf("%.200q: PartsLost = %t, want %t", text, lost, !ok)
	}
	if size := wire.RowOf(&e).Size(); size != len(data) {
		t.Errorf("%.200q: Size = %d, Append appended %d bytes", text, size, len(data))
	}
}

// TestGoldenRows encodes each row of the contract: of every scenario and as the plugin
// for Python writes them.
func TestGoldenRows(t *testing.T) {
	d, parts := descriptor(t), 0
	rows := goldenRows(t)
	for _, e := range rows {
		wanted, ok := want(t, &e)
		if !ok || wire.RowOf(&e).PartsLost {
			t.Errorf("%s: content_parts %s cannot be read", e.EventID, e.ContentParts)
		}
		data := wire.RowOf(&e).Append(nil)
		got := decode(t, d, data)
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.EventID, diff)
		}
		if size := wire.RowOf(&e).Size(); size != len(data) {
			t.Errorf("%s: Size = %d, Append appended %d bytes", e.EventID, size, len(data))
		}
		list, _ := got["content_parts"].([]row)
		parts += len(list)
	}
	if len(rows) < 500 || parts < 50 {
		t.Errorf("%d rows with %d parts were read", len(rows), parts)
	}
}

func goldenRows(t testing.TB) []record.Event {
	t.Helper()
	golden, err := filepath.Glob("../../../tests/contract/testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	python, err := filepath.Glob("../../../tests/contract/testdata/python/*.json")
	if err != nil || len(golden) == 0 || len(python) == 0 {
		t.Fatalf("golden rows: %d and %d files, %v", len(golden), len(python), err)
	}
	var rows []record.Event
	for _, file := range golden {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(data))
		for {
			var r jsonRow
			if err := d.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			rows = append(rows, r.event())
		}
	}
	for _, file := range python {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []jsonRow
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, r := range list {
			rows = append(rows, r.event())
		}
	}
	return rows
}

// jsonRow is a row as the files have it.
type jsonRow struct {
	Timestamp    string          `json:"timestamp"`
	EventID      string          `json:"event_id"`
	EventType    string          `json:"event_type"`
	Agent        string          `json:"agent"`
	SessionID    string          `json:"session_id"`
	InvocationID string          `json:"invocation_id"`
	UserID       string          `json:"user_id"`
	TraceID      string          `json:"trace_id"`
	SpanID       string          `json:"span_id"`
	ParentSpanID string          `json:"parent_span_id"`
	Content      json.RawMessage `json:"content"`
	ContentParts json.RawMessage `json:"content_parts"`
	Attributes   json.RawMessage `json:"attributes"`
	LatencyMS    json.RawMessage `json:"latency_ms"`
	Status       string          `json:"status"`
	ErrorMessage string          `json:"error_message"`
	IsTruncated  bool            `json:"is_truncated"`
}

func (r jsonRow) event() record.Event {
	at, err := time.Parse(time.RFC3339Nano, r.Timestamp)
	if err != nil { // golden files have a placeholder
		at = time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC)
	}
	return record.Event{
		Timestamp: at.UnixMicro(), EventID: r.EventID, EventType: r.EventType, Agent: r.Agent, SessionID: r.SessionID,
		InvocationID: r.InvocationID, UserID: r.UserID, TraceID: r.TraceID, SpanID: r.SpanID, ParentSpanID: r.ParentSpanID,
		Content: r.Content, ContentParts: r.ContentParts, Attributes: r.Attributes, LatencyMS: r.LatencyMS,
		Status: r.Status, ErrorMessage: r.ErrorMessage, IsTruncated: r.IsTruncated,
	}
}
