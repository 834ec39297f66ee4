// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

var testSession = record.Session{App: "ads", User: "u1", ID: "s1"}

// recorder writes the rows of a session as the plugin does.
type recorder struct {
	t      testing.TB
	rows   []record.Event
	run    string // also names trace and invocation unless they are set
	trace  string
	inv    string
	branch string
}

const baseTime = 1_772_719_200_000_000 // 2026-03-05T14:00:00Z

type m = map[string]any

func (r *recorder) add(eventType, agent, span, parent string, content any, attrs m) *record.Event {
	r.t.Helper()
	n := len(r.rows) + 1
	e := record.Event{
		Seq: int64(n), Timestamp: baseTime + int64(n)*1000, EventID: fmt.Sprintf("%032x", n), EventType: eventType, Agent: agent,
		SessionID: testSession.ID, UserID: testSession.User, AppName: testSession.App,
		InvocationID: cmp.Or(r.inv, "inv-"+r.run), TraceID: cmp.Or(r.trace, "trace-"+r.run), RunID: r.run,
		SpanID: span, ParentSpanID: parent, Status: record.StatusOK,
	}
	if content != nil {
		e.Content = r.json(content)
	}
	adk := m{"app_name": testSession.App}
	if r.branch != "" {
		adk["branch"] = r.branch
	}
	all := m{"adk": adk}
	for k, v := range attrs {
		if name, ok := strings.CutPrefix(k, "adk."); ok {
			adk[name] = v
		} else if k == "call_id" || k == "function_call_id" || k == "confirmation_id" || k == "confirmed" {
			adk[k] = v
		} else {
			all[k] = v
		}
	}
	e.Attributes = r.json(all)
	r.rows = append(r.rows, e)
	return &r.rows[len(r.rows)-1]
}

