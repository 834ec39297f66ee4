// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Who reads a journal has no configuration. The entities of a session are those that its latest
// request saw: by the rules of then, if the journal has them, else by the newest that it has.
func TestRulesOfAJournal(t *testing.T) {
	rules := func(of string) *graphsync.Extractor {
		t.Helper()
		x, err := graphsync.Compile([]config.Extract{{Name: of, Tool: "find", Type: of, Value: "$.id"}})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	earlier, newest, elsewhere := rules("Earlier"), rules("Newest"), rules("Elsewhere")
	for name, test := range map[string]struct {
		stored, asked []*graphsync.Extractor
		want          string
	}{
		"nothing was asked":                 {[]*graphsync.Extractor{earlier, newest}, nil, "Newest"},
		"asked by earlier rules":            {[]*graphsync.Extractor{earlier, newest}, []*graphsync.Extractor{newest, earlier}, "Earlier"},
		"asked again by newer rules":        {[]*graphsync.Extractor{earlier, newest}, []*graphsync.Extractor{earlier, newest}, "Newest"},
		"asked by rules that are not there": {[]*graphsync.Extractor{earlier, newest}, []*graphsync.Extractor{elsewhere}, "Newest"},
		"the journal has no rules":          {nil, []*graphsync.Extractor{earlier}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t)
			for _, x := range test.stored {
				text, err := json.Marshal(x)
				if err == nil {
					err = j.SetRules(t.Context(), x.Version(), text)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for i, x := range test.asked {
				err := j.Ledger().Create(t.Context(), safety.Approval{
					ID: fmt.Sprint("a", i), Session: session, Tool: "buy", CallID: fmt.Sprint("c", i), State: safety.StatePending,
					RequestedAt: at(7 + i), ExpiresAt: at(3600), Receipt: record.Receipt{Version: x.Version()},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			s := newScript(t).start("r1").
				row(record.ToolStarting, "tool", "", content(m{"tool": "find", "args": m{}})).
				row(record.EntitiesDeclared, "tool", "", attributes(m{"entities": []m{{"type": "Declared", "value": "y"}}})).
				row(record.ToolCompleted, "tool", "", content(m{"tool": "find", "result": m{"id": "x"}}))
			put(t, j, s.rows)
			got, err := inspect.Look(t.Context(), inspect.NewJournal(j), session, at(60))
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for _, e := range got.Entities {
				types = append(types, e.Type)
			}
			want := []string{"Declared"}
			if test.want != "" {
				want = append(want, test.want)
			}
			slices.Sort(types)
			if diff := cmp.Diff(want, types); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
		})
	}
}

// What a model found stands after all other rows, and with the row that it was found in, wherever the
// rows are read.
func TestWhatModelsFound(t *testing.T) {
	for name, runs := range map[string]bool{"rows with runs": true, "rows of another recorder": false} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).over("r2")
			for i := range s.rows {
				switch e := &s.rows[i]; {
				case !runs:
					e.RunID, e.RunSeq = "", 0
				case e.RunID == "r2":
					e.RunSeq -= 8
				}
			}
			if runs { // the clock went back
				s.rows[3].Timestamp, s.rows[4].Timestamp = s.rows[4].Timestamp, s.rows[3].Timestamp
			}
			about := s.rows[3]
			s.row(record.EntitiesFound, about.SpanID, about.ParentSpanID,
				attributes(m{"adk": m{"of": about.EventID}, "entities": []m{{"type": "Place", "value": "Oslo", "confidence": 0.5}}}),
				func(e *record.Event) {
					e.Timestamp, e.TraceID, e.RunID, e.RunSeq = about.Timestamp, about.TraceID, "", 0
				})
			j := openJournal(t)
			put(t, j, s.rows)
			read := slices.Clone(s.rows)
			for i := range read {
				read[i].Seq = 0
			}
			slices.Reverse(read)
			var got []*inspect.Session
			for _, src := range []inspect.Source{inspect.NewJournal(j), inspect.NewRows("rows", read)} {
				one, err := inspect.Look(t.Context(), src, session, at(60))
				if err != nil {
					t.Fatal(err)
				}
				last := one.Rows[len(one.Rows)-1]
				if last.EventType != record.EntitiesFound || len(one.Entities) != 1 || one.Entities[0].Evaluated[0].Row != 3 {
					t.Errorf("%s: the last row is %s, entities %+v", src.Name(), last.EventType, one.Entities)
				}
				got = append(got, one)
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("(-journal +rows):\n%s", diff)
			}
		})
	}
}
