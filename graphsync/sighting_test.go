// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/record"
)

// What a span knew of an entity is told after each row, with nothing of later ones.
func TestSightings(t *testing.T) {
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	const thing = "value: $.name, artifact_uri: $.uri, attributes: {price: {path: $.price, optional: true}}, "
	rules := rulesOf(t, thing+"tool: look\n"+thing+"tool: look, in: action\n"+thing+"event: STATE_DELTA, in: content")
	routes := func(price, uri string) m {
		out := m{"name": "Routes"}
		if price != "" {
			out["price"] = price
		}
		if uri != "" {
			out["uri"] = uri
		}
		return out
	}
	type step func(r *recorder)
	row := func(eventType string, content, attrs m) step {
		return func(r *recorder) { r.add(eventType, "", "agent", "", content, attrs) }
	}
	shows := func(price, uri string) step {
		return row(record.ToolCompleted, m{"tool": "look", "result": routes(price, uri)}, nil)
	}
	names := func(price string) step {
		return row(record.ToolStarting, m{"tool": "look", "args": routes(price, "")}, nil)
	}
	claims := func(price, uri string) step { return row(record.StateDelta, routes(price, uri), nil) }
	nothing := row(record.AgentStarting, nil, nil)
	// begins begins a call of another tool with the price among its arguments: a result that has it only
	// repeats it.
	begins := func(price string) step {
		return row(record.ToolStarting, m{"tool": "other", "args": m{"price": price}}, nil)
	}
	finds := func(row int, uri string) step {
		return func(r *recorder) {
			r.found(r.rows[row].EventID, m{"type": "Thing", "value": "Routes", "artifact_uri": uri})
		}
	}
	for name, c := range map[string]struct {
		rows  []step // a second apart, but the last one
		want  []string
		shown bool
	}{
		"once":          {[]step{nothing, shows("1", "")}, []string{"1s row 2 rule price=1 "}, true},
		"before, after": {[]step{nothing, shows("1", "doc"), nothing, shows("2", "")}, []string{"1s row 2 rule price=1 doc", "3s row 4 rule price=2 doc"}, true},
		"twice in a row": {[]step{nothing, row(record.ToolCompleted, m{"tool": "look", "result": routes("1", "")},
			m{"adk.args_changed": true, "adk.args": routes("", "")})}, []string{"1s row 2 rule price=1 "}, true},
		"named, shown":    {[]step{nothing, names("9"), nothing, shows("1", "")}, []string{"1s row 2 action price=9 ", "3s row 4 rule price=1 "}, true},
		"shown, claimed":  {[]step{nothing, shows("1", ""), nothing, claims("9", "doc")}, []string{"1s row 2 rule price=1 ", "3s row 4 rule price=1 doc"}, true},
		"shown bare":      {[]step{nothing, shows("", ""), nothing, claims("9", "")}, []string{"1s row 2 rule price= ", "3s row 4 rule price=9 "}, true},
		"repeated, bare":  {[]step{begins("9"), shows("9", ""), nothing, shows("", "")}, []string{"1s row 2 rule price=9 ", "3s row 4 rule price=9 "}, true},
		"named, repeated": {[]step{nothing, names("9"), nothing, shows("9", "")}, []string{"1s row 2 action price=9 ", "3s row 4 action price=9 "}, false},
		"named, claimed":  {[]step{nothing, names("9"), nothing, claims("8", "")}, []string{"1s row 2 action price=9 ", "3s row 4 action price=8 "}, false},
		"a model later":   {[]step{nothing, shows("", ""), nothing, nothing, finds(3, "doc")}, []string{"1s row 2 rule price= ", "3s row 2 rule price= doc"}, true},
		"a model first":   {[]step{nothing, nothing, nothing, shows("1", ""), finds(1, "doc")}, []string{"1s row 2 model price= doc", "3s row 4 rule price=1 doc"}, true},
		"clock back":      {[]step{nothing, nothing, nothing, shows("1", ""), shows("2", "")}, []string{"3s row 4 rule price=1 ", "2.5s row 5 rule price=2 "}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t, run: "1"}
			for i, do := range c.rows {
				do(r)
				r.rows[i].Timestamp = at.Add(time.Duration(i) * time.Second).UnixMicro()
			}
			if len(r.rows) > 4 { // a clock went back before the last row
				r.rows[4].Timestamp = at.Add(2500 * time.Millisecond).UnixMicro()
			}
			g := fold(t, rules, r.rows).Graph()
			sightings := g.Sightings()
			if len(sightings) != 1 {
				t.Fatalf("%d entities", len(sightings))
			}
			var got []string
			for _, k := range sightings[0] {
				text := ""
				if price := k.Entity.Attributes["price"]; !price.IsZero() {
					text = price.String()
				}
				row := 0
				if _, err := fmt.Sscanf(k.Entity.EventID, "%x", &row); err != nil {
					t.Error(err)
				}
				got = append(got, fmt.Sprintf("%v row %d %s price=%s %s", k.Since.Sub(at), row, k.Entity.Source, text, k.Entity.ArtifactURI))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sightings (-want +got):\n%s", diff)
			}
			last := sightings[0][len(sightings[0])-1].Entity
			if last.Shows() != c.shown {
				t.Errorf("it was shown: %v, want %v", last.Shows(), c.shown)
			}
			if diff := cmp.Diff(fmt.Sprint(g.Entities()[0]), fmt.Sprint(last)); diff != "" {
				t.Errorf("the last is not the entity:\n%s", diff)
			}
		})
	}
}
