// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

type m = map[string]any

const baseTime = 1_772_719_200_000_000 // 2026-03-05T14:00:00Z

// story writes the rows of a session as the plugin does, a millisecond apart.
type story struct {
	t       testing.TB
	session record.Session
	rows    []record.Event
	run     string
	inv     string // of a run that resumes another one
	branch  string
}

func newStory(t testing.TB, id string) *story {
	return &story{t: t, session: record.Session{App: "ads", User: "u1", ID: id}}
}

func (s *story) json(v any) []byte {
	s.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// add records a row. Attributes whose names begin with a dot stand under adk.
func (s *story) add(eventType, agent, span, parent string, content any, attrs m) *record.Event {
	s.t.Helper()
	n := len(s.rows) + 1
	adk := m{"app_name": s.session.App, "run_id": s.run, "run_seq": n}
	if s.branch != "" {
		adk["branch"] = s.branch
	}
	all := m{"adk": adk}
	for k, v := range attrs {
		if name, ok := strings.CutPrefix(k, "."); ok {
			adk[name] = v
		} else {
			all[k] = v
		}
	}
	e := record.Event{
		Timestamp: baseTime + int64(n)*1000, EventID: fmt.Sprintf("%s-%06d", s.session.ID, n), EventType: eventType, Agent: agent,
		SessionID: s.session.ID, UserID: s.session.User, AppName: s.session.App,
		InvocationID: cmp.Or(s.inv, "inv-"+s.run), TraceID: "trace-" + s.run, RunID: s.run, RunSeq: int64(n),
		SpanID: span, ParentSpanID: parent, Status: record.StatusOK, Attributes: s.json(all),
	}
	if content != nil {
		e.Content = s.json(content)
	}
	s.rows = append(s.rows, e)
	return &s.rows[len(s.rows)-1]
}

func (s *story) turn(run, span string) {
	s.run, s.inv, s.branch = run, "", ""
	s.add(record.UserMessageReceived, "root", span, "", m{"text_summary": "hello"}, nil)
	s.add(record.InvocationStarting, "root", span, "", nil, nil)
}

func (s *story) agent(name, span, parent string) {
	s.add(record.AgentStarting, name, span, parent, "be helpful", nil)
}

// llm records a model call that asks for calls, each "id=tool".
func (s *story) llm(span, parent string, calls ...string) {
	s.add(record.LLMRequest, "planner", span, parent, m{"prompt": []any{}}, m{"model": "gemini"})
	var list []m
	for _, c := range calls {
		id, tool, _ := strings.Cut(c, "=")
		list = append(list, m{"id": id, "name": tool, "args": m{}})
	}
	attrs := m{}
	if list != nil {
		attrs["function_calls"] = list
	}
	s.add(record.LLMResponse, "planner", span, parent, m{"response": "..."}, attrs)
}

func (s *story) start(span, parent, call string, args any) {
	id, tool, _ := strings.Cut(call, "=")
	s.add(record.ToolStarting, "planner", span, parent, m{"tool": tool, "args": args}, m{".call_id": id})
}

func (s *story) end(span, parent, call string, result any) {
	id, tool, _ := strings.Cut(call, "=")
	s.add(record.ToolCompleted, "planner", span, parent, m{"tool": tool, "result": result}, m{".call_id": id})
}

func (s *story) tool(span, parent, call string, args, result any) {
	s.start(span, parent, call, args)
	s.end(span, parent, call, result)
}

// ask records a tool call that asks for an approval, and the request.
func (s *story) ask(span, parent, call, hitl, confirmation string, args any) {
	s.tool(span, parent, call, args, m{"error": "tool requires confirmation"})
	id, tool, _ := strings.Cut(call, "=")
	s.request(hitl, span, id, tool, confirmation, args)
}

// request records a request for an approval.
func (s *story) request(span, parent, call, tool, confirmation string, args any) {
	s.add(record.HITLConfirmationRequest, "planner", span, parent,
		m{"tool": "adk_request_confirmation", "args": m{"originalFunctionCall": m{"id": call, "name": tool, "args": args}}},
		m{".call_id": call, ".confirmation_id": confirmation, ".approval_id": "approval-" + confirmation})
}

// answer starts a run that answers a request, in the same invocation.
func (s *story) answer(run, inv, span, confirmation string, confirmed bool, waited time.Duration) {
	s.run, s.inv, s.branch = run, inv, ""
	s.add(record.UserMessageReceived, "root", span, "", m{"text_summary": ""}, nil)
	s.add(record.HITLConfirmationRequestCompleted, "root", span, "", m{"tool": "adk_request_confirmation", "result": m{"confirmed": confirmed}},
		m{".confirmation_id": confirmation, ".approval_id": "approval-" + confirmation, ".confirmed": confirmed, ".accepted": confirmed,
			".approver": "u1", ".waited_ms": waited.Milliseconds()})
	s.add(record.InvocationStarting, "root", span, "", nil, nil)
}

// check records a verdict.
func (s *story) check(span, parent, confirmation, call, verdict string, alerts ...m) {
	stale := len(alerts)
	s.add(record.WorldChangeCheck, "root", span, parent, m{
		"verdict": verdict, "total_entities": 3, "stale_entities": stale, "alerts": append([]m{}, alerts...),
		"entities": []m{{"outcome": "unchanged"}},
	}, m{".verdict": verdict, ".stage": "answer", ".approval_id": "approval-" + confirmation, ".confirmation_id": confirmation, ".call_id": call})
}

func (s *story) key(span string) string {
	s.t.Helper()
	for i := range s.rows {
		if s.rows[i].SpanID == span {
			return graphsync.TechNodeKey(s.session, s.rows[i].TraceID, span)
		}
	}
	s.t.Fatalf("no span %s", span)
	return ""
}

func (s *story) fold() *graphsync.Session {
	s.t.Helper()
	folded := graphsync.Fold(rules(s.t), s.rows)
	if c := folded.Counts(); c.Failed > 0 {
		s.t.Errorf("%d rows failed: %s", c.Failed, c.Error)
	}
	return folded
}

func (s *story) graph() *graphsync.Graph {
	s.t.Helper()
	return s.fold().Graph()
}

func placements(names ...string) m {
	var list []any
	for i, n := range names {
		list = append(list, m{"name": n, "price": 40000 + i, "available": true})
	}
	return m{"placements": list}
}

func rules(t testing.TB) *graphsync.Extractor {
	t.Helper()
	price := map[string]config.Attribute{"price": {Path: "$.price", Type: entity.KindMoney, Currency: "USD"}}
	x, err := graphsync.Compile([]config.Extract{
		{
			Name: "placements", Tool: "query_ad_inventory", Each: "$.placements[*]", Type: "Product", Value: "$.name",
			Attributes: map[string]config.Attribute{
				"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: true},
				"availability": {Path: "$.available", Type: entity.KindBool, Optional: true},
			},
			Confidence: 0.97,
		},
		{Name: "audience", Tool: "query_audience", Type: "Targeting", Value: "$.audience"},
		{
			Name: "budget", Tool: "provision_campaign", In: config.InAction, Type: "Budget", Value: "$.budget",
			ValueType: entity.KindMoney, Currency: "USD",
		},
		{Name: "bought", Tool: "provision_campaign", In: config.InAction, Each: "$.placements[*]", Type: "Product", Value: "$.name", Attributes: price},
		{Name: "asked", Tool: "query_ad_inventory", In: config.InArgs, Each: "$.placements[*]", Type: "Product", Value: "$.name", Attributes: price},
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// delegate is a run in which the root hands over to a planner and gets back.
func delegate(t testing.TB, id string) *story {
	s := newStory(t, id)
	s.turn("1", "R")
	s.agent("root", "A", "R")
	s.llm("L1", "A", "c1=transfer_to_agent")
	s.tool("X1", "A", "c1=transfer_to_agent", m{"agent_name": "planner"}, m{})
	s.agent("planner", "P", "A")
	s.llm("L2", "P", "c2=query_ad_inventory", "c3=query_audience")
	s.start("T1", "P", "c2=query_ad_inventory", m{})
	s.start("T2", "P", "c3=query_audience", m{})
	s.end("T2", "P", "c3=query_audience", m{"audience": "Runners"})
	s.end("T1", "P", "c2=query_ad_inventory", placements("Instagram Reels", "Strava Routes"))
	s.llm("L3", "P", "c4=transfer_to_agent")
	s.tool("X2", "P", "c4=transfer_to_agent", m{"agent_name": "root"}, m{})
	s.agent("root", "A2", "P")
	s.llm("L4", "A2", "c5=provision_campaign")
	s.ask("T3", "A2", "c5=provision_campaign", "H", "conf1", m{"budget": "$50,000"})
	s.add(record.InvocationCompleted, "root", "R", "", nil, nil)
	return s
}

// named is a run in which arguments name products before and beside results: those that a
// result had shown, at another price, one that a result repeated, and one that none did.
func named(t testing.TB, id string) *story {
	s := newStory(t, id)
	s.turn("1", "R")
	s.agent("root", "A", "R")
	s.llm("L1", "A", "c1=query_ad_inventory")
	s.tool("T1", "A", "c1=query_ad_inventory", m{}, placements("Instagram Reels", "Strava Routes"))
	s.llm("L2", "A", "c2=query_ad_inventory")
	s.tool("T2", "A", "c2=query_ad_inventory", offer("Instagram Reels", 50000), offer("Instagram Reels", 50000))
	s.llm("L3", "A", "c3=query_ad_inventory")
	s.tool("T3", "A", "c3=query_ad_inventory", offer("Podcasts", 7), m{})
	s.llm("L4", "A", "c4=provision_campaign")
	s.ask("T4", "A", "c4=provision_campaign", "H", "conf1", m{"budget": "$50,000", "placements": []any{
		m{"name": "Instagram Reels", "price": 1}, m{"name": "Podcasts", "price": 2}, m{"name": "Nowhere", "price": 3},
	}})
	s.end("T4", "A", "c4=provision_campaign", m{"placements": []any{}})
	return s
}

// resumed goes on with the answer, the resumed call, and one more tool.
func (s *story) resumed(confirmed bool, waited time.Duration) *story {
	s.answer("2", "inv-1", "R2", "conf1", confirmed, waited)
	s.check("W", "R2", "conf1", "c5", "safe")
	s.agent("root", "A3", "R2")
	s.tool("T3b", "A3", "c5=provision_campaign", m{"budget": "$50,000"}, m{"campaign_id": "c-7"})
	s.llm("L5", "A3", "c6=query_ad_inventory")
	s.tool("T4", "A3", "c6=query_ad_inventory", m{}, placements("Instagram Reels", "Too Late"))
	s.llm("L6", "A3")
	s.add(record.InvocationCompleted, "root", "R2", "", nil, nil)
	return s
}

// diamonds is a session of rounds in which a model asks for several tools at once, so
// that the number of paths doubles and trebles with every round, and of a request at
// the end.
func diamonds(t testing.TB, id string, rounds, wide int) *story {
	s := newStory(t, id)
	s.turn("1", "R")
	s.agent("root", "A", "R")
	for i := range rounds {
		var calls []string
		for j := range wide {
			calls = append(calls, fmt.Sprintf("c%d.%d=query_ad_inventory", i, j))
		}
		s.llm(fmt.Sprint("L", i), "A", calls...)
		for j, c := range calls {
			s.start(fmt.Sprintf("T%d.%d", i, j), "A", c, m{})
		}
		for j, c := range calls {
			s.end(fmt.Sprintf("T%d.%d", i, j), "A", c, placements(fmt.Sprint("P", i, "-", j), fmt.Sprint("Shared", i%3)))
		}
	}
	s.llm("LZ", "A", "z=provision_campaign")
	s.ask("TZ", "A", "z=provision_campaign", "H", "conf1", m{"budget": 50000})
	return s
}

// tangle is a session of rows as nobody would record them: random parents, also later
// ones, ones that are never recorded and ones that name each other, calls that are
// answered twice, branches, and several requests.
func tangle(t testing.TB, id string, seed uint64, n int) *story {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s := newStory(t, id)
	s.turn("1", "R")
	span := func(i int) string { return fmt.Sprint("S", i) }
	for i := range n {
		parent := "R"
		switch rnd.IntN(5) {
		case 0:
			parent = span(rnd.IntN(n))
		case 1:
			parent = "gone"
		case 2:
			parent = span(max(i-1, 0))
		}
		s.branch = []string{"", "", "a", "a.b", "c"}[rnd.IntN(5)]
		call := fmt.Sprintf("c%d=query_ad_inventory", rnd.IntN(n/3+1))
		switch rnd.IntN(8) {
		case 0, 1, 2:
			s.llm(span(i), parent, call, fmt.Sprintf("c%d=query_audience", rnd.IntN(n/3+1)))
		case 3, 4:
			s.tool(span(i), parent, call, m{}, placements(fmt.Sprint("P", rnd.IntN(12)), fmt.Sprint("p", rnd.IntN(4))))
		case 5:
			s.tool(span(i), parent, fmt.Sprintf("c%d=query_audience", rnd.IntN(n/3+1)), m{}, m{"audience": fmt.Sprint("T", rnd.IntN(4))})
		case 6:
			s.agent("planner", span(i), parent)
		case 7:
			s.ask(span(i), parent, fmt.Sprintf("b%d=provision_campaign", i), "H"+span(i), fmt.Sprint("conf", i), m{"budget": rnd.IntN(3) * 1000})
			if rnd.IntN(2) == 0 {
				run, inv := s.run, s.inv
				s.answer(fmt.Sprint("r", i), "inv-1", "R"+span(i), fmt.Sprint("conf", i), true, time.Minute)
				if rnd.IntN(2) == 0 {
					s.run, s.inv = run, inv
				}
			}
		}
	}
	s.branch = ""
	s.llm("LZ", "R", "z=provision_campaign")
	s.ask("TZ", "R", "z=provision_campaign", "H", "confZ", m{"budget": 50000})
	return s
}

// load appends rows to a table with a load job, as newline-delimited JSON.
func load[T any](t testing.TB, client *bq.Client, s *emulator.Server, table string, rows []T) {
	t.Helper()
	if len(rows) == 0 {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range rows {
		if err := enc.Encode(rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	src := bq.NewReaderSource(&b)
	src.SourceFormat = bq.JSON
	loader := client.Dataset(s.Dataset).Table(table).LoaderFrom(src)
	loader.WriteDisposition = bq.WriteAppend
	job, err := loader.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	status, err := job.Wait(t.Context())
	if err == nil {
		err = status.Err()
	}
	if err != nil {
		t.Fatalf("load %s: %v", table, err)
	}
}

// eventJSON is a row of agent_events as a load job takes it.
func eventJSON(e record.Event) m {
	raw := func(b []byte) any {
		switch {
		case b == nil:
			return nil
		case b[0] == '"':
			return string(b) // the emulator parses a text once more
		}
		return json.RawMessage(b)
	}
	out := m{
		"timestamp": time.UnixMicro(e.Timestamp).UTC().Format(time.RFC3339Nano), "event_id": e.EventID, "event_type": e.EventType,
		"agent": e.Agent, "session_id": e.SessionID, "invocation_id": e.InvocationID, "user_id": e.UserID, "trace_id": e.TraceID,
		"span_id": e.SpanID, "status": e.Status, "is_truncated": e.IsTruncated,
		"attributes": raw(e.Attributes),
	}
	if e.ParentSpanID != "" {
		out["parent_span_id"] = e.ParentSpanID
	}
	if e.Content != nil {
		out["content"] = raw(e.Content)
	}
	return out
}

func (s *story) loadEvents(client *bq.Client, server *emulator.Server, rows []record.Event) {
	s.t.Helper()
	var list []m
	for _, e := range rows {
		list = append(list, eventJSON(e))
	}
	load(s.t, client, server, config.Default().BigQuery.Table, list)
}

// loadGraph brings the graph of the session to the dataset.
func (s *story) loadGraph(server *emulator.Server) {
	s.t.Helper()
	g, err := warehouse.NewSessionGraph(s.session, s.fold())
	if err != nil {
		s.t.Fatal(err)
	}
	appendGraphs(s.t, server, from(g, warehouse.WriterJournal, "test", 1))
}

// appendGraphs appends graphs to the dataset.
func appendGraphs(t testing.TB, server *emulator.Server, graphs ...warehouse.SessionGraph) {
	t.Helper()
	d, err := bigquery.NewDataset(t.Context(), server.Config(), bigquery.DatasetOptions{Client: server.RESTOptions(), Write: server.WriteOptions()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := d.GraphWriter()
	defer w.Close()
	for _, g := range graphs {
		if _, err := w.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
}

// shows holds the entities that the views have of a session against those of a graph: each with all
// that was seen with it.
func shows(t *testing.T, client *bq.Client, server *emulator.Server, s record.Session, g *graphsync.Graph) {
	t.Helper()
	q := client.Query("SELECT node_key, span_id, event_id, node_type, node_value, artifact_uri, confidence, source, evaluated_at," +
		" TO_JSON_STRING(norm) AS norm, TO_JSON_STRING(attributes) AS attributes, TO_JSON_STRING(echoes) AS echoes FROM " +
		tableOf(server, warehouse.BizNodes) + " WHERE session_id = '" + s.ID + "'")
	var shown []entity.Entity
	for _, row := range read(t, q) {
		text := func(column string) string { s, _ := row[column].(string); return s }
		e := entity.Entity{
			Type: text("node_type"), Value: text("node_value"), ArtifactURI: text("artifact_uri"), Confidence: row["confidence"].(float64),
			Source: entity.Source(text("source")), EventID: text("event_id"), TechNode: text("node_key"), SpanID: text("span_id"),
			SeenAt: row["evaluated_at"].(time.Time).UTC(),
		}
		for column, into := range map[string]any{"norm": &e.Norm, "attributes": &e.Attributes, "echoes": &e.Echoes} {
			if text(column) == "" {
				continue
			}
			if err := json.Unmarshal([]byte(text(column)), into); err != nil {
				t.Fatalf("%s %q: %s: %v", e.Type, e.Value, column, err)
			}
		}
		shown = append(shown, e)
	}
	byKey := func(a, b entity.Entity) int {
		return cmp.Or(cmp.Compare(a.TechNode, b.TechNode), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	}
	same(t, "entities", slices.SortedFunc(slices.Values(g.Entities()), byKey), slices.SortedFunc(slices.Values(shown), byKey))
}
