// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/verify"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
)

// verifyOn makes some checks on a service.
func verifyOn(ctx context.Context, t *testing.T, s *service, change func(*verify.Config), only ...string) (*verify.Report, error) {
	t.Helper()
	cfg := verify.Config{
		BigQuery: config.BigQuery{Project: "my-project"}, Only: only,
		Options: bigquery.DatasetOptions{Client: s.clients(), Write: s.write.ClientOptions(), BatchAge: time.Millisecond},
	}
	if change != nil {
		change(&cfg)
	}
	r, err := verify.Run(ctx, cfg)
	if r == nil {
		t.Fatal(err)
	}
	return r, err
}

// result is the check with a name.
func result(t *testing.T, r *verify.Report, name string) verify.Result {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c verify.Result) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no check %s in %+v", name, r.Checks)
	}
	return r.Checks[i]
}

const (
	created = "create the dataset"
	rows    = "rows of the journal"
	removed = "the dataset"

	inBackground = "graphs of the agent"
	// cheap is a check that sends one statement, cheapText a part of that.
	cheap, cheapText = "verify_adk_errors", "v_tool_error"
)

func TestPassed(t *testing.T) {
	s := newService(t)
	r, err := verifyOn(t.Context(), t, s, nil)
	if err != nil || !r.Passed || r.Count(verify.OK) != len(r.Checks) {
		for _, c := range r.Checks {
			if c.Outcome != verify.OK {
				t.Errorf("%s %s: %s", c.Step, c.Name, c.Reason)
			}
		}
		t.Fatal(err)
	}
	if s.dataset != nil {
		t.Error("the dataset is still there")
	}
	query := result(t, r, "why")
	if len(query.Statements) != 1 || query.Estimate != 1000 || query.Billed != 10<<20 || query.Statements[0].Name != "why" {
		t.Errorf("%+v", query)
	}
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil || strings.Contains(text.String(), "my-project") || !strings.Contains(text.String(), `"passed": true`) {
		t.Errorf("%v: %s", err, &text)
	}
	graphs := make(map[string]int) // by session
	for _, row := range s.write.Rows() {
		if row.Fields()["nodes"] != nil {
			graphs[row.Session]++
		}
	}
	if want := map[string]int{"sess-nike-summer": 5, "sess-tesla-q1": 5, "chat-1": 4}; !maps.Equal(want, graphs) { // a session without a request lacks the first
		t.Errorf("graphs %v, want %v", graphs, want)
	}
}

