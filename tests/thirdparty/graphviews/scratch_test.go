package graphviews_test

import (
	"testing"
	"fmt"
	"strings"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

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

func TestScratch(t *testing.T) {
	s := emulator.Start(t)
	client, err := bq.NewClient(t.Context(), emulator.Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	names, err := warehouse.NamesOf(config.BigQuery{Project: emulator.Project, Dataset: s.Dataset})
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) {
		t.Helper()
		job, err := client.Query(text).Run(t.Context())
		if err != nil {
			t.Fatalf("%v\n%.3000s", err, text)
		}
		it, err := job.Read(t.Context())
		if err != nil {
			t.Fatalf("%v\n%.3000s", err, text)
		}
		for {
			var row []bq.Value
			if it.Next(&row) != nil {
				break
			}
			fmt.Println(row)
		}
	}
	text, _ := names.CreateTable(warehouse.SessionGraphsTable())
	// without descriptions
	var cols []string
	for _, c := range warehouse.SessionGraphsTable().Columns {
		cols = append(cols, c.Name+" "+typeText(c))
	}
	text = "CREATE TABLE "+names.Quote("session_graphs")+" ("+strings.Join(cols, ", ")+")"
	run(text)
	views, err := names.Views()
	if err != nil {
		t.Fatal(err)
	}
	nodes := warehouse.SessionGraphsTable().Columns[11]
	set := map[string]string{"node_key": "'n1'", "name": "'N'", "event_ids": "['a','b']", "start_time": "TIMESTAMP '2026-01-02T03:04:05Z'", "event_types": "['TOOL_STARTING','X']"}
	set["span_id"]="'sp'"
	fieldExpr := func(fields []warehouse.Column, set map[string]string) string {
		var out []string
		for _, f := range fields {
			v := "CAST(NULL AS "+typeText(f)+")"
			if s, ok := set[f.Name]; ok { v = s }
			out = append(out, v+" AS "+f.Name)
		}
		return strings.Join(out, ", ")
	}
	sub := func(name string, set map[string]string) string {
		for _, f := range nodes.Fields {
			if f.Name == name {
				return "ARRAY(SELECT AS STRUCT "+fieldExpr(f.Fields, set)+")"
			}
		}
		return ""
	}
	set["caused_by"] = sub("caused_by", map[string]string{"edge_key":"'e1'","from_key":"'n0'","kind":"'informs'"})
	set["entities"] = sub("entities", map[string]string{"biz_key":"'b1'","node_type":"'Product'","node_value":"'Shoe'","source":"'rule'","norm":"JSON '{\"a\":1}'", "evaluated_at": "TIMESTAMP '2026-01-02T03:04:05Z'"})
	set["checks"] = sub("checks", map[string]string{"check_id":"'c1'","verdict":"'safe'"})
	run("INSERT INTO "+names.Quote("session_graphs")+" SELECT 'a', 'u', 's', DATE '2026-01-02', r.writer, 'w', r.sync, r.version, TIMESTAMP '2026-01-02T03:04:05Z', 0, 1, ARRAY(SELECT AS STRUCT "+fieldExpr(nodes.Fields, set)+") FROM UNNEST([STRUCT('journal' AS writer, 's1' AS sync, 1 AS version), ('journal','s2',2), ('model','s3',1)]) AS r")
	run("SELECT TO_JSON_STRING(g) FROM "+names.Quote("session_graphs")+" g")
	for _, v := range views {
		if v.Table == warehouse.SessionGraphs {
			fmt.Println(v.Name)
			run("SELECT TO_JSON_STRING(x) FROM ("+v.Query+") AS x")
		}
	}
}
