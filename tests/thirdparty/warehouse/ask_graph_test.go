// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// offers is what the tool query_ad_inventory returns of one product.
func offers(name string, price int, available bool) m {
	return m{"placements": []any{m{"name": name, "price": price, "available": available}}}
}

// offer is such a result of one product whose availability it does not say.
func offer(name string, price int) m {
	return m{"placements": []any{m{"name": name, "price": price}}}
}

// between is a session whose tool sees a product twice, asks for an approval, and sees it
// and another one again: a decision lies between two rows of one step.
func between(t testing.TB, id string) *story {
	s := newStory(t, id)
	s.turn("1", "R")
	s.agent("root", "A", "R")
	s.llm("L1", "A", "c1=query_ad_inventory")
	s.start("T1", "A", "c1=query_ad_inventory", m{})
	s.end("T1", "A", "c1=query_ad_inventory", offers("Instagram Reels", 40000, true))
	s.end("T1", "A", "c1=query_ad_inventory", offer("Instagram Reels", 41000))
	s.request("H", "T1", "c2", "provision_campaign", "conf1", m{"budget": "$50,000"})
	s.end("T1", "A", "c1=query_ad_inventory", offers("Instagram Reels", 52000, false))
	s.end("T1", "A", "c1=query_ad_inventory", offers("Too Late", 1, true))
	s.add(record.InvocationCompleted, "root", "R", "", nil, nil)
	return s
}

// An entity that a step saw before a decision and again after it is part of the answer, as
// it was known before.
func TestSeenBeforeAndAfterTheDecision(t *testing.T) {
	server, d, _ := askServer(t, config.QueriesRecursive)
	s := between(t, "between")
	g := s.graph()
	s.loadGraph(server)
	scope := ask.Scope{Session: s.session}
	decided := slices.IndexFunc(s.rows, func(e record.Event) bool { return e.EventType == record.HITLConfirmationRequest })
	before := &story{t: t, session: s.session, rows: s.rows[:decided+1]}

	why, err := g.Why(s.key("H"))
	if err != nil {
		t.Fatal(err)
	}
	reasoning, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "reasons", why, reasoning.Reasons)
	if len(why) != 1 || len(why[0].Entity.Attributes) != 2 || why[0].Entity.Attributes["price"] != price(t, "41000") {
		t.Errorf("the journal says %+v", why)
	}

	inputs, err := d.WorldChangeInputs(t.Context(), ask.InputsQuestion{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "inputs", entity.Canonicalize(before.graph().Entities()), inputs.Entities)

	uses, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{
		Window: ask.Window{From: time.UnixMicro(baseTime), To: time.UnixMicro(baseTime).Add(time.Hour)},
		Entity: entity.Entity{Type: "Product", Value: "Instagram Reels"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(uses.Approvals) != 1 || !uses.Approvals[0].EvaluatedAt.Equal(why[0].Entity.LastSeen) || uses.Approvals[0].Sightings != 1 {
		t.Errorf("uses %+v, want one that was last seen at %s", uses.Approvals, why[0].Entity.LastSeen)
	}
	late, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{
		Window: ask.Window{From: time.UnixMicro(baseTime), To: time.UnixMicro(baseTime).Add(time.Hour)},
		Entity: entity.Entity{Type: "Product", Value: "Too Late"},
	})
	if err != nil || len(late.Approvals) != 0 || late.Truncated {
		t.Errorf("uses of what was seen later: %+v, %v", late, err)
	}

	// What was recorded in the microsecond of a decision counts as before it.
	tie := between(t, "tie")
	tie.rows[decided+1].Timestamp = tie.rows[decided].Timestamp
	tie.loadGraph(server)
	got, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: ask.Scope{Session: tie.session}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Reasons) != 1 || got.Reasons[0].Entity.Attributes["price"] != price(t, "52000") {
		t.Errorf("reasons %+v, want what was recorded in the microsecond of the decision: a price of 52000", got.Reasons)
	}
}

