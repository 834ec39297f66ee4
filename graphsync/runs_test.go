// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

func TestRunGaps(t *testing.T) {
	x, err := graphsync.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		run string
		n   int64
		typ string
	}
	const start, end, other = record.UserMessageReceived, record.InvocationCompleted, record.StateDelta
	ofA := func(text string, args ...any) string {
		return "turn inv-a (run a, started 2023-11-14T22:13:20Z)" + fmt.Sprintf(text, args...)
	}
	for _, tt := range []struct {
		name string
		rows []place
		live []string
		want []string
	}{
		{"nothing recorded", nil, nil, nil},
		{"complete", []place{{"a", 1, start}, {"a", 2, end}, {"b", 1, start}, {"b", 2, end}}, nil, nil},
		{"live", []place{{"a", 1, start}, {"a", 2, end}, {"b", 1, start}}, []string{"b"}, nil},
		{"two live", []place{{"a", 1, start}, {"b", 1, start}}, []string{"b", "a"}, nil},
		{"ended by an error", []place{{"a", 1, start}, {"a", 2, record.InvocationError}}, nil, nil},
		{"row lost", []place{{"a", 1, start}, {"a", 4, end}}, nil, []string{ofA(": 2 of 4 rows are missing")}},
		{"first row lost", []place{{"a", 2, other}, {"a", 3, end}}, nil, []string{ofA(": 1 of 3 rows are missing")}},
		{"row lost in a live run", []place{{"a", 1, start}, {"a", 3, other}}, []string{"a"}, []string{ofA(": 1 of 3 rows are missing")}},
		{"cut short", []place{{"a", 1, start}, {"b", 1, start}, {"b", 2, end}}, []string{"c"}, []string{ofA(" has no INVOCATION_COMPLETED on record")}},
		{"lost and cut short", []place{{"a", 3, other}}, nil,
			[]string{ofA(": 2 of 3 rows are missing"), ofA(" has no INVOCATION_COMPLETED on record")}},
		{"repeated place does not fill a gap", []place{{"a", 1, start}, {"a", 1, start}, {"a", 3, end}}, nil, []string{ofA(": 1 of 3 rows are missing")}},
		{"last place repeated", []place{{"a", 1, start}, {"a", 3, end}, {"a", 3, end}}, nil, []string{ofA(": 1 of 3 rows are missing")}},
		{"in any order", []place{{"a", 5, end}, {"a", 3, other}, {"a", 1, start}, {"a", 4, other}, {"a", 2, other}}, nil, nil},
		{"filled place repeated", []place{{"a", 5, end}, {"a", 3, other}, {"a", 3, other}, {"a", 1, start}, {"a", 4, other}}, nil,
			[]string{ofA(": 1 of 5 rows are missing")}},
		{"rows outside of runs", []place{{"", 0, record.WorldChangeCheck}}, nil, nil},
		{"rows without a place", []place{{"a", 0, other}, {"a", 0, other}, {"a", 2, end}}, nil, []string{ofA(": 1 of 2 rows are missing")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rows []record.Event
			for i, p := range tt.rows {
				rows = append(rows, record.Event{
					Seq: int64(i + 1), EventID: fmt.Sprint("e", i), Timestamp: 1_700_000_000_000_000, EventType: p.typ,
					AppName: "shop", UserID: "ann", SessionID: "s", InvocationID: "inv-" + p.run, RunID: p.run, RunSeq: p.n,
				})
			}
			if d := cmp.Diff(tt.want, graphsync.RunGaps(graphsync.Fold(x, rows).Runs(), tt.live)); d != "" {
				t.Errorf("gaps differ (-want +got):\n%s", d)
			}
		})
	}
}
