// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The steps of a run.
const (
	stepDataset   = "dataset"
	stepInit      = "init"
	stepStream    = "stream"
	stepGraph     = "graph"
	stepAge       = "age"
	stepQuestion  = "question"
	stepQuery     = "query"
	stepPublished = "published"
	stepRemove    = "remove"
)

// check is one thing that a run does and looks at.
type check struct {
	step, name string
	// about says in a few words what is looked at.
	about string
	// statements are those of package warehouse that it sends, as often as it sends them.
	statements []string
	// needs are the names of earlier checks that it makes no sense without.
	needs []string
	do    func(ctx context.Context, r *run) error
}

// The names of checks that others need.
const (
	needDataset = "create the dataset"
	needTables  = "tables and views"
	needGraph   = "property graph"
	needRows    = "rows of the journal"
	needSync    = "graphs of the sessions"
)

// published are the queries of the documentation of the plugin for Python, which ask our rows. Two are about one
// turn.
var published = []struct {
	name   string
	params []string
}{
	{"verify_adk_errors", nil}, {"verify_adk_hitl", nil}, {"verify_adk_latency", nil}, {"verify_adk_pauses", nil}, {"verify_adk_pauses_views", nil},
	{"verify_adk_spans", []string{"trace"}}, {"verify_adk_tokens", nil}, {"verify_adk_tools", nil}, {"verify_adk_turn", []string{"trace"}},
}

// checks are all checks in the order in which they are made, but for the last one, which removes
// the dataset.
func checks(cfg config.BigQuery) ([]check, error) {
	names, err := warehouse.NamesOf(cfg)
	if err != nil {
		return nil, err
	}
	queries, err := names.Queries()
	if err != nil {
		return nil, err
	}
	session := []string{"ask_days", "ask_graph"}
	out := []check{
		{step: stepDataset, name: needDataset, about: "with a label, and an end for its tables", do: createDataset},
		{step: stepInit, name: needTables, about: "as contextgraph init makes them", needs: []string{needDataset}, do: initTables},
		{step: stepInit, name: needGraph, about: "as contextgraph init makes it", needs: []string{needTables}, do: initGraph},
		{
			step: stepStream, name: needRows, about: "sent as an agent sends them, and read back", needs: []string{needTables},
			statements: []string{"sync_find_sessions", "sync_read_sessions"}, do: streamRows,
		},
		{step: stepGraph, name: "graphs of the agent", about: "brought in the background, as an agent brings them", needs: []string{needRows}, statements: session, do: bringGraphs},
		{step: stepGraph, name: needSync, about: "twice and two at once: the session answers as in the journal", needs: []string{needRows}, statements: session, do: syncGraphs},
		{step: stepAge, name: "older rows", about: "so that what reads older days is seen", needs: []string{needRows}, statements: []string{"verify_age_events"}, do: ageEvents},
		{step: stepAge, name: "older graphs", about: "so that what reads older days is seen", needs: []string{needSync}, statements: []string{"verify_age_graphs"}, do: ageGraphs},
		{step: stepGraph, name: "among older ones", about: "the session answers as in the journal", needs: []string{needSync}, statements: session, do: sessionAgrees},
		{
			step: stepQuestion, name: "list_sessions", about: "the list of sessions", needs: []string{needRows}, statements: []string{"list_sessions", "list_rows"},
			do: answered(func(ctx context.Context, r *run) (int, error) {
				page, err := r.ds.Source(bigquery.SourceOptions{Now: r.cfg.Now}).Sessions(ctx, inspect.Query{})
				return len(page.Sessions), err
			}),
		},
		{
			step: stepQuestion, name: "ask_entity_approvals", about: "which requests rest on one product", needs: []string{needSync}, statements: []string{"ask_entity_approvals"},
			do: answered(func(ctx context.Context, r *run) (int, error) {
				a, err := r.ds.EntityAcrossSessions(ctx, ask.EntityQuestion{Window: r.window(), Entity: r.demo.product()})
				return len(a.Approvals), err
			}),
		},
		{
			step: stepQuestion, name: "ask_waiting", about: "how long people were waited for", needs: []string{needRows}, statements: []string{"ask_waiting"},
			do: answered(func(ctx context.Context, r *run) (int, error) {
				a, err := r.ds.WaitingTimes(ctx, r.window())
				return len(a.Groups), err
			}),
		},
		{
			step: stepQuestion, name: "ask_drift_verdicts", about: "what checks found", needs: []string{needSync}, statements: []string{"ask_drift_verdicts", "ask_drift_alerts"},
			do: answered(func(ctx context.Context, r *run) (int, error) {
				a, err := r.ds.DriftStatistics(ctx, r.window())
				return min(len(a.Verdicts), len(a.Changes)), err
			}),
		},
	}
	for _, q := range queries {
		out = append(out, check{
			step: stepQuery, name: q.Name, about: q.About, needs: []string{needSync, needGraph}, statements: []string{q.Name},
			do: answered(func(ctx context.Context, r *run) (int, error) { return r.asks(ctx, q.Name, q.Params) }),
		})
	}
	for _, q := range published {
		out = append(out, check{
			step: stepPublished, name: q.name, about: "a query that was published for the plugin for Python", needs: []string{needRows}, statements: []string{q.name},
			do: func(ctx context.Context, r *run) error {
				_, err := r.asks(ctx, q.name, q.params) // which may have no answer: the rows have no pause
				return err
			},
		})
	}
	// Last, because readers see these graphs from then on.
	return append(out, check{
		step: stepGraph, name: "graphs of the dataset", about: "made of its rows, as sync --from dataset does", needs: []string{needRows},
		statements: append([]string{"sync_known", "sync_read_sessions"}, session...), do: syncDataset,
	}), nil
}

