// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
)

// service is what the tests need of the BigQuery API: metadata with ETags, and jobs that
// make a property graph.
type service struct {
	mu sync.Mutex
	// tableLife is the default table expiration of the dataset.
	tableLife time.Duration
	// location of the dataset; empty while there is none.
	location string
	tables   map[string]*api.Table
	// statement is the last one that a job ran; graph is the one that made the graph.
	statement, graph string
	// graphs counts the statements that made or kept the graph.
	graphs int
	// graphDDL is what PROPERTY_GRAPHS shows; noGraphs refuses to show it. foreign fails what asks
	// for a property of ours.
	graphDDL          string
	noGraphs, foreign bool
	// jobLocation is where the last job ran.
	jobLocation string
	etags       int
	// requests are "METHOD kind name", without those that poll a job.
	requests []string
	// intercept, when set, is asked before a request is served, with the lock held, and
	// answers it when it returns a status.
	intercept func(request string) (status int, reason, message string)
	// jobError fails the jobs.
	jobError *api.ErrorProto
}

func newService(t *testing.T) (*service, *httptest.Server) {
	s := &service{tables: make(map[string]*api.Table)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server
}

func (s *service) put(t *api.Table) {
	s.etags++
	t.Etag = fmt.Sprintf(`"%d"`, s.etags)
	if t.Type == "" {
		t.Type = "TABLE"
		if t.View != nil {
			t.Type = "VIEW"
		}
	}
	s.tables[t.TableReference.TableId] = t
}

// sent returns the requests that changed something since the last call.
func (s *service) sent() (writes []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if !strings.HasPrefix(r, "GET") {
			writes = append(writes, r)
		}
	}
	all = len(s.requests)
	s.requests = nil
	return writes, all
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, path, _ := strings.Cut(r.URL.Path, "/projects/")
	parts := strings.Split(path, "/")[1:] // without the project
	kind, name := parts[0], ""
	var body json.RawMessage
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fail(w, 400, "invalid", err.Error())
			return
		}
	}
	switch {
	case kind == "queries" || kind == "jobs" && r.Method == http.MethodGet:
		s.job(w, kind)
		return
	case len(parts) > 2:
		kind = "tables"
		if len(parts) > 3 {
			name = parts[3]
		}
	}
	if r.Method == http.MethodPost && kind == "tables" {
		name = decode[api.Table](body).TableReference.TableId
	}
	request := strings.TrimSpace(r.Method + " " + kind + " " + name)
	if kind == "jobs" && bytes.Contains(body, []byte("PROPERTY_GRAPHS")) {
		request = "GET graphs"
	}
	s.requests = append(s.requests, request)
	if s.intercept != nil {
		if status, reason, message := s.intercept(request); status != 0 {
			fail(w, status, reason, message)
			return
		}
	}
	switch {
	case kind == "datasets" && r.Method == http.MethodPost:
		s.location = decode[api.Dataset](body).Location
		reply(w, &api.Dataset{})
	case kind == "datasets" && s.location == "":
		fail(w, 404, "notFound", "Not found: Dataset")
	case kind == "datasets":
		reply(w, &api.Dataset{Location: s.location, DefaultTableExpirationMs: s.tableLife.Milliseconds()})
	case kind == "jobs":
		job := decode[api.Job](body)
		s.statement, s.jobLocation = job.Configuration.Query.Query, job.JobReference.Location
		s.run()
		s.job(w, kind)
	case r.Method == http.MethodPost && (s.location == "" || s.tables[name] != nil):
		fail(w, 409, "duplicate", "Already Exists: "+name)
	case r.Method == http.MethodPost:
		t := decode[api.Table](body)
		s.put(&t)
		reply(w, &t)
	case name == "":
		list := &api.TableList{}
		for _, t := range slices.Sorted(maps.Keys(s.tables)) {
			list.Tables = append(list.Tables, &api.TableListTables{TableReference: s.tables[t].TableReference})
		}
		reply(w, list)
	case s.tables[name] == nil:
		fail(w, 404, "notFound", "Not found: Table "+name)
	case r.Method == http.MethodPatch:
		s.patch(w, r, name, body)
	default:
		reply(w, s.tables[name])
	}
}

// patch changes what the body has, as the API does: labels one by one.
func (s *service) patch(w http.ResponseWriter, r *http.Request, name string, body json.RawMessage) {
	t := *s.tables[name]
	if match := r.Header.Get("If-Match"); match != t.Etag {
		fail(w, 412, "conditionNotMet", "Precondition Failed")
		return
	}
	p := decode[struct {
		Schema *api.TableSchema    `json:"schema"`
		View   *api.ViewDefinition `json:"view"`
		Labels map[string]*string  `json:"labels"`
	}](body)
	if p.Schema != nil {
		t.Schema = p.Schema
	}
	if p.View != nil {
		t.View = p.View
	}
	t.Labels = maps.Clone(t.Labels)
	for k, v := range p.Labels {
		if t.Labels == nil {
			t.Labels = make(map[string]string)
		}
		delete(t.Labels, k)
		if v != nil {
			t.Labels[k] = *v
		}
	}
	s.put(&t)
	reply(w, &t)
}

