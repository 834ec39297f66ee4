// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// fakeAPI answers what SyncSession asks of the BigQuery API.
type fakeAPI struct {
	t *testing.T

	mu sync.Mutex
	// tables holds the rows of the staging tables that exist.
	tables map[string]string
	// made are the names of all staging tables there ever were.
	made []string
	// queries are the requests that ran the script.
	queries []map[string]any
	loads   int
	cancels int
	// failLoad and failQuery give the error of the nth job; nil for none.
	failLoad, failQuery func(n int) map[string]any
	// results are the numbers that the queries end with; 0 where there is none.
	results []int64
	// columns are those of every table that is asked about; nil when there is no table.
	columns []any
	// hang keeps queries running; polled is then told of the first question about one.
	hang   bool
	polled chan struct{}
	jobs   map[string]map[string]any
}

func newFakeAPI(t *testing.T) *fakeAPI {
	return &fakeAPI{t: t, tables: make(map[string]string), jobs: make(map[string]map[string]any), polled: make(chan struct{}, 1)}
}

func (f *fakeAPI) dataset() *bigquery.Dataset {
	f.t.Helper()
	server := httptest.NewServer(f)
	f.t.Cleanup(server.Close)
	d, err := bigquery.NewDataset(f.t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL + "/bigquery/v2/"), option.WithHTTPClient(server.Client())},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { d.Close() })
	return d
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := r.URL.Path
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/datasets/agents/tables"):
		var table struct {
			TableReference struct{ TableID string }
			ExpirationTime string
		}
		f.decode(r.Body, &table)
		if table.ExpirationTime == "" {
			f.t.Errorf("the table %s does not expire", table.TableReference.TableID)
		}
		f.tables[table.TableReference.TableID] = ""
		f.made = append(f.made, table.TableReference.TableID)
		f.answer(w, map[string]any{})
	case r.Method == http.MethodDelete:
		delete(f.tables, path[strings.LastIndexByte(path, '/')+1:])
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(path, "/cancel"):
		f.cancels++
		f.answer(w, map[string]any{})
	case r.Method == http.MethodPost && strings.HasPrefix(path, "/upload/"):
		f.load(w, r)
	case r.Method == http.MethodPost:
		var job map[string]any
		f.decode(r.Body, &job)
		f.queries = append(f.queries, job)
		f.run(w, job, f.failQuery, len(f.queries), f.hang)
	case strings.HasSuffix(path, "/datasets/agents"):
		f.answer(w, map[string]any{"location": "EU"})
	case strings.Contains(path, "/queries/"):
		f.result(w, path[strings.LastIndexByte(path, '/')+1:])
	case strings.Contains(path, "/datasets/agents/tables/"):
		if f.columns == nil {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		f.answer(w, map[string]any{"schema": map[string]any{"fields": f.columns}})
	default:
		if f.hang {
			select {
			case f.polled <- struct{}{}:
			default:
			}
		}
		f.answer(w, f.jobs[path[strings.LastIndexByte(path, '/')+1:]])
	}
}

func (f *fakeAPI) load(w http.ResponseWriter, r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		f.t.Error(err)
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	var job map[string]any
	head, err := parts.NextPart()
	if err != nil {
		f.t.Error(err)
		return
	}
	f.decode(head, &job)
	body, err := parts.NextPart()
	if err != nil {
		f.t.Error(err)
		return
	}
	rows, err := io.ReadAll(body)
	if err != nil {
		f.t.Error(err)
	}
	load := job["configuration"].(map[string]any)["load"].(map[string]any)
	name := load["destinationTable"].(map[string]any)["tableId"].(string)
	if _, there := f.tables[name]; !there || load["writeDisposition"] != "WRITE_TRUNCATE" || load["sourceFormat"] != "NEWLINE_DELIMITED_JSON" {
		f.t.Errorf("load job %v into %s", load, name)
	}
	f.tables[name] = string(rows)
	f.loads++
	f.run(w, job, f.failLoad, f.loads, false)
}

// result answers with the number that a query ended with.
func (f *fakeAPI) result(w http.ResponseWriter, job string) {
	var number int64
	for i, q := range f.queries {
		if q["jobReference"].(map[string]any)["jobId"] == job && i < len(f.results) {
			number = f.results[i]
		}
	}
	f.answer(w, map[string]any{
		"jobComplete": true, "totalRows": "1",
		"schema": map[string]any{"fields": []any{map[string]any{"name": "n", "type": "INTEGER"}}},
		"rows":   []any{map[string]any{"f": []any{map[string]any{"v": fmt.Sprint(number)}}}},
	})
}

