// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	bq "cloud.google.com/go/bigquery"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The rows of session_graphs as a model has them, for the views to be compared with. Appends are
// delivered twice, in any order, or not at all.

// modelNode is a step as one version has it.
type modelNode struct {
	key      string
	rows     int      // of events that were read
	causes   []string // keys of steps
	entities []modelEntity
	check    bool
}

type modelEntity struct {
	value, source string
	seen          int // minute
}

// modelVersion is what one writer appended of one session.
type modelVersion struct {
	session, day, writer, id, sync string
	version, readTo                int
	parts                          [][]modelNode
	delivered                      []int // how often each part was
}

func (v *modelVersion) whole() bool { return !slices.Contains(v.delivered, 0) }

func (v *modelVersion) nodes() []modelNode { return slices.Concat(v.parts...) }

// tag tells which version a row of a view is from.
func (v *modelVersion) tag() string { return v.writer + "/" + v.id + "/" + v.sync }

// newer says whether v stands before w, both of one writer.
func (v *modelVersion) newer(w *modelVersion) bool {
	return cmp.Or(cmp.Compare(v.readTo, w.readTo), cmp.Compare(v.version, w.version), cmp.Compare(v.sync, w.sync)) > 0
}

// owns says whether the node n of v stands before m of w.
func owns(v *modelVersion, n modelNode, w *modelVersion, m modelNode) bool {
	return cmp.Or(cmp.Compare(m.rows, n.rows), cmp.Compare(w.readTo, v.readTo), cmp.Compare(w.version, v.version),
		cmp.Compare(v.writer, w.writer), cmp.Compare(v.id, w.id)) < 0
}

// randomVersions makes what the writers of one session appended.
func randomVersions(r *rand.Rand, session string) []*modelVersion {
	var out []*modelVersion
	steps := 1 + r.IntN(6)
	for _, w := range []struct{ writer, id string }{{"journal", "j1"}, {"journal", "j2"}, {"dataset", ""}} {
		if w.id != "j1" && r.IntN(2) == 0 {
			continue
		}
		day := "2026-03-04"
		if w.id == "j2" && r.IntN(4) == 0 {
			day = "2026-03-05" // this host began it on another day
		}
		version, readTo := 0, 0
		for range 1 + r.IntN(3) {
			if version++; r.IntN(8) == 0 {
				version = 1 // the journal was restored from a copy
			}
			readTo += r.IntN(3)
			v := &modelVersion{
				session: session, day: day, writer: w.writer, id: w.id, sync: fmt.Sprintf("x%08x", r.Uint32()), version: version, readTo: readTo,
			}
			part := []modelNode{}
			for i := range steps {
				if r.IntN(4) == 0 && (i < steps-1 || len(v.parts)+len(part) > 0) {
					continue // this writer does not know it, or not any more
				}
				n := modelNode{key: fmt.Sprintf("%s-%d", session, i), rows: r.IntN(3)}
				for c := range i {
					if r.IntN(3) == 0 {
						n.causes = append(n.causes, fmt.Sprintf("%s-%d", session, c))
					}
				}
				n.check = r.IntN(4) == 0
				for _, value := range []string{"Shoe", "Map"} {
					if r.IntN(2) == 0 {
						source := "rule"
						if r.IntN(4) == 0 {
							source = "model"
						}
						n.entities = append(n.entities, modelEntity{value, source, r.IntN(5)})
					}
				}
				if part = append(part, n); r.IntN(3) == 0 {
					v.parts, part = append(v.parts, part), nil
				}
			}
			if len(part) > 0 {
				v.parts = append(v.parts, part)
			}
			for range v.parts {
				v.delivered = append(v.delivered, []int{1, 1, 1, 1, 2, 0}[r.IntN(6)])
			}
			out = append(out, v)
		}
	}
	return out
}

// viewRows are what the views show, as lines.
type viewRows struct{ steps, edges, entities, checks []string }

