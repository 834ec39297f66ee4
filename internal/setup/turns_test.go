// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/plugin"
)

func TestTurnGaps(t *testing.T) {
	for _, tt := range []struct {
		name     string
		turns    plugin.Turns
		recorded map[string][]string
		want     []string // how each gap begins
	}{
		{name: "none"},
		{
			name: "all on record", turns: plugin.Turns{Run: "r2", Invocation: "t2", Earlier: []string{"t1"}},
			recorded: map[string][]string{"t1": {"r1"}, "t2": {"r2"}},
		},
		{
			name: "one is missing", turns: plugin.Turns{Run: "r2", Invocation: "t2", Earlier: []string{"t1"}},
			recorded: map[string][]string{"t2": {"r2"}}, want: []string{"1 turn of the session is not on record (t1)"},
		},
		{
			name: "many are missing", turns: plugin.Turns{Earlier: []string{"a", "b", "c", "d"}},
			want: []string{"4 turns of the session are not on record (a, b, c, ...)"},
		},
		{
			name: "the turn began elsewhere", turns: plugin.Turns{Run: "r2", Invocation: "t1", Continued: true},
			recorded: map[string][]string{"t1": {"r2"}}, want: []string{"the beginning of turn t1 is not on record"},
		},
		{
			name: "the turn began here", turns: plugin.Turns{Run: "r2", Invocation: "t1", Continued: true},
			recorded: map[string][]string{"t1": {"r1", "r2"}},
		},
		{name: "events of no turn", turns: plugin.Turns{Unnamed: 2}, want: []string{"2 events of the session belong to no turn"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := turnGaps(tt.turns, tt.recorded)
			if len(got) != len(tt.want) {
				t.Fatalf("gaps %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("gap %q, want one that begins %q", got[i], tt.want[i])
				}
			}
		})
	}
}
