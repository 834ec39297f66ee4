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
	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// questions is a server that takes query jobs, remembers them, and answers the
// statements whose text has one of the keys with one row.
type questions struct {
	mu   sync.Mutex
	jobs []questionJob
	// rows are columns and values by a part of the statement.
	rows map[string][][2]string
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

func asker(t *testing.T, q *questions, queries config.Queries) *bigquery.Dataset {
	t.Helper()
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	if q.rows == nil {
		const when = "1772719200000000"
		q.rows = map[string][][2]string{
			daysOf:                    {{"first", "2026-03-04"}, {"last", "2026-03-05"}},
			"FROM bounds":             {{"nodes", "3"}, {"first", when}, {"last", when}, {"node_key", "n1"}, {"decided_at", when}},
			"made.verdict AS verdict": {{"tool", "buy"}}, // so that the graph is asked for what had changed
		}
	}
	cfg := config.BigQuery{Project: "test-project", Dataset: "agents", Graph: config.Graph{Queries: queries}}
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: []option.ClientOption{option.WithEndpoint(server.URL), option.WithoutAuthentication(), option.WithHTTPClient(server.Client())},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// askEverything asks every question once.
func askEverything(t *testing.T, d *bigquery.Dataset) {
	t.Helper()
	scope := ask.Scope{Session: record.Session{App: "ads", User: "u1", ID: "s1"}, From: time.Unix(1, 0)}
	window := ask.Window{From: time.Unix(1, 0)}
	for name, ask := range map[string]func() error{
		"reasoning": func() error {
			_, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: scope})
			return err
		},
		"effects": func() error {
			_, err := d.CausalChain(t.Context(), ask.CausalQuestion{Scope: scope})
			return err
		},
		"causes": func() error {
			_, err := d.CausalChain(t.Context(), ask.CausalQuestion{Scope: scope, Backwards: true})
			return err
		},
		"inputs": func() error {
			_, err := d.WorldChangeInputs(t.Context(), ask.InputsQuestion{Scope: scope})
			return err
		},
		"explanation": func() error {
			_, err := d.ExplainDecision(t.Context(), ask.ReasoningQuestion{Scope: scope})
			return err
		},
		"approvals": func() error {
			_, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: entity.Entity{Type: "Product", Value: "Reels"}})
			return err
		},
		"waiting": func() error { _, err := d.WaitingTimes(t.Context(), window); return err },
		"drift":   func() error { _, err := d.DriftStatistics(t.Context(), window); return err },
		"trace": func() error {
			_, err := d.Trace(t.Context(), scope)
			if errors.Is(err, ask.ErrUnknownSession) {
				return nil // the server has no rows
			}
			return err
		},
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var (
	sqlComment   = regexp.MustCompile(`--[^\n]*`)
	sqlParameter = regexp.MustCompile(`@([a-z_]+)`)
)