func price(t *testing.T, amount string) entity.Value {
	t.Helper()
	v, err := entity.Money(amount, "USD")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A search that is ended before it is through has the paths it found, and says so.
func TestSearchEndsAfterRounds(t *testing.T) {
	server, _, client := askServer(t, config.QueriesRecursive)
	s := delegate(t, "delegate")
	s.loadGraph(server)
	text := statement(t, server, "ask_reasoning_chain")
	ends := make(map[int64]bool)
	for rounds := int64(1); rounds < 40; rounds += 6 {
		q := client.Query(text)
		q.Parameters = []bq.QueryParameter{
			{Name: "app", Value: s.session.App}, {Name: "user", Value: s.session.User}, {Name: "session", Value: s.session.ID},
			{Name: "from", Value: time.UnixMicro(baseTime)}, {Name: "to", Value: time.UnixMicro(baseTime).Add(time.Hour)},
			{Name: "first_day", Value: civil.DateOf(time.UnixMicro(baseTime).UTC())}, {Name: "last_day", Value: civil.DateOf(time.UnixMicro(baseTime).UTC())},
			{Name: "decision", Value: s.key("H")}, {Name: "decided", Value: time.UnixMicro(baseTime).Add(time.Hour)},
			{Name: "entity", Value: ""}, {Name: "hops", Value: int64(20)}, {Name: "rounds", Value: rounds}, {Name: "limit", Value: int64(1000)},
		}
		rows := read(t, q)
		steps := make(map[any]bool)
		for _, r := range rows {
			if next := r["next_key"]; next != "" && !steps[next] {
				t.Errorf("%d rounds: the step after %v is not there", rounds, r["step"])
			}
			steps[r["step"]] = true
			if r["edges"].(int64) > rounds {
				t.Errorf("a path of %v edges after %d rounds", r["edges"], rounds)
			}
		}
		ends[rounds] = rows[0]["incomplete"].(bool)
	}
	if !ends[1] || ends[37] {
		t.Errorf("by rounds, whether the search was not through: %v", ends)
	}
}

// The emulator runs no pattern with a condition. What the statements in GQL about waiting
// and checks do with what they match is executed over rows of the tables, and has to give
// the answer of the statement in SQL.
func TestCountsOfTheGraph(t *testing.T) {
	server, d, client := askServer(t, config.QueriesRecursive)
	approved := delegate(t, "approved").resumed(true, 90*time.Second)
	rejected := delegate(t, "rejected")
	rejected.answer("2", "inv-1", "R2", "conf1", false, 30*time.Second)
	rejected.check("W", "R2", "conf1", "c5", "drift",
		m{"entity_type": "Product", "entity": "Strava Routes", "attribute": "price", "drift_type": "price_changed", "before": "$40,001", "after": "$52,000", "severity": 0.5},
		m{"entity_type": "Product", "entity": "Podcasts", "attribute": "availability", "drift_type": "inventory_depleted", "before": "true", "after": "false", "severity": 1})
	waiting := newStory(t, "waiting")
	waiting.turn("1", "R")
	waiting.llm("L1", "R", "c1=provision_campaign")
	waiting.ask("T1", "R", "c1=provision_campaign", "H", "conf1", m{"budget": 7})
	waiting.ask("T2", "R", "c2=book_placement", "H2", "conf2", m{"budget": 7})
	unsaid := newStory(t, "unsaid") // an answer that does not say how long it took, and one of a run that was not recorded
	unsaid.session.App = "shop"
	unsaid.turn("1", "R")
	unsaid.ask("T1", "R", "c1=provision_campaign", "H", "conf1", m{"budget": 7})
	unsaid.turn("2", "R2")
	unsaid.add(record.HITLConfirmationRequestCompleted, "root", "R2", "", m{"tool": "adk_request_confirmation"}, m{".confirmation_id": "conf1", ".confirmed": true})
	unsaid.add(record.HITLConfirmationRequestCompleted, "root", "R2", "", m{"tool": "adk_request_confirmation"}, m{".confirmation_id": "conf0", ".confirmed": true})
	unsaid.check("W", "R2", "conf1", "c1", "unknown")
	for _, s := range []*story{approved, rejected, waiting, unsaid} {
		s.loadEvents(client, server, append(slices.Clone(s.rows), s.rows...))
		s.loadGraph(server)
	}
	tables := map[string]string{
		"ask_waiting_gql": "SELECT requests FROM " + tableOf(server, warehouse.TechNodes) +
			" WHERE (@app = '' OR app_name = @app) AND start_time BETWEEN @from AND @to",
		"ask_drift_verdicts_gql": "SELECT * FROM " + tableOf(server, warehouse.WorldChangeChecks) +
			" WHERE (@app = '' OR app_name = @app) AND checked_at BETWEEN @from AND @to",
	}
	tables["ask_drift_alerts_gql"] = tables["ask_drift_verdicts_gql"]
	start := time.UnixMicro(baseTime)
	for name, w := range map[string]ask.Window{
		"all":             {From: start, To: start.Add(time.Hour)},
		"one application": {App: "shop", From: start, To: start.Add(time.Hour)},
		"none":            {From: start.Add(time.Hour), To: start.Add(2 * time.Hour)},
		// Up to before the answers of the other sessions.
		"before the answers": {From: start, To: start.Add(time.Duration(len(waiting.rows)) * time.Millisecond)},
	} {
		for twin, matched := range tables {
			params := []bq.QueryParameter{
				{Name: "app", Value: w.App}, {Name: "from", Value: w.From}, {Name: "to", Value: w.To}, {Name: "limit", Value: int64(100)},
			}
			gql, sql := client.Query(withoutGraph(t, statement(t, server, twin), matched)), client.Query(statement(t, server, twin[:len(twin)-len("_gql")]))
			gql.Parameters, sql.Parameters = params, params
			want, got := read(t, sql), read(t, gql)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-SQL +graph):\n%s", name, twin, diff)
			}
			if name == "all" && len(got) == 0 || name == "none" && len(got) > 0 {
				t.Errorf("%s, %s: %v", name, twin, got)
			}
		}
	}
	times, err := d.WaitingTimes(t.Context(), ask.Window{From: start, To: start.Add(time.Hour)})
	if err != nil || times.Form != ask.FormRecursive {
		t.Fatalf("%+v, %v", times, err)
	}
	pending := slices.IndexFunc(times.Groups, func(g ask.Waiting) bool { return g.Tool == "book_placement" && g.Answered == 0 })
	if len(times.Groups) != 3 || pending < 0 {
		t.Errorf("groups %+v", times.Groups)
	}
}

var graphTable = regexp.MustCompile(`GRAPH_TABLE\((?s:.*?)\n *\) AS `)

// withoutGraph puts a query over tables into the place of what a statement matches.
func withoutGraph(t *testing.T, text, matched string) string {
	t.Helper()
	if len(graphTable.FindAllString(text, -1)) != 1 {
		t.Fatalf("the statement matches more than once, or nothing:\n%s", text)
	}
	return graphTable.ReplaceAllLiteralString(text, "("+matched+") AS ")
}

func statement(t *testing.T, server *emulator.Server, name string) string {
	t.Helper()
	names, err := warehouse.NamesOf(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	text, err := names.Statement(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func tableOf(server *emulator.Server, table string) string {
	return "`" + emulator.Project + "." + server.Dataset + "." + table + "`"
}

// read returns the rows of a query.
func read(t *testing.T, q *bq.Query) []map[string]bq.Value {
	t.Helper()
	rows, err := q.Read(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, q.Q)
	}
	var out []map[string]bq.Value
	for {
		var row map[string]bq.Value
		if err := rows.Next(&row); err == iterator.Done {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
}
