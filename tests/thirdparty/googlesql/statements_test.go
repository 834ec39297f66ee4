// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package googlesql parses every statement of package warehouse with the parser of
// GoogleSQL, and resolves it with its analyzer against the tables, the views and the graph
// that the definitions make. Nothing is executed here.
package googlesql_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// form is a statement as it is sent.
type form struct {
	// name is one of warehouse.StatementNames, variant tells several forms apart.
	name, variant string
	data          any
	text          string // instead of the statement of that name
}

// forms returns every statement in every form that it can have. A statement that is not
// listed fails the test.
func forms(t *testing.T, e *engine) []form {
	t.Helper()
	pending, answers := warehouse.ExtractTables("x")
	extract := warehouse.ExtractStatement{
		Pending: pending.Name, Answers: answers.Name,
		Endpoint: "https://aiplatform.googleapis.com/v1/projects/test-project/locations/global/publishers/google/models/gemini-2.5-flash",
	}
	session, typed := extract, extract
	session.Session = true
	typed.Connection, typed.Schema = "us.vertex", "entities ARRAY<STRUCT<entity_type STRING, entity_value STRING, confidence FLOAT64>>"
	count := extract
	count.Pending = ""

	var out []form
	for _, name := range warehouse.StatementNames() {
		switch name {
		case "extract_pending":
			out = append(out, form{name: name, variant: "all", data: extract}, form{name: name, variant: "session", data: session},
				form{name: name, variant: "count", data: count})
		case "extract_ask":
			out = append(out, form{name: name, variant: "plain", data: extract}, form{name: name, variant: "typed", data: typed})
		case "init_add_column":
			text, err := e.names.AddColumns(warehouse.SessionGraphs, warehouse.SessionGraphsTable().Columns)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, form{name: name, text: text})
		case "init_unique", "init_view", "init_graph_view":
			views, err := e.names.Views()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range views {
				made := "init_view"
				if v.Table == warehouse.SessionGraphs {
					made = "init_graph_view"
				} else if v.EventType == "" {
					made = "init_unique"
				}
				if name == made {
					out = append(out, form{name: name, variant: v.Name, text: v.Query})
				}
			}
		case "init_create_view", "init_graph", "init_labels", "init_schema", "init_table":
			kind := map[string]warehouse.Kind{
				"init_create_view": warehouse.KindView, "init_graph": warehouse.KindGraph, "init_labels": warehouse.KindLabels,
				"init_schema": warehouse.KindDataset, "init_table": warehouse.KindTable,
			}[name]
			definitions, err := warehouse.Definitions(config.BigQuery{Project: "test-project", Dataset: "agents"})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range definitions {
				if d.Kind == kind {
					out = append(out, form{name: name, variant: d.Name, text: d.SQL})
				}
			}
		case "verify_age_events":
			var columns []string
			for _, c := range e.names.EventsTable().Columns {
				columns = append(columns, c.Name)
			}
			out = append(out, form{name: name, data: struct{ Columns []string }{columns}})
		default:
			out = append(out, form{name: name})
		}
	}
	return out
}

func (e *engine) render(t *testing.T, f form) string {
	t.Helper()
	if f.text != "" {
		return f.text
	}
	text, err := e.names.Statement(f.name, f.data)
	if err != nil {
		t.Fatalf("%s: %v (a statement whose text needs data is listed in forms)", f.name, err)
	}
	return text
}

// parameters are the types of the parameters of questions, as package bigquery sends
// them; its own tests compare the names with the calls.
var parameters = map[string]string{
	"app": "STRING", "user": "STRING", "session": "STRING", "from": "TIMESTAMP", "to": "TIMESTAMP", "limit": "INT64",
	"entity": "STRING", "type": "STRING", "value": "STRING", "hops": "INT64", "rounds": "INT64",
	"session_id": "STRING", "decision_event_type": "STRING", "biz_entity": "STRING",
	"first_day": "DATE", "last_day": "DATE", "graph": "STRING",
	"sessions": "ARRAY<STRING>", "users": "ARRAY<STRING>", "apps": "ARRAY<STRING>", "failed": "ARRAY<STRING>", "begins": "STRING", "ends": "STRING",
}

// notAnalysed are the statements that the analyzer cannot resolve, and why.
var notAnalysed = map[string]string{
	"extract_ask": "AI.GENERATE is a function of BigQuery alone",
}