func (r *recorder) json(v any) []byte {
	r.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// turn starts a run with a user message.
func (r *recorder) turn(run, span string) {
	r.run, r.branch = run, ""
	r.add(record.UserMessageReceived, "root", span, "", m{"text_summary": "hello"}, nil)
	r.add(record.InvocationStarting, "root", span, "", nil, nil)
}

func (r *recorder) agent(name, span, parent string) {
	r.add(record.AgentStarting, name, span, parent, "be helpful", nil)
}

// llm records a model call that asks for calls, each "id=tool".
func (r *recorder) llm(span, parent string, calls ...string) {
	r.add(record.LLMRequest, "", span, parent, m{"prompt": []any{}}, m{"model": "gemini"})
	var list []m
	for _, c := range calls {
		id, tool, _ := strings.Cut(c, "=")
		list = append(list, m{"id": id, "name": tool, "args": m{}})
	}
	attrs := m{}
	if list != nil {
		attrs["function_calls"] = list
	}
	r.add(record.LLMResponse, "", span, parent, m{"response": "..."}, attrs)
}

func (r *recorder) start(span, parent, call string, args any) record.Event {
	id, tool, _ := strings.Cut(call, "=")
	return *r.add(record.ToolStarting, "", span, parent, m{"tool": tool, "args": args}, m{"call_id": id})
}

func (r *recorder) end(span, parent, call string, result any, attrs m) *record.Event {
	id, tool, _ := strings.Cut(call, "=")
	all := m{"call_id": id}
	for k, v := range attrs {
		all[k] = v
	}
	return r.add(record.ToolCompleted, "", span, parent, m{"tool": tool, "result": result}, all)
}

func (r *recorder) tool(span, parent, call string, args, result any) {
	r.start(span, parent, call, args)
	r.end(span, parent, call, result, nil)
}

// ask records a tool call that asks for an approval, and the request.
func (r *recorder) ask(span, parent, call, hitl, confirmation string, args any) {
	r.tool(span, parent, call, args, m{"error": "tool requires confirmation"})
	id, _, _ := strings.Cut(call, "=")
	r.add(record.HITLConfirmationRequest, "root", hitl, span, m{"tool": "adk_request_confirmation", "args": args},
		m{"call_id": id, "confirmation_id": confirmation})
}

// answer starts a run that answers a request; it resumes the same invocation.
func (r *recorder) answer(run, inv, span, confirmation string) {
	r.run, r.inv, r.branch = run, inv, ""
	r.add(record.UserMessageReceived, "root", span, "", m{"text_summary": ""}, nil)
	r.add(record.HITLConfirmationRequestCompleted, "root", span, "", m{"tool": "adk_request_confirmation", "result": m{"confirmed": true}},
		m{"confirmation_id": confirmation, "confirmed": true})
	r.add(record.InvocationStarting, "root", span, "", nil, nil)
}

// found records what a model found in a row, by the event id of the row.
func (r *recorder) found(of string, entities ...m) *record.Event {
	r.t.Helper()
	var about record.Event
	for _, e := range r.rows {
		if e.EventID == of {
			about = e
		}
	}
	e := r.add(record.EntitiesFound, about.Agent, about.SpanID, about.ParentSpanID, nil, m{"adk.of": of, "entities": entities})
	e.RunID, e.TraceID, e.InvocationID = "", about.TraceID, about.InvocationID
	return e
}

// in makes the rows those of another session. Their event ids are those of no other session.
func (r *recorder) in(s record.Session) []record.Event {
	ids := strings.NewReplacer(`"started":"0`, `"started":"`+s.ID+"0", `"of":"0`, `"of":"`+s.ID+"0", `"r:0`, `"r:`+s.ID+"0")
	for i := range r.rows {
		e := &r.rows[i]
		e.SessionID, e.UserID, e.AppName, e.EventID = s.ID, s.User, s.App, s.ID+e.EventID
		e.Attributes = []byte(ids.Replace(string(e.Attributes)))
	}
	return r.rows
}

// skip records rows that say nothing, in the place of rows of other sessions: numbers count over all.
func (r *recorder) skip(rows int) {
	for range rows {
		r.add(record.StateDelta, "", "A", "", nil, nil)
	}
}

// childOf names the session of an agent that ran as a tool.
func childOf(s record.Session) m {
	return m{"app_name": s.App, "user_id": s.User, "session_id": s.ID}
}

func (r *recorder) key(span string) string {
	r.t.Helper()
	for _, e := range r.rows {
		if e.SpanID == span {
			return graphsync.TechNodeKey(testSession, e.TraceID, span)
		}
	}
	r.t.Fatalf("no span %s", span)
	return ""
}

// placements is a result of query_ad_inventory.
func placements(names ...string) m {
	var list []any
	for i, n := range names {
		list = append(list, m{"name": n, "price": 40000 + i, "available": true})
	}
	return m{"placements": list}
}

func adRules() []config.Extract {
	return []config.Extract{
		{
			Name: "placements", Tool: "query_ad_inventory", Each: "$.placements[*]", Type: "Product", Value: "$.name",
			Attributes: map[string]config.Attribute{
				"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD", Optional: true},
				"availability": {Path: "$.available", Type: entity.KindBool, Optional: true},
			},
			ArtifactURI: "$.config_uri", Confidence: 0.97,
		},
		{Name: "audience", Tool: "query_audience", Type: "Targeting", Value: "$.audience"},
		{
			Name: "budget", Tool: "provision_campaign", In: config.InAction, Type: "Budget", Value: "$.budget",
			ValueType: entity.KindMoney, Currency: "USD",
		},
	}
}