// script returns the text of the nth query.
func (f *fakeAPI) script(n int) string {
	return f.queries[n]["configuration"].(map[string]any)["query"].(map[string]any)["query"].(string)
}

func (f *fakeAPI) run(w http.ResponseWriter, job map[string]any, fail func(int) map[string]any, n int, hang bool) {
	status := map[string]any{"state": "DONE"}
	if fail != nil {
		if e := fail(n); e != nil {
			status["errorResult"], status["errors"] = e, []any{e}
		}
	}
	if hang {
		status["state"] = "RUNNING"
	}
	job["status"] = status
	job["statistics"] = map[string]any{"totalBytesProcessed": "1000", "query": map[string]any{"totalBytesBilled": "10485760"}}
	f.jobs[job["jobReference"].(map[string]any)["jobId"].(string)] = job
	f.answer(w, job)
}

func (f *fakeAPI) decode(r io.Reader, v any) {
	if err := json.NewDecoder(r).Decode(v); err != nil {
		f.t.Error(err)
	}
}

func (f *fakeAPI) answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		f.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that gave up does not read it
}

func reason(reason, message string) map[string]any {
	return map[string]any{"reason": reason, "message": message}
}

// pauses records for how long was waited, without waiting.
type pauses []time.Duration

func (p *pauses) sleep(_ context.Context, d time.Duration) error {
	*p = append(*p, d)
	return nil
}

