// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/viewertest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// datasetOf is a BigQuery whose dataset has these rows and no graph. It knows the statements
// that read sessions, and of their parameters the session. That the real ones give these
// rows is tested where they are executed.
type datasetOf struct {
	t    *testing.T
	rows []record.Event
	jobs map[string]answered
}

// answered is the result of one job.
type answered struct {
	columns []string // "name TYPE"
	rows    [][]any
}

func (d *datasetOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		var request struct {
			JobReference  struct{ JobID string }
			Configuration struct {
				Query struct {
					Query           string
					QueryParameters []struct {
						Name           string
						ParameterValue struct {
							Value       string
							ArrayValues []struct{ Value string }
						}
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			d.t.Error(err)
		}
		var begins string
		var sessions []string
		for _, p := range request.Configuration.Query.QueryParameters {
			switch p.Name {
			case "begins":
				begins = p.ParameterValue.Value
			case "sessions":
				for _, v := range p.ParameterValue.ArrayValues {
					sessions = append(sessions, v.Value)
				}
			}
		}
		d.jobs[request.JobReference.JobID] = d.answer(request.Configuration.Query.Query, begins, sessions)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"jobReference": map[string]any{"projectId": "my-project", "jobId": request.JobReference.JobID}, "status": map[string]any{"state": "DONE"},
			"configuration": map[string]any{"query": map[string]any{}}, "statistics": map[string]any{"query": map[string]any{"statementType": "SELECT"}},
		})
		return
	}
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	var fields, rows []any
	for _, c := range d.jobs[id].columns {
		name, kind, _ := strings.Cut(c, " ")
		fields = append(fields, map[string]any{"name": name, "type": kind})
	}
	for _, values := range d.jobs[id].rows {
		var cells []any
		for _, v := range values {
			cells = append(cells, map[string]any{"v": v})
		}
		rows = append(rows, map[string]any{"f": cells})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jobReference": map[string]any{"projectId": "my-project", "jobId": id}, "jobComplete": true, "totalRows": strconv.Itoa(len(rows)),
		"status": map[string]any{"state": "DONE"}, "configuration": map[string]any{"query": map[string]any{}},
		"schema": map[string]any{"fields": fields}, "rows": rows,
	})
}

// answer returns what a statement selects.
func (d *datasetOf) answer(query, begins string, ids []string) answered {
	switch {
	case strings.Contains(query, "CURRENT_TIMESTAMP()"): // sync_known: there is no graph
		return answered{[]string{"now INTEGER"}, [][]any{{"1"}}}
	case strings.Contains(query, "biz_key"): // sync_model_entities: nor entities
		return answered{[]string{"biz_key STRING"}, nil}
	case strings.Contains(query, "MAX(timestamp) AS last"): // list_sessions, sync_find_sessions
		out := answered{columns: []string{"app STRING", "user STRING", "session STRING", "events INTEGER", "first TIMESTAMP", "last TIMESTAMP"}}
		for _, rows := range d.sessions(begins, nil) {
			first, last := rows[0].Timestamp, rows[0].Timestamp
			for _, e := range rows {
				first, last = min(first, e.Timestamp), max(last, e.Timestamp)
			}
			s := rows[0].Session()
			out.rows = append(out.rows, []any{s.App, s.User, s.ID, strconv.Itoa(len(rows)), strconv.FormatInt(first, 10), strconv.FormatInt(last, 10)})
		}
		slices.SortStableFunc(out.rows, func(a, b []any) int { return -cmp.Compare(a[5].(string), b[5].(string)) })
		return out
	case strings.Contains(query, "AS run_seq"): // list_rows, sync_read_sessions
		out := answered{columns: []string{
			"app STRING", "user STRING", "session STRING", "timestamp TIMESTAMP", "event_id STRING", "event_type STRING", "agent STRING",
			"invocation_id STRING", "trace_id STRING", "span_id STRING", "parent_span_id STRING", "content STRING", "content_parts STRING",
			"attributes STRING", "latency_ms STRING", "status STRING", "error_message STRING", "is_truncated BOOLEAN", "run_id STRING", "run_seq INTEGER",
		}}
		for _, rows := range d.sessions("", ids) {
			for _, e := range rows {
				out.rows = append(out.rows, cells(e))
			}
		}
		return out
	}
	d.t.Errorf("an unknown statement: %s", query)
	return answered{}
}

