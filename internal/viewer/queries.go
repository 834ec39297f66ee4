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
	list := []struct {
		Query
		data any
	}{
		{entry("extract_ask", "Extract business entities with a model", "Extraction", "SQL", "AI.GENERATE", "output_schema"),
			warehouse.ExtractStatement{Pending: "extract_pending", Answers: "extract_answers", Endpoint: endpoint, Schema: warehouse.ExtractSchema}},
		{entry("init_graph", "Create the property graph", "Graph", "DDL", "Property Graph", "TechNode", "BizNode", "Caused", "Evaluated"), struct{ Replace bool }{true}},
		{entry("why", "Why: what an approval rests on", "Graph", "GQL", "GQL", "ANY SHORTEST", "quantified path"), nil},
		{entry("trace", "Rebuild the trace of a session", "Graph", "GQL", "GQL", "Caused"), nil},
		{entry("causal_chain", "What led to an approval", "Graph", "GQL", "GQL", "Caused"), nil},
		{entry("entity_approvals", "Approvals that rest on an entity", "Safety", "GQL", "GQL", "all sessions"), nil},
		{entry("ask_drift_alerts", "What drifts most", "Statistics", "SQL", "all sessions"), nil},
		{entry("ask_drift_verdicts", "Verdicts over time", "Statistics", "SQL", "all sessions"), nil},
		{entry("ask_waiting", "What waiting for people costs", "Statistics", "SQL", "all sessions"), nil},
		{entry("journal_approvals", "Approvals and where they stand", "Journal", "SQLite", "approvals"), nil},
		{entry("journal_history", "Who did what to an approval, and when", "Journal", "SQLite", "approval_history"), nil},
		{entry("journal_alerts", "What changed, by check", "Journal", "SQLite", "WORLD_CHANGE_CHECK"), nil},
		{entry("journal_slow", "The slowest steps of a session", "Journal", "SQLite", "tech_nodes"), nil},
		{entry("journal_tokens", "Tokens by session and model", "Journal", "SQLite", "LLM_RESPONSE"), nil},
	}
	out := make([]Query, len(list))
	for i, q := range list {
		text, err := local.ReadFile("queries/" + q.Name + ".sql")
		if q.Language != "SQLite" {
			var statement string
			statement, err = names.Statement(q.Name, q.data)
			text = []byte(statement)
		}
		if err != nil {
			return nil, fmt.Errorf("statement %s: %w", q.Name, err)
		}
		q.Text = strings.TrimSpace(string(text))
		out[i] = q.Query
	}
	return out, nil
}

func entry(name, title, category, language string, tags ...string) Query {
	return Query{Name: name, Title: title, Category: category, Language: language, Tags: tags}
}