// want says what the views show of one session. It fails where that is a part of a version: of each
// writer the steps are all of one version, but for those that another writer owns.
func want(t *testing.T, versions []*modelVersion) viewRows {
	newest := make(map[string]*modelVersion)
	for _, v := range versions {
		k := v.day + v.writer + v.id
		if v.whole() && (newest[k] == nil || v.newer(newest[k])) {
			newest[k] = v
		}
	}
	type owned struct {
		*modelVersion
		modelNode
	}
	owner := make(map[string]owned)
	for _, v := range newest {
		for _, n := range v.nodes() {
			o := owned{v, n}
			if old, known := owner[v.day+n.key]; !known || owns(v, n, old.modelVersion, old.modelNode) {
				owner[v.day+n.key] = o
			}
		}
	}
	for _, v := range newest {
		for _, n := range v.nodes() {
			if o, ok := owner[v.day+n.key]; !ok || o.modelVersion != newest[o.day+o.writer+o.id] {
				t.Fatalf("the model shows a part of %s", v.tag())
			}
		}
	}
	var out viewRows
	for _, o := range owner {
		out.steps = append(out.steps, fmt.Sprintf("%s %s %d %s", o.day, o.key, o.rows, o.tag()))
		for _, c := range o.causes {
			out.edges = append(out.edges, fmt.Sprintf("%s %s>%s", o.day, c, o.key))
		}
		if o.check {
			out.checks = append(out.checks, fmt.Sprintf("%s %s %s", o.day, o.key, o.tag()))
		}
		for _, e := range o.entities {
			out.entities = append(out.entities, fmt.Sprintf("%s %s %s %s %d %s", o.day, o.key, e.value, e.source, e.seen, o.tag()))
		}
	}
	return out
}

// expressions returns the values of fields, those in set and NULL for the others.
func expressions(fields []warehouse.Column, set map[string]string) string {
	var out []string
	for _, f := range fields {
		v, ok := set[f.Name]
		if !ok {
			v = "CAST(NULL AS " + typeOf(f) + ")"
		}
		out = append(out, v+" AS "+f.Name)
	}
	return strings.Join(out, ", ")
}

func typeOf(c warehouse.Column) string {
	typ := c.Type
	if typ == "FLOAT64" {
		typ = "FLOAT" // as the emulator calls it
	}
	if len(c.Fields) > 0 {
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, f.Name+" "+typeOf(f))
		}
		typ = "STRUCT<" + strings.Join(fields, ", ") + ">"
	}
	if c.Mode == "REPEATED" {
		typ = "ARRAY<" + typ + ">"
	}
	return typ
}

// insertRows returns the statement that inserts parts: rows are STRUCTs with the columns of
// the table, and the nodes as texts: key;rows;cause,cause;value/source/minute,…;check.
func insertRows(n warehouse.Names, rows []string) string {
	columns := warehouse.SessionGraphsTable().Columns
	nodes := columns[len(columns)-1].Fields
	field := func(name string) []warehouse.Column {
		for _, c := range nodes {
			if c.Name == name {
				return c.Fields
			}
		}
		panic(name)
	}
	part := func(i int) string { return fmt.Sprintf("SPLIT(node, ';')[OFFSET(%d)]", i) }
	of := func(i int) string { return fmt.Sprintf("SPLIT(e, '/')[OFFSET(%d)]", i) }
	list := func(name string, at int, set map[string]string) string {
		return "ARRAY(SELECT AS STRUCT " + expressions(field(name), set) + " FROM UNNEST(SPLIT(" + part(at) + ", ',')) AS e WHERE e != '')"
	}
	key := part(0)
	return "INSERT INTO " + n.Quote(warehouse.SessionGraphs) + `
SELECT 'shop', 'u', r.session, CAST(r.day AS DATE), r.writer, r.id, r.sync, r.version, TIMESTAMP_SECONDS(r.read_to), r.part, r.parts,
  ARRAY(SELECT AS STRUCT ` + expressions(nodes, map[string]string{
		"node_key": key, "name": "CONCAT(r.writer, '/', r.id, '/', r.sync)", "span_id": key, "start_time": "TIMESTAMP_SECONDS(0)",
		"event_ids": "SPLIT(" + part(1) + ", ',')",
		"caused_by": list("caused_by", 2, map[string]string{"edge_key": "CONCAT(e, '>', " + key + ")", "from_key": "e", "kind": "'informs'"}),
		"entities": list("entities", 3, map[string]string{
			"biz_key": "CONCAT(" + key + ", ' ', " + of(0) + ")", "node_type": "'T'", "node_value": of(0), "source": of(1), "link_type": "CONCAT(r.writer, '/', r.id, '/', r.sync)",
			"evaluated_at": "TIMESTAMP_SECONDS(CAST(" + of(2) + " AS INT64))",
		}),
		"checks": list("checks", 4, map[string]string{"check_id": "CONCAT(" + key + ", ' ', r.writer, '/', r.id, '/', r.sync)"}),
	}) + `
  FROM UNNEST(r.nodes) AS node)
FROM UNNEST([STRUCT<session STRING, day STRING, writer STRING, id STRING, sync STRING, version INT64, read_to INT64, part INT64, parts INT64, nodes ARRAY<STRING>>
  ` + strings.Join(rows, ",\n  ") + `]) AS r`
}

