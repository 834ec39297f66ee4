// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	api "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// questions is a server that takes query jobs, remembers them, and answers the
// statements whose text has one of the keys with one row.
type questions struct {
	mu   sync.Mutex
	jobs []questionJob
	// rows are columns and values by a part of the statement.
	rows map[string][][2]string
	// nodes are the steps of the graph.
	nodes []json.RawMessage
	// fail are the statuses of errors by a part of the statement; with 200 the job fails and
	// not the request. The reason of all of them defaults to invalidQuery.
	fail   map[string]int
	reason string
}

type questionJob struct {
	text   string
	params []string
	values map[string]string
	labels map[string]string
	bytes  string
}

func (q *questions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		var body struct {
			Configuration struct {
				Labels map[string]string
				Query  struct {
					Query              string
					MaximumBytesBilled string
					QueryParameters    []struct {
						Name           string
						ParameterValue struct{ Value string }
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		j := questionJob{values: make(map[string]string), text: body.Configuration.Query.Query, labels: body.Configuration.Labels, bytes: body.Configuration.Query.MaximumBytesBilled}
		for _, p := range body.Configuration.Query.QueryParameters {
			j.params = append(j.params, p.Name)
			j.values[p.Name] = p.ParameterValue.Value
		}
		q.jobs = append(q.jobs, j)
		status, reason := `{"state":"DONE"}`, cmp.Or(q.reason, "invalidQuery")
		for part, code := range q.fail {
			switch {
			case !strings.Contains(j.text, part):
			case code == http.StatusOK:
				status = fmt.Sprintf(`{"state":"DONE","errorResult":{"reason":%q,"message":"refused"}}`, reason)
			default:
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"error":{"code":%d,"message":"refused","errors":[{"reason":%q}]}}`, code, reason)
				return
			}
		}
		fmt.Fprintf(w, `{"jobReference":{"projectId":"test-project","jobId":"%d","location":"US"},"status":%s,"configuration":{"query":{"destinationTable":{"projectId":"test-project","datasetId":"d","tableId":"t%d"}}}}`, len(q.jobs), status, len(q.jobs))
		return
	}
	if strings.HasSuffix(r.URL.Path, "/datasets/agents") {
		fmt.Fprint(w, `{"location":"US"}`)
		return
	}
	var id int
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], "%d", &id); err != nil || id < 1 || id > len(q.jobs) {
		http.NotFound(w, r)
		return
	}
	if strings.HasPrefix(q.jobs[id-1].text, graphOf) {
		columns := slices.DeleteFunc(warehouse.SessionGraphsTable().Columns, func(c warehouse.Column) bool { return c.Name != "nodes" })[0].Fields
		schema, rows := writefake.Result(columns, q.nodes)
		_ = json.NewEncoder(w).Encode(&api.GetQueryResultsResponse{
			JobComplete: true, TotalRows: uint64(len(rows)), Schema: schema, Rows: rows, JobReference: &api.JobReference{ProjectId: "test-project", JobId: fmt.Sprint(id), Location: "US"},
		})
		return
	}
	var fields, values []string
	for part, row := range q.rows {
		if strings.Contains(q.jobs[id-1].text, part) {
			for _, c := range row {
				typ := "STRING"
				switch c[0] {
				case "nodes":
					typ = "INTEGER"
				case "incomplete":
					typ = "BOOLEAN"
				case "first", "last", "decided_at":
					if typ = "TIMESTAMP"; strings.Contains(c[1], "-") {
						typ = "DATE"
					}
				}
				fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q}`, c[0], typ))
				values = append(values, fmt.Sprintf(`{"v":%q}`, c[1]))
			}
		}
	}
	rows, n := "[]", 0
	if len(values) > 0 {
		rows, n = `[{"f":[`+strings.Join(values, ",")+`]}]`, 1
	}
	fmt.Fprintf(w, `{"jobComplete":true,"totalRows":"%d","schema":{"fields":[%s]},"rows":%s,"jobReference":{"projectId":"test-project","jobId":"%d","location":"US"}}`,
		n, strings.Join(fields, ","), rows, id)
}

