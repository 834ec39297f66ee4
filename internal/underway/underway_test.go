// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package underway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/underway"
	"github.com/adk-contextgraph/contextgraph/record"
)

var (
	one   = record.Session{App: "a", User: "u", ID: "1"}
	other = record.Session{App: "a", User: "v", ID: "1"}
)

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name     string
		turns    underway.Turns
		recorded map[string][]string
		want     []string // how each gap begins
	}{
		{name: "none"},
		{
			name: "all on record", turns: underway.Turns{Run: "r2", Invocation: "t2", Earlier: []string{"t1"}},
			recorded: map[string][]string{"t1": {"r1"}, "t2": {"r2"}},
		},
		{
			name: "one is missing", turns: underway.Turns{Run: "r2", Invocation: "t2", Earlier: []string{"t1"}},
			recorded: map[string][]string{"t2": {"r2"}}, want: []string{"1 turn of the session is not on record (t1)"},
		},
		{
			name: "many are missing", turns: underway.Turns{Earlier: []string{"a", "b", "c", "d"}},
			want: []string{"4 turns of the session are not on record (a, b, c, ...)"},
		},
		{
			name: "the turn began elsewhere", turns: underway.Turns{Run: "r2", Invocation: "t1", Continued: true},
			recorded: map[string][]string{"t1": {"r2"}}, want: []string{"the beginning of turn t1 is not on record"},
		},
		{
			name: "the turn began here", turns: underway.Turns{Run: "r2", Invocation: "t1", Continued: true},
			recorded: map[string][]string{"t1": {"r1", "r2"}},
		},
		{name: "events of no turn", turns: underway.Turns{Unnamed: 2}, want: []string{"2 events of the session belong to no turn"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.turns.Gaps(tt.recorded)
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

func TestTurnsOfAContext(t *testing.T) {
	ctx := underway.With(context.Background(), &underway.Turns{Session: one, Invocation: "t1"})
	if got := underway.Of(ctx, one); got.Invocation != "t1" {
		t.Errorf("turns %+v", got)
	}
	if got := underway.Of(ctx, other); !cmp.Equal(got, underway.Turns{}) {
		t.Errorf("another session has turns %+v", got)
	}
	if got := underway.Of(context.Background(), one); !cmp.Equal(got, underway.Turns{}) {
		t.Errorf("a context without turns has %+v", got)
	}
}