// sessions returns the rows of each session whose id begins so, or of those with the ids, in the
// order of these.
func (d *datasetOf) sessions(begins string, ids []string) [][]record.Event {
	var out [][]record.Event
	at := make(map[record.Session]int)
	for _, e := range d.rows {
		s := e.Session()
		if !strings.HasPrefix(s.ID, begins) || ids != nil && !slices.Contains(ids, s.ID) {
			continue
		}
		i, known := at[s]
		if !known {
			i = len(out)
			at[s], out = i, append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	slices.SortStableFunc(out, func(a, b []record.Event) int {
		return cmp.Compare(slices.Index(ids, a[0].SessionID), slices.Index(ids, b[0].SessionID))
	})
	return out
}

func cells(e record.Event) []any {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return []any{
		e.AppName, e.UserID, e.SessionID, strconv.FormatInt(e.Timestamp, 10), text(e.EventID), text(e.EventType), text(e.Agent),
		text(e.InvocationID), text(e.TraceID), text(e.SpanID), text(e.ParentSpanID), text(string(e.Content)), text(string(e.ContentParts)),
		text(string(e.Attributes)), text(string(e.LatencyMS)), text(e.Status), text(e.ErrorMessage), strconv.FormatBool(e.IsTruncated),
		text(e.RunID), strconv.FormatInt(e.RunSeq, 10),
	}
}

// What commands say of the dataset is what they say of its rows.
func TestDatasetIsReadAsItsRows(t *testing.T) {
	name := rowsFile(t)
	t.Chdir(t.TempDir())
	a := &app{stdout: t.Output(), stderr: t.Output()}
	read, err := a.readRows(t.Context(), name, rowfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&datasetOf{t: t, rows: read.Rows, jobs: make(map[string]answered)})
	t.Cleanup(server.Close)
	for _, command := range []string{
		"sessions", "sessions --status drift", "sessions --search nike --output json", "trace sess-nike-summer", "trace sess-nike-summer --output ndjson --errors",
		"why sess-nike-summer", "approvals", "approvals " + nikeConfirmation, "approvals " + nikeApproval + " --output json", "trace none",
	} {
		args := strings.Fields(command)
		wantCode, want, _ := runCommand(t, append(args, "--from", name)...)
		streamed := &app{client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())}}
		code, got, stderr := askWith(t, streamed, append(args, "--from", "dataset", "--project", "my-project", "--dataset", "agents")...)
		if code != wantCode {
			t.Errorf("%s ends with %d, want %d: %s", command, code, wantCode, stderr)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-rows +dataset):\n%s", command, diff)
		}
		if wantCode == exitOK && want == "" {
			t.Errorf("%s says nothing", command)
		}
	}

	// The page has the same sessions; JSON comes as BigQuery normalises it.
	var pages [2]string
	for i, from := range [][]string{{name}, {"dataset", "--project", "my-project", "--dataset", "agents"}} {
		file := fmt.Sprintf("page-%d.html", i)
		reads := &app{client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())}}
		if code, _, stderr := askWith(t, reads, append([]string{"view", "--all", "--file", file, "--from"}, from...)...); code != exitOK {
			t.Fatalf("view --from %v: %d: %s", from, code, stderr)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list := regexp.MustCompile(`"list":(\[.*?\]),"sessions":`).FindSubmatch(viewertest.Data(t, string(text)))
		if list == nil {
			t.Fatalf("%s has no list", file)
		}
		pages[i] = string(list[1])
	}
	if diff := gocmp.Diff(pages[0], pages[1]); diff != "" {
		t.Errorf("sessions of the page (-rows +dataset):\n%s", diff)
	}
}
