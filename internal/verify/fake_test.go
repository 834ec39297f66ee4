// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// service is what a run needs of BigQuery: a dataset with its labels, tables and views, dry runs,
// and views that show what was streamed, each thing once.
type service struct {
	rest  *httptest.Server
	write *writefake.Server

	mu      sync.Mutex
	dataset *api.Dataset
	tables  map[string]*api.Table
	jobs    map[string]string // texts by id
	// requests are "METHOD kind", ran the views that were asked.
	requests, ran []string
	// intercept answers a request when it returns a status. The text is that of a job. Called with the
	// lock held.
	intercept func(request, text string) (status int, reason, message string)
	// estimate is what a dry run of a text says; nil says 1000 bytes.
	estimate func(text string) int64
	// lose takes keys from what a view shows.
	lose func(view string, keys []string) []string
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
	s.jobs[id] = text
	reply(w, done(id, 1000))
}

func done(id string, bytes int64) *api.Job {
	return &api.Job{
		JobReference:  &api.JobReference{ProjectId: "my-project", JobId: id, Location: "US"},
		Configuration: &api.JobConfiguration{Query: &api.JobConfigurationQuery{}}, Status: &api.JobStatus{State: "DONE"},
		Statistics: &api.JobStatistics{TotalBytesProcessed: bytes, Query: &api.JobStatistics2{TotalBytesProcessed: bytes, TotalBytesBilled: 10 << 20}},
	}
}

var shownView = regexp.MustCompile("FROM `[^`]+\\.(\\w+)` AS shown")

// keysOf says where in the steps of a graph the keys of a view are: those of steps, or of what they hold.
var keysOf = map[string][2]string{
	"graph_steps": {"", "node_key"}, "graph_tech_nodes": {"", "node_key"}, "graph_caused_edges": {"caused_by", "edge_key"},
	"graph_biz_nodes": {"entities", "biz_key"}, "graph_cross_links": {"entities", "biz_key"}, "graph_world_change_checks": {"checks", "check_id"},
}

// shows returns the keys that a view has: of the rows of its type, or of all graphs of the sessions that
// have one.
func (s *service) shows(view string) (keys []string) {
	for _, r := range s.write.Rows() {
		fields := r.Fields()
		of, graph := keysOf[view]
		nodes, _ := fields["nodes"].([]any)
		for _, n := range nodes {
			holds := []any{n}
			if of[0] != "" {
				holds, _ = n.(map[string]any)[of[0]].([]any)
			}
			for _, h := range holds {
				if key, _ := h.(map[string]any)[of[1]].(string); graph && !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
		if typ, _ := fields["event_type"].(string); len(nodes) == 0 && (view == "agent_events_unique" || view == "v_"+strings.ToLower(typ)) {
			keys = append(keys, r.EventID)
		}
	}
	return keys
}

// rows answers what a view shows.
func (s *service) rows(w http.ResponseWriter, id string) {
	out := &api.GetQueryResultsResponse{
		JobComplete: true, JobReference: &api.JobReference{JobId: id},
		Schema: &api.TableSchema{Fields: []*api.TableFieldSchema{{Name: "shown_key", Type: "STRING"}}},
	}
	if view := shownView.FindStringSubmatch(s.jobs[id]); view != nil {
		s.ran = append(s.ran, view[1])
		keys := s.shows(view[1])
		if s.lose != nil {
			keys = s.lose(view[1], keys)
		}
		for _, k := range keys {
			out.Rows = append(out.Rows, &api.TableRow{F: []*api.TableCell{{V: k}}})
		}
		out.TotalRows = uint64(len(keys))
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