// literals returns the rows of the parts that were delivered, as insertRows takes them.
func (v *modelVersion) literals() []string {
	var rows []string
	for p, nodes := range v.parts {
		var texts []string
		for _, n := range nodes {
			texts = append(texts, "'"+n.text()+"'")
		}
		for range v.delivered[p] {
			rows = append(rows, fmt.Sprintf("('%s', '%s', '%s', '%s', '%s', %d, %d, %d, %d, [%s])",
				v.session, v.day, v.writer, v.id, v.sync, v.version, v.readTo, p, len(v.parts), strings.Join(texts, ", ")))
		}
	}
	return rows
}

// text returns the node as insertRows takes it. No rows of events is one of an empty id.
func (n modelNode) text() string {
	ids := strings.Repeat(",x", n.rows)
	var es []string
	for _, e := range n.entities {
		es = append(es, fmt.Sprintf("%s/%s/%d", e.value, e.source, e.seen))
	}
	check := ""
	if n.check {
		check = "x"
	}
	return strings.Join([]string{n.key, ids, strings.Join(n.causes, ","), strings.Join(es, ","), check}, ";")
}

// viewLines makes the views of the graph and returns the statements that return their lines, each with
// the name of its view before it: of all views, and of those two that the others stand on.
func viewLines(t *testing.T, names warehouse.Names, run func(string) []string) (all, first string) {
	t.Helper()
	definitions, err := warehouse.Definitions(config.BigQuery{Project: names.Project(), Dataset: names.Dataset()})
	if err != nil {
		t.Fatal(err)
	}
	line := map[string]string{
		warehouse.GraphSteps:        "node_key, ' ', CAST(ARRAY_LENGTH(event_ids) - 1 AS STRING), ' ', name",
		warehouse.TechNodes:         "node_key, ' ', CAST(ARRAY_LENGTH(event_ids) - 1 AS STRING), ' ', name",
		warehouse.CausedEdges:       "edge_key",
		warehouse.BizNodes:          "biz_key, ' ', source, ' ', CAST(UNIX_SECONDS(evaluated_at) AS STRING), ' ', link_type",
		warehouse.CrossLinks:        "link_key, ' ', source, ' ', CAST(UNIX_SECONDS(evaluated_at) AS STRING), ' ', link_type",
		warehouse.WorldChangeChecks: "check_id",
	}
	var selects, base []string
	for _, d := range definitions {
		if l, ok := line[d.Name]; ok {
			run(d.SQL)
			selects = append(selects, fmt.Sprintf("SELECT CONCAT('%s ', CAST(session_day AS STRING), ' ', %s) FROM %s", d.Name, l, names.Quote(d.Name)))
			if foundation(d.Name) {
				base = append(base, selects[len(selects)-1])
			}
		}
	}
	if len(selects) != len(line) {
		t.Fatalf("%d views of the graph", len(selects))
	}
	return strings.Join(selects, "\nUNION ALL\n"), strings.Join(base, "\nUNION ALL\n")
}