// Every parameter of a statement is sent and no other one, in both forms; every job is
// labelled and bounded in cost; and every statement of a question is asked.
func TestQuestionsSendTheirParameters(t *testing.T) {
	seen := make(map[string]bool)
	form := func(text string) string { // the first line of a statement and its twin is the same
		first, _, _ := strings.Cut(text, "\n")
		return fmt.Sprint(first, " in GQL: ", strings.Contains(text, "GRAPH"))
	}
	for _, queries := range []config.Queries{config.QueriesRecursive, config.QueriesAuto, config.QueriesGQL} {
		q := &questions{}
		d := asker(t, q, queries)
		askEverything(t, d)
		for _, j := range q.jobs {
			first, _, _ := strings.Cut(j.text, "\n")
			seen[form(j.text)] = true
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
	}
	names, err := warehouse.NamesOf(config.BigQuery{Project: "test-project", Dataset: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range warehouse.StatementNames() {
		if !strings.HasPrefix(name, "ask_") || name == "ask_trace" || name == "ask_trace_gql" {
			continue // the trace needs rows: tests/thirdparty/warehouse asks for one
		}
		text, err := names.Statement(name, struct {
			Hops, Edges int
			Backwards   bool
		}{})
		if err != nil {
			t.Fatal(err)
		}
		if !seen[form(text)] {
			t.Errorf("nothing asks %s", name)
		}
	}
}

// Which form is asked, and what an error in GQL says.
func TestForms(t *testing.T) {
	inputs := func(d *bigquery.Dataset) (ask.Inputs, error) {
		return d.WorldChangeInputs(t.Context(), ask.InputsQuestion{Scope: ask.Scope{Session: record.Session{ID: "s1"}}})
	}
	count := func(q *questions, part string) (n int) {
		for _, j := range q.jobs {
			if strings.Contains(j.text, part) {
				n++
			}
		}
		return n
	}
	for name, test := range map[string]struct {
		queries   config.Queries
		code      int
		reason    string
		wantErr   string
		gql, both int // how often two questions are asked in GQL, and in recursive SQL
	}{
		"recursive":          {config.QueriesRecursive, 0, "", "", 0, 2},
		"auto":               {config.QueriesAuto, 0, "", "", 0, 2},
		"gql, no graph":      {config.QueriesGQL, http.StatusBadRequest, "", "needs the property graph", 2, 0},
		"gql, not found":     {config.QueriesGQL, http.StatusNotFound, "", "needs the property graph", 2, 0},
		"gql, not allowed":   {config.QueriesGQL, http.StatusForbidden, "accessDenied", "jobUser", 2, 0},
		"gql, no resources":  {config.QueriesGQL, http.StatusOK, "resourcesExceeded", "fewer hops", 2, 0},
		"gql, too expensive": {config.QueriesGQL, http.StatusBadRequest, "billingTierLimitExceeded", "fewer hops", 2, 0},
		"gql, bytes":         {config.QueriesGQL, http.StatusBadRequest, "bytesBilledLimitExceeded", "bigquery.max_bytes_billed", 2, 0},
		"gql, no rows":       {config.QueriesGQL, 0, "", "", 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := &questions{reason: test.reason}
			if test.code != 0 {
				q.fail = map[string]int{"GRAPH_TABLE": test.code}
			}
			d := asker(t, q, test.queries)
			for range 2 {
				got, err := inputs(d)
				if (err != nil) != (test.wantErr != "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("error %v, want one with %q", err, test.wantErr)
				}
				want := ask.FormRecursive
				if test.gql > 0 {
					want = ask.FormGQL
				}
				if err == nil && got.Form != want {
					t.Errorf("form %s, want %s", got.Form, want)
				}
			}
			gql := count(q, "GRAPH_TABLE")
			recursive := count(q, "-- The entities that the steps") - gql
			if gql != test.gql || recursive != test.both {
				t.Errorf("%d in GQL and %d in recursive SQL, want %d and %d", gql, recursive, test.gql, test.both)
			}
		})
	}
}

// Counts follow no path, and are asked in the form that the configuration says too.
func TestFormsOfCounts(t *testing.T) {
	for queries, want := range map[config.Queries]struct {
		gql            int // statements
		waiting, drift ask.Form
	}{
		config.QueriesAuto:      {0, ask.FormRecursive, ask.FormRecursive},
		config.QueriesRecursive: {0, ask.FormRecursive, ask.FormRecursive},
		config.QueriesGQL:       {3, ask.FormGQL, ask.FormGQL},
	} {
		q := &questions{}
		d := asker(t, q, queries)
		window := ask.Window{From: time.Unix(1, 0)}
		waiting, err := d.WaitingTimes(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		drift, err := d.DriftStatistics(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		var gql int
		for _, j := range q.jobs {
			if strings.Contains(j.text, "GRAPH_TABLE") {
				gql++
			}
		}
		if gql != want.gql || waiting.Form != want.waiting || drift.Form != want.drift {
			t.Errorf("%s: %d in GQL, waiting in %s, drift in %s; want %+v", queries, gql, waiting.Form, drift.Form, want)
		}
	}
}

// What BigQuery would end with an error is refused before it is asked, and what a search
// had to leave out is said.
func TestSearchesAreBounded(t *testing.T) {
	scope := ask.Scope{Session: record.Session{App: "ads", User: "u1", ID: "s1"}}
	window := ask.Window{From: time.Unix(1, 0)}
	product := entity.Entity{Type: "Product", Value: "Reels"}
	q := &questions{}
	d := asker(t, q, config.QueriesRecursive)
	for _, hops := range []int{-1, ask.MaxHops + 1} {
		for name, question := range map[string]func() error{
			"ReasoningChain": func() error {
				_, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: scope, Hops: hops})
				return err
			},
			"ExplainDecision": func() error {
				_, err := d.ExplainDecision(t.Context(), ask.ReasoningQuestion{Scope: scope, Hops: hops})
				return err
			},
			"CausalChain": func() error {
				_, err := d.CausalChain(t.Context(), ask.CausalQuestion{Scope: scope, Hops: hops})
				return err
			},
			"EntityAcrossSessions": func() error {
				_, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: product, Hops: hops})
				return err
			},
		} {
			if err := question(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Hops is %d: use 1 to %d", hops, ask.MaxHops)) {
				t.Errorf("%s of %d hops: %v", name, hops, err)
			}
		}
	}
	if len(q.jobs) > 0 {
		t.Errorf("%d statements were sent", len(q.jobs))
	}

	q.rows["AS incomplete"] = [][2]string{{"incomplete", "true"}}
	why, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: scope, Hops: ask.MaxHops})
	if err != nil || !why.Truncated {
		t.Errorf("a search that was not through: truncated %t, %v", why.Truncated, err)
	}
	uses, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{Window: window, Entity: product})
	if err != nil || !uses.Truncated || len(uses.Approvals) > 0 {
		t.Errorf("a search that was not through: %+v, %v", uses, err)
	}
}

