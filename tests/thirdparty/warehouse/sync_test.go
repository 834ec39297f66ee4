// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/schema/wire"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// synced is a dataset with the tables and views of the graph.
type synced struct {
	*bigquery.Dataset
	t      *testing.T
	client *bq.Client
	server *emulator.Server
}

func newSynced(t *testing.T) *synced {
	t.Helper()
	server := emulator.Start(t)
	var ticks atomic.Int64
	d, err := bigquery.NewDataset(t.Context(), server.Config(), bigquery.DatasetOptions{
		Client: server.RESTOptions(), Write: server.WriteOptions(),
		Now: func() time.Time { return day.Add(24*time.Hour + time.Duration(ticks.Add(1))*time.Microsecond) },
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
		t.Fatal(err)
	}
	return &synced{Dataset: d, t: t, client: client, server: server}
}

// write appends graphs.
func (d *synced) write(graphs ...warehouse.SessionGraph) bigquery.SyncReport {
	d.t.Helper()
	w := d.GraphWriter()
	defer w.Close()
	var last bigquery.SyncReport
	for _, g := range graphs {
		r, err := w.Write(d.t.Context(), g)
		if err != nil {
			d.t.Fatal(err)
		}
		last = r
	}
	return last
}

// from is a graph as one writer read it, for the version-th time.
func from(g warehouse.SessionGraph, w warehouse.Writer, id string, version int64) warehouse.SessionGraph {
	g.Writer, g.WriterID, g.Version = w, id, version
	return g
}

// rows runs a statement, with agents. before the names of tables.
func (d *synced) rows(sql string) []map[string]bq.Value {
	d.t.Helper()
	it, err := d.client.Query(strings.ReplaceAll(sql, "agents.", emulator.Project+"."+d.server.Dataset+".")).Read(d.t.Context())
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

// view returns some columns of the rows of a view of the graph, by key.
func (d *synced) view(name, key, columns string) map[string]string {
	d.t.Helper()
	out := make(map[string]string)
	for _, row := range d.rows("SELECT " + key + " AS k, TO_JSON_STRING(STRUCT(" + columns + ")) AS v FROM `agents." + name + "`") {
		k := fmt.Sprint(row["k"])
		if _, twice := out[k]; twice {
			d.t.Errorf("%s has two rows with %s = %s", name, key, k)
		}
		out[k] = fmt.Sprint(row["v"])
	}
	return out
}

// graph returns the graph that the views show.
func (d *synced) graph() map[string]map[string]string {
	d.t.Helper()
	return map[string]map[string]string{
		"nodes":    d.view(warehouse.TechNodes, "node_key", "session_id, user_id, span_id, name, event_ids, position"),
		"edges":    d.view(warehouse.CausedEdges, "edge_key", "session_id, user_id, from_key, to_key, kind"),
		"entities": d.view(warehouse.BizNodes, "biz_key", "session_id, user_id, node_key, node_type, node_value, confidence, source, norm, attributes, sightings, evaluated_at"),
		"links":    d.view(warehouse.CrossLinks, "link_key", "session_id, user_id, node_key, biz_key, link_type"),
		"checks":   d.view(warehouse.WorldChangeChecks, "check_id", "session_id, user_id, node_key, verdict, stage, tool, entities_checked, stale_entities, failed_entities, alerts"),
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

func graphOf(t *testing.T, rows []record.Event) warehouse.SessionGraph {
	t.Helper()
	g, err := warehouse.NewSessionGraph(syncedSession, graphsync.Fold(nil, rows))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A row arrives as it was encoded: every column of every step, through the Storage Write API and
// back.
func TestAppendedGraphIsReadBack(t *testing.T) {
	d := newSynced(t)
	g := from(graphOf(t, conversation()), warehouse.WriterJournal, "j1", 3)
	report := d.write(g)
	if report.Nodes != len(g.Nodes) || report.Edges == 0 || report.Entities != 2 || report.Checks != 1 || report.Parts != 1 {
		t.Errorf("report = %+v", report)
	}
	rows := d.rows("SELECT * EXCEPT (nodes, sync_id), TO_JSON_STRING(nodes) AS nodes FROM `agents.session_graphs`")
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	var steps []warehouse.NodeRow
	if err := json.Unmarshal([]byte(quoted(rows[0]["nodes"].(string))), &steps); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(texts(t, g.Nodes), texts(t, steps)); diff != "" {
		t.Errorf("steps (-sent +read):\n%s", diff)
	}
	delete(rows[0], "nodes")
	want := map[string]bq.Value{
		"app_name": "shop", "user_id": syncedSession.User, "session_id": "s1", "session_day": civil.DateOf(day), "writer": "journal", "writer_id": "j1",
		"version": int64(3), "read_to": g.ReadTo, "part": int64(0), "parts": int64(1),
	}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

var (
	bareTime = regexp.MustCompile(`:(\d{4}-\d{2}-\d{2}T[0-9:.]+Z)`)
	bareBool = regexp.MustCompile(`"(approval|confirmed|accepted)":([01])`)
)

// quoted mends what the emulator makes of times and truths inside of records.
func quoted(text string) string {
	text = bareTime.ReplaceAllString(text, `:"$1"`)
	return bareBool.ReplaceAllStringFunc(text, func(s string) string {
		return strings.NewReplacer(":0", ":false", ":1", ":true").Replace(s)
	})
}

// texts returns values as JSON, with what JSON normalises left aside.
func texts[T any](t *testing.T, values []T) []string {
	t.Helper()
	var out []string
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var m any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if b, err = json.Marshal(plain(m)); err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// plain leaves out the members that are null.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if v[k] = plain(m); v[k] == nil {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

// Readers see the newest version of a writer, each step once, whatever came before it and in whatever
// order. What a version does not have is not there.
func TestSyncVersions(t *testing.T) {
	d := newSynced(t)
	g := graphOf(t, conversation())
	d.write(from(g, warehouse.WriterJournal, "j1", 1))
	first := d.graph()
	edges := 0
	for _, n := range g.Nodes {
		edges += len(n.CausedBy)
	}
	for name, n := range map[string]int{"nodes": len(g.Nodes), "edges": edges, "entities": 2, "links": 2, "checks": 1} {
		if len(first[name]) != n {
			t.Errorf("%d %s, want %d", len(first[name]), name, n)
		}
	}
	check := quoted(first["checks"][fmt.Sprintf("%032x", 12)])
	for _, want := range []string{
		`"verdict":"drift"`, `"stage":"answer"`, `"tool":"buy"`, `"entities_checked":2`, `"stale_entities":1`, `"failed_entities":1`, `"drift_type":"price_changed"`,
		`"node_key":"` + graphsync.TechNodeKey(syncedSession, "trace-r2", "check") + `"`,
	} {
		if !strings.Contains(check, want) {
			t.Errorf("the check lacks %s: %s", want, check)
		}
	}

	// Another session, of another user with the same id, changes nothing of the first.
	stranger := record.Session{App: syncedSession.App, User: "bob", ID: syncedSession.ID}
	others := conversation()[:6]
	for i := range others {
		others[i].UserID = stranger.User
	}
	theirs, err := warehouse.NewSessionGraph(stranger, graphsync.Fold(nil, others))
	if err != nil {
		t.Fatal(err)
	}
	// The same graph again, and one that was read earlier and comes late.
	d.write(from(theirs, warehouse.WriterJournal, "j1", 9), from(g, warehouse.WriterJournal, "j1", 2),
		from(graphOf(t, conversation()[:9]), warehouse.WriterJournal, "j1", 1))
	mine := func() map[string]map[string]string {
		all := d.graph()
		for _, rows := range all {
			maps.DeleteFunc(rows, func(_, row string) bool { return strings.Contains(row, `"user_id":"bob"`) })
		}
		return all
	}
	after := mine()
	if diff := cmp.Diff(first, after); diff != "" {
		t.Errorf("the graph changed (-before +after):\n%s", diff)
	}

	// The tool declares one entity less, at another price, and its parent is another one.
	changed := conversation()
	changed[5].Attributes = []byte(strings.NewReplacer(`,{"type":"Audience","value":"runners"}`, "", "40000", "41000").Replace(string(changed[5].Attributes)))
	for i := range changed {
		if changed[i].SpanID == "tool1" {
			changed[i].ParentSpanID = "root1"
		}
	}
	d.write(from(graphOf(t, changed), warehouse.WriterJournal, "j1", 3))
	after = mine()
	var left []string
	for _, row := range after["entities"] {
		left = append(left, row)
	}
	if len(left) != 1 || !strings.Contains(left[0], "41000") || len(after["links"]) != 1 {
		t.Errorf("entities %v, links %v", left, after["links"])
	}
	old := warehouse.EdgeKey(graphsync.TechNodeKey(syncedSession, "trace-r1", "agent1"), graphsync.Contains, graphsync.TechNodeKey(syncedSession, "trace-r1", "tool1"))
	if _, was := first["edges"][old]; !was {
		t.Fatal("the edge was not there before")
	}
	if _, is := after["edges"][old]; is {
		t.Error("an edge of the graph before is there")
	}

	// Of two graphs with one version, such as those of the same rows by other rules, the later counts.
	changed[5].Attributes = bytes.ReplaceAll(changed[5].Attributes, []byte("41000"), []byte("42000"))
	d.write(from(graphOf(t, changed), warehouse.WriterJournal, "j1", 3))
	left = slices.Collect(maps.Values(mine()["entities"]))
	if len(left) != 1 || !strings.Contains(left[0], "42000") {
		t.Errorf("of two graphs with one version, entities %v", left)
	}
}

// A session that ran on two hosts: what both journals say adds up, and what the rows of both say comes
// from the dataset. The journal of one host takes nothing of that away.
func TestSyncOfTwoHosts(t *testing.T) {
	d := newSynced(t)
	rows := conversation()
	a, b := graphOf(t, rows[:10]), graphOf(t, rows[10:])
	b.Day = b.Day.AddDate(0, 0, 1) // it began on another day
	d.write(from(a, warehouse.WriterJournal, "j1", 1), from(b, warehouse.WriterJournal, "j2", 1))
	parts := d.graph()
	if len(parts["nodes"]) != len(a.Nodes)+len(b.Nodes) {
		t.Errorf("%d steps of two journals with %d and %d", len(parts["nodes"]), len(a.Nodes), len(b.Nodes))
	}
	request, answer := graphsync.TechNodeKey(syncedSession, "trace-r1", "hitl"), graphsync.TechNodeKey(syncedSession, "trace-r2", "root2")
	across := warehouse.EdgeKey(request, graphsync.Resumes, answer)
	if _, there := parts["edges"][across]; there {
		t.Error("two journals that each have a part made an edge between the parts")
	}

	d.stream(rows)
	known, err := d.KnownGraphs(t.Context(), []record.Session{syncedSession}, day)
	if err != nil {
		t.Fatal(err)
	}
	if at := time.UnixMicro(known.Version); time.Since(at).Abs() > time.Hour {
		t.Errorf("BigQuery's clock is at %v", at)
	}
	read, err := d.ReadSession(t.Context(), syncedSession, day, day.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	bring := func(rows []record.Event, version int64) []warehouse.SessionGraph {
		split := known.Split(from(graphOf(t, rows), warehouse.WriterDataset, "", version))
		d.write(split...)
		return split
	}
	split := bring(read, known.Version)
	if len(split) != 2 || len(split[0].Nodes) != len(a.Nodes) || len(split[1].Nodes) != len(b.Nodes) || !split[1].Day.Equal(b.Day) {
		t.Errorf("the graph of both stands under %d days", len(split))
	}
	whole := d.graph()
	if _, there := whole["edges"][across]; !there || len(whole["nodes"]) != len(parts["nodes"]) {
		t.Errorf("%d steps, the edge between the hosts is there: %v", len(whole["nodes"]), there)
	}
	// The host that began is brought again. What it read is no more than the dataset has.
	d.write(from(a, warehouse.WriterJournal, "j1", 2))
	again := d.graph()
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Errorf("the host that began changed what both said:\n%s", diff)
	}
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
