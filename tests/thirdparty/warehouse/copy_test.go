// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// The graph of a dataset of an earlier version is the same after init, in its new place, however often
// init runs, and its old place is left as it was.
func TestInitCopiesTheGraphOf09ed1b5(t *testing.T) {
	d := newSynced(t)
	d.write(from(graphOf(t, conversation()), warehouse.WriterJournal, "j1", 1))
	found, err := warehouse.ModelGraph(syncedSession, []entity.Entity{{
		Type: "Budget", Value: "40k", Confidence: 0.5, Source: entity.SourceModel, EventID: "e", SpanID: "tool1", SeenAt: day.Add(time.Minute),
		TechNode: graphsync.TechNodeKey(syncedSession, "trace-r1", "tool1"),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.write(from(found, warehouse.WriterModel, "m1", 1))
	// An array that is NULL is empty in BigQuery, and NULL in the emulator.
	shows := func() map[string]map[string]string {
		g := d.graph()
		for _, rows := range g {
			for k, row := range rows {
				rows[k] = regexp.MustCompile(`"(sightings|requests|alerts)":null`).ReplaceAllString(row, `"$1":[]`)
			}
		}
		return g
	}
	want := shows()
	if len(want["entities"]) < 3 || len(want["checks"]) == 0 || len(want["edges"]) == 0 {
		t.Fatalf("the graph: %v", want)
	}

	// The tables as they were, with what the views show.
	text, err := os.ReadFile("../../../internal/warehouse/testdata/legacy/09ed1b5.sql")
	if err != nil {
		t.Fatal(err)
	}
	ddl := regexp.MustCompile(` OPTIONS \(description = "[^"]*"\)`).ReplaceAllString(string(text), "")
	ddl = strings.ReplaceAll(ddl, "FLOAT64", "FLOAT") // as the emulator calls the type of a column
	view := map[string]string{
		"tech_nodes": warehouse.TechNodes, "caused_edges": warehouse.CausedEdges, "extracted_biz_nodes": warehouse.BizNodes,
		"context_cross_links": warehouse.CrossLinks, "world_change_checks": warehouse.WorldChangeChecks,
	}
	column := regexp.MustCompile(`(?m)^  (\w+) [A-Z]`)
	for _, m := range regexp.MustCompile("(?s)CREATE TABLE IF NOT EXISTS `my-project\\.agents\\.(\\w+)` \\((.*?)\\n\\)").FindAllStringSubmatch(ddl, -1) {
		d.rows("CREATE TABLE `agents." + m[1] + "` (" + m[2] + "\n)")
		var columns, values []string
		for _, c := range column.FindAllStringSubmatch(m[2], -1) {
			value := c[1]
			if value == "sightings" { // which had no echoes
				value = "ARRAY(SELECT AS STRUCT s.event_id, s.evaluated_at, s.confidence, s.artifact_uri, s.source, s.norm, s.attributes FROM UNNEST(sightings) AS s)"
			}
			columns, values = append(columns, c[1]), append(values, value)
		}
		d.rows(fmt.Sprintf("INSERT INTO `agents.%s` (%s) SELECT %s FROM `agents.%s`", m[1], strings.Join(columns, ", "), strings.Join(values, ", "), view[m[1]]))
	}
	old := func() []string {
		var out []string
		for _, table := range warehouse.LegacyTables() {
			for _, row := range d.rows("SELECT TO_JSON_STRING(t) AS t FROM `agents." + table.Name + "` AS t") {
				out = append(out, table.Name+fmt.Sprint(row["t"]))
			}
		}
		slices.Sort(out)
		return out
	}
	before := old()
	d.rows("DELETE FROM `agents.session_graphs` WHERE TRUE")

	cfg := d.server.Config()
	cfg.Graph.Queries = config.QueriesRecursive
	made := dataset(t, d.server, cfg)
	for range 2 { // the second time after an init that was interrupted before it wrote the labels
		var version bq.TableMetadataToUpdate
		version.SetLabel(warehouse.VersionLabel, "1")
		if _, err := d.client.Dataset(d.server.Dataset).Table(made.Names().Events()).Update(t.Context(), version, ""); err != nil {
			t.Fatal(err)
		}
		r, err := made.Init(t.Context(), bigquery.InitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), "copied into session_graphs once") {
			t.Errorf("notes: %v", r.Notes)
		}
		if diff := cmp.Diff(want, shows()); diff != "" {
			t.Fatalf("graph (-before +after):\n%s", diff)
		}
		if rows := d.rows("SELECT writer FROM `agents.session_graphs`"); len(rows) != 2 {
			t.Errorf("%d rows, want one of the dataset and one of a model", len(rows))
		}
	}
	if diff := cmp.Diff(before, old()); diff != "" {
		t.Errorf("the old tables changed:\n%s", diff)
	}
	// What is newer stands before the copy.
	later := graphOf(t, conversation()[:len(conversation())/2])
	later.ReadTo = graphOf(t, conversation()).ReadTo
	for i := range later.Nodes {
		later.Nodes[i].Name = "later"
	}
	d.write(from(later, warehouse.WriterDataset, "", 1))
	names := d.rows("SELECT DISTINCT name FROM `agents." + warehouse.TechNodes + "`")
	if len(names) != 1 || names[0]["name"] != "later" {
		t.Errorf("names %v, want those of the newer version", names)
	}
}