// A query that is refused for its bytes says what to do, whether the request or the job
// is refused.
func TestBytesBilledRemedy(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusBadRequest} {
		q := &questions{fail: map[string]int{"FROM bounds": code}, reason: "bytesBilledLimitExceeded"}
		_, err := asker(t, q, config.QueriesAuto).ReasoningChain(t.Context(),
			ask.ReasoningQuestion{Scope: ask.Scope{Session: record.Session{ID: "s1"}}})
		for _, want := range []string{"bigquery.max_bytes_billed is 10737418240", "shorter time", "upper bound"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("status %d: %v, want %q in it", code, err, want)
			}
		}
	}
}

// A question without times looks back 30 days and not further. What came of a decision is
// looked for in the 30 days after it.
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
			d := asker(t, q, config.QueriesRecursive)
			now := time.Now()
			scope := ask.Scope{Session: record.Session{ID: "s1"}, From: c.from, To: c.to}
			if _, err := d.ExplainDecision(t.Context(), ask.ReasoningQuestion{Scope: scope}); err != nil {
				t.Fatal(err)
			}
			near := func(what string, got, want time.Duration) {
				if (got - want).Abs() > time.Minute {
					t.Errorf("%s is %v, want %v", what, got, want)
				}
			}
			first := q.jobs[0].values
			near("the beginning", now.Sub(instant(first["from"])), c.wantFrom)
			near("the time", instant(first["to"]).Sub(instant(first["from"])), c.span)
			var until int
			for _, j := range q.jobs {
				if j.values["until"] != "" {
					until++
					near("the time after the decision", instant(j.values["until"]).Sub(time.UnixMicro(1772719200000000)), 30*day)
				}
			}
			if until != 2 {
				t.Errorf("%d statements look for what came of the decision, want 2", until)
			}
		})
	}
	t.Run("an unknown session", func(t *testing.T) {
		q := &questions{rows: map[string][][2]string{daysOf: {{"first", "2026-03-04"}, {"last", "2026-03-05"}}, "FROM bounds": {{"nodes", "0"}}}}
		_, err := asker(t, q, config.QueriesRecursive).ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: ask.Scope{Session: record.Session{ID: "s1"}}})
		if want := time.Now().UTC().Add(-30 * day).Format("no step from 2006-01-02T"); !errors.Is(err, ask.ErrUnknownSession) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	})
}
