// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package googlesql_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-googlesql"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// engine is Google's own parser and analyzer of GoogleSQL with a catalog of what a
// dataset of contextgraph holds.
type engine struct {
	names   warehouse.Names
	lang    *googlesql.LanguageOptions
	catalog *googlesql.SimpleCatalog
	types   *googlesql.TypeFactory
	// keep holds what the catalog refers to.
	keep []any
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(googlesql.Init())
	cfg := config.BigQuery{Project: "test-project", Dataset: "agents"}
	names, err := warehouse.NamesOf(cfg)
	must(err)
	e := &engine{names: names}
	e.lang, err = language()
	must(err)
	e.catalog, err = googlesql.NewSimpleCatalog("dataset", nil)
	must(err)
	must(e.catalog.AddBuiltinFunctionsAndTypes(&googlesql.BuiltinFunctionOptions{LanguageOptions: e.lang}))
	e.types, err = googlesql.NewTypeFactory()
	must(err)

	for _, table := range names.Tables() {
		e.addTable(t, table.Name, table.Columns)
	}
	e.addTable(t, "INFORMATION_SCHEMA.PROPERTY_GRAPHS", []warehouse.Column{
		{Name: "property_graph_catalog", Type: "STRING"}, {Name: "property_graph_schema", Type: "STRING"},
		{Name: "property_graph_name", Type: "STRING"}, {Name: "property_graph_metadata_json", Type: "STRING"}, {Name: "ddl", Type: "STRING"},
	})
	views, err := names.Views()
	must(err)
	for _, v := range views {
		e.addView(t, v)
	}
	graph, err := names.CreateGraph(true)
	must(err)
	e.addGraph(t, graph)
	return e
}

// language returns options with everything that [features] says.
func language() (*googlesql.LanguageOptions, error) {
	lang, err := googlesql.NewLanguageOptions()
	if err != nil {
		return nil, err
	}
	errs := []error{
		lang.SetSupportsAllStatementKinds(),
		lang.SetProductMode(googlesql.ProductModeProductExternal),
		lang.EnableReservableKeyword("QUALIFY", true),
		lang.EnableReservableKeyword("GRAPH_TABLE", true),
	}
	for _, feature := range features() {
		errs = append(errs, lang.EnableLanguageFeature(feature))
	}
	return lang, errors.Join(errs...)
}

// features returns what BigQuery has of the language, as far as the names of the
// features tell: all of them but those that forbid something, those that relax what a
// recursive term may be, and paths by cost and without a bound, which the documentation
// of BigQuery does not have.
func features() []googlesql.LanguageFeature {
	var out []googlesql.LanguageFeature
	for _, block := range [][2]googlesql.LanguageFeature{{1, 140}, {11000, 11200}, {12000, 12200}, {13000, 13200}, {14000, 14140}} {
		for f := block[0]; f < block[1]; f++ {
			name := f.String()
			if !strings.Contains(name, "Feature") {
				continue
			}
			if slices.ContainsFunc([]string{
				"Disallow", "Disable", "Enforce", "Strict", "Relaxed", "Cheapest", "Unbounded", "Dynamic", "Spanner", "Buggy", "Experimental", "Lateral",
			}, func(s string) bool { return strings.Contains(name, s) }) {
				continue
			}
			out = append(out, f)
		}
	}
	return out
}

