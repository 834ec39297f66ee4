// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

var now = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// at is an examination that takes place now.
func at() *examination {
	return &examination{Options: Options{Now: func() time.Time { return now }}}
}

func TestServerCertificateEnds(t *testing.T) {
	x := at()
	s := &server{root: "https://ads.example.com", types: []string{"Product"}, ends: now.Add(48 * time.Hour)}
	if x.checkers([]*server{s}, nil); len(x.found) != 1 || x.found[0].Level != Warning || !strings.Contains(x.found[0].Text, "its certificate ends at 2026-04-03") {
		t.Errorf("%+v", x.found)
	}
}

func TestExamineClockOfRows(t *testing.T) {
	for name, test := range map[string]struct {
		last time.Time
		want Level
	}{
		"past":   {now.Add(-time.Hour), OK},
		"future": {now.Add(time.Hour), Warning},
	} {
		x := at()
		if x.clocks(test.last, nil); len(x.found) != 1 || x.found[0].Level != test.want {
			t.Errorf("%s: %+v", name, x.found)
		}
	}
}

func TestExamineDestination(t *testing.T) {
	for name, test := range map[string]struct {
		d    journal.Destination
		want []Level
		text string
	}{
		"all sent": {journal.Destination{Name: "d"}, []Level{OK}, "every row"},
		"a while":  {journal.Destination{Name: "d", Backlog: store.Backlog{Rows: 3, Oldest: now.Add(-time.Minute)}}, []Level{Note}, "nobody sends"},
		"long": {journal.Destination{Name: "d", LeasedUntil: now.Add(time.Minute), Backlog: store.Backlog{Rows: 3, Oldest: now.Add(-time.Hour), DeadLetters: 2}},
			[]Level{Warning, Warning}, "somebody sends"},
		"graphs": {journal.Destination{Name: "d", Backlog: store.Backlog{Graphs: 2}}, []Level{OK, Note}, "every row"},
	} {
		x := at()
		x.destination(test.d)
		found := x.found
		if len(found) != len(test.want) || !strings.Contains(found[0].Text, test.text) {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		for i, l := range test.want {
			if found[i].Level != l {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}