// foundation says whether the other views of the graph stand on this one.
func foundation(view string) bool { return view == warehouse.GraphSteps || view == warehouse.BizNodes }

// The views show of each session what the model says: the newest whole graph of each writer, and
// of each step that of the writer that read most of it; never a part of a graph. Keys are unique.
func TestViewsShowWholeGraphs(t *testing.T) {
	for seed := range testsize.Seeds(t, 1, 4) { // an emulator each
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			viewsOfRandomSessions(t, seed)
		})
	}
}

func viewsOfRandomSessions(t *testing.T, seed uint64) {
	// The emulator takes a time for a window that grows with the square of the table, and computes a
	// view again for each one that stands on it: one batch in ten is asked for all views.
	const batch, all = 8, 10
	batches := testsize.Rounds(t, 8, 125)
	server := emulator.Start(t)
	client := restClient(t, server)
	names, err := warehouse.NamesOf(config.BigQuery{Project: emulator.Project, Dataset: server.Dataset})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(text string) []string {
		t.Helper()
		it, err := client.Query(text).Read(t.Context())
		if err != nil {
			t.Fatalf("%v\n%.2000s", err, text)
		}
		var out []string
		for {
			var row []bq.Value
			err := it.Next(&row)
			if errors.Is(err, iterator.Done) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(row[0]))
		}
		slices.Sort(out)
		return out
	}
	var columns []string
	for _, c := range warehouse.SessionGraphsTable().Columns {
		columns = append(columns, c.Name+" "+typeOf(c))
	}
	lines("CREATE TABLE " + names.Quote(warehouse.SessionGraphs) + " (" + strings.Join(columns, ", ") + ")")
	whole, first := viewLines(t, names, lines)

	r := rand.New(rand.NewPCG(seed, 0))
	seen := make(map[string]int)
	for n := range batches {
		var model, rows []string
		query := first
		if n%all == 0 {
			query = whole
		}
		add := func(view string, list []string) {
			if n%all != 0 && !foundation(view) {
				return
			}
			seen[view] += len(list)
			for _, l := range list {
				model = append(model, view+" "+l)
			}
		}
		for i := range batch {
			versions := randomVersions(r, fmt.Sprintf("s%d.%d", n, i))
			w := want(t, versions)
			add(warehouse.GraphSteps, w.steps)
			add(warehouse.TechNodes, w.steps)
			add(warehouse.CausedEdges, w.edges)
			add(warehouse.BizNodes, w.entities)
			add(warehouse.CrossLinks, w.entities)
			add(warehouse.WorldChangeChecks, w.checks)
			for _, v := range versions {
				rows = append(rows, v.literals()...)
			}
		}
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		lines("DELETE FROM " + names.Quote(warehouse.SessionGraphs) + " WHERE TRUE")
		lines(insertRows(names, rows))
		got := lines(query)
		slices.Sort(model)
		if diff := gocmp.Diff(model, got); diff != "" {
			t.Fatalf("batch %d (-model +views):\n%.4000s", n, diff)
		}
		keys := make(map[string]bool)
		for _, l := range got {
			// The view, the day and the key; the value of an entity is part of its key.
			fields := strings.Fields(l)
			key := strings.Join(fields[:min(len(fields), 3)], " ")
			if fields[0] == warehouse.BizNodes || fields[0] == warehouse.CrossLinks {
				key += " " + fields[3]
			}
			if keys[key] {
				t.Errorf("two rows have the key %s", key)
			}
			keys[key] = true
		}
	}
	for _, view := range []string{warehouse.GraphSteps, warehouse.CausedEdges, warehouse.BizNodes, warehouse.WorldChangeChecks} {
		if seen[view] == 0 {
			t.Errorf("%s shows nothing", view)
		}
	}
}