// options returns options of the analyzer; without parameters all are inferred.
func (e *engine) options(t *testing.T, parameters map[string]string) *googlesql.AnalyzerOptions {
	t.Helper()
	opts, err := googlesql.NewAnalyzerOptions2()
	if err == nil {
		err = opts.SetLanguage(e.lang)
	}
	if err == nil && parameters == nil {
		err = opts.SetAllowUndeclaredParameters(true)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, typ := range parameters {
		if err := opts.AddQueryParameter(name, e.typeOf(t, typ)); err != nil {
			t.Fatal(err)
		}
	}
	return opts
}

func (e *engine) typeOf(t *testing.T, text string) googlesql.Googlesql_TypeNode {
	t.Helper()
	opts, err := googlesql.NewAnalyzerOptions2()
	if err == nil {
		err = opts.SetLanguage(e.lang)
	}
	if err != nil {
		t.Fatal(err)
	}
	typ, err := googlesql.AnalyzeType(text, opts, e.catalog, e.types)
	if err != nil {
		t.Fatalf("type %s: %v", text, err)
	}
	return typ
}

// addTable adds a table under the name that stands between backticks in statements.
func (e *engine) addTable(t *testing.T, name string, columns []warehouse.Column) {
	t.Helper()
	e.addNamed(t, e.names.Project()+"."+e.names.Dataset()+"."+name, columns)
}

// addNamed is addTable for a name outside of the dataset.
func (e *engine) addNamed(t *testing.T, full string, columns []warehouse.Column) {
	t.Helper()
	table, err := googlesql.NewSimpleTable(full, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		column, err := googlesql.NewSimpleColumn(full, c.Name, e.typeOf(t, typeText(c)), false, true)
		if err == nil {
			err = table.AddColumn2(column, false)
		}
		if err != nil {
			t.Fatalf("table %s, column %s: %v", full, c.Name, err)
		}
		e.keep = append(e.keep, column)
	}
	if err := e.catalog.AddTable(table); err != nil {
		t.Fatal(err)
	}
	e.keep = append(e.keep, table)
}

// addView adds what a view shows as a table.
func (e *engine) addView(t *testing.T, v warehouse.View) {
	t.Helper()
	out, err := googlesql.AnalyzeStatement(v.Query, e.options(t, nil), e.catalog, e.types)
	if err != nil {
		t.Fatalf("view %s: %v\n%s", v.Name, err, numbered(v.Query))
	}
	resolved, err := out.ResolvedStatement()
	if err != nil {
		t.Fatal(err)
	}
	query, ok := resolved.(*googlesql.ResolvedQueryStmt)
	if !ok {
		t.Fatalf("view %s is a %T", v.Name, resolved)
	}
	columns, err := query.OutputColumnList()
	if err != nil {
		t.Fatal(err)
	}
	full := strings.Trim(e.names.Quote(v.Name), "`")
	table, err := googlesql.NewSimpleTable(full, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		name, err := c.Name()
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := c.Column()
		if err != nil {
			t.Fatal(err)
		}
		typ, err := resolved.Type()
		if err != nil {
			t.Fatal(err)
		}
		column, err := googlesql.NewSimpleColumn(full, name, typ, false, true)
		if err == nil {
			err = table.AddColumn2(column, false)
		}
		if err != nil {
			t.Fatalf("view %s, column %s: %v", v.Name, name, err)
		}
		e.keep = append(e.keep, column)
	}
	if err := e.catalog.AddTable(table); err != nil {
		t.Fatal(err)
	}
	e.keep = append(e.keep, out, table)
}

func typeText(c warehouse.Column) string {
	typ := c.Type
	if len(c.Fields) > 0 {
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, f.Name+" "+typeText(f))
		}
		typ = "STRUCT<" + strings.Join(fields, ", ") + ">"
	}
	if c.Mode == "REPEATED" {
		typ = "ARRAY<" + typ + ">"
	}
	return typ
}

// parse parses a script of one or more statements and returns how many there are.
func (e *engine) parse(text string) error {
	opts, err := googlesql.NewParserOptions()
	if err != nil {
		return err
	}
	lang, err := language() // of its own: the options of a parser take it over
	if err != nil {
		return err
	}
	if err := opts.SetLanguageOptions(lang); err != nil {
		return err
	}
	_, err = googlesql.ParseScript(text, opts, &googlesql.ErrorMessageOptions{
		Mode: googlesql.ErrorMessageModeErrorMessageOneLine, Stability: googlesql.ErrorMessageStabilityProduction,
	})
	return err
}

// analyse resolves every statement of a text against the catalog.
func (e *engine) analyse(t *testing.T, text string, parameters map[string]string) error {
	t.Helper()
	loc, err := googlesql.NewParseResumeLocationFromString(text)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		pos, err := loc.BytePosition()
		if err != nil {
			return err
		}
		if strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text[pos:]), ";")) == "" {
			return nil
		}
		if _, err := googlesql.AnalyzeNextStatement(loc, e.options(t, parameters), e.catalog, e.types); err != nil {
			return fmt.Errorf("statement %d: %w", n, err)
		}
	}
}

// addGraph adds the property graph that a statement makes.
func (e *engine) addGraph(t *testing.T, text string) {
	t.Helper()
	out, err := googlesql.AnalyzeStatement(text, e.options(t, nil), e.catalog, e.types)
	if err != nil {
		t.Fatalf("the property graph: %v", err)
	}
	resolved, err := out.ResolvedStatement()
	if err != nil {
		t.Fatal(err)
	}
	stmt, ok := resolved.(*googlesql.ResolvedCreatePropertyGraphStmt)
	if !ok {
		t.Fatalf("the statement is a %T", resolved)
	}
	graph, err := e.graph(stmt)
	if err == nil {
		err = e.catalog.AddPropertyGraph(graph)
	}
	if err != nil {
		t.Fatal(err)
	}
	e.keep = append(e.keep, out, graph)
}

