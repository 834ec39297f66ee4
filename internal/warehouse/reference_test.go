// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// TestReference holds names, endpoints and statements against what the tests of the
// Python implementation say of them, by the numbers of docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	names := func(t *testing.T, change func(*config.BigQuery)) warehouse.Names {
		t.Helper()
		c := config.BigQuery{Project: "my-project", Dataset: "agents"}
		if change != nil {
			change(&c)
		}
		n, err := warehouse.NamesOf(c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	statement := func(t *testing.T, name string, data any) string {
		t.Helper()
		text, err := names(t, nil).Statement(name, data)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	graph := func(t *testing.T) string {
		t.Helper()
		text, err := names(t, nil).CreateGraph(true)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	contains := func(t *testing.T, text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("no %q in\n%s", p, text)
			}
		}
	}
	t.Run("07_defaults", func(t *testing.T) {
		c := config.BigQuery{Project: "my-project", Dataset: "agents"}.WithDefaults()
		// The names of the reference for its tables and its graph are not used: each would destroy
		// what the other wrote.
		if warehouse.BizNodes == "extracted_biz_nodes" || warehouse.CrossLinks == "context_cross_links" || c.Graph.Name == "agent_context_graph" || !slices.Contains(c.Extract.EntityTypes, "Product") {
			t.Errorf("%+v", c)
		}
	})
	t.Run("08_overrides", func(t *testing.T) {
		c := config.BigQuery{Project: "my-project", Dataset: "agents", Table: "rows", Graph: config.Graph{Name: "g"}, Extract: config.Extraction{EntityTypes: []string{"Route"}}}.WithDefaults()
		if c.Table != "rows" || c.Graph.Name != "g" || !slices.Equal(c.Extract.EntityTypes, []string{"Route"}) {
			t.Errorf("%+v", c)
		}
	})
	endpoint := func(model, location string) (string, error) {
		return warehouse.ExtractEndpoint(config.BigQuery{Project: "my-project", Dataset: "agents", Extract: config.Extraction{Model: model, Location: location}}, "EU")
	}
	t.Run("09_short_model_name", func(t *testing.T) {
		const want = "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-flash"
		if got, err := endpoint("gemini-2.5-flash", "global"); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		// The reference always asks the global endpoint; here that has to be asked for.
		if got, err := endpoint("gemini-2.5-flash", ""); err != nil || strings.Contains(got, "global") {
			t.Errorf("%s, %v: payloads leave the place of the dataset", got, err)
		}
	})
	t.Run("10_a_URL_is_kept", func(t *testing.T) {
		const url = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/m"
		if got, err := endpoint(url, "global"); err != nil || got != url {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("11_a_remote_model_is_refused", func(t *testing.T) {
		var name *warehouse.NameError
		if got, err := endpoint("a.b.c", ""); !errors.As(err, &name) || !strings.Contains(err.Error(), "BigQuery ML") {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("12_graph", func(t *testing.T) {
		contains(t, graph(t), "CREATE OR REPLACE PROPERTY GRAPH", "my-project.agents.", "TechNode", "BizNode", "Caused", "Evaluated", "tech_nodes")
		// The keys of the reference are not unique: a span is several of its rows.
		contains(t, graph(t), "KEY (node_key)", "KEY (biz_key)", "KEY (edge_key)", "KEY (link_key)")
	})
	t.Run("13_name_of_the_graph", func(t *testing.T) {
		text, err := names(t, func(c *config.BigQuery) { c.Graph.Name = "my_graph" }).CreateGraph(true)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, text, "`my-project.agents.my_graph`")
		if strings.Contains(text, "agents.contextgraph`") {
			t.Error("the default name is there too")
		}
	})
	t.Run("14_reasoning_asks_by_parameter", func(t *testing.T) {
		contains(t, statement(t, "entity_approvals", nil), "MATCH ANY SHORTEST", "Caused", "Evaluated", "@type", "@value")
	})
	t.Run("15_reasoning_without_an_entity", func(t *testing.T) {
		// A query of its own: all entities of a session.
		contains(t, statement(t, "why", nil), "MATCH ANY SHORTEST", "Caused", "Evaluated", "@session", "decision.approval", "{0,20}")
	})
	t.Run("16_causal_chain_of_an_approval", func(t *testing.T) {
		contains(t, statement(t, "causal_chain", nil), "MATCH ANY SHORTEST", "Caused", "@session", "{1,20}")
	})
	t.Run("33_model_output_is_read_whatever_surrounds_it", func(t *testing.T) {
		data := warehouse.ExtractStatement{Pending: "extract_a_pending", Answers: "extract_a_answers", Endpoint: "https://e.example/m"}
		plain := statement(t, "extract_ask", data)
		contains(t, plain, "AI.GENERATE", "generated.result")
		if strings.Contains(plain, "output_schema") {
			t.Error("plain text has an output_schema")
		}
		data.Schema = warehouse.ExtractSchema
		contains(t, statement(t, "extract_ask", data), "output_schema => 'entities ARRAY<STRUCT<entity_type STRING, entity_value STRING, confidence FLOAT64>>'")
		contains(t, warehouse.ExtractInstructions, "JSON array", "entity_type", "entity_value", "confidence")
		const list = `[{"entity_type": "Product", "entity_value": "Reels", "confidence": 0.9}]`
		for _, text := range []string{list, "```json\n" + list + "\n```", "Here it is:\n\n```\n" + list + "\n```\n"} {
			if got, err := warehouse.ReadAnswer(text, []string{"Product"}); err != nil || len(got.Entities) != 1 {
				t.Errorf("%q is read as %+v, %v", text, got, err)
			}
		}
	})
	t.Run("34_the_graph_has_artifact_uri", func(t *testing.T) {
		nodes, edges, _ := strings.Cut(graph(t), "EDGE TABLES")
		contains(t, nodes, "artifact_uri")
		contains(t, edges, "artifact_uri")
	})
	t.Run("35_the_link_has_its_type_and_time", func(t *testing.T) {
		_, evaluated, ok := strings.Cut(graph(t), "AS Evaluated")
		if !ok {
			t.Fatal("no edge Evaluated")
		}
		contains(t, evaluated, "link_type", "created_at")
	})
	t.Run("43_what_is_gone_is_removed_in_scope", func(t *testing.T) {
		// Nothing is deleted: the newest graph of a session stands for all before it, and for no
		// other session.
		text := statement(t, "init_graph_view", "steps")
		contains(t, text, "PARTITION BY session_day, app_name, user_id, session_id, writer, writer_id\n      ORDER BY read_to DESC, version DESC")
		if strings.Contains(text, "DELETE") {
			t.Error("a view deletes")
		}
	})
}

// TestReferenceIsComplete holds the table in docs/internal/reference-behaviours.md against the
// tests: every behaviour has a test, which the table names.
func TestReferenceIsComplete(t *testing.T) {
	tests := make(map[int]string)
	for _, file := range []string{
		"../../graphsync/reference_test.go", "reference_test.go", "../bigquery/reference_test.go", "../../tests/thirdparty/warehouse/reference_test.go",
	} {
		for _, name := range subtests(t, file) {
			number, err := strconv.Atoi(name[:2])
			if err != nil {
				t.Errorf("%s: %s has no number", file, name)
			}
			if tests[number] != "" {
				t.Errorf("%s and %s have one number", tests[number], name)
			}
			tests[number] = "TestReference/" + name
		}
	}
	doc, err := os.ReadFile("../../docs/internal/reference-behaviours.md")
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[int]string)
	for _, row := range regexp.MustCompile("(?m)^\\| ([0-9]+) \\|.*\\| `([^`]+)` \\| `(Test[^`]+)` \\|$").FindAllStringSubmatch(string(doc), -1) {
		number, err := strconv.Atoi(row[1])
		if err != nil {
			t.Error(err)
		}
		table[number] = row[3]
		if !strings.Contains(row[3], "/") && declares(t, row[2], row[3]) {
			tests[number] = row[3] // a test of its room shows it too
		}
	}
	for number := 1; number <= 98; number++ {
		if number > 46 && number < 93 {
			continue
		}
		if tests[number] == "" {
			t.Errorf("behaviour %d has no test", number)
		}
		if table[number] != tests[number] {
			t.Errorf("behaviour %d: the table names %q, the test is %q", number, table[number], tests[number])
		}
		delete(tests, number)
	}
	if len(tests) > 0 {
		t.Errorf("tests of no behaviour: %v", slices.Sorted(maps.Values(tests)))
	}
}

// declares reports whether a package has a test function.
func declares(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "func "+name+"(t *testing.T)")
	})
}

// subtests returns the names of the tests that TestReference of a file runs.
func subtests(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "TestReference" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			run, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || run.Sel.Name != "Run" {
				return true
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				name, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
			return true
		})
	}
	if len(names) == 0 {
		t.Errorf("%s has no TestReference", file)
	}
	return names
}