func compile(t testing.TB, rules []config.Extract) *graphsync.Extractor {
	t.Helper()
	x, err := graphsync.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// fold folds rows that the rules can read.
func fold(t testing.TB, rules []config.Extract, rows []record.Event) *graphsync.Session {
	t.Helper()
	s := graphsync.Fold(compile(t, rules), rows)
	if c := s.Counts(); c.Failed > 0 {
		t.Errorf("%d rows failed: %s", c.Failed, c.Error)
	}
	return s
}

// build returns the graph of the rows.
func build(t testing.TB, rows []record.Event) *graphsync.Graph {
	t.Helper()
	return fold(t, adRules(), rows).Graph()
}

// selectOf selects the evidence of a decision in testSession from rows of any sessions.
func selectOf(t testing.TB, rules []config.Extract, d record.Decision, rows ...record.Event) graphsync.Selection {
	t.Helper()
	sel, err := graphsync.NewSessions(graphsync.RowsOf(rows), compile(t, rules)).Select(t.Context(), testSession, d)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// edges returns the edges of a kind as "from>to" of span ids, in order.
func edges(g *graphsync.Graph, kind graphsync.EdgeKind) []string {
	var out []string
	for _, e := range g.Edges() {
		if e.Kind == kind {
			from, _ := g.Node(e.From)
			to, _ := g.Node(e.To)
			out = append(out, from.SpanID+">"+to.SpanID)
		}
	}
	slices.Sort(out)
	return out
}

// why returns the reasons as "type value hops: path", with "(named)" or "(action)" before the
// path where no result showed the thing.
func why(t testing.TB, g *graphsync.Graph, decision string, opts ...graphsync.Option) []string {
	t.Helper()
	reasons, err := g.Why(decision, opts...)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, r := range reasons {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %d:", r.Entity.Type, r.Entity.Value, r.Hops)
		if r.Origin != graphsync.OriginResult {
			fmt.Fprintf(&b, " (%s)", r.Origin)
		}
		for _, s := range r.Path {
			fmt.Fprintf(&b, " %s", s.Node.SpanID)
			switch s.Edge {
			case graphsync.Contains:
				b.WriteString(" /")
			case graphsync.Informs:
				b.WriteString(" >")
			case graphsync.Resumes:
				b.WriteString(" ~")
			}
		}
		out = append(out, b.String())
	}
	return out
}

// delegate is a run in which the root hands over to a planner and gets back.
func delegate(t testing.TB) *recorder {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.agent("root", "A", "R")
	r.llm("L1", "A", "c1=transfer_to_agent")
	r.tool("X1", "A", "c1=transfer_to_agent", m{"agent_name": "planner"}, m{})
	r.agent("planner", "P", "A")
	r.llm("L2", "P", "c2=query_ad_inventory", "c3=query_audience")
	r.start("T1", "P", "c2=query_ad_inventory", m{})
	r.start("T2", "P", "c3=query_audience", m{})
	r.end("T2", "P", "c3=query_audience", m{"audience": "Runners"}, nil)
	r.end("T1", "P", "c2=query_ad_inventory", placements("Instagram Reels", "Strava Routes"), nil)
	r.llm("L3", "P", "c4=transfer_to_agent")
	r.tool("X2", "P", "c4=transfer_to_agent", m{"agent_name": "root"}, m{})
	r.agent("root", "A2", "P")
	r.llm("L4", "A2", "c5=provision_campaign")
	r.ask("T3", "A2", "c5=provision_campaign", "H", "conf1", m{"budget": "$50,000"})
	for _, s := range []string{"A2", "P", "A"} {
		r.add(record.AgentCompleted, "", s, "", nil, nil)
	}
	r.add(record.InvocationCompleted, "root", "R", "", nil, nil)
	return r
}

// resumed goes on with the answer, the resumed call, and one more tool.
func resumed(r *recorder) {
	r.answer("2", "inv-1", "R2", "conf1")
	r.add(record.WorldChangeCheck, "root", "W", "R2", m{"safe": true}, nil)
	r.agent("root", "A3", "R2")
	r.tool("T3b", "A3", "c5=provision_campaign", m{"budget": "$50,000"}, m{"campaign_id": "c-7"})
	r.llm("L5", "A3", "c6=query_ad_inventory")
	r.tool("T4", "A3", "c6=query_ad_inventory", m{}, placements("Too Late"))
	r.llm("L6", "A3")
	r.add(record.InvocationCompleted, "root", "R2", "", nil, nil)
}
