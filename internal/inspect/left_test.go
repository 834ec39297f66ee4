// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// said is a run of two rows, the first of which tells the rewinds that it goes by.
func (s *script) said(run string, rewinds ...string) *script {
	return s.start(run).row(record.UserMessageReceived, "root-"+run, "", adk(m{"rewinds": rewinds})).row(record.InvocationCompleted, "root-"+run, "")
}

// rewound is the row of a rewind that left runs.
func (s *script) rewound(more string, runs ...string) *script {
	s.start("")
	return s.row(record.AgentStateCheckpoint, "", "", adk(m{"checkpoint": "rewound", "by": "bob", "left": runs, "more": more}),
		func(e *record.Event) { e.InvocationID = "" })
}

func TestLeft(t *testing.T) {
	const first = "s-1-e05" // the row behind two runs
	for name, tc := range map[string]struct {
		rows *script
		want []inspect.Left
	}{
		"nothing":        {newScript(t).said("r1").said("r2"), nil},
		"the last run":   {newScript(t).said("r1").said("r2").rewound("", "r2"), []inspect.Left{{At: at(5), By: "bob", Rows: []int{2, 3}}}},
		"a run goes on":  {newScript(t).said("r1").said("r2").rewound("", "r2").said("r3", first), []inspect.Left{{At: at(5), By: "bob", Rows: []int{2, 3}}}},
		"it did not end": {newScript(t).said("r1").said("r2").rewound("", "r2").said("r3"), nil},
		"two rows":       {newScript(t).said("r1").said("r2").rewound("", "r1").rewound(first, "r2"), []inspect.Left{{At: at(6), By: "bob", Rows: []int{0, 1, 2, 3}}}},
		"twice": {newScript(t).said("r1").said("r2").rewound("", "r2").said("r3", first).rewound("", "r1", "r3"),
			[]inspect.Left{{At: at(5), By: "bob", Rows: []int{2, 3}}, {At: at(8), By: "bob", Rows: []int{0, 1, 5, 6}}}},
		"a state of ADK": {newScript(t).said("r1").start("r1").row(record.AgentStateCheckpoint, "root-r1", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := inspect.New(inspect.Record{Session: session, Rows: tc.rows.rows}, at(3600))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.Left); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