// Each refusal is one failed check with a remedy, and what was made is removed.
func TestRefusals(t *testing.T) {
	refuse := func(request string, status int, reason string) func(*service) {
		return func(s *service) {
			s.intercept = func(r, _ string) (int, string, string) {
				if r == request {
					return status, reason, "It is refused."
				}
				return 0, "", ""
			}
		}
	}
	streaming := func(table string, answer func(writefake.Request) writefake.Answer) func(*service) {
		return func(s *service) {
			s.write.Schedule(func(r writefake.Request) writefake.Answer {
				if strings.Contains(r.Stream, table) {
					return answer(r)
				}
				return writefake.Answer{} // applied
			})
		}
	}
	denied := func(writefake.Request) writefake.Answer {
		return writefake.Failed(codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied")
	}
	for name, test := range map[string]struct {
		set          func(*service)
		failed       string // the check
		reason, todo string
		left         bool // the dataset is still there
	}{
		"no permission": {refuse("POST datasets", 403, "accessDenied"), created, "It is refused", "roles/bigquery.user on my-project", false},
		"quota":         {refuse("POST datasets", 403, "quotaExceeded"), created, "It is refused", "more of the quota", false},
		"location":      {refuse("POST datasets", 400, "invalid"), created, `location "US"`, "--location", false},
		"project":       {refuse("POST datasets", 404, "notFound"), created, "It is refused", "--project", false},
		"tables":        {refuse("POST tables", 403, "accessDenied"), "tables and views", "table agent_events", "roles/bigquery.user", false},
		"billing":       {refuse("POST datasets", 403, "billingNotEnabled"), created, "It is refused", "enable billing in my-project", false},
		"streaming":     {streaming("agent_events", denied), rows, "TABLES_UPDATE_DATA", "roles/bigquery.dataEditor", false},
		"graphs":        {streaming("session_graphs", denied), inBackground, "TABLES_UPDATE_DATA", "roles/bigquery.dataEditor", false},
		"a graph": {func(s *service) {
			s.write.Refuse(func(r writefake.Row) string {
				if r.Fields()["nodes"] != nil {
					return "It is refused."
				}
				return ""
			})
		}, inBackground, "It is refused", "--report", false},
		"question in GQL": {func(s *service) {
			s.intercept = func(r, text string) (int, string, string) {
				if r == "POST jobs" && strings.Contains(text, "[c:Caused]") {
					return 400, "invalidQuery", "Graph queries are not supported in this edition."
				}
				return 0, "", ""
			}
		}, "seed_trace", "Graph queries are not supported", "an edition with graphs", false},
		"bound": {func(s *service) {
			s.estimate = func(text string) int64 {
				if strings.Contains(text, cheapText) {
					return 1 << 40
				}
				return 0
			}
		}, cheap, "would read 1.0 TiB, and its bound is 256.0 MiB", "did not run", false},
		"a lost row": {func(s *service) {
			s.change = func(text string, rows []m) []m {
				if strings.Contains(text, "AS run_seq") {
					return append(rows[1:], rows[1])
				}
				return rows
			}
		}, rows, "lacks 1 lines and has 1 others", "--report", false},
		"another graph": {func(s *service) {
			s.changeGraph = func(nodes []any) []any { return nodes[1:] }
		}, "graphs of the sessions", "lacks", "--report", false},
		"no answer": {func(s *service) {
			s.change = func(text string, rows []m) []m {
				if strings.Contains(text, "GROUP BY day, tool, stage") {
					return nil
				}
				return rows
			}
		}, "ask_drift_verdicts", "the answer is empty", "--report", false},
		"removal": {refuse("DELETE datasets", 403, "accessDenied"), removed, "It is refused", "bq rm -r -f -d my-project:contextgraph_verify_", true},
		"somebody else's": {func(s *service) {
			s.change = func(_ string, rows []m) []m {
				s.dataset.Labels = nil
				return rows
			}
		}, removed, "was not made for a verification", "bq rm -r -f -d my-project:contextgraph_verify_", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			test.set(s)
			only := []string{cheap}
			if test.failed != removed {
				only = append(only, test.failed)
			}
			r, err := verifyOn(t.Context(), t, s, nil, only...)
			if err != nil || r.Passed || r.Count(verify.Failed) != 1 {
				t.Fatalf("%v: %+v", err, r.Checks)
			}
			got := result(t, r, test.failed)
			if got.Outcome != verify.Failed || !strings.Contains(got.Reason, test.reason) || !strings.Contains(got.Remedy, test.todo) {
				t.Errorf("%s %s: %s | %s", got.Outcome, got.Name, got.Reason, got.Remedy)
			}
			if (s.dataset != nil) != test.left {
				t.Errorf("the dataset is there: %t", s.dataset != nil)
			}
			if name == "bound" && slices.ContainsFunc(s.ran, func(text string) bool { return strings.Contains(text, cheapText) }) {
				t.Error("the statement ran")
			}
		})
	}
}

// What the project has no graphs for is skipped, and no failure.
func TestNoPropertyGraphs(t *testing.T) {
	s := newService(t)
	s.intercept = func(r, text string) (int, string, string) {
		if r == "POST jobs" && strings.Contains(text, "CREATE PROPERTY GRAPH") {
			return 400, "invalidQuery", "Property graphs are not supported in this edition."
		}
		return 0, "", ""
	}
	r, err := verifyOn(t.Context(), t, s, nil, cheap, "seed_trace")
	if err != nil || !r.Passed {
		t.Fatalf("%v: %+v", err, r.Checks)
	}
	for _, name := range []string{"property graph", "seed_trace"} {
		if c := result(t, r, name); c.Outcome != verify.Skipped || !strings.Contains(c.Reason, "not supported in this edition") {
			t.Errorf("%+v", c)
		}
	}
	if c := result(t, r, cheap); c.Outcome != verify.OK {
		t.Errorf("%+v", c)
	}
}

