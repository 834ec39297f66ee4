// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

var update = flag.Bool("update", false, "write the golden files")

// The statements of a dataset with all defaults and of one with none.
func TestDefinitions(t *testing.T) {
	for name, cfg := range map[string]config.BigQuery{
		"defaults": {Project: "my-project", Dataset: "agents"},
		"named": {
			Project: "example.com:my-project", BillingProject: "billing-project", Dataset: "Agents_2", Location: "europe-west3",
			Table: "events", ViewPrefix: "adk", Graph: config.Graph{Name: "why"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			statements, err := warehouse.Definitions(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, s := range statements {
				b.WriteString(s.SQL + ";\n\n")
			}
			golden := filepath.Join("testdata", "ddl", name+".sql")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("statements (-want +got):\n%s\nWith a release between, SchemaVersion has to be raised.", diff)
			}
		})
	}
}

func TestDefinitionsWithoutGraph(t *testing.T) {
	statements, err := warehouse.Definitions(config.BigQuery{Project: "my-project", Dataset: "agents", Graph: config.Graph{GQL: new(false)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if s.Kind == warehouse.KindGraph || strings.Contains(s.SQL, warehouse.GraphLabel) {
			t.Errorf("with recursive queries there is a graph: %s", s.SQL)
		}
	}
}

// The version of the label changes with any table or view, and not with the graph.
// The statements say what the configuration says of clusters and views.
func TestDefinitionsOfClustersAndViews(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg       config.BigQuery
		clustered string
		views     int
	}{
		"default":           {config.BigQuery{}, "PARTITION BY DATE(timestamp)\nCLUSTER BY event_type, agent, user_id\nOPTIONS", 41},
		"clusters":          {config.BigQuery{ClusteringFields: []string{"session_id"}}, "PARTITION BY DATE(timestamp)\nCLUSTER BY session_id\nOPTIONS", 41},
		"no clusters, none": {config.BigQuery{ClusteringFields: []string{}, CreateViews: new(false)}, "PARTITION BY DATE(timestamp)\nOPTIONS", 7},
	} {
		tt.cfg.Project, tt.cfg.Dataset = "my-project", "agents"
		statements, err := warehouse.Definitions(tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		views := 0
		for _, s := range statements {
			if s.Name == "agent_events" && s.Kind == warehouse.KindTable && !strings.Contains(s.SQL, tt.clustered) {
				t.Errorf("%s: no %q in\n%s", name, tt.clustered, s.SQL)
			}
			if s.Kind == warehouse.KindView {
				views++
			}
		}
		if views != tt.views {
			t.Errorf("%s: %d views, want %d", name, views, tt.views)
		}
	}
}

func TestVersionLabels(t *testing.T) {
	labels := func(cfg config.BigQuery, gql bool) map[string]string {
		cfg.Project, cfg.Graph.GQL = "my-project", &gql
		made, err := warehouse.Definitions(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return made[len(made)-1].Labels
	}
	base := labels(config.BigQuery{Dataset: "agents"}, true)
	for _, l := range base {
		if !regexp.MustCompile(`^[a-z0-9_-]{1,63}$`).MatchString(l) {
			t.Errorf("%q cannot be the value of a label", l)
		}
	}
	if l := labels(config.BigQuery{Dataset: "agents"}, false); l[warehouse.DefinitionsLabel] != base[warehouse.DefinitionsLabel] || l[warehouse.GraphLabel] != "" {
		t.Errorf("without a graph: %v, with one: %v", l, base)
	}
	if l := labels(config.BigQuery{Dataset: "agents", ViewPrefix: "w"}, true); l[warehouse.DefinitionsLabel] == base[warehouse.DefinitionsLabel] {
		t.Error("other views have the same digest")
	}
}

// Each view of the Python plugin is there with its columns in their order and types, and
// every event type has a view.
func TestTypedViews(t *testing.T) {
	common, views, err := warehouse.TypedViews()
	if err != nil {
		t.Fatal(err)
	}
	python, err := contract.LoadViews()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(python.Common, common); diff != "" {
		t.Errorf("common columns:\n%s", diff)
	}
	var types []string
	bySuffix := make(map[string]warehouse.TypedView)
	for _, v := range views {
		types = append(types, v.EventType)
		bySuffix[v.Suffix] = v
		names := slices.Clone(common)
		for _, c := range v.Columns {
			if slices.Contains(names, c.Name) {
				t.Errorf("view %s has two columns %s", v.Suffix, c.Name)
			}
			names = append(names, c.Name)
		}
	}
	slices.Sort(types)
	if diff := cmp.Diff(slices.Sorted(slices.Values(record.EventTypes())), types); diff != "" {
		t.Errorf("event types with a view:\n%s", diff)
	}
	for _, v := range python.Views {
		for i, c := range v.Columns {
			got := bySuffix[v.Suffix].Columns[i]
			if c.Name == "agent_instruction" {
				c.Path, c.Present, c.Why = "$", got.Present, "" // Python's is always NULL
			}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("view %s: column %d:\n%s", v.Suffix, i, diff)
			}
		}
	}
}

// Keys of the graph stand among the properties. That its columns are there is for an analyzer to
// say, see tests/thirdparty/googlesql.
func TestGraphNamesColumns(t *testing.T) {
	n, err := warehouse.NamesOf(config.BigQuery{Project: "my-project", Dataset: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := n.CreateGraph(true)
	if err != nil {
		t.Fatal(err)
	}
	elements := regexp.MustCompile("(?s)`my-project\\.agents\\.(\\w+)` AS \\w+\\s+KEY \\((\\w+)\\)(.*?)PROPERTIES \\(([^)]*)\\)").FindAllStringSubmatch(text, -1)
	if len(elements) != 6 {
		t.Fatalf("the graph has %d elements, want 6", len(elements))
	}
	for _, e := range elements {
		properties := strings.FieldsFunc(e[4], func(r rune) bool { return strings.ContainsRune(" ,\n", r) })
		if !slices.Contains(properties, e[2]) {
			t.Errorf("%s: key %s is no property", e[1], e[2])
		}
	}
}

func TestTablesAreComplete(t *testing.T) {
	n, err := warehouse.NamesOf(config.BigQuery{Project: "my-project", Dataset: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range n.Tables() {
		seen := make(map[string]string)
		for _, c := range table.Columns {
			if seen[c.Name] != "" {
				t.Errorf("%s has two columns %s", table.Name, c.Name)
			}
			seen[c.Name] = c.Mode + " " + c.Type
		}
		want := "REQUIRED TIMESTAMP"
		if table.Partition() == table.PartitionBy {
			want = "REQUIRED DATE"
		}
		if seen[table.PartitionBy] != want {
			t.Errorf("%s is partitioned by %s, which is %q", table.Name, table.PartitionBy, seen[table.PartitionBy])
		}
		for _, c := range table.ClusterBy {
			if !strings.HasSuffix(seen[c], " STRING") {
				t.Errorf("%s is clustered by %s, which is %q", table.Name, c, seen[c])
			}
		}
	}
}

// FuzzNames holds that no name that is taken can end the quoted name it stands in, or add
// to the statement, and that what is refused names the key.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"agents", "my-project", "v", "US", "europe-west3", "a`b", "a.b", "a;DROP TABLE x", "a\n-- b", "a' OR '1'='1", "ä", "a b", "",
		"example.com:my-project", "agents\x00", "agents\n", `a\`, "-", "--", strings.Repeat("a", 2000), "{{events}}", "a/*", "ａ",
	} {
		f.Add(s, s, s, s, s, s)
	}
	f.Fuzz(func(t *testing.T, project, dataset, location, table, prefix, graph string) {
		cfg := config.BigQuery{Project: project, Dataset: dataset, Location: location, Table: table, ViewPrefix: prefix, Graph: config.Graph{Name: graph}}
		n, err := warehouse.NamesOf(cfg)
		if err != nil {
			if !errors.As(err, new(*warehouse.NameError)) {
				t.Errorf("error %v (%T) is no NameError", err, err)
			}
			return
		}
		cfg = cfg.WithDefaults()
		for _, name := range []string{cfg.Project, cfg.Dataset, cfg.Location, cfg.Table, cfg.ViewPrefix, cfg.Graph.Name} {
			if strings.ContainsAny(name, "`'\"\\;\n\r\t\x00 /*{}()") || strings.Contains(name, "--") {
				t.Errorf("name %q is taken", name)
			}
		}
		want := "`" + cfg.Project + "." + cfg.Dataset + "." + cfg.Table + "`"
		n.Quote(n.UniqueEvents())
		n.Quote(n.View("hitl_confirmation_request_completed"))
		if got := n.Quote(n.Events()); got != want {
			t.Errorf("quoted: %s, want %s", got, want)
		}
		text, err := n.Statement("init_labels", map[string]string{"k": "v"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.TrimSpace(text), "ALTER TABLE "+want+"\nSET OPTIONS (labels = [('k', 'v')])"; got != want {
			t.Errorf("statement: %s, want %s", got, want)
		}
	})
}

func TestNamesAreDistinct(t *testing.T) {
	for what, cfg := range map[string]config.BigQuery{
		"events and graphs": {Table: "session_graphs"},
		"events and graph":  {Graph: config.Graph{Name: "AGENT_EVENTS"}},
		"events and view":   {Table: "v_llm_request"},
		"graph and view":    {Graph: config.Graph{Name: "agent_events_unique"}},
		"events and steps":  {Table: "graph_steps"},
	} {
		cfg.Project, cfg.Dataset = "my-project", "agents"
		_, err := warehouse.Definitions(cfg)
		if !errors.As(err, new(*warehouse.NameError)) {
			t.Errorf("%s have one name: %v", what, err)
		}
	}
}

func TestHostileNames(t *testing.T) {
	ok := config.BigQuery{Project: "my-project", Dataset: "agents"}
	for _, hostile := range []string{"a`.b", "a` b", "`", "a;b", "a\nb", "a'b", `a\b`, "a\x00", " a", "a ", "{{table}}"} {
		for key, set := range map[string]func(*config.BigQuery){
			"project":         func(c *config.BigQuery) { c.Project = hostile },
			"billing_project": func(c *config.BigQuery) { c.BillingProject = hostile },
			"dataset":         func(c *config.BigQuery) { c.Dataset = hostile },
			"location":        func(c *config.BigQuery) { c.Location = hostile },
			"table":           func(c *config.BigQuery) { c.Table = hostile },
			"view_prefix":     func(c *config.BigQuery) { c.ViewPrefix = hostile },
			"graph.name":      func(c *config.BigQuery) { c.Graph.Name = hostile },
		} {
			cfg := ok
			set(&cfg)
			_, err := warehouse.NamesOf(cfg)
			var e *warehouse.NameError
			if !errors.As(err, &e) || e.What != key && !(key == "project" && e.What == "billing_project") || e.Remedy == "" {
				t.Errorf("%s %q: %v", key, hostile, err)
			}
		}
	}
}
