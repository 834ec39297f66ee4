// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What a span knew of an entity is told after each row, with nothing of later ones.
func TestSightings(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	var rows []record.Event
	for i := range 5 {
		rows = append(rows, record.Event{
			EventID: fmt.Sprintf("e%d", i), EventType: record.StateDelta, AppName: "shop", UserID: "alice", SessionID: "s1", TraceID: "t",
			SpanID: "agent", Timestamp: at.Add(time.Duration(i) * time.Second).UnixMicro(), Seq: int64(i + 1),
		})
	}
	// A clock went back before the last row.
	rows[4].Timestamp = at.Add(2500 * time.Millisecond).UnixMicro()
	seen := func(row int, source entity.Source, uri string, price ...string) entity.Entity {
		e := entity.Entity{
			Type: "Product", Value: "Routes", Confidence: 1, Source: source, ArtifactURI: uri, EventID: rows[row].EventID, SpanID: "agent",
			TechNode: graphsync.RowNodeKey(&rows[row]), SeenAt: time.UnixMicro(rows[row].Timestamp).UTC(),
		}
		for _, p := range price {
			e.Attributes = map[string]entity.Value{"price": entity.Text(p)}
		}
		return e
	}
	echo := func(e entity.Entity) entity.Entity {
		e.Echoes = []string{"price"}
		return e
	}
	elsewhere := seen(0, entity.SourceRule, "", "7")
	elsewhere.EventID, elsewhere.SeenAt = "not here", at.Add(1500*time.Millisecond)
	for name, c := range map[string]struct {
		es   []entity.Entity
		want []string
	}{
		"once":            {[]entity.Entity{seen(1, entity.SourceRule, "", "1")}, []string{"1s e1 rule price=1 "}},
		"before, after":   {[]entity.Entity{seen(3, entity.SourceRule, "", "2"), seen(1, entity.SourceRule, "doc", "1")}, []string{"1s e1 rule price=1 doc", "3s e3 rule price=2 doc"}},
		"twice in a row":  {[]entity.Entity{seen(1, entity.SourceAction, ""), seen(1, entity.SourceRule, "", "1")}, []string{"1s e1 rule price=1 "}},
		"named, shown":    {[]entity.Entity{seen(1, entity.SourceAction, "", "9"), seen(3, entity.SourceRule, "", "1")}, []string{"1s e1 action price=9 ", "3s e3 rule price=1 "}},
		"shown, claimed":  {[]entity.Entity{seen(1, entity.SourceRule, "", "1"), seen(3, entity.SourceClaim, "doc", "9")}, []string{"1s e1 rule price=1 ", "3s e3 rule price=1 doc"}},
		"shown bare":      {[]entity.Entity{seen(1, entity.SourceRule, ""), seen(3, entity.SourceClaim, "", "9")}, []string{"1s e1 rule price= ", "3s e3 rule price=9 "}},
		"repeated, bare":  {[]entity.Entity{echo(seen(1, entity.SourceRule, "", "9")), seen(3, entity.SourceRule, "")}, []string{"1s e1 rule price=9 ", "3s e3 rule price=9 "}},
		"named, repeated": {[]entity.Entity{seen(1, entity.SourceAction, "", "9"), echo(seen(3, entity.SourceRule, "", "9"))}, []string{"1s e1 action price=9 ", "3s e3 action price=9 "}},
		"named, claimed":  {[]entity.Entity{seen(1, entity.SourceAction, "", "9"), seen(3, entity.SourceClaim, "", "8")}, []string{"1s e1 action price=9 ", "3s e3 action price=8 "}},
		"a model later":   {[]entity.Entity{seen(1, entity.SourceRule, ""), seen(3, entity.SourceModel, "doc")}, []string{"1s e1 rule price= ", "3s e1 rule price= doc"}},
		"a model first":   {[]entity.Entity{seen(1, entity.SourceModel, "doc"), seen(3, entity.SourceRule, "", "1")}, []string{"1s e1 model price= doc", "3s e3 rule price=1 doc"}},
		"clock back":      {[]entity.Entity{seen(3, entity.SourceRule, "", "1"), seen(4, entity.SourceRule, "", "2")}, []string{"3s e3 rule price=1 ", "2.5s e4 rule price=2 "}},
		"unknown row":     {[]entity.Entity{elsewhere, seen(3, entity.SourceRule, "", "1")}, []string{"1.5s not here rule price=7 ", "3s e3 rule price=1 "}},
	} {
		t.Run(name, func(t *testing.T) {
			g := graphsync.Build(rows, c.es)
			sightings := g.Sightings()
			if len(sightings) != 1 {
				t.Fatalf("%d entities", len(sightings))
			}
			var got []string
			for _, k := range sightings[0] {
				price := k.Entity.Attributes["price"]
				text := ""
				if !price.IsZero() {
					text = price.String()
				}
				got = append(got, fmt.Sprintf("%v %s %s price=%s %s", k.Since.Sub(at), k.Entity.EventID, k.Entity.Source, text, k.Entity.ArtifactURI))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sightings (-want +got):\n%s", diff)
			}
			last := sightings[0][len(sightings[0])-1].Entity
			if shown := slices.ContainsFunc(c.es, entity.Entity.Shows); last.Shows() != shown {
				t.Errorf("it was shown: %v, want %v", last.Shows(), shown)
			}
			if diff := cmp.Diff(fmt.Sprint(g.Entities()[0]), fmt.Sprint(last)); diff != "" {
				t.Errorf("the last is not the entity:\n%s", diff)
			}
		})
	}
}
