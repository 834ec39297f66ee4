// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package rowfile_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// readText reads text as a file of rows.
func readText(t *testing.T, text string, o rowfile.Options) (*rowfile.Contents, error) {
	t.Helper()
	return rowfile.Read(t.Context(), strings.NewReader(text), "-", o)
}

func micros(t *testing.T, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMicro()
}

func TestTimestamps(t *testing.T) {
	want := micros(t, "2026-03-05T12:00:00.123456Z")
	for _, text := range []string{
		`"2026-03-05T12:00:00.123456Z"`, `"2026-03-05T13:00:00.123456+01:00"`, `"2026-03-05 12:00:00.123456 UTC"`, `"2026-03-05 12:00:00.123456+00:00"`,
		`"2026-03-05 12:00:00.123456+00"`, `"2026-03-05T12:00:00.123456"`, `"2026-03-05 12:00:00.123456"`,
		`1772712000.123456`, `"1.772712000123456E9"`, `1772712000123.456`, `1772712000123456`, `"1772712000123456"`, `1772712000123456000`,
	} {
		got, err := readText(t, fmt.Sprintf(`{"timestamp":%s,"event_type":"LLM_REQUEST","session_id":"s"}`, text), rowfile.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if at := got.Rows[0].Timestamp; at != want {
			t.Errorf("%s = %s", text, time.UnixMicro(at).UTC())
		}
	}
}

func TestDecodeRows(t *testing.T) {
	base := record.Event{Timestamp: micros(t, "2026-03-05T12:00:00Z"), EventID: "e1", EventType: "LLM_RESPONSE", SessionID: "s", Attributes: []byte(`{}`), Status: "OK"}
	with := func(change func(*record.Event)) record.Event {
		e := base
		change(&e)
		return e
	}
	for _, test := range []struct {
		name, members string
		want          record.Event
	}{
		{"least", ``, base},
		{"no span", `"trace_id":null,"span_id":null,"parent_span_id":null,"content":null,"attributes":null,"latency_ms":null,"error_message":null,"is_truncated":null,"content_parts":[]`, base},
		{"JSON", `"content":{"response": "hi"},"attributes":{"adk":{"app_name":"shop"}},"latency_ms":{"total_ms":5}`, with(func(e *record.Event) {
			e.AppName, e.Content, e.Attributes, e.LatencyMS = "shop", []byte(`{"response":"hi"}`), []byte(`{"adk":{"app_name":"shop"}}`), []byte(`{"total_ms":5}`)
		})},
		{"JSON in strings", `"content":"{\"response\": \"hi\"}","attributes":"{\"session_metadata\":{\"app_name\":\"shop\"}}","latency_ms":"{\"total_ms\":5}"`, with(func(e *record.Event) {
			e.AppName, e.Content, e.Attributes, e.LatencyMS = "shop", []byte(`{"response":"hi"}`), []byte(`{"session_metadata":{"app_name":"shop"}}`), []byte(`{"total_ms":5}`)
		})},
		{"content alone in a string", `"content":"{\"response\":\"hi\"}"`, with(func(e *record.Event) { e.Content = []byte(`{"response":"hi"}`) })},
		{"an instruction that looks like JSON", `"event_type":"AGENT_STARTING","content":"{\"be\":\"kind\"}"`, with(func(e *record.Event) { e.EventType, e.Content = "AGENT_STARTING", []byte(`"{\"be\":\"kind\"}"`) })},
		{"an instruction in an export", `"event_type":"AGENT_STARTING","content":"\"{}\"","attributes":"{}"`, with(func(e *record.Event) { e.EventType, e.Content = "AGENT_STARTING", []byte(`"{}"`) })},
		{"a row of our own is what it says", `"content":"{}","attributes":{"adk":{"run_id":"r","run_seq":3,"app_name":"shop"}}`, with(func(e *record.Event) {
			e.AppName, e.RunID, e.RunSeq, e.Content, e.Attributes = "shop", "r", 3, []byte(`"{}"`), []byte(`{"adk":{"app_name":"shop"}}`)
		})},
		{"members in another order", `"attributes":{"a":1,"adk":{"z":2,"run_seq":3,"run_id":"r"}}`, with(func(e *record.Event) {
			e.RunID, e.RunSeq, e.Attributes = "r", 3, []byte(`{"a":1,"adk":{"z":2}}`)
		})},
		{"a run of another form stays", `"attributes":{"adk":{"run_id":7,"run_seq":"x"}}`, with(func(e *record.Event) { e.Attributes = []byte(`{"adk":{"run_id":7,"run_seq":"x"}}`) })},
		{"latency as a number", `"latency_ms":12.5`, with(func(e *record.Event) { e.LatencyMS = []byte(`{"total_ms":12.5}`) })},
		{"parts of an export", `"content_parts":[{"part_index":"0","text":"a","uri":null,"object_ref":null}]`, with(func(e *record.Event) { e.ContentParts = []byte(`[{"part_index":0,"text":"a"}]`) })},
		{"status of an error", `"event_type":"LLM_ERROR","status":null`, with(func(e *record.Event) { e.EventType, e.Status = "LLM_ERROR", "ERROR" })},
		{"booleans in strings", `"is_truncated":"true","status":"ok"`, with(func(e *record.Event) { e.IsTruncated = true })},
		{"an unknown event", `"event_type":"SOMETHING_NEW"`, with(func(e *record.Event) { e.EventType = "SOMETHING_NEW" })},
		{"columns of a journal", `"seq":9,"app_name":"shop","run_id":"r","run_seq":2`, with(func(e *record.Event) { e.AppName, e.RunID, e.RunSeq = "shop", "r", 2 })},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := `{"timestamp":"2026-03-05T12:00:00Z","event_id":"e1","event_type":"LLM_RESPONSE","session_id":"s"`
			if test.members != "" {
				line += "," + test.members // the last of two members counts
			}
			got, err := readText(t, line+"}\n", rowfile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]record.Event{test.want}, got.Rows); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadRows(t *testing.T) {
	const good = `{"timestamp":"2026-03-05T12:00:00Z","event_id":"e1","event_type":"LLM_REQUEST","session_id":"s","attributes":{"adk":{"app_name":"shop"}}}`
	for _, test := range []struct{ name, line, want string }{
		{"no JSON", `{"timestamp":`, "-:2: character 13: it is no JSON"},
		{"a list", `[1]`, "-:2: it is JSON, but no object"},
		{"null", `null`, "no object"},
		{"no time", `{"event_type":"LLM_REQUEST","session_id":"s"}`, "-:2: column timestamp: it is missing"},
		{"a bad time", `{"timestamp":"yesterday","event_type":"LLM_REQUEST","session_id":"s"}`, `column timestamp: "yesterday" is no time: write it as`},
		{"a time before time", `{"timestamp":-5,"event_type":"LLM_REQUEST","session_id":"s"}`, "column timestamp: -5 is no time since 1970"},
		{"a huge time", `{"timestamp":1e300,"event_type":"LLM_REQUEST","session_id":"s"}`, "is no time since 1970"},
		{"no type", `{"timestamp":1772712000,"session_id":"s"}`, "column event_type: it is missing"},
		{"a misspelt column", `{"timestamp":1772712000,"even_type":"LLM_REQUEST","session_id":"s"}`, `column event_type: it is missing; is it "even_type"?`},
		{"a bad type", `{"timestamp":1772712000,"event_type":"llm request","session_id":"s"}`, "such as LLM_REQUEST"},
		{"no session", `{"timestamp":1772712000,"event_type":"LLM_REQUEST"}`, "column session_id: it is missing"},
		{"a number for a text", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":7}`, "column session_id: 7 is no text"},
		{"a status", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","status":"fine"}`, `column status: "FINE" is neither OK nor ERROR`},
		{"attributes", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","attributes":[1]}`, "column attributes: [1] is no object"},
		{"attributes in no JSON", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","attributes":"a=1"}`, "column attributes: "},
		{"latency", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","attributes":{"adk":{"app_name":"shop"}},"latency_ms":true}`, "column latency_ms: true is neither"},
		{"parts", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","attributes":{"adk":{"app_name":"shop"}},"content_parts":{"a":1}}`, "column content_parts: it is no list of objects"},
		{"an index", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","attributes":{"adk":{"app_name":"shop"}},"content_parts":[{"part_index":"x"}]}`, "column content_parts: part_index"},
		{"truncated", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","is_truncated":"maybe"}`, "column is_truncated: "},
		{"NUL", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s\u0000"}`, "column session_id: it holds a NUL character"},
		{"long", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"` + strings.Repeat("s", 4096+1) + `"}`, "column session_id: 4097 bytes"},
		{"no application", `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s"}`, "say whose row it is with --app"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := good + "\n" + test.line + "\n"
			if _, err := readText(t, text, rowfile.Options{NeedApp: "say whose row it is with --app"}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "nothing was read") {
				t.Errorf("%v, want %q", err, test.want)
			}
			got, err := readText(t, text, rowfile.Options{NeedApp: "say whose row it is with --app", SkipBad: true})
			if err != nil || len(got.Rows) != 1 || got.Skipped != 1 || !strings.Contains(got.Bad[0].Error(), test.want) {
				t.Errorf("with SkipBad: %+v, %v", got, err)
			}
		})
	}
}

// A journal in the place of a file of rows is told of by one sentence, and not line by line.
func TestJournalIsNoFileOfRows(t *testing.T) {
	_, err := rowfile.Read(t.Context(), strings.NewReader("SQLite format 3\x00\n\n\n"), "contextgraph.db", rowfile.Options{})
	if err == nil || err.Error() != "contextgraph.db is a SQLite file, as a journal is, and holds no lines of rows: give it with --journal" {
		t.Error(err)
	}
}

func TestRowsFiles(t *testing.T) {
	const row = `{"timestamp":1772712000,"event_type":"LLM_REQUEST","session_id":"s","more":1}`
	got, err := readText(t, "\ufeff"+row+"\r\n\n  \n"+row, rowfile.Options{App: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].AppName != "shop" || got.Unnamed != 2 || got.Unknown["more"] != 2 {
		t.Errorf("%+v", got)
	}
	first, second := got.Rows[0].EventID, got.Rows[1].EventID
	if len(first) != 32 || first == second {
		t.Errorf("rows without an id are %q and %q", first, second)
	}
	again, err := readText(t, row+"\n"+row+"\n", rowfile.Options{})
	if err != nil || again.Rows[0].EventID != first || again.Rows[1].EventID != second {
		t.Errorf("the same rows have other ids: %v", err)
	}
	if _, err := readText(t, "["+row+"]", rowfile.Options{SkipBad: true}); err == nil || !strings.Contains(err.Error(), "jq -c") {
		t.Errorf("an array: %v", err)
	}
	long := row + "\n{" + strings.Repeat(" ", 32<<20) + "}\n" + row + "\n"
	got, err = readText(t, long, rowfile.Options{SkipBad: true})
	if err != nil || len(got.Rows) != 2 || got.Skipped != 1 || !strings.Contains(got.Bad[0].Error(), "-:2: it is longer than 32 MiB") {
		t.Errorf("a long line: %d rows, %v, %v", len(got.Rows), got.Bad, err)
	}
	many := strings.Repeat("x\n", 20+5)
	if _, err := readText(t, many, rowfile.Options{}); err == nil || !strings.Contains(err.Error(), "and 5 more") || strings.Count(err.Error(), "\n") != 20+1 {
		t.Errorf("many bad lines: %v", err)
	}
}

// FuzzDecodeRow: no line makes the decoder fail in another way than with an error, and what
// it takes is written and read again as the same row.
func FuzzDecodeRow(f *testing.F) {
	rows, err := os.ReadFile("../verify/rows.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(rows)) {
		f.Add(line)
	}
	f.Add(`{"timestamp":1e9,"event_type":"NODE_OUTPUT","session_id":"s","content":"{\"a\":1}","attributes":"{\"adk\":{\"run_id\":\"r\",\"run_seq\":1}}"}`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := readText(t, line, rowfile.Options{})
		if err != nil || len(got.Rows) != 1 || got.Rows[0].RunID == "" {
			return
		}
		var b strings.Builder
		w := rowfile.NewWriter(&b)
		if err := errors.Join(w.Write(&got.Rows[0]), w.Flush()); err != nil {
			return // a time that text has no form for
		}
		again, err := readText(t, b.String(), rowfile.Options{})
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		want, e := got.Rows[0], again.Rows[0]
		want.Attributes, e.Attributes = nil, nil // of two members with one name one stays
		if want.RunSeq == 0 || strings.Contains(line, `\u`) {
			return
		}
		want.Content = text.EscapeJSON(want.Content) // as files have it
		if e.RunID != want.RunID || e.RunSeq != want.RunSeq || string(e.Content) != string(want.Content) || e.Timestamp != want.Timestamp {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, e))
		}
	})
}