// When the time is up, the check that was under way says so, and the dataset is removed.
func TestTimeout(t *testing.T) {
	s := newService(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	late := lateContext{ctx}
	s.change = func(text string, rows []m) []m {
		if strings.Contains(text, cheapText) {
			cancel(context.DeadlineExceeded)
		}
		return rows
	}
	r, err := verifyOn(late, t, s, nil, cheap, "verify_adk_tools")
	if !errors.Is(err, context.DeadlineExceeded) || r.Passed || r.Count(verify.Failed) != 1 {
		t.Fatalf("%v: %+v", err, r.Checks)
	}
	if c := result(t, r, cheap); c.Outcome != verify.Failed || !strings.Contains(c.Remedy, "--timeout") {
		t.Errorf("%+v", c)
	}
	if s.dataset != nil {
		t.Error("the dataset is still there")
	}
}

// lateContext ends as at a deadline.
type lateContext struct{ context.Context }

func (c lateContext) Err() error {
	if c.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// Ctrl-C in the middle ends the checks and removes the dataset.
func TestInterrupted(t *testing.T) {
	s := newService(t)
	ctx, interrupt := context.WithCancel(t.Context())
	s.change = func(text string, rows []m) []m {
		if strings.Contains(text, cheapText) {
			interrupt()
		}
		return rows
	}
	r, err := verifyOn(ctx, t, s, nil, cheap, "verify_adk_tools")
	if !errors.Is(err, context.Canceled) || r.Passed || r.Count(verify.Failed) > 0 {
		t.Errorf("%v: %+v", err, r.Checks)
	}
	if c := result(t, r, "verify_adk_tools"); c.Outcome != verify.Skipped || c.Reason != "interrupted" {
		t.Errorf("%+v", c)
	}
	if c := result(t, r, removed); c.Outcome != verify.OK || s.dataset != nil {
		t.Errorf("%+v, dataset %v", c, s.dataset)
	}
}

func TestKeep(t *testing.T) {
	s := newService(t)
	r, err := verifyOn(t.Context(), t, s, func(c *verify.Config) { c.Keep = true }, created)
	if c := result(t, r, removed); err != nil || c.Outcome != verify.Skipped || !strings.Contains(c.Reason, "bq rm -r -f -d my-project:contextgraph_verify_") {
		t.Errorf("%v: %+v", err, c)
	}
	if s.dataset == nil || s.dataset.DefaultTableExpirationMs != (24*time.Hour).Milliseconds() {
		t.Errorf("%+v", s.dataset)
	}
}

// Every statement that a run sends has a bound of its own, and every one of the plan a text.
func TestPlan(t *testing.T) {
	p, err := verify.NewPlan(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	planned := make(map[string]bool)
	for _, c := range p.Checks {
		for _, s := range c.Statements {
			planned[s] = true
			if !slices.Contains(warehouse.StatementNames(), s) {
				t.Errorf("%s: there is no statement %s", c.Name, s)
			}
			if _, why := verify.Bound(s); strings.Contains(why, "no bound") {
				t.Errorf("%s has no bound", s)
			}
		}
	}
	for _, s := range warehouse.StatementNames() {
		if own := !strings.HasPrefix(s, "init_") && !strings.HasPrefix(s, "extract_"); own && !planned[s] {
			t.Errorf("no check sends %s", s)
		}
	}
	texts, err := p.Texts(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"CREATE SCHEMA", "PROPERTY GRAPH", "v_tool_error", "caused_by, entities, checks", "->{1,20}(step:TechNode)"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in the plan", want)
		}
	}
	if p.Dollars() <= 0 || p.Dollars() > 0.5 {
		t.Errorf("a run costs %f USD at most", p.Dollars())
	}
	if _, err := verify.NewPlan(config.BigQuery{}, "v_tool"); !errors.As(err, new(*verify.UnknownError)) {
		t.Errorf("an unknown check: %v", err)
	}
}
