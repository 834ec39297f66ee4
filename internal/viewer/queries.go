// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"embed"
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

//go:embed queries/*.sql
var local embed.FS

// exampleProject and exampleDataset stand in statements when no dataset is configured.
const (
	exampleProject = "my-project-123"
	exampleDataset = "agents"
	exampleModel   = "gemini-2.5-flash"
	// reasoningEdges bounds the paths of the statements that are shown, in edges: every hop
	// may lie behind a few edges of containment.
	reasoningEdges = 60
)

// Queries returns the statements that a page offers: those that run in the dataset of c, by
// its names, and those that run in the journal with any SQLite shell. Without a project in c the
// names are examples.
func Queries(c config.BigQuery) ([]Query, error) {
	if c.Project == "" {
		c.Project = exampleProject
	}
	if c.Dataset == "" {
		c.Dataset = exampleDataset
	}
	names, err := warehouse.NamesOf(c)
	if err != nil {
		return nil, err
	}
	endpoint := c.Extract.Model
	if endpoint == "" {
		endpoint = exampleModel
	}
	bounds := struct {
		Edges, Hops int
		Backwards   bool
	}{reasoningEdges, 20, true}
	list := []struct {
		Query
		data any
	}{
		{Query{Name: "extract_ask", Title: "Extract business entities with a model", Category: "Extraction", Language: "SQL", Tags: []string{"AI.GENERATE", "output_schema"}},
			warehouse.ExtractStatement{Pending: "extract_pending", Answers: "extract_answers", Endpoint: endpoint, Schema: warehouse.ExtractSchema}},
		{Query{Name: "init_graph", Title: "Create the property graph", Category: "Graph", Language: "DDL", Tags: []string{"Property Graph", "TechNode", "BizNode", "Caused", "Evaluated"}},
			struct{ Replace bool }{true}},
		{Query{Name: "ask_reasoning_chain_gql", Title: "Why: what a decision rests on", Category: "Graph", Language: "GQL", Tags: []string{"GQL", "ANY SHORTEST", "quantified path"}}, bounds},
		{Query{Name: "ask_reasoning_chain", Title: "Why, without a graph edition", Category: "Graph", Language: "SQL", Tags: []string{"recursive CTE"}}, bounds},
		{Query{Name: "ask_trace_gql", Title: "Rebuild the trace of a session", Category: "Graph", Language: "GQL", Tags: []string{"GQL", "Caused"}}, nil},
		{Query{Name: "ask_trace", Title: "Rebuild the trace, without a graph edition", Category: "Graph", Language: "SQL", Tags: []string{"Caused"}}, nil},
		{Query{Name: "ask_causal_chain_gql", Title: "What led to a step", Category: "Graph", Language: "GQL", Tags: []string{"GQL", "Caused"}}, bounds},
		{Query{Name: "ask_entities", Title: "What a world-change check compares", Category: "Safety", Language: "SQL", Tags: []string{"evaluated_at", "fail closed"}}, nil},
		{Query{Name: "ask_verdicts", Title: "The verdicts of an approval", Category: "Safety", Language: "SQL", Tags: []string{"WORLD_CHANGE_CHECK"}}, nil},
		{Query{Name: "ask_entity_approvals_gql", Title: "Approvals that rest on an entity", Category: "Safety", Language: "GQL", Tags: []string{"GQL", "all sessions"}}, bounds},
		{Query{Name: "ask_drift_alerts", Title: "What drifts most", Category: "Statistics", Language: "SQL", Tags: []string{"all sessions"}}, nil},
		{Query{Name: "ask_drift_verdicts", Title: "Verdicts over time", Category: "Statistics", Language: "SQL", Tags: []string{"all sessions"}}, nil},
		{Query{Name: "ask_waiting", Title: "What waiting for people costs", Category: "Statistics", Language: "SQL", Tags: []string{"all sessions"}}, nil},
	}
	var out []Query
	for _, q := range list {
		text, err := names.Statement(q.Name, q.data)
		if err != nil {
			return nil, fmt.Errorf("statement %s: %w", q.Name, err)
		}
		q.Text = strings.TrimSpace(text)
		out = append(out, q.Query)
	}
	for _, q := range localQueries() {
		text, err := local.ReadFile("queries/" + q.Name + ".sql")
		if err != nil {
			return nil, err
		}
		q.Text = strings.TrimSpace(string(text))
		out = append(out, q)
	}
	return out, nil
}

// localQueries are those for the journal.
func localQueries() []Query {
	q := func(name, title string, tags ...string) Query {
		return Query{Name: name, Title: title, Category: "Journal", Language: "SQLite", Tags: tags}
	}
	return []Query{
		q("journal_approvals", "Approvals and where they stand", "approvals"),
		q("journal_history", "Who did what to an approval, and when", "approval_history"),
		q("journal_alerts", "What changed, by check", "WORLD_CHANGE_CHECK"),
		q("journal_slow", "The slowest steps of a session", "tech_nodes"),
		q("journal_tokens", "Tokens by session and model", "LLM_RESPONSE"),
	}
}