func oneGraph(t *testing.T) warehouse.SessionGraph {
	t.Helper()
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	g, err := warehouse.GraphOfRows(named("s1"), []record.Event{
		{EventID: "e1", EventType: record.UserMessageReceived, AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t", SpanID: "root", Timestamp: at.UnixMicro()},
		{EventID: "e2", EventType: record.ToolCompleted, AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t", SpanID: "tool", ParentSpanID: "root", Timestamp: at.UnixMicro() + 1,
			Content: []byte(`{"tool":"find","result":{}}`), Attributes: []byte(`{"entities":[{"type":"Product","value":"<b>"}]}`)},
	}, nil, warehouse.GraphOptions{Recorder: "j1", ReadAt: at.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSyncSessionStagesThenMerges(t *testing.T) {
	f := newFakeAPI(t)
	d := f.dataset()
	report, err := d.SyncSession(t.Context(), oneGraph(t))
	if err != nil {
		t.Fatal(err)
	}
	if report.Nodes != 2 || report.Edges != 1 || report.Entities != 1 || report.Links != 1 || report.Checks != 0 || report.Retries != 0 ||
		report.BytesBilled != 10485760 || report.BytesProcessed != 1000 || report.Job == "" {
		t.Errorf("report = %+v", report)
	}
	if len(f.made) != 5 || len(f.tables) != 0 || f.loads != 4 || len(f.queries) != 1 {
		t.Errorf("made %v, left %v, %d load jobs, %d queries", f.made, f.tables, f.loads, len(f.queries))
	}
	query := f.queries[0]["configuration"].(map[string]any)["query"].(map[string]any)
	for _, name := range f.made {
		if !strings.Contains(query["query"].(string), "`my-project.agents."+name+"`") {
			t.Errorf("the script does not use %s", name)
		}
	}
	if labels := fmt.Sprint(f.queries[0]["configuration"].(map[string]any)["labels"]); !strings.Contains(labels, "sdk_feature:graph-sync") {
		t.Errorf("labels = %s", labels)
	}
	var got []string
	for _, p := range query["queryParameters"].([]any) {
		p := p.(map[string]any)
		value := p["parameterValue"].(map[string]any)
		got = append(got, fmt.Sprintf("%v=%v", p["name"], value["value"]))
	}
	for _, want := range []string{"app=shop", "user=alice", "session=s1", "recorder=j1", "whole=false", "full=true"} {
		if !slices.Contains(got, want) {
			t.Errorf("parameters %v lack %s", got, want)
		}
	}
}

func TestSyncSessionRetries(t *testing.T) {
	failOnce := func(e map[string]any) func(int) map[string]any {
		return func(n int) map[string]any {
			if n == 1 {
				return e
			}
			return nil
		}
	}
	always := func(e map[string]any) func(int) map[string]any { return func(int) map[string]any { return e } }
	concurrent := reason("invalidQuery", "Transaction is aborted due to concurrent update against table my-project:agents.tech_nodes.")
	cases := []struct {
		name        string
		load, query func(int) map[string]any
		retries     int
		queries     int
		err         string
	}{
		{name: "conflict of transactions", query: failOnce(concurrent), retries: 1, queries: 2},
		{name: "serialization", query: failOnce(reason("invalidQuery", "Could not serialize access to table x due to concurrent update")), retries: 1, queries: 2},
		{name: "backend", query: failOnce(reason("backendError", "try again")), retries: 1, queries: 2},
		{name: "rate of jobs", query: failOnce(reason("jobRateLimitExceeded", "slow down")), retries: 1, queries: 2},
		{name: "load job", load: failOnce(reason("backendError", "try again")), retries: 1, queries: 1},
		{name: "for ever", query: always(concurrent), retries: 5, queries: 6, err: "concurrent update"},
		{name: "syntax", query: always(reason("invalidQuery", "Syntax error")), queries: 1, err: "Syntax error"},
		{name: "bytes", query: always(reason("bytesBilledLimitExceeded", "too much")), queries: 1, err: "too much"},
		{name: "rows that do not fit", load: always(reason("invalid", "no such field")), queries: 0, err: "no such field"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.failLoad, f.failQuery = c.load, c.query
			var waited pauses
			d := f.dataset()
			var report bigquery.SyncReport
			var err error
			if c.load != nil {
				// Load jobs run at once and would share waited.
				report, err = d.SyncSessionPausing(t.Context(), oneGraph(t), func(context.Context, time.Duration) error { return nil })
			} else {
				report, err = d.SyncSessionPausing(t.Context(), oneGraph(t), waited.sleep)
			}
			if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "s1")) {
				t.Errorf("error = %v, want %q", err, c.err)
			}
			if report.Retries != c.retries || len(f.queries) != c.queries {
				t.Errorf("%d retries and %d queries, want %d and %d", report.Retries, len(f.queries), c.retries, c.queries)
			}
			if len(f.tables) != 0 || len(f.made) != 5 {
				t.Errorf("left %v of %v", f.tables, f.made)
			}
			for i, d := range waited {
				if least := time.Second << i; d < min(least, 15*time.Second) || d >= 2*least {
					t.Errorf("pause %d is %v", i, d)
				}
			}
		})
	}
}

// Rows that stand in the tables twice after the merge are removed.
func TestSyncSessionRemovesDuplicates(t *testing.T) {
	conflict := reason("invalidQuery", "Transaction is aborted due to concurrent update against table my-project:agents.tech_nodes.")
	failFrom := func(from, to int, e map[string]any) func(int) map[string]any {
		return func(n int) map[string]any {
			if n >= from && n <= to {
				return e
			}
			return nil
		}
	}
	cases := []struct {
		name             string
		results          []int64
		query            func(int) map[string]any
		queries, retries int
		removed          int64
		err              string
	}{
		{name: "none", results: []int64{0}, queries: 1},
		{name: "some", results: []int64{3, 3}, queries: 2, removed: 3},
		{name: "somebody else was first", results: []int64{3, 0}, queries: 2},
		{name: "conflict", results: []int64{3, 0, 0, 2}, query: failFrom(2, 3, conflict), queries: 4, retries: 2, removed: 2},
		{name: "conflict for ever", results: []int64{3}, query: failFrom(2, 99, conflict), queries: 7, retries: 5, err: "concurrent update"},
		{name: "failure", results: []int64{3}, query: failFrom(2, 2, reason("bytesBilledLimitExceeded", "too much")), queries: 2, err: "too much"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.results, f.failQuery = c.results, c.query
			var waited pauses
			report, err := f.dataset().SyncSessionPausing(t.Context(), oneGraph(t), waited.sleep)
			if c.err == "" && err != nil {
				t.Error(err)
			}
			if c.err != "" && (!errors.Is(err, bigquery.ErrDuplicates) || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "contextgraph sync")) {
				t.Errorf("error = %v, want ErrDuplicates, the reason and the remedy", err)
			}
			if report.DuplicatesRemoved != c.removed || report.Retries != c.retries || len(f.queries) != c.queries || len(waited) != c.retries {
				t.Errorf("%d duplicates removed with %d retries and %d queries, want %d, %d and %d",
					report.DuplicatesRemoved, report.Retries, len(f.queries), c.removed, c.retries, c.queries)
			}
			first := f.queries[0]["jobReference"].(map[string]any)["jobId"]
			if report.Job != first {
				t.Errorf("the job of the report is %s, want that of the merge, %s", report.Job, first)
			}
			for i := range f.queries {
				if merges := strings.Contains(f.script(i), "MERGE `"); merges != (i == 0) {
					t.Errorf("query %d merges: %v", i, merges)
				}
			}
			if succeeded := int64(1); c.err == "" {
				if c.queries > 1 {
					succeeded = 2
				}
				if report.BytesBilled != succeeded*10485760 {
					t.Errorf("%d bytes billed by %d jobs", report.BytesBilled, succeeded)
				}
			}
			if len(f.tables) != 0 {
				t.Errorf("left %v", f.tables)
			}
		})
	}
}