var addColumn = regexp.MustCompile(`ADD COLUMN IF NOT EXISTS (\w+) (\w+)(?:<STRUCT<(.*)>>)?`)

// structField finds the fields of a STRUCT, which have descriptions.
var structField = regexp.MustCompile(`(\w+) (STRING|TIMESTAMP|BOOL|FLOAT64|INT64|JSON)\b(?: OPTIONS \(description = "[^"]*"\))?`)

// run runs the statement of a job: the type of a column that is added stays what it is
// called in SQL, as nobody here reads it.
func (s *service) run() {
	switch {
	case strings.Contains(s.statement, "PROPERTY GRAPH"):
		s.graph = s.statement
		s.graphs++
		if s.jobError == nil && (s.graphDDL == "" || strings.Contains(s.graph, "OR REPLACE")) {
			s.graphDDL = s.graph
		}
		return
	case !strings.Contains(s.statement, "ALTER TABLE"):
		return
	}
	name := regexp.MustCompile("ALTER TABLE `[^`]+\\.(\\w+)`").FindStringSubmatch(s.statement)[1]
	t := *s.tables[name]
	t.Schema = &api.TableSchema{Fields: slices.Clone(t.Schema.Fields)}
	for _, c := range addColumn.FindAllStringSubmatch(s.statement, -1) {
		if !slices.ContainsFunc(t.Schema.Fields, func(f *api.TableFieldSchema) bool { return f.Name == c[1] }) {
			added := &api.TableFieldSchema{Name: c[1], Type: c[2]}
			if c[2] == "ARRAY" {
				added.Type, added.Mode = "RECORD", "REPEATED"
			}
			for _, f := range structField.FindAllStringSubmatch(c[3], -1) {
				added.Fields = append(added.Fields, &api.TableFieldSchema{Name: f[1], Type: f[2]})
			}
			t.Schema.Fields = append(t.Schema.Fields, added)
		}
	}
	s.put(&t)
}

func (s *service) job(w http.ResponseWriter, kind string) {
	finding := strings.Contains(s.statement, "PROPERTY_GRAPHS")
	if kind == "queries" {
		if finding {
			reply(w, s.found())
			return
		}
		if s.jobError != nil {
			fail(w, 400, s.jobError.Reason, s.jobError.Message)
			return
		}
		reply(w, &api.GetQueryResultsResponse{JobComplete: true, JobReference: &api.JobReference{JobId: "j"}})
		return
	}
	failed, operation := s.jobError, "CREATE"
	if strings.Contains(s.statement, "GRAPH IF NOT EXISTS") && s.graphDDL != s.graph {
		operation = "SKIP"
	}
	switch {
	case finding && s.noGraphs:
		failed = &api.ErrorProto{Reason: "accessDenied", Message: "No."}
	case finding:
		failed = nil
	case strings.HasPrefix(s.statement, "GRAPH ") && s.foreign:
		failed = &api.ErrorProto{Reason: "invalidQuery", Message: "Property session_day is not exposed"}
	}
	reply(w, &api.Job{
		JobReference:  &api.JobReference{ProjectId: "p", JobId: "j", Location: s.location},
		Configuration: &api.JobConfiguration{Query: &api.JobConfigurationQuery{Query: s.statement}},
		Status:        &api.JobStatus{State: "DONE", ErrorResult: failed},
		Statistics:    &api.JobStatistics{Query: &api.JobStatistics2{StatementType: "CREATE_PROPERTY_GRAPH", DdlOperationPerformed: operation}},
	})
}

// found is what PROPERTY_GRAPHS has.
func (s *service) found() *api.GetQueryResultsResponse {
	r := &api.GetQueryResultsResponse{
		JobComplete: true, JobReference: &api.JobReference{JobId: "j"},
		Schema: &api.TableSchema{Fields: []*api.TableFieldSchema{{Name: "ddl", Type: "STRING"}}},
	}
	if s.graphDDL != "" {
		r.Rows, r.TotalRows = []*api.TableRow{{F: []*api.TableCell{{V: s.graphDDL}}}}, 1
	}
	return r
}

func decode[T any](body json.RawMessage) T {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		panic(err)
	}
	return v
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func fail(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "errors": []map[string]string{{"reason": reason, "message": message}},
	}})
}

// connect returns a Dataset of the service.
func connect(t *testing.T, server *httptest.Server, change func(*config.BigQuery)) *bigquery.Dataset {
	t.Helper()
	cfg := config.BigQuery{Project: "my-project", Dataset: "agents"}
	if change != nil {
		change(&cfg)
	}
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