// answered makes a check of a question that has to have an answer.
func answered(ask func(ctx context.Context, r *run) (int, error)) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		n, err := ask(ctx, r)
		if err == nil && n == 0 {
			err = &AnswerError{Missing: []string{"a row: the answer is empty"}}
		}
		return err
	}
}

// asks runs a statement with the values of its parameters, and returns how many rows it has.
func (r *run) asks(ctx context.Context, name string, params []string) (int, error) {
	decision, _ := r.demo.graph.Node(r.demo.decision)
	product := r.demo.product()
	values := map[string]any{
		"app": asked.App, "user": asked.User, "session": asked.ID, "session_id": asked.ID, "from": r.demo.from(), "to": r.demo.to(),
		"type": product.Type, "value": product.Value, "biz_entity": product.Value, "decision_event_type": record.UserMessageReceived,
		"trace": decision.TraceID,
	}
	of := make(map[string]any, len(params))
	for _, p := range params {
		of[p] = values[p]
	}
	answer, err := r.ds.Texts(ctx, name, nil, of)
	return len(answer.Rows), err
}

// window is a time with all sessions.
func (r *run) window() ask.Window { return ask.Window{From: r.demo.from(), To: r.demo.to()} }

// only returns the checks of these names and those that they need, in their order; all of them
// for no names.
func only(list []check, names []string) ([]check, error) {
	if len(names) == 0 {
		return list, nil
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(c check) bool { return c.name == name }) {
			return nil, &UnknownError{Name: name}
		}
		wanted[name] = true
	}
	for _, c := range slices.Backward(list) { // what is needed comes before
		if wanted[c.name] {
			for _, need := range c.needs {
				wanted[need] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(c check) bool { return !wanted[c.name] }), nil
}

// UnknownError says that no check has a name.
type UnknownError struct{ Name string }

// Error says how the names are found.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no check %q: contextgraph verify --plan has their names", e.Name)
}

// skip is the error of a check that was not made.
type skip struct{ reason string }

func (s skip) Error() string { return s.reason }

// errNotFound is of a session that was streamed and is not there.
var errNotFound = errors.New("a session that was streamed is not found")
