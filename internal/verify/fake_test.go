// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// service is what a run needs of BigQuery: a dataset with its labels, tables and views, dry runs, and answers that are
// made of what was streamed.
type service struct {
	rest  *httptest.Server
	write *writefake.Server

	mu      sync.Mutex
	dataset *api.Dataset
	tables  map[string]*api.Table
	jobs    map[string]string // texts by id
	// requests are "METHOD kind", ran the first lines of the statements that ran.
	requests, ran []string
	// intercept answers a request when it returns a status. The text is that of a job. Called with the
	// lock held.
	intercept func(request, text string) (status int, reason, message string)
	// estimate is what a dry run of a text says; nil says 1000 bytes.
	estimate func(text string) int64
	// change changes an answer before it is given.
	change      func(text string, rows []m) []m
	changeGraph func(nodes []any) []any
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{tables: make(map[string]*api.Table), jobs: make(map[string]string)}
	s.rest = httptest.NewServer(s)
	t.Cleanup(s.rest.Close)
	var err error
	if s.write, err = writefake.Start(writefake.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.write.Close)
	return s
}

func (s *service) clients() []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint(s.rest.URL), option.WithHTTPClient(s.rest.Client())}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	_, path, _ := strings.Cut(r.URL.Path, "/projects/")
	parts := strings.Split(path, "/")[1:] // without the project
	kind, name := parts[0], parts[len(parts)-1]
	if len(parts) > 2 && kind == "datasets" {
		kind = "tables"
	}
	request := r.Method + " " + kind
	s.requests = append(s.requests, request)
	if s.intercept != nil {
		if status, reason, message := s.intercept(request, string(body)); status != 0 {
			fail(w, status, reason, message)
			return
		}
	}
	switch request {
	case "POST datasets":
		s.dataset = new(api.Dataset)
		reply(w, decode(body, s.dataset))
	case "GET datasets", "DELETE datasets":
		if s.dataset == nil {
			fail(w, http.StatusNotFound, "notFound", "Not found: Dataset")
			return
		}
		reply(w, s.dataset)
		if r.Method == http.MethodDelete {
			s.dataset = nil
		}
	case "POST tables":
		t := decode(body, new(api.Table))
		t.Etag, t.Type = "1", "TABLE"
		if t.View != nil {
			t.Type = "VIEW"
		}
		s.tables[t.TableReference.TableId] = t
		reply(w, t)
	case "GET tables", "PATCH tables":
		switch t := s.tables[name]; {
		case name == "tables":
			list := &api.TableList{}
			for _, t := range slices.Sorted(maps.Keys(s.tables)) {
				list.Tables = append(list.Tables, &api.TableListTables{TableReference: s.tables[t].TableReference})
			}
			reply(w, list)
		case t == nil:
			fail(w, http.StatusNotFound, "notFound", "Not found: Table "+name)
		default:
			if r.Method == http.MethodPatch {
				maps.Copy(t.Labels, decode(body, new(api.Table)).Labels)
			}
			reply(w, t)
		}
	case "POST jobs":
		s.job(w, decode(body, new(api.Job)))
	case "GET jobs":
		reply(w, done(name, 0))
	case "GET queries":
		s.rows(w, name)
	default:
		fail(w, http.StatusNotImplemented, "notImplemented", request)
	}
}

// job runs a job, or estimates it.
func (s *service) job(w http.ResponseWriter, j *api.Job) {
	text := j.Configuration.Query.Query
	if j.Configuration.DryRun {
		bytes := int64(1000)
		if s.estimate != nil {
			bytes = s.estimate(text)
		}
		reply(w, done("dry", bytes))
		return
	}
	id := strconv.Itoa(len(s.jobs))
	params, err := json.Marshal(j.Configuration.Query.QueryParameters)
	if err != nil {
		panic(err)
	}
	s.jobs[id] = text + "\n-- " + string(params)
	reply(w, done(id, 1000))
}

func done(id string, bytes int64) *api.Job {
	return &api.Job{
		JobReference:  &api.JobReference{ProjectId: "my-project", JobId: id, Location: "US"},
		Configuration: &api.JobConfiguration{Query: &api.JobConfigurationQuery{}}, Status: &api.JobStatus{State: "DONE"},
		Statistics: &api.JobStatistics{TotalBytesProcessed: bytes, Query: &api.JobStatistics2{TotalBytesProcessed: bytes, TotalBytesBilled: 10 << 20}},
	}
}

// m is a row of an answer, or an object in it.
type m = map[string]any