func TestStatements(t *testing.T) {
	e := newEngine(t)
	pending, answers := warehouse.ExtractTables("x")
	e.addTable(t, pending.Name, pending.Columns)
	e.addTable(t, answers.Name, answers.Columns)

	seen := make(map[string]bool)
	for _, f := range forms(t, e) {
		seen[f.name] = true
		t.Run(strings.TrimSuffix(f.name+"/"+f.variant, "/"), func(t *testing.T) {
			text := e.render(t, f)
			if err := e.parse(text); err != nil {
				t.Fatalf("%v\n%s", err, numbered(text))
			}
			if why, ok := notAnalysed[f.name]; ok {
				if err := e.analyse(t, text, nil); err == nil {
					t.Errorf("the analyzer resolves it after all: %s", why)
				}
				return
			}
			var declared map[string]string
			if !strings.HasPrefix(f.name, "init_") && !strings.HasPrefix(f.name, "extract_") && !strings.HasPrefix(f.name, "verify_") && !strings.HasPrefix(f.name, "list_") {
				declared = make(map[string]string)
				for p := range parametersOf(text) {
					if parameters[p] == "" {
						t.Fatalf("the type of the parameter @%s is not known", p)
					}
					declared[p] = parameters[p]
				}
			}
			if err := e.analyse(t, text, declared); err != nil {
				t.Errorf("%v\n%s", err, numbered(text))
			}
		})
	}
	for _, name := range warehouse.StatementNames() {
		if !seen[name] {
			t.Errorf("the statement %s is in no form: list it in forms", name)
		}
	}
}

// What the guide shows in GQL is GQL over this graph.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/bigquery.md")
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	var n int
	for _, block := range strings.Split(string(guide), "```sql\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(text, "GRAPH") {
			continue
		}
		n++
		text = strings.ReplaceAll(text, "my-project-123.agents.", "test-project.agents.")
		if err := e.analyse(t, text, nil); err != nil {
			t.Errorf("%v\n%s", err, numbered(text))
		}
	}
	if n == 0 {
		t.Errorf("the guide has %d queries in GQL", n)
	}
}

// The statements in GQL of the document that describes the context graph, as they stand there but for
// the name of the graph, are GQL over this graph.
func TestPublishedStatements(t *testing.T) {
	e := newEngine(t)
	graph := e.names.Quote(e.names.Graph())
	for name, text := range map[string]string{
		"reasoning": "GRAPH " + graph + `
MATCH
(decision:TechNode)-[c:Caused]->{1,20}(step:TechNode)
-[e:Evaluated]->(biz:BizNode)
WHERE decision.event_type = @decision_event_type
AND biz.node_value = @biz_entity
RETURN
decision.span_id AS decision_span_id,
step.span_id AS reasoning_span_id,
step.event_type AS step_type,
step.agent AS step_agent,
biz.node_type AS entity_type,
biz.node_value AS entity_value,
biz.confidence AS entity_confidence,
biz.artifact_uri AS artifact_uri
ORDER BY step.timestamp ASC`,
		"trace": "GRAPH " + graph + `
MATCH
(parent:TechNode)-[c:Caused]->(child:TechNode)
WHERE parent.session_id = @session_id
OR child.session_id = @session_id
RETURN
parent.span_id AS parent_span_id,
parent.event_type AS parent_event_type,
parent.agent AS parent_agent,
child.span_id AS child_span_id,
child.event_type AS child_event_type,
child.agent AS child_agent,
child.timestamp AS child_timestamp
ORDER BY child.timestamp ASC`,
	} {
		if err := e.analyse(t, text, nil); err != nil {
			t.Errorf("%s: %v\n%s", name, err, numbered(text))
		}
	}
}

// A statement that is wrong does not pass.
func TestWrongStatementsFail(t *testing.T) {
	e := newEngine(t)
	nodes := e.names.Quote(warehouse.TechNodes)
	for name, text := range map[string]string{
		"syntax":         "SELECT FROM WHERE",
		"column":         "SELECT no_such_column FROM " + nodes,
		"type":           "SELECT position + name FROM " + nodes,
		"table":          "SELECT * FROM `test-project.agents.no_such_table`",
		"property":       "GRAPH " + e.names.Quote(e.names.Graph()) + " MATCH (n:TechNode) RETURN n.no_such_property",
		"label":          "GRAPH " + e.names.Quote(e.names.Graph()) + " MATCH (n:NoSuchLabel) RETURN n.node_key",
		"parameter type": "SELECT @hops + name FROM " + nodes,
	} {
		if e.parse(text) == nil && e.analyse(t, text, map[string]string{"hops": "INT64"}) == nil {
			t.Errorf("%s: %s passes", name, text)
		}
	}
	if err := e.analyse(t, "SELECT @undeclared", map[string]string{"hops": "INT64"}); err == nil {
		t.Error("a parameter that is not declared passes")
	}
}

func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%3d %s\n", i+1, line)
	}
	return b.String()
}
