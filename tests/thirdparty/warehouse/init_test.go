// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// dataset returns the dataset that cfg names on the emulator.
func dataset(t *testing.T, s *emulator.Server, cfg config.BigQuery) *bigquery.Dataset {
	t.Helper()
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{Client: s.RESTOptions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// restClient returns a client of the emulator.
func restClient(t *testing.T, s *emulator.Server) *bq.Client {
	t.Helper()
	client, err := bq.NewClient(t.Context(), emulator.Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// goldenRows returns the rows of all scenarios of the row contract and of the fixtures of
// the Python plugin. Times and durations have names there and get
// values here, and event ids are made unique.
func goldenRows(t *testing.T) []record.Event {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.golden", "python/*.json"} {
		found, err := filepath.Glob("../../contract/testdata/" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro()
	var rows []record.Event
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range objects(t, file, bytes.ReplaceAll(data, []byte(`"<ms>"`), []byte("7"))) {
			e := record.Event{
				Timestamp: start + int64(len(rows)), EventID: filepath.Base(file) + "/" + r.EventID, EventType: r.EventType, Agent: r.Agent,
				SessionID: r.SessionID, UserID: r.UserID, Status: r.Status, ErrorMessage: r.ErrorMessage,
			}
			for to, doc := range map[*[]byte]json.RawMessage{&e.Content: r.Content, &e.Attributes: r.Attributes, &e.LatencyMS: r.LatencyMS} {
				if s := string(doc); s != "" && s != "null" {
					*to = doc
				}
			}
			rows = append(rows, e)
		}
	}
	return rows
}

type goldenRow struct {
	EventID      string          `json:"event_id"`
	EventType    string          `json:"event_type"`
	Agent        string          `json:"agent"`
	SessionID    string          `json:"session_id"`
	UserID       string          `json:"user_id"`
	Status       string          `json:"status"`
	ErrorMessage string          `json:"error_message"`
	Content      json.RawMessage `json:"content"`
	Attributes   json.RawMessage `json:"attributes"`
	LatencyMS    json.RawMessage `json:"latency_ms"`
}

// objects reads a list of rows, or rows one after another.
func objects(t *testing.T, file string, data []byte) []goldenRow {
	t.Helper()
	var rows []goldenRow
	if strings.HasPrefix(string(data), "[") {
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return rows
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	for {
		var r goldenRow
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return rows
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		}
		rows = append(rows, r)
	}
}

// saver puts a row into the table in the way of tabledata.insertAll.
type saver struct{ e record.Event }

func (s saver) Save() (map[string]bq.Value, string, error) {
	row := map[string]bq.Value{
		"timestamp": time.UnixMicro(s.e.Timestamp).UTC(), "event_id": s.e.EventID, "event_type": s.e.EventType, "agent": s.e.Agent,
		"session_id": s.e.SessionID, "user_id": s.e.UserID, "status": s.e.Status, "is_truncated": s.e.IsTruncated,
	}
	if s.e.EventID == "" {
		delete(row, "event_id")
	}
	for name, doc := range map[string][]byte{"content": s.e.Content, "attributes": s.e.Attributes, "latency_ms": s.e.LatencyMS} {
		if doc != nil {
			row[name] = string(doc)
		}
	}
	return row, "", nil
}

func insert(t *testing.T, client *bq.Client, table string, rows []record.Event) {
	t.Helper()
	var savers []saver
	for _, e := range rows {
		savers = append(savers, saver{e})
	}
	for chunk := range slices.Chunk(savers, 500) {
		if err := client.Dataset("agents").Table(table).Inserter().Put(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
}

func selectAll(t *testing.T, client *bq.Client, sql string) []map[string]bq.Value {
	t.Helper()
	it, err := client.Query(sql).Read(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []map[string]bq.Value
	for {
		row := make(map[string]bq.Value)
		switch err := it.Next(&row); {
		case errors.Is(err, iterator.Done):
			return rows
		case err != nil:
			t.Fatalf("%s: %v", sql, err)
		}
		rows = append(rows, row)
	}
}

// A dataset made from nothing has what it is to have; the typed views show what the row
// contract says, and each row once although each was delivered twice.
//
// The second Init looks at everything but the graph, whose statement, CREATE PROPERTY
// GRAPH IF NOT EXISTS, the emulator's analyzer does not survive where there is a graph.
func TestInitAndViews(t *testing.T) {
	s := emulator.StartEmpty(t)
	d, client := dataset(t, s, s.Config()), restClient(t, s)
	r, err := d.Init(t.Context(), bigquery.InitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Objects {
		if o.Outcome != bigquery.Created {
			t.Errorf("%s %s: %s", o.Kind, o.Name, o.Outcome)
		}
	}
	if answer, err := d.Texts(t.Context(), "init_probe_graph", nil, nil); err != nil || len(answer.Rows) > 0 {
		t.Errorf("the graph of an empty dataset: %v, %v", answer, err)
	}
	cfg := s.Config()
	cfg.Graph.GQL = new(false)
	again := dataset(t, s, cfg)
	if r, err := again.Init(t.Context(), bigquery.InitOptions{}); err != nil || r.Changed() || len(r.Notes) > 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
	if statements, notes, err := again.Plan(t.Context()); err != nil || len(statements)+len(notes) > 0 {
		t.Errorf("what is left to do: %v, %v, %v", statements, notes, err)
	}

	// JSON_TYPE of the emulator fails for NULL, for which that of BigQuery gives NULL, so
	// there are no rows without a state here.
	rows := slices.DeleteFunc(goldenRows(t), func(e record.Event) bool {
		return e.EventType == record.AgentStateCheckpoint && !bytes.Contains(e.Content, []byte(`"agent_state": {`))
	})
	// No recorder writes what models found.
	found := rows[0]
	found.EventID, found.EventType = strings.Repeat("f", 32), record.EntitiesFound
	found.Content, found.ContentParts, found.LatencyMS = nil, nil, nil
	found.Attributes = fmt.Appendf(nil, `{"adk":{"app_name":%q,"of":%q},"entities":[{"type":"Product","value":"Desk","confidence":0.5}]}`, found.AppName, rows[0].EventID)
	rows = append(rows, found)
	insert(t, client, "agent_events", append(slices.Clone(rows), rows...))
	count := func(name string) int64 {
		return selectAll(t, client, "SELECT COUNT(*) AS n FROM `test-project.agents."+name+"`")[0]["n"].(int64)
	}
	if all, unique := count("agent_events"), count("agent_events_unique"); all != int64(2*len(rows)) || unique != int64(len(rows)) {
		t.Errorf("%d rows, %d unique, of %d", all, unique, len(rows))
	}
	_, views, err := warehouse.TypedViews()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		t.Run(v.Suffix, func(t *testing.T) { checkView(t, client, v, rows) })
	}
}

// checkView compares the view with what contract.Column.Value says for each row.
func checkView(t *testing.T, client *bq.Client, v warehouse.TypedView, rows []record.Event) {
	want := make(map[string]*record.Event)
	for i := range rows {
		if rows[i].EventType == v.EventType {
			want[rows[i].EventID] = &rows[i]
		}
	}
	if len(want) == 0 {
		t.Errorf("no row is of type %s", v.EventType)
	}
	got := selectAll(t, client, "SELECT * FROM `test-project.agents.v_"+v.Suffix+"`")
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for _, row := range got {
		e := want[row["event_id"].(string)]
		if e == nil {
			t.Fatalf("row %v is of another type or there twice", row["event_id"])
		}
		delete(want, e.EventID)
		for _, c := range v.Columns {
			if diff := cmp.Diff(valueOf(t, c, e), shown(t, c, row[c.Name])); diff != "" {
				t.Errorf("%s: column %s (-want +got):\n%s", e.EventID, c.Name, diff)
			}
		}
	}
}

// valueOf returns the value of the column in the row, JSON decoded; nil where an object
// stands in the place of a scalar, as in a query. The null of JSON is nil too: the
// emulator does not tell it from NULL.
func valueOf(t *testing.T, c contract.Column, e *record.Event) any {
	t.Helper()
	v, err := c.Value(e)
	if err != nil && !strings.Contains(err.Error(), "scalar") {
		t.Fatalf("%s: %s: %v", e.EventID, c.Name, err)
	}
	if doc, ok := v.(json.RawMessage); ok {
		return document(t, string(doc))
	}
	if c.As == "seconds" && v != nil {
		return time.UnixMicro(int64(math.Round(v.(float64) * 1e6))).UTC()
	}
	return v
}

// shown returns a value of a query in the form of valueOf.
func shown(t *testing.T, c contract.Column, v bq.Value) any {
	t.Helper()
	if s, ok := v.(string); ok && c.Type == "JSON" {
		return document(t, s)
	}
	if at, ok := v.(time.Time); ok {
		return at.UTC()
	}
	return v
}

func document(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	if v == nil {
		return nil
	}
	return fmt.Sprintf("%v", v)
}

// A number with a fraction does not fail a view, a row without an event_id is shown
// however often it is there, and a value that is no number is NULL.
func TestViewsOfOddRows(t *testing.T) {
	s := emulator.StartEmpty(t)
	cfg := s.Config()
	cfg.Graph.GQL = new(false)
	d, client := dataset(t, s, cfg), restClient(t, s)
	if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro()
	var rows []record.Event
	for i, latency := range []string{`{"total_ms": 12.7}`, `{"total_ms": "slow"}`, `{"total_ms": 9007199254740991}`, `{}`} {
		rows = append(rows, record.Event{Timestamp: at + int64(i), EventID: fmt.Sprint(i), EventType: record.AgentCompleted, LatencyMS: []byte(latency)})
	}
	nameless := record.Event{Timestamp: at + 9, EventType: record.AgentCompleted, LatencyMS: []byte(`{"total_ms": 1}`)}
	insert(t, client, "agent_events", append(rows, nameless, nameless))
	var got []any
	for _, row := range selectAll(t, client, "SELECT total_ms FROM `test-project.agents.v_agent_completed` ORDER BY timestamp") {
		got = append(got, row["total_ms"])
	}
	if diff := cmp.Diff([]any{int64(13), nil, int64(9007199254740991), nil, int64(1), int64(1)}, got); diff != "" {
		t.Errorf("total_ms (-want +got):\n%s", diff)
	}
	if n := len(selectAll(t, client, "SELECT event_id FROM `test-project.agents.agent_events_unique`")); n != 6 {
		t.Errorf("%d unique rows, want 6", n)
	}
}

// oldTable is the table of events as an early version of the plugin for Python made it:
// twelve columns, without event_id, and parts without a reference to an object.
func oldTable() *bq.TableMetadata {
	text := func(name string) *bq.FieldSchema { return &bq.FieldSchema{Name: name, Type: bq.StringFieldType} }
	document := func(name string) *bq.FieldSchema { return &bq.FieldSchema{Name: name, Type: bq.JSONFieldType} }
	return &bq.TableMetadata{
		TimePartitioning: &bq.TimePartitioning{Type: bq.DayPartitioningType, Field: "timestamp"},
		Clustering:       &bq.Clustering{Fields: []string{"event_type", "agent", "user_id"}},
		Labels:           map[string]string{"adk_schema_version": "1"},
		Schema: bq.Schema{
			{Name: "timestamp", Type: bq.TimestampFieldType, Required: true}, text("event_type"), text("agent"), text("session_id"),
			text("user_id"), text("trace_id"), text("span_id"), document("content"),
			{Name: "content_parts", Type: bq.RecordFieldType, Repeated: true, Schema: bq.Schema{text("mime_type"), text("text")}},
			document("attributes"), text("status"), {Name: "is_truncated", Type: bq.BooleanFieldType},
		},
	}
}

// A table that lacks fields of a column is brought up to date wholly: its rows are seen
// through the views, and the next Init finds nothing to do.
func TestInitAddsFields(t *testing.T) {
	s := emulator.Start(t)
	cfg := s.Config()
	cfg.Graph.GQL = new(false)
	d, client := dataset(t, s, cfg), restClient(t, s)
	old := oldTable()
	for _, name := range []string{"event_id", "invocation_id", "parent_span_id", "latency_ms", "error_message"} {
		f := &bq.FieldSchema{Name: name, Type: bq.StringFieldType}
		if name == "latency_ms" {
			f.Type = bq.JSONFieldType
		}
		old.Schema = append(old.Schema, f)
	}
	if err := client.Dataset("agents").Table("agent_events").Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	insertOldRow(t, client)
	if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := selectAll(t, client, "SELECT event_id, session_id FROM agents.v_llm_request"); len(got) != 1 || got[0]["session_id"] != "s1" {
		t.Errorf("rows: %v", got)
	}
	for _, quick := range []bool{false, true} {
		if r, err := d.Init(t.Context(), bigquery.InitOptions{Quick: quick}); err != nil || r.Changed() {
			t.Errorf("again, quick %t: %+v, %v", quick, r, err)
		}
	}
}

func insertOldRow(t *testing.T, client *bq.Client) {
	t.Helper()
	row := `INSERT INTO agents.agent_events (timestamp, event_type, session_id, status) VALUES (TIMESTAMP "2026-01-02 03:04:05 UTC", "LLM_REQUEST", "s1", "OK")`
	if _, err := client.Query(row).Read(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The statements of --dry-run make the same tables as Init, and views that can be read.
//
// What the emulator does not do: it takes CREATE SCHEMA for a dataset in quotes and makes
// none, so the dataset is there before; it refuses descriptions of the fields of a STRUCT,
// so descriptions are left out; and it keeps no labels of statements, so the views get theirs
// by a request.
func TestDefinitionsRun(t *testing.T) {
	s := emulator.Start(t)
	cfg := s.Config()
	client := restClient(t, s)
	statements, err := warehouse.Definitions(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range statements {
		text := st.SQL
		if st.Kind == warehouse.KindTable {
			text = description.ReplaceAllString(text, "")
		}
		if _, err := client.Query(text).Read(t.Context()); err != nil && st.Kind != warehouse.KindDataset {
			t.Errorf("%s %s: %v", st.Kind, st.Name, err)
		}
	}
	for _, st := range statements {
		if st.Kind == warehouse.KindView {
			selectAll(t, client, "SELECT * FROM agents."+st.Name)
		}
	}
	d := dataset(t, s, cfg)
	views, err := d.Names().Views()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		var labels bq.TableMetadataToUpdate
		labels.SetLabel(warehouse.DigestLabel, v.Digest())
		if _, err := client.Dataset("agents").Table(v.Name).Update(t.Context(), labels, ""); err != nil {
			t.Error(err)
		}
	}
	left, notes, err := d.Plan(t.Context())
	if err != nil || len(notes) > 0 {
		t.Errorf("%v, %v", notes, err)
	}
	for _, st := range left {
		if st.Kind == warehouse.KindTable || st.Kind == warehouse.KindView {
			t.Errorf("left: %s %s:\n%s", st.Kind, st.Name, st.SQL)
		}
	}
}

// description is what the emulator takes in no field: the other attribute is NOT NULL.
var description = regexp.MustCompile(` OPTIONS \(description = "[^"]*"\)| NOT NULL`)