// daysOf is a part of the statement that looks for the days of a session.
const daysOf = "SELECT MIN(graphs.session_day)"

func asker(t *testing.T, q *questions) *bigquery.Dataset {
	t.Helper()
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	if q.rows == nil {
		q.rows = map[string][][2]string{daysOf: {{"first", "2026-03-04"}, {"last", "2026-03-05"}}}
	}
	if q.nodes == nil {
		q.nodes = []json.RawMessage{json.RawMessage(`{"node_key":"n1","kind":"tool","name":"buy","approval":true,"position":0,
			"start_time":"2026-03-04T10:00:00Z","end_time":"2026-03-04T10:00:01Z","decided_at":"2026-03-04T10:00:01Z",
			"caused_by":[{"edge_key":"e","from_key":"gone","kind":"informs"}],
			"entities":[{"biz_key":"b","node_type":"Product","node_value":"Reels","source":"rule","confidence":1,"event_id":"v",
				"attributes":{"status":{"kind":"text","value":"open"}},"evaluated_at":"2026-03-04T10:00:00Z","first_evaluated_at":"2026-03-04T10:00:00Z"}],
			"checks":[{"check_id":"c","checked_at":"2026-03-04T11:00:00Z","verdict":"drift","stale_entities":1,"alerts":[{"value":"Reels","severity":0.5}]}]}`)}
	}
	cfg := config.BigQuery{Project: "test-project", Dataset: "agents"}
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithoutAuthentication(), option.WithHTTPClient(server.Client())},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// graphOf is a part of the statement that reads a graph.
const graphOf = "-- The steps of a session with all"

var (
	sqlComment   = regexp.MustCompile(`--[^\n]*`)
	sqlParameter = regexp.MustCompile(`@([a-z_]+)`)
)

// Every parameter of a statement is sent and no other one; every job is
// labelled and bounded in cost; and every statement of a question is asked.
func TestQuestionsSendTheirParameters(t *testing.T) {
	q := &questions{}
	d := asker(t, q)
	window := ask.Window{From: time.Unix(1, 0)}
	_, graph := d.Graph(t.Context(), ask.Scope{Session: record.Session{App: "ads", User: "u1", ID: "s1"}, From: time.Unix(1, 0)})
	_, uses := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: entity.Entity{Type: "Product", Value: "Reels"}})
	_, waiting := d.WaitingTimes(t.Context(), window)
	_, drift := d.DriftStatistics(t.Context(), window)
	if err := errors.Join(graph, uses, waiting, drift); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, j := range q.jobs {
		first, _, _ := strings.Cut(j.text, "\n")
		seen[first] = true
		var want []string
		for _, found := range sqlParameter.FindAllStringSubmatch(sqlComment.ReplaceAllString(j.text, ""), -1) {
			want = append(want, found[1])
		}
		slices.Sort(want)
		slices.Sort(j.params)
		if diff := gocmp.Diff(slices.Compact(want), j.params); diff != "" {
			t.Errorf("%s: parameters (-text +sent):\n%s", first, diff)
		}
		if j.labels["sdk"] == "" || j.labels["sdk_feature"] == "" || j.bytes == "" {
			t.Errorf("%s: labels %v, bytes billed %q", first, j.labels, j.bytes)
		}
	}
	for _, name := range warehouse.StatementNames() {
		if !strings.HasPrefix(name, "ask_") {
			continue
		}
		text, err := d.Names().Statement(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(text, "\n"); !seen[first] {
			t.Errorf("nothing asks %s", name)
		}
	}
}

