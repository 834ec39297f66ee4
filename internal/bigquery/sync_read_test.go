// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// rowsAPI is a BigQuery that knows rows of sessions and answers sync_read_sessions, sync_known and
// sync_model_entities with them, all else with nothing.
type rowsAPI struct {
	t *testing.T
	// rows are app, user, session, event id, microseconds and content parts; an app may be nil.
	// Instead of them, events are whole rows.
	rows   [][]any
	events []record.Event
	// known are the time of the clock, app, user, session, the key of a step, its day and its microseconds.
	known [][]any
	// most is how many sessions one query can read.
	most int

	texts  []string // of the jobs
	failed int
	jobs   map[string]func(w http.ResponseWriter)
}

func (a *rowsAPI) dataset() *bigquery.Dataset {
	a.t.Helper()
	a.jobs = make(map[string]func(http.ResponseWriter))
	server := httptest.NewServer(a)
	a.t.Cleanup(server.Close)
	d, err := bigquery.NewDataset(a.t.Context(), config.BigQuery{Project: "my-project", Dataset: "agents"}, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (a *rowsAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if r.Method != http.MethodPost {
		if answer := a.jobs[id]; answer != nil {
			answer(w)
			return
		}
		_, _ = w.Write([]byte(`{"location": "EU"}`))
		return
	}
	var job struct {
		JobReference  struct{ JobID string }
		Configuration struct {
			Query struct {
				Query           string
				QueryParameters []struct {
					Name           string
					ParameterValue struct{ ArrayValues []struct{ Value string } }
				}
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&job); err != nil {
		a.t.Error(err)
	}
	var ids []string
	for _, p := range job.Configuration.Query.QueryParameters {
		if p.Name == "sessions" {
			for _, v := range p.ParameterValue.ArrayValues {
				ids = append(ids, v.Value)
			}
		}
	}
	text := job.Configuration.Query.Query
	a.texts = append(a.texts, text)
	status := map[string]any{"state": "DONE"}
	var columns []string
	var rows [][]any
	switch {
	case strings.Contains(text, "AS run_seq") && a.most > 0 && len(ids) > a.most:
		a.failed++
		status["errorResult"] = map[string]any{"reason": "resourcesExceeded", "message": "words"}
	case strings.Contains(text, "AS run_seq") && a.events != nil:
		columns = []string{
			"app STRING", "user STRING", "session STRING", "event_id STRING", "event_type STRING", "timestamp TIMESTAMP", "trace_id STRING", "span_id STRING",
			"parent_span_id STRING", "content STRING", "attributes STRING", "run_id STRING", "run_seq INTEGER",
		}
		for _, e := range a.events {
			rows = append(rows, []any{
				e.AppName, e.UserID, e.SessionID, e.EventID, e.EventType, strconv.FormatInt(e.Timestamp, 10), e.TraceID, e.SpanID,
				e.ParentSpanID, string(e.Content), string(e.Attributes), e.RunID, strconv.FormatInt(e.RunSeq, 10),
			})
		}
	case strings.Contains(text, "AS run_seq"):
		columns = []string{"app STRING", "user STRING", "session STRING", "event_id STRING", "timestamp TIMESTAMP", "content_parts STRING"}
		rows = slices.DeleteFunc(slices.Clone(a.rows), func(row []any) bool { return !slices.Contains(ids, row[2].(string)) })
		slices.SortStableFunc(rows, func(x, y []any) int {
			return cmp.Compare(slices.Index(ids, x[2].(string)), slices.Index(ids, y[2].(string)))
		})
	case strings.Contains(text, "CURRENT_TIMESTAMP()"):
		columns = []string{"now INTEGER", "app STRING", "user STRING", "session STRING", "node_key STRING", "day DATE", "first TIMESTAMP"}
		if rows = a.known; len(rows) == 0 {
			rows = [][]any{{"1", nil, nil, nil, nil, nil, nil}}
		}
	}
	reply := func(w http.ResponseWriter, more map[string]any) {
		more["jobReference"], more["status"] = map[string]any{"projectId": "my-project", "jobId": job.JobReference.JobID}, status
		more["configuration"], more["jobComplete"] = map[string]any{"query": map[string]any{}}, true
		more["statistics"] = map[string]any{"query": map[string]any{"statementType": "SELECT"}}
		_ = json.NewEncoder(w).Encode(more)
	}
	a.jobs[job.JobReference.JobID] = func(w http.ResponseWriter) {
		var fields, cells []any
		for _, c := range columns {
			name, kind, _ := strings.Cut(c, " ")
			fields = append(fields, map[string]any{"name": name, "type": kind})
		}
		for _, row := range rows {
			var values []any
			for _, v := range row {
				values = append(values, map[string]any{"v": v})
			}
			cells = append(cells, map[string]any{"f": values})
		}
		reply(w, map[string]any{"schema": map[string]any{"fields": fields}, "rows": cells, "totalRows": strconv.Itoa(len(rows))})
	}
	reply(w, map[string]any{})
}

// read returns the event ids of each session that is read, in the order in which they come.
func (a *rowsAPI) read(d *bigquery.Dataset, spans []bigquery.SessionSpan) (out []string) {
	a.t.Helper()
	for s, err := range d.ReadSessions(a.t.Context(), spans, time.Now()) {
		if err != nil {
			a.t.Errorf("%s: %v", s.Session, err)
		}
		var ids []string
		for _, e := range s.Rows {
			ids = append(ids, e.EventID)
		}
		out = append(out, fmt.Sprintf("%s/%s/%s %v", s.Session.App, s.Session.User, s.Session.ID, ids))
	}
	return out
}

// Two hundred and fifty sessions are read by three queries, those that BigQuery cannot sort at once by
// more, and each of them is what it is when it is read alone.
func TestReadSessions(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	micros := func(i int) string { return strconv.FormatInt(at.Add(time.Duration(i)*time.Second).UnixMicro(), 10) }
	api := &rowsAPI{t: t}
	var spans []bigquery.SessionSpan
	for i := range 250 {
		id := fmt.Sprintf("s%03d", (i*7)%250)
		spans = append(spans, bigquery.SessionSpan{Session: record.Session{App: "shop", User: "ann", ID: id}, From: at.Add(time.Second)})
		if i%10 == 0 {
			continue // nothing is left of it
		}
		api.rows = append(api.rows,
			[]any{"shop", "ann", id, "early" + id, micros(0), nil}, []any{"shop", "ann", id, "a" + id, micros(1), nil},
			[]any{nil, "ann", id, "b" + id, micros(2), nil}, []any{"shop", "bob", id, "c" + id, micros(3), nil}, []any{"other", "ann", id, "d" + id, micros(4), nil})
	}
	// Two sessions of one id, and one whose user is not named.
	spans = append(spans[:200], append([]bigquery.SessionSpan{
		{Session: record.Session{App: "shop", User: "bob", ID: spans[198].Session.ID}, From: at},
		{Session: record.Session{App: "shop", ID: "nobody's"}, From: at},
	}, spans[200:248]...)...)
	api.rows = append(api.rows, []any{nil, "", "nobody's", "n", micros(5), nil})

	alone := api.dataset()
	var want []string
	for _, s := range spans {
		want = append(want, api.read(alone, []bigquery.SessionSpan{s})...)
	}
	if !slices.Contains(want, "shop/ann/s001 [as001 bs001]") || !slices.Contains(want, "shop//nobody's [n]") || !slices.Contains(want, "shop/ann/s000 []") {
		t.Fatalf("read alone: %q", want)
	}
	for _, tt := range []struct{ most, jobs, failed int }{{100, 3, 0}, {0, 3, 0}, {60, 7, 2}, {30, 17, 7}} {
		api.most, api.texts, api.failed = tt.most, nil, 0
		got := api.read(api.dataset(), spans)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("at most %d at once (-alone +together):\n%s", tt.most, diff)
		}
		if len(api.texts) != tt.jobs || api.failed != tt.failed {
			t.Errorf("at most %d at once: %d jobs, of which %d failed; want %d and %d", tt.most, len(api.texts), api.failed, tt.jobs, tt.failed)
		}
	}

	// What nobody wants is not asked for.
	api.most, api.texts = 0, nil
	for range api.dataset().ReadSessions(t.Context(), spans, time.Now()) {
		break
	}
	if len(api.texts) != 1 {
		t.Errorf("%d jobs for the first session", len(api.texts))
	}
}

// A row that cannot be read is an error of its session, and a query that fails ends the reading.
func TestReadSessionsErrors(t *testing.T) {
	t.Parallel()
	at := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMicro(), 10)
	api := &rowsAPI{t: t, rows: [][]any{
		{"shop", "ann", "a", "1", at, nil}, {"shop", "ann", "b", "2", at, "no JSON"}, {"shop", "ann", "c", "3", at, nil},
	}}
	var spans []bigquery.SessionSpan
	for _, id := range []string{"a", "b", "c"} {
		spans = append(spans, bigquery.SessionSpan{Session: record.Session{App: "shop", User: "ann", ID: id}})
	}
	d := api.dataset()
	var got []string
	for s, err := range d.ReadSessions(t.Context(), spans, time.Now()) {
		got = append(got, fmt.Sprint(s.Session.ID, len(s.Rows), err != nil))
	}
	if diff := gocmp.Diff([]string{"a1 false", "b0 true", "c1 false"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	failed, cancel := api.dataset(), 0
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for s, err := range failed.ReadSessions(ctx, spans, time.Now()) {
		if cancel++; err == nil || s.Session != (record.Session{}) {
			t.Errorf("%v, %v after the context ended", s, err)
		}
	}
	if cancel != 1 {
		t.Errorf("%d elements after the context ended", cancel)
	}
}

// graphOfFold compares folds by their graphs.
var graphOfFold = gocmp.Transformer("graph", func(s *graphsync.Session) []any {
	g := s.Graph()
	return []any{g.Nodes(), g.Edges(), g.Entities(), s.Counts()}
})

// The records of many sessions come by three queries a hundred, the same as one by one. A graph
// that begins earlier than the time that is looked at is read from there.
func TestRecordsOfTheDataset(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	micros := func(ago time.Duration) string { return strconv.FormatInt(now.Add(-ago).UnixMicro(), 10) }
	api := &rowsAPI{t: t, known: [][]any{{"1", "shop", "ann", "s007", "k", "2026-07-31", micros(50 * time.Hour)}}}
	var keys []record.Session
	for i := range 250 {
		key := record.Session{App: "shop", User: "ann", ID: fmt.Sprintf("s%03d", i)}
		keys = append(keys, key)
		if i == 3 {
			continue
		}
		api.rows = append(api.rows, []any{"shop", "ann", key.ID, "old" + key.ID, micros(49 * time.Hour), nil}, []any{"shop", "ann", key.ID, key.ID, micros(time.Hour), nil})
	}
	src := api.dataset().Source(bigquery.SourceOptions{Since: 24 * time.Hour, Now: func() time.Time { return now }})
	var want []inspect.Record
	for _, key := range keys {
		r, err := src.Record(t.Context(), key)
		if key.ID == "s003" {
			if !errors.Is(err, inspect.ErrNotFound) {
				t.Errorf("a session without rows: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	if len(want[0].Rows) != 1 || len(want[6].Rows) != 2 {
		t.Errorf("%d rows, and %d of a graph that began earlier", len(want[0].Rows), len(want[6].Rows))
	}
	api.texts = nil
	var got []inspect.Record
	for r, err := range inspect.Records(t.Context(), src, keys) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if diff := gocmp.Diff(want, got, graphOfFold); diff != "" {
		t.Errorf("(-one by one +together):\n%s", diff)
	}
	if len(api.texts) != 6 {
		t.Errorf("%d jobs for 250 sessions, want 2 for each hundred", len(api.texts))
	}
}
