// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"slices"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
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
	server, d, _ := askServer(t)
	s := between(t, "between")
	g := s.graph()
	s.loadGraph(server)
	decided := slices.IndexFunc(s.rows, func(e record.Event) bool { return e.EventType == record.HITLConfirmationRequest })
	why, err := g.Why(s.key("H"))
	if err != nil {
		t.Fatal(err)
	}
	if len(why) != 1 || len(why[0].Entity.Attributes) != 2 || why[0].Entity.Attributes["price"] != price(t, "41000") {
		t.Errorf("the journal says %+v", why)
	}

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
	got, err := d.Graph(t.Context(), ask.Scope{Session: tie.session})
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := got.Why(tie.key("H"))
	if err != nil || len(reasons) != 1 || reasons[0].Entity.Attributes["price"] != price(t, "52000") {
		t.Errorf("reasons %+v, %v, want what was recorded in the microsecond of the decision: a price of 52000", reasons, err)
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