// A graph is read step by step; an edge from a step that is not there is left out.
func TestGraph(t *testing.T) {
	scope := ask.Scope{Session: record.Session{App: "ads", User: "u1", ID: "s1"}}
	g, err := asker(t, &questions{}).Graph(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	decision, _ := g.Decision()
	reasons, err := g.Why(decision)
	if err != nil || decision != "n1" || len(reasons) != 1 || reasons[0].Entity.Value != "Reels" || len(g.Edges()) != 0 {
		t.Errorf("decision %q, edges %v, reasons %+v, %v", decision, g.Edges(), reasons, err)
	}
	want := []ask.Check{{
		ID: "c", CheckedAt: time.Date(2026, 3, 4, 11, 0, 0, 0, time.UTC), Verdict: "drift", Stale: 1, Alerts: []ask.Alert{{Value: "Reels", Severity: 0.5}},
	}}
	if diff := gocmp.Diff(want, g.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	q := &questions{nodes: []json.RawMessage{json.RawMessage(`{"node_key":"n1","entities":[{"node_type":"T","attributes":[1]}]}`)}}
	if _, err := asker(t, q).Graph(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "step n1: entity") {
		t.Errorf("attributes of another form: %v, want an error that names the step", err)
	}
}

// What BigQuery would end with an error is refused before it is asked, and what a search
// had to leave out is said.
func TestSearchesAreBounded(t *testing.T) {
	window := ask.Window{From: time.Unix(1, 0)}
	product := entity.Entity{Type: "Product", Value: "Reels"}
	q := &questions{}
	d := asker(t, q)
	for _, hops := range []int{-1, ask.MaxHops + 1} {
		_, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: product, Hops: hops})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Hops is %d: use 1 to %d", hops, ask.MaxHops)) {
			t.Errorf("%d hops: %v", hops, err)
		}
	}
	if _, err := d.Graph(t.Context(), ask.Scope{}); !errors.Is(err, ask.ErrNoSessionID) {
		t.Errorf("a session without an id: %v", err)
	}
	if len(q.jobs) > 0 {
		t.Errorf("%d statements were sent", len(q.jobs))
	}
	q.rows["AS incomplete"] = [][2]string{{"incomplete", "true"}}
	uses, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: product})
	if err != nil || !uses.Truncated || len(uses.Approvals) > 0 {
		t.Errorf("a search that was not through: %+v, %v", uses, err)
	}
}

// A query that is refused for its bytes says what to do, whether the request or the job
// is refused.
func TestBytesBilledRemedy(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusBadRequest} {
		q := &questions{fail: map[string]int{graphOf: code}, reason: "bytesBilledLimitExceeded"}
		_, err := asker(t, q).Graph(t.Context(), ask.Scope{Session: record.Session{ID: "s1"}})
		for _, want := range []string{"bigquery.max_bytes_billed is 10737418240", "shorter time", "upper bound"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("status %d: %v, want %q in it", code, err, want)
			}
		}
	}
}

// A question without times looks back 30 days and not further.
func TestQuestionsWithoutTimesAreBounded(t *testing.T) {
	day := 24 * time.Hour
	instant := func(text string) time.Time {
		t.Helper()
		at, err := time.Parse("2006-01-02 15:04:05.999999-07:00", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		name           string
		from, to       time.Time
		wantFrom, span time.Duration // before now, and of the whole
	}{
		{name: "none", wantFrom: 30 * day, span: 30*day + time.Hour},
		{name: "an end", to: time.Now().Add(-10 * day), wantFrom: 40 * day, span: 30 * day},
		{name: "a beginning", from: time.Now().Add(-100 * day), wantFrom: 100 * day, span: 100*day + time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &questions{}
			now := time.Now()
			if _, err := asker(t, q).Graph(t.Context(), ask.Scope{Session: record.Session{ID: "s1"}, From: c.from, To: c.to}); err != nil {
				t.Fatal(err)
			}
			first := q.jobs[0].values
			if got := now.Sub(instant(first["from"])); (got - c.wantFrom).Abs() > time.Minute {
				t.Errorf("it begins %v before now, want %v", got, c.wantFrom)
			}
			if got := instant(first["to"]).Sub(instant(first["from"])); (got - c.span).Abs() > time.Minute {
				t.Errorf("it is %v long, want %v", got, c.span)
			}
		})
	}
	t.Run("an unknown session", func(t *testing.T) {
		_, err := asker(t, &questions{rows: map[string][][2]string{}}).Graph(t.Context(), ask.Scope{Session: record.Session{ID: "s1"}})
		if want := time.Now().UTC().Add(-30 * day).Format("no graph from 2006-01-02T"); !errors.Is(err, ask.ErrUnknownSession) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	})
}