// graph makes the graph of its definition. What is needed for the analyzer to resolve
// questions are labels, properties with their types, and which nodes an edge is between.
func (e *engine) graph(stmt *googlesql.ResolvedCreatePropertyGraphStmt) (*googlesql.SimplePropertyGraph, error) {
	path, err := stmt.NamePath()
	if err != nil {
		return nil, err
	}
	b := graphBuilder{
		path: path, properties: make(map[string]*googlesql.SimpleGraphPropertyDeclaration),
		nodes: make(map[string]*googlesql.SimpleGraphNodeTable),
	}
	nodes, err := stmt.NodeTableList()
	if err != nil {
		return nil, err
	}
	edges, err := stmt.EdgeTableList()
	if err != nil {
		return nil, err
	}
	var nodeTables []googlesql.GraphNodeTableNode
	for _, n := range nodes {
		p, err := b.element(n)
		if err != nil {
			return nil, err
		}
		table, err := googlesql.NewSimpleGraphNodeTable(p.alias, path, p.table, []int32{0}, p.labels, p.definitions, nil, nil)
		if err != nil {
			return nil, err
		}
		b.nodes[p.alias] = table
		nodeTables = append(nodeTables, table)
	}
	var edgeTables []googlesql.GraphEdgeTableNode
	for _, n := range edges {
		p, err := b.element(n)
		if err != nil {
			return nil, err
		}
		source, err := b.reference(n.SourceNodeReference())
		if err != nil {
			return nil, err
		}
		destination, err := b.reference(n.DestNodeReference())
		if err != nil {
			return nil, err
		}
		table, err := googlesql.NewSimpleGraphEdgeTable(p.alias, path, p.table, []int32{0}, p.labels, p.definitions, source, destination, nil, nil)
		if err != nil {
			return nil, err
		}
		edgeTables = append(edgeTables, table)
	}
	var declarations []googlesql.GraphPropertyDeclarationNode
	for _, d := range b.properties {
		declarations = append(declarations, d)
	}
	return googlesql.NewSimplePropertyGraph2(path, nodeTables, edgeTables, b.labels, declarations)
}

type graphBuilder struct {
	path       []string
	properties map[string]*googlesql.SimpleGraphPropertyDeclaration
	nodes      map[string]*googlesql.SimpleGraphNodeTable
	labels     []googlesql.GraphElementLabelNode
}

type elementParts struct {
	alias       string
	table       googlesql.TableNode
	labels      []googlesql.GraphElementLabelNode
	definitions []googlesql.GraphPropertyDefinitionNode
}

func (b *graphBuilder) element(n *googlesql.ResolvedGraphElementTable) (elementParts, error) {
	var p elementParts
	var err error
	if p.alias, err = n.Alias(); err != nil {
		return p, err
	}
	scan, err := n.InputScan()
	if err != nil {
		return p, err
	}
	table, ok := scan.(*googlesql.ResolvedTableScan)
	if !ok {
		return p, fmt.Errorf("%s is over a %T", p.alias, scan)
	}
	if p.table, err = table.Table(); err != nil {
		return p, err
	}
	definitions, err := n.PropertyDefinitionList()
	if err != nil {
		return p, err
	}
	var declared []googlesql.GraphPropertyDeclarationNode
	for _, d := range definitions {
		name, err := d.PropertyDeclarationName()
		if err != nil {
			return p, err
		}
		expr, err := d.Expr()
		if err != nil {
			return p, err
		}
		text, err := d.Sql()
		if err != nil {
			return p, err
		}
		if b.properties[name] == nil {
			typ, err := expr.Type()
			if err != nil {
				return p, err
			}
			if b.properties[name], err = googlesql.NewSimpleGraphPropertyDeclaration(name, b.path, typ); err != nil {
				return p, err
			}
		}
		declared = append(declared, b.properties[name])
		definition, err := googlesql.NewSimpleGraphPropertyDefinition(b.properties[name], text)
		if err != nil {
			return p, err
		}
		p.definitions = append(p.definitions, definition)
	}
	label, err := googlesql.NewSimpleGraphElementLabel(p.alias, b.path, declared)
	if err != nil {
		return p, err
	}
	p.labels = append(p.labels, label)
	b.labels = append(b.labels, label)
	return p, nil
}

func (b *graphBuilder) reference(ref *googlesql.ResolvedGraphNodeTableReference, err error) (*googlesql.SimpleGraphNodeTableReference, error) {
	if err != nil {
		return nil, err
	}
	name, err := ref.NodeTableIdentifier()
	if err != nil {
		return nil, err
	}
	if b.nodes[name] == nil {
		return nil, fmt.Errorf("an edge is between nodes %s, which are not in the graph", name)
	}
	return googlesql.NewSimpleGraphNodeTableReference(b.nodes[name], []int32{0}, []int32{0})
}

var (
	comment   = regexp.MustCompile(`--[^\n]*`)
	text      = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	parameter = regexp.MustCompile(`@([a-z_]+)`)
)

// parametersOf returns the names of the parameters of a statement.
func parametersOf(sql string) map[string]bool {
	out := make(map[string]bool)
	for _, found := range parameter.FindAllStringSubmatch(text.ReplaceAllString(comment.ReplaceAllString(sql, ""), "''"), -1) {
		out[found[1]] = true
	}
	return out
}