// What a dataset lacks that an older version made is said, and only when that is why.
func TestSyncSessionSaysWhichColumnsAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		columns []any
		reason  map[string]any
		says    bool
	}{
		"older tables":  {[]any{map[string]any{"name": "node_key", "type": "STRING"}}, reason("invalidQuery", "Unrecognized name: requests"), true},
		"no table":      {nil, reason("notFound", "Not found: Table"), false},
		"a broken copy": {[]any{map[string]any{"name": "node_key", "type": "INTEGER"}}, reason("invalidQuery", "Syntax error"), false},
		"a conflict":    {[]any{map[string]any{"name": "node_key", "type": "STRING"}}, reason("backendError", "try again"), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.columns, f.failQuery = c.columns, func(int) map[string]any { return c.reason }
			var waited pauses
			_, err := f.dataset().SyncSessionPausing(t.Context(), oneGraph(t), waited.sleep)
			if err == nil || !strings.Contains(err.Error(), c.reason["message"].(string)) {
				t.Fatalf("error = %v", err)
			}
			if says := strings.Contains(err.Error(), "tech_nodes.requests") && strings.Contains(err.Error(), "contextgraph init"); says != c.says {
				t.Errorf("error = %v; says what is missing: %v, want %v", err, says, c.says)
			}
		})
	}
}

func TestSyncSessionCancelsAndCleansUp(t *testing.T) {
	f := newFakeAPI(t)
	f.hang = true
	d := f.dataset()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := d.SyncSession(ctx, oneGraph(t))
		done <- err
	}()
	<-f.polled
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if f.cancels != 1 || len(f.tables) != 0 {
		t.Errorf("%d jobs cancelled, tables left: %v", f.cancels, f.tables)
	}
}

func TestSyncSessionRefusesAnEmptyGraph(t *testing.T) {
	f := newFakeAPI(t)
	if _, err := f.dataset().SyncSession(t.Context(), warehouse.SessionGraph{Session: named("s1")}); !errors.Is(err, warehouse.ErrNoRows) {
		t.Errorf("error = %v", err)
	}
	if len(f.made) != 0 {
		t.Errorf("made %v", f.made)
	}
}

func TestStagedRowsFitTheirTables(t *testing.T) {
	columns := make(map[string]map[string]bool)
	for _, table := range warehouse.GraphTables() {
		columns[table.Name] = make(map[string]bool)
		for _, c := range table.Columns {
			columns[table.Name][c.Name] = c.Mode == "REQUIRED"
		}
	}
	g := oneGraph(t)
	g.Checks = append(g.Checks, warehouse.WorldChangeCheckRow{})
	for table, row := range map[string]any{
		warehouse.TechNodes: g.Nodes[0], warehouse.CausedEdges: g.Edges[0], warehouse.BizNodes: g.Entities[0],
		warehouse.CrossLinks: g.Links[0], warehouse.WorldChangeChecks: g.Checks[0],
	} {
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			if _, known := columns[table][name]; !known {
				t.Errorf("%s has no column %s", table, name)
			}
		}
		for name, required := range columns[table] {
			if _, there := members[name]; required && !there {
				t.Errorf("a row of %s lacks %s", table, name)
			}
		}
	}
}