// answer returns what a statement says of what was streamed. One that is not known here has one row.
func (s *service) answer(text string) []m {
	const session = "sess-nike-summer"
	switch {
	case strings.Contains(text, "INFORMATION_SCHEMA.PROPERTY_GRAPHS"):
		return nil
	case strings.HasPrefix(text, "-- The steps that graphs of some sessions have"):
		return []m{{"now": int64(1)}}
	case strings.Contains(text, "COUNT(DISTINCT event_id) AS events"), strings.HasPrefix(text, "-- One page of the sessions"):
		return []m{{"app": "adcp", "user": "buyer-agent", "session": session, "first": int64(1), "last": int64(2), "events": int64(1)}}
	case strings.Contains(text, "AS run_seq"):
		var rows []m
		for _, r := range s.write.Rows() {
			if row := r.Fields(); row["event_type"] != nil && strings.Contains(text, `"`+r.Session+`"`) {
				var attrs struct {
					ADK struct {
						App string `json:"app_name"`
						Run string `json:"run_id"`
						Seq int64  `json:"run_seq"`
					} `json:"adk"`
				}
				if err := json.Unmarshal([]byte(row["attributes"].(string)), &attrs); err != nil {
					panic(err)
				}
				delete(row, "content_parts")
				row["app"], row["user"], row["session"] = attrs.ADK.App, row["user_id"], row["session_id"]
				row["run_id"], row["run_seq"] = attrs.ADK.Run, attrs.ADK.Seq
				rows = append(rows, row)
			}
		}
		slices.SortStableFunc(rows, func(a, b m) int {
			return strings.Index(text, a["session"].(string)) - strings.Index(text, b["session"].(string))
		})
		return rows
	case strings.Contains(text, "MIN(graphs.session_day)"):
		return []m{{"first": "2026-03-04", "last": "2026-03-04"}}
	}
	return []m{{"node_key": "n"}}
}

// nodes returns the steps of the newest graph.
func (s *service) nodes() (nodes []any) {
	for _, r := range slices.Backward(s.write.Rows()) {
		nodes, _ = r.Fields()["nodes"].([]any)
		if r.Session == "sess-nike-summer" && nodes != nil {
			break
		}
	}
	for _, n := range nodes {
		asJSON(n)
	}
	return nodes
}

// asJSON makes of a value of a row what encoding/json encodes as writefake.Result reads it.
func asJSON(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			asJSON(v[i])
		}
	case m:
		for name, of := range v {
			at, isNumber := of.(int64)
			text, isText := of.(string)
			_, entity := v["biz_key"]
			switch {
			case isNumber && (strings.HasSuffix(name, "_time") || strings.HasSuffix(name, "_at")):
				v[name] = time.UnixMicro(at).UTC()
			case isText && (entity && (name == "norm" || name == "attributes" || name == "echoes") || name == "detail"):
				v[name] = json.RawMessage(text)
			default:
				asJSON(of)
			}
		}
	}
}

// rows answers a statement.
func (s *service) rows(w http.ResponseWriter, id string) {
	text := s.jobs[id]
	first, _, _ := strings.Cut(text, "\n")
	s.ran = append(s.ran, first)
	if strings.HasPrefix(text, "-- The steps of a session with all") {
		columns := slices.DeleteFunc(warehouse.SessionGraphsTable().Columns, func(c warehouse.Column) bool { return c.Name != "nodes" })[0].Fields
		nodes := s.nodes()
		if s.changeGraph != nil {
			nodes = s.changeGraph(nodes)
		}
		schema, rows := writefake.Result(columns, nodes)
		reply(w, &api.GetQueryResultsResponse{JobComplete: true, JobReference: &api.JobReference{JobId: id}, Schema: schema, Rows: rows, TotalRows: uint64(len(rows))})
		return
	}
	rows := s.answer(text)
	if s.change != nil {
		rows = s.change(text, rows)
	}
	out := &api.GetQueryResultsResponse{JobComplete: true, JobReference: &api.JobReference{JobId: id}, Schema: new(api.TableSchema), TotalRows: uint64(len(rows))}
	columns := make(m)
	for _, r := range rows {
		maps.Copy(columns, r)
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		typ := "STRING"
		switch _, number := columns[name].(int64); {
		case name == "timestamp", number && (name == "first" || name == "last"):
			typ = "TIMESTAMP"
		case name == "first", name == "last":
			typ = "DATE"
		case number:
			typ = "INTEGER"
		case name == "is_truncated":
			typ = "BOOLEAN"
		}
		out.Schema.Fields = append(out.Schema.Fields, &api.TableFieldSchema{Name: name, Type: typ})
	}
	for _, r := range rows {
		var cells []*api.TableCell
		for _, c := range out.Schema.Fields {
			cell := &api.TableCell{}
			if r[c.Name] != nil {
				cell.V = fmt.Sprint(r[c.Name])
			}
			cells = append(cells, cell)
		}
		out.Rows = append(out.Rows, &api.TableRow{F: cells})
	}
	reply(w, out)
}

func decode[T any](body []byte, v *T) *T {
	if err := json.Unmarshal(body, v); err != nil {
		panic(err)
	}
	return v
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who was interrupted does not read it
}

func fail(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "errors": []map[string]string{{"reason": reason, "message": message}},
	}})
}
