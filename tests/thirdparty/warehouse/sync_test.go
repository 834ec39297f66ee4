// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The emulator runs the script of SyncSession as it is, clauses NOT MATCHED BY SOURCE and
// the transaction included, but for the parameters, which stand in the text as literals:
// it binds none in a MERGE. It does not isolate transactions from readers and knows no
// partitions, so what is tested here is which rows change, not when they are seen or
// what is read.

// synced is a dataset with the tables of the graph.
type synced struct {
	*bigquery.Dataset
	t      *testing.T
	client *bq.Client
	server *emulator.Server
}

func newSynced(t *testing.T) *synced {
	t.Helper()
	server := emulator.Start(t)
	d, err := bigquery.NewDataset(t.Context(), server.Config(), bigquery.DatasetOptions{
		Client: server.LiteralOptions(), Write: server.WriteOptions(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	client, err := bq.NewClient(t.Context(), emulator.Project, server.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if _, err := d.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Logf("init: %v", err) // the emulator has no property graphs; the tables are there
	}
	return &synced{Dataset: d, t: t, client: client, server: server}
}

func (d *synced) sync(g warehouse.SessionGraph) bigquery.SyncReport {
	d.t.Helper()
	r, err := d.SyncSession(d.t.Context(), g)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// table returns the rows of a table as JSON texts, by key, without the columns given.
func (d *synced) table(name, key string, without ...string) map[string]string {
	d.t.Helper()
	out := make(map[string]string)
	columns := "*"
	// The emulator returns nested objects without the names of their members.
	if nested := nestedColumns[name]; nested != "" {
		columns = fmt.Sprintf("* EXCEPT (%[1]s), TO_JSON_STRING(%[1]s) AS %[1]s", nested)
	}
	for _, row := range d.rows("SELECT " + columns + " FROM `" + emulator.Project + "." + d.server.Dataset + "." + name + "`") {
		k := fmt.Sprint(row[key])
		if _, twice := out[k]; twice {
			d.t.Errorf("%s has two rows with %s = %s", name, key, k)
		}
		for _, c := range without {
			delete(row, c)
		}
		if nested, _ := row[nestedColumns[name]].(string); nested != "" {
			var list []any
			if err := json.Unmarshal([]byte(nested), &list); err != nil {
				d.t.Fatal(err)
			}
			row[nestedColumns[name]] = list
			if len(list) > 0 {
				// A load job of the emulator puts the members in any order, and then the
				// row looks changed.
				delete(row, "updated_at")
			}
		}
		text, err := json.Marshal(row)
		if err != nil {
			d.t.Fatal(err)
		}
		out[k] = string(text)
	}
	return out
}

// nestedColumns are the columns with nested objects.
var nestedColumns = map[string]string{
	warehouse.TechNodes: "requests", warehouse.BizNodes: "sightings", warehouse.WorldChangeChecks: "alerts",
}

func (d *synced) rows(sql string) []map[string]bq.Value {
	d.t.Helper()
	it, err := d.client.Query(sql).Read(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	var out []map[string]bq.Value
	for {
		row := make(map[string]bq.Value)
		err := it.Next(&row)
		if errors.Is(err, iterator.Done) {
			return out
		}
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, row)
	}
}

func (d *synced) exec(sql string) {
	d.t.Helper()
	job, err := d.client.Query(strings.ReplaceAll(sql, "agents.", emulator.Project+"."+d.server.Dataset+".")).Run(d.t.Context())
	if err == nil {
		_, err = job.Wait(d.t.Context())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// graph returns all tables of the graph.
func (d *synced) graph(without ...string) map[string]map[string]string {
	d.t.Helper()
	return map[string]map[string]string{
		"nodes":    d.table(warehouse.TechNodes, "node_key", without...),
		"edges":    d.table(warehouse.CausedEdges, "edge_key", without...),
		"entities": d.table(warehouse.BizNodes, "biz_key", without...),
		"links":    d.table(warehouse.CrossLinks, "link_key", without...),
		"checks":   d.table(warehouse.WorldChangeChecks, "check_id", without...),
	}
}

// noStaging fails when a staging table is left.
func (d *synced) noStaging() {
	d.t.Helper()
	it := d.client.Dataset(d.server.Dataset).Tables(d.t.Context())
	for {
		table, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return
		}
		if err != nil {
			d.t.Fatal(err)
		}
		if strings.HasPrefix(table.TableID, "staging_") {
			d.t.Errorf("%s is left", table.TableID)
		}
	}
}

var (
	syncedSession = record.Session{App: "shop", User: "o'alice \"\\ @app", ID: "s1"}
	day           = time.Date(2026, 3, 4, 10, 0, 0, 123456000, time.UTC)
)

// script makes the rows of a session.
type script struct {
	rows []record.Event
	seq  map[string]int64
}

// add appends a row to a run. content and attributes are members of JSON objects.
func (s *script) add(run, typ, span, parent, content, attributes string) *record.Event {
	if s.seq == nil {
		s.seq = make(map[string]int64)
	}
	n := len(s.rows) + 1
	s.seq[run]++
	e := record.Event{
		Timestamp: day.Add(time.Duration(n) * time.Second).UnixMicro(), EventID: fmt.Sprintf("%032x", n), EventType: typ, Agent: "root",
		AppName: syncedSession.App, UserID: syncedSession.User, SessionID: syncedSession.ID, InvocationID: "i1", TraceID: "trace-" + run,
		SpanID: span, ParentSpanID: parent, Status: record.StatusOK, Seq: int64(n), RunID: run, RunSeq: s.seq[run],
		Attributes: []byte(fmt.Sprintf(`{"adk":{"app_name":%q,"run_id":%q,"run_seq":%d%s}%s}`, syncedSession.App, run, s.seq[run], adkPart(attributes), topPart(attributes))),
	}
	if content != "" {
		e.Content = []byte("{" + content + "}")
	}
	s.rows = append(s.rows, e)
	return &s.rows[len(s.rows)-1]
}

// attributes are written as "members of adk|members beside it".
func adkPart(attributes string) string {
	adk, _, _ := strings.Cut(attributes, "|")
	return comma(adk)
}

func topPart(attributes string) string {
	_, top, _ := strings.Cut(attributes, "|")
	return comma(top)
}

func comma(s string) string {
	if s == "" {
		return ""
	}
	return "," + s
}

const product = `"entities":[{"type":"Product","value":"Strava Sponsored Routes","attributes":{"price":{"kind":"money","value":"40000","currency":"USD"}}},{"type":"Audience","value":"runners"}]`

// conversation is a session of two runs: a product is looked up, an approval asked for,
// given and checked, and the call made.
func conversation() []record.Event {
	var s script
	s.add("r1", record.UserMessageReceived, "root1", "", `"text_summary":"buy a route"`, "").ContentParts =
		[]byte(`[{"mime_type":"text/plain","part_attributes":"{}","part_index":0,"storage_mode":"INLINE","text":"buy a <route>"}]`)
	s.add("r1", record.AgentStarting, "agent1", "root1", "", "")
	s.add("r1", record.LLMRequest, "llm1", "agent1", "", `|"model":"m"`)
	s.add("r1", record.LLMResponse, "llm1", "agent1", "", `|"function_calls":[{"id":"c1"}]`)
	s.add("r1", record.ToolStarting, "tool1", "agent1", `"tool":"search","args":{}`, `"call_id":"c1"`)
	s.add("r1", record.ToolCompleted, "tool1", "agent1", `"tool":"search","result":{"ok":true}`, `"call_id":"c1"|`+product).LatencyMS = []byte(`{"total_ms":12.5}`)
	s.add("r1", record.LLMRequest, "llm2", "agent1", "", "")
	s.add("r1", record.LLMResponse, "llm2", "agent1", "", `|"function_calls":[{"id":"c2"}]`)
	s.add("r1", record.ToolStarting, "tool2", "agent1", `"tool":"buy","args":{}`, `"call_id":"c2"`)
	s.add("r1", record.HITLConfirmationRequest, "hitl", "tool2", `"tool":"adk_request_confirmation"`, `"call_id":"c2","confirmation_id":"k1"`)
	s.add("r2", record.HITLConfirmationRequestCompleted, "root2", "", `"result":{"confirmed":true}`, `"confirmation_id":"k1"`)
	s.add("r2", record.WorldChangeCheck, "check", "root2",
		`"verdict":"drift","approval_id":"a1","total_entities":2,"stale_entities":1,"entities":[{"outcome":"changed"},{"outcome":"failed"}],`+
			`"alerts":[{"entity_type":"Product","entity":"Strava Sponsored Routes","attribute":"price","drift_type":"price_changed","before":"$40,000","after":"$52,000","severity":0.72}]`,
		`"call_id":"c2","confirmation_id":"k1","approval_id":"a1","stage":"answer","verdict":"drift"`)
	s.add("r2", record.InvocationStarting, "root2", "", "", "")
	s.add("r2", record.ToolError, "tool3", "root2", `"tool":"buy","args":{}`, `"call_id":"c2"`).ErrorMessage = "refused"
	return s.rows
}

// options make a graph read at a minute after the session began.
func options(recorder string, minute int) warehouse.GraphOptions {
	return warehouse.GraphOptions{Recorder: recorder, ReadAt: day.Add(time.Duration(minute) * time.Minute)}
}

func graphOf(t *testing.T, rows []record.Event, o warehouse.GraphOptions) warehouse.SessionGraph {
	t.Helper()
	g, err := warehouse.GraphOfRows(syncedSession, rows, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSyncSession(t *testing.T) {
	d := newSynced(t)
	g := graphOf(t, conversation(), options("j1", 1))
	report := d.sync(g)
	if report.Nodes != len(g.Nodes) || report.Edges == 0 || report.Entities != 2 || report.Links != 2 || report.Checks != 1 || report.Job == "" {
		t.Errorf("report = %+v", report)
	}
	first := d.graph()
	for name, n := range map[string]int{"nodes": len(g.Nodes), "edges": len(g.Edges), "entities": 2, "links": 2, "checks": 1} {
		if len(first[name]) != n {
			t.Errorf("%d %s, want %d", len(first[name]), name, n)
		}
	}
	check := first["checks"][fmt.Sprintf("%032x", 12)]
	for _, want := range []string{
		`"verdict":"drift"`, `"stage":"answer"`, `"tool":"buy"`, `"entities_checked":2`, `"stale_entities":1`, `"failed_entities":1`, `"drift_type":"price_changed"`,
		`"node_key":"` + graphsync.TechNodeKey(syncedSession, "trace-r2", "check") + `"`,
	} {
		if !strings.Contains(check, want) {
			t.Errorf("the check lacks %s: %s", want, check)
		}
	}

	d.sync(graphOf(t, conversation(), options("j1", 2)))
	if diff := cmp.Diff(first, d.graph()); diff != "" {
		t.Errorf("the same graph changed something:\n%s", diff)
	}

	grown := conversation()
	grown[5].Attributes = []byte(strings.Replace(string(grown[5].Attributes), "40000", "41000", 1))
	d.sync(graphOf(t, grown, options("j1", 3)))
	then := d.graph()
	key := warehouse.BizKey(graphsync.TechNodeKey(syncedSession, "trace-r1", "tool1"), "Product", "Strava Sponsored Routes")
	got := then["entities"][key]
	if !strings.Contains(got, "41000") || !strings.Contains(got, `"created_at":"2026-03-04T10:01:00`) || !strings.Contains(got, `"updated_at":"2026-03-04T10:03:00`) {
		t.Errorf("the entity that changed is %s", got)
	}
	delete(first["entities"], key)
	delete(then["entities"], key)
	if diff := cmp.Diff(first, then); diff != "" {
		t.Errorf("more changed than the entity:\n%s", diff)
	}
	d.noStaging()
}

func TestSyncRemovesWhatVanished(t *testing.T) {
	d := newSynced(t)
	d.sync(graphOf(t, conversation(), options("j1", 1)))
	before := d.graph()

	// The tool declares one entity less, and its parent is another one.
	changed := conversation()
	changed[5].Attributes = []byte(strings.Replace(string(changed[5].Attributes), `,{"type":"Audience","value":"runners"}`, "", 1))
	for i := range changed {
		if changed[i].SpanID == "tool1" {
			changed[i].ParentSpanID = "root1"
		}
	}
	g := graphOf(t, changed, options("j1", 2))
	d.sync(g)
	after := d.graph()
	if len(after["entities"]) != 1 || len(after["links"]) != 1 {
		t.Errorf("entities %v, links %v", after["entities"], after["links"])
	}
	old := warehouse.EdgeKey(graphsync.TechNodeKey(syncedSession, "trace-r1", "agent1"), graphsync.Contains, graphsync.TechNodeKey(syncedSession, "trace-r1", "tool1"))
	if _, was := before["edges"][old]; !was {
		t.Fatal("the edge was not there before")
	}
	if _, is := after["edges"][old]; is || len(after["edges"]) != len(g.Edges) {
		t.Errorf("%d edges, want %d; the old one is there: %v", len(after["edges"]), len(g.Edges), is)
	}
}

// What must stay although the graph that is synced does not have it.
func TestSyncKeeps(t *testing.T) {
	without := func(t *testing.T, o warehouse.GraphOptions) warehouse.SessionGraph {
		t.Helper()
		rows := conversation()
		rows[5].Attributes = []byte(strings.Replace(string(rows[5].Attributes), product, `"entities":[]`, 1))
		return graphOf(t, rows, o)
	}
	cases := []struct {
		name   string
		before func(d *synced)
		graph  func(t *testing.T) warehouse.SessionGraph
		// entities is the number that stays, of two.
		entities int
	}{
		{name: "nothing", graph: func(t *testing.T) warehouse.SessionGraph { return without(t, options("j1", 2)) }},
		{name: "what another recorder wrote", entities: 2, graph: func(t *testing.T) warehouse.SessionGraph { return without(t, options("j2", 2)) }},
		{name: "nothing from the dataset, which knows all", graph: func(t *testing.T) warehouse.SessionGraph {
			return without(t, options(warehouse.RecorderDataset, 2))
		}},
		{name: "all of a partial graph", entities: 2, graph: func(t *testing.T) warehouse.SessionGraph {
			o := options("j1", 2)
			o.Partial = true
			return without(t, o)
		}},
		{name: "what an earlier reading does not know", entities: 2, graph: func(t *testing.T) warehouse.SessionGraph { return without(t, options("j1", 0)) }},
		{name: "entities of a row that failed", entities: 2, graph: func(t *testing.T) warehouse.SessionGraph {
			rows := conversation()
			rows[5].Attributes = []byte(strings.Replace(string(rows[5].Attributes), product, `"entities":"lost"`, 1))
			g := graphOf(t, rows, options("j1", 2))
			if len(g.Failed) != 1 || len(g.Entities) != 0 {
				t.Fatalf("failed %v, entities %v", g.Failed, g.Entities)
			}
			return g
		}},
		{name: "what a model found", entities: 2, before: func(d *synced) {
			d.exec("UPDATE `agents.extracted_biz_nodes` SET source = 'model' WHERE TRUE")
			d.exec("UPDATE `agents.context_cross_links` SET source = NULL, recorder = 'model' WHERE TRUE")
		}, graph: func(t *testing.T) warehouse.SessionGraph { return without(t, options(warehouse.RecorderDataset, 2)) }},
		{name: "what is outside of the time that was read", entities: 2, before: func(d *synced) {
			d.exec("UPDATE `agents.extracted_biz_nodes` SET evaluated_at = TIMESTAMP '2026-03-01 00:00:00+00' WHERE TRUE")
			d.exec("UPDATE `agents.context_cross_links` SET evaluated_at = TIMESTAMP '2026-03-01 00:00:00+00' WHERE TRUE")
		}, graph: func(t *testing.T) warehouse.SessionGraph { return without(t, options("j1", 2)) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// One emulator for all gets slower with each table that was staged.
			d := newSynced(t)
			d.sync(graphOf(t, conversation(), options("j1", 1)))
			if c.before != nil {
				c.before(d)
			}
			nodes := len(d.table(warehouse.TechNodes, "node_key"))
			d.sync(c.graph(t))
			after := d.graph()
			if len(after["entities"]) != c.entities || len(after["links"]) != c.entities {
				t.Errorf("%d entities and %d links, want %d of both", len(after["entities"]), len(after["links"]), c.entities)
			}
			if len(after["nodes"]) != nodes {
				t.Errorf("%d nodes, were %d", len(after["nodes"]), nodes)
			}
		})
	}
}

// A key has one row also when the row that is there lies outside of what was read.
func TestSyncFindsRowsBesideWhatWasRead(t *testing.T) {
	d := newSynced(t)
	d.sync(graphOf(t, conversation(), options("j1", 1)))
	want := len(d.table(warehouse.TechNodes, "node_key"))
	// A reading that lacks the beginning of the span of the first tool, and one that
	// lacks its end.
	d.sync(graphOf(t, conversation()[5:], options("j1", 2)))
	d.sync(graphOf(t, conversation()[:5], options("j1", 3)))
	if got := len(d.graph()["nodes"]); got != want {
		t.Errorf("%d nodes, want %d", got, want)
	}
}

func TestSyncOfAModelDoesNotReplaceWhatIsExact(t *testing.T) {
	d := newSynced(t)
	d.sync(graphOf(t, conversation(), options("j1", 1)))
	before := d.graph()
	rows := conversation()
	rows[5].Attributes = []byte(strings.Replace(string(rows[5].Attributes), product, `"entities":[]`, 1))
	tool := graphsync.TechNodeKey(syncedSession, "trace-r1", "tool1")
	sighting := func(typ, value string) entity.Entity {
		return entity.Entity{
			Type: typ, Value: value, Confidence: 0.5, Source: entity.SourceModel, EventID: rows[5].EventID, TechNode: tool, SpanID: "tool1",
			SeenAt: time.UnixMicro(rows[5].Timestamp).UTC(),
		}
	}
	g, err := warehouse.NewSessionGraph(syncedSession, graphsync.Build(rows, []entity.Entity{
		sighting("Product", "Strava Sponsored Routes"), sighting("Audience", "runners"), sighting("Budget", "$1"),
	}), options("j1", 2))
	if err != nil {
		t.Fatal(err)
	}
	d.sync(g)
	after := d.graph()
	added := warehouse.BizKey(tool, "Budget", "$1")
	if !strings.Contains(after["entities"][added], `"source":"model"`) {
		t.Errorf("the entity of the model: %s", after["entities"][added])
	}
	delete(after["entities"], added)
	delete(after["links"], added)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a model changed what is exact:\n%s", diff)
	}
}

// A key that two wrote at one moment has one row after the next sync: the exact one, the
// newest one. Nobody else's rows are touched.
func TestSyncRemovesDuplicates(t *testing.T) {
	d := newSynced(t)
	stranger := record.Session{App: syncedSession.App, User: "bob", ID: syncedSession.ID}
	others := conversation()
	for i := range others {
		others[i].UserID, others[i].EventID = stranger.User, "bob"+others[i].EventID[3:]
	}
	theirs, err := warehouse.GraphOfRows(stranger, others, nil, options("j1", 1))
	if err != nil {
		t.Fatal(err)
	}
	d.sync(theirs)
	d.sync(graphOf(t, conversation(), options("j1", 1)))
	want := d.graph()

	// Rows that are there twice as they are, rows that were written earlier, and what a
	// model found later.
	where := func(table string) string {
		return fmt.Sprintf(" FROM `agents.%s` WHERE app_name = %q AND user_id = %q AND session_id = %q", table, syncedSession.App, syncedSession.User, syncedSession.ID)
	}
	keys := map[string]string{
		warehouse.TechNodes: "node_key", warehouse.CausedEdges: "edge_key", warehouse.BizNodes: "biz_key",
		warehouse.CrossLinks: "link_key", warehouse.WorldChangeChecks: "check_id",
	}
	var twice int64
	for table, key := range keys {
		columns := "* REPLACE (TIMESTAMP '2026-03-04 09:00:00+00' AS created_at, 'older' AS recorder)"
		switch table {
		case warehouse.TechNodes:
			columns = "* REPLACE (TIMESTAMP '2026-03-04 09:00:00+00' AS updated_at, 'older' AS recorder)"
		case warehouse.BizNodes:
			columns = "* REPLACE (TIMESTAMP '2026-03-05 09:00:00+00' AS updated_at, 'model' AS source, 'model' AS recorder)"
		case warehouse.CrossLinks:
			columns = "* REPLACE (TIMESTAMP '2026-03-05 09:00:00+00' AS updated_at, CAST(NULL AS STRING) AS source, 'model' AS recorder)"
		}
		n := int64(len(d.rows("SELECT " + key + strings.ReplaceAll(where(table), "agents.", emulator.Project+"."+d.server.Dataset+"."))))
		if n == 0 {
			t.Fatalf("no rows of the session in %s", table)
		}
		d.exec("INSERT INTO `agents." + table + "` SELECT " + columns + where(table))
		d.exec("INSERT INTO `agents." + table + "` SELECT *" + where(table) + " AND recorder = 'j1'")
		twice += 2 * n
	}
	theirSteps := len(d.rows("SELECT node_key FROM `" + emulator.Project + "." + d.server.Dataset + ".tech_nodes` WHERE user_id = 'bob'"))

	report := d.sync(graphOf(t, conversation(), options("j1", 1)))
	if report.DuplicatesRemoved != twice {
		t.Errorf("%d duplicates removed, want %d", report.DuplicatesRemoved, twice)
	}
	if diff := cmp.Diff(want, d.graph()); diff != "" {
		t.Errorf("after the duplicates were removed:\n%s", diff)
	}
	if theirSteps != len(theirs.Nodes) {
		t.Errorf("the other user has %d steps, want %d", theirSteps, len(theirs.Nodes))
	}
	if again := d.sync(graphOf(t, conversation(), options("j1", 1))); again.DuplicatesRemoved != 0 {
		t.Errorf("%d duplicates were left", again.DuplicatesRemoved)
	}
}

func TestSyncTwoSessionsAndTwoRecorders(t *testing.T) {
	d := newSynced(t)
	rows := conversation()
	a, b := rows[:10], rows[10:]
	d.sync(graphOf(t, a, options("j1", 1)))
	d.sync(graphOf(t, b, options("j2", 1)))
	d.sync(graphOf(t, a, options("j1", 2)))
	parts := d.graph()
	request, answer := graphsync.TechNodeKey(syncedSession, "trace-r1", "hitl"), graphsync.TechNodeKey(syncedSession, "trace-r2", "root2")
	resumes := warehouse.EdgeKey(request, graphsync.Resumes, answer)
	if _, there := parts["edges"][resumes]; there {
		t.Error("two journals that each have a part made an edge between the parts")
	}
	whole := graphOf(t, rows, options(warehouse.RecorderDataset, 3))
	d.sync(whole)
	all := d.graph()
	if len(all["nodes"]) != len(whole.Nodes) || len(all["edges"]) != len(whole.Edges) {
		t.Errorf("%d nodes and %d edges, want %d and %d", len(all["nodes"]), len(all["edges"]), len(whole.Nodes), len(whole.Edges))
	}
	if _, there := all["edges"][resumes]; !there {
		t.Error("the rows of both made no edge between the parts")
	}

	// Another session, of another user with the same id, changes nothing of the first.
	other := conversation()[:6]
	stranger := record.Session{App: syncedSession.App, User: "bob", ID: syncedSession.ID}
	for i := range other {
		other[i].UserID = stranger.User
	}
	g, err := warehouse.GraphOfRows(stranger, other, nil, options("j1", 4))
	if err != nil {
		t.Fatal(err)
	}
	d.sync(g)
	both := d.graph()
	for name, rows := range all {
		for key, row := range rows {
			if both[name][key] != row {
				t.Errorf("%s %s became %s", name, key, both[name][key])
			}
		}
	}
	if len(both["nodes"]) != len(all["nodes"])+len(g.Nodes) {
		t.Errorf("%d nodes, want %d and %d", len(both["nodes"]), len(all["nodes"]), len(g.Nodes))
	}
}

func TestSyncFailsWithoutTables(t *testing.T) {
	server := emulator.Start(t)
	d, err := bigquery.NewDataset(t.Context(), server.Config(), bigquery.DatasetOptions{Client: server.LiteralOptions()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	client, err := bq.NewClient(t.Context(), emulator.Project, server.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // the emulator calls every error one that passes
	defer cancel()
	if _, err := d.SyncSession(ctx, graphOf(t, conversation(), options("j1", 1))); err == nil || !strings.Contains(err.Error(), syncedSession.ID) {
		t.Errorf("error = %v", err)
	}
	(&synced{Dataset: d, t: t, client: client, server: server}).noStaging()
}

// stream sends rows to the table of events by the Storage Write API.
func (d *synced) stream(rows []record.Event) {
	d.t.Helper()
	s, err := d.Target().Open(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	messages := make([][]byte, len(rows))
	for i := range rows {
		messages[i] = wire.RowOf(&rows[i]).Append(nil)
	}
	p, err := s.Append(d.t.Context(), messages)
	if err == nil {
		err = p.Wait(d.t.Context())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestReadSessionGivesTheGraphOfTheJournal(t *testing.T) {
	d := newSynced(t)
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: t.TempDir() + "/journal.db"}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	rows := conversation()
	rows[3].Timestamp = rows[2].Timestamp     // of one microsecond, in the order of the run
	rows[6].Timestamp = rows[5].Timestamp - 5 // a clock that went back
	for i := range rows {
		e := rows[i]
		e.Seq = 0
		j.Append(e)
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, _, err := graphsync.NewSyncer(j, nil).Sync(t.Context(), syncedSession)
	if err != nil {
		t.Fatal(err)
	}
	want, err := warehouse.NewSessionGraph(syncedSession, g, options(j.ID(), 1))
	if err != nil {
		t.Fatal(err)
	}

	// Rows arrive late, out of order and twice.
	shuffled := slices.Clone(rows)
	slices.Reverse(shuffled)
	d.stream(shuffled[:9])
	early, err := d.ReadSession(t.Context(), syncedSession, day, day.Add(time.Hour))
	if err != nil || len(early) != 9 {
		t.Fatalf("%d rows, %v", len(early), err)
	}
	d.sync(graphOf(t, early, options(warehouse.RecorderDataset, 1)))
	d.stream(shuffled[7:])
	late, err := d.ReadSession(t.Context(), syncedSession, day, day.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	got := graphOf(t, late, options(j.ID(), 1))
	if diff := cmp.Diff(texts(t, want), texts(t, got)); diff != "" {
		t.Errorf("graph of the journal (-) and of the dataset (+):\n%s", diff)
	}
	if parts := string(late[0].ContentParts); parts != string(rows[0].ContentParts) {
		t.Errorf("content_parts = %s, want %s", parts, rows[0].ContentParts)
	}

	// The rows that came late stand under their parents then.
	d.sync(graphOf(t, late, options(warehouse.RecorderDataset, 2)))
	if after := d.graph(); len(after["nodes"]) != len(want.Nodes) || len(after["edges"]) != len(want.Edges) {
		t.Errorf("%d nodes and %d edges, want %d and %d", len(after["nodes"]), len(after["edges"]), len(want.Nodes), len(want.Edges))
	}

	found, err := d.FindSessions(t.Context(), record.Session{ID: syncedSession.ID}, day, day.Add(time.Hour))
	if err != nil || len(found) != 1 || found[0].Session != syncedSession || found[0].Events != int64(len(rows)) {
		t.Errorf("FindSessions = %+v, %v", found, err)
	}
	none, err := d.ReadSession(t.Context(), record.Session{App: "other", User: syncedSession.User, ID: syncedSession.ID}, day, day.Add(time.Hour))
	if err != nil || len(none) != 0 {
		t.Errorf("another application has %d rows of the session, %v", len(none), err)
	}
}

// texts returns the rows of a graph by table, with what JSON normalises left aside.
func texts(t *testing.T, g warehouse.SessionGraph) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	add := func(table string, row any) {
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if b, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		out[table] = append(out[table], string(b))
	}
	for _, r := range g.Nodes {
		add("nodes", r)
	}
	for _, r := range g.Edges {
		add("edges", r)
	}
	for _, r := range g.Entities {
		add("entities", r)
	}
	for _, r := range g.Links {
		add("links", r)
	}
	for _, r := range g.Checks {
		add("checks", r)
	}
	return out
}
