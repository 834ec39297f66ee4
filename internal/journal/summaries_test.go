// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// known returns the lines of the sessions with a summary, by their ids; "" for one without.
func known(t *testing.T, j *journal.Journal, now time.Time) map[string]string {
	t.Helper()
	lines := make(map[string]string)
	err := j.Summaries(t.Context(), now, func(s *store.Summary) { lines[s.Session.ID] = string(s.More) })
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestSummaries holds that a summary is told as long as nothing that it is made of has changed.
func TestSummaries(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, j *journal.Journal)
		now    time.Time
		want   map[string]string
	}{
		{name: "nothing", change: func(*testing.T, *journal.Journal) {}, want: map[string]string{"a": "line", "b": "line"}},
		{
			name:   "its time is over",
			change: func(*testing.T, *journal.Journal) {},
			now:    sweepTime.Add(time.Hour),
			want:   map[string]string{"a": "", "b": ""},
		},
		{
			name: "a row",
			change: func(t *testing.T, j *journal.Journal) {
				appendAll(t, j, aged(named("b"), "r-c", 1, day)...)
				flush(t, j)
			},
			want: map[string]string{"a": "line", "b": ""},
		},
		{
			name: "a request",
			change: func(t *testing.T, j *journal.Journal) {
				a := openApproval(1)
				a.Session = named("b")
				if err := j.Ledger().Create(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			},
			want: map[string]string{"a": "line", "b": ""},
		},
		{
			name: "a step of an approval",
			change: func(t *testing.T, j *journal.Journal) {
				_, err := j.Ledger().Transition(t.Context(), safety.Transition{
					ID: "approval-9", From: []safety.ApprovalState{safety.StatePending}, To: safety.StateRejected, At: sweepTime, Actor: "ann",
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			want: map[string]string{"a": "", "b": "line"},
		},
		{
			name:   "a removal",
			change: func(t *testing.T, j *journal.Journal) { sweep(t, j, config.Retention{MaxAge: 36 * time.Hour}) },
			want:   map[string]string{"b": "line"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := openJournal(t, nil)
			appendAll(t, j, aged(named("a"), "r-a", 3, 2*day)...)
			appendAll(t, j, aged(named("b"), "r-b", 2, day)...)
			flush(t, j)
			if tt.name == "a step of an approval" {
				a := openApproval(9)
				a.ID, a.Session = "approval-9", named("a")
				if err := j.Ledger().Create(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			var list []store.NewSummary
			for _, id := range []string{"a", "b"} {
				list = append(list, summaryOf(t, j, id))
			}
			if err := j.KeepSummaries(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			tt.change(t, j)
			now := tt.now
			if now.IsZero() {
				now = sweepTime
			}
			if d := cmp.Diff(tt.want, known(t, j, now)); d != "" {
				t.Errorf("the summaries differ (-want +got):\n%s", d)
			}
			// What changed meanwhile makes a summary from before void.
			if err := j.KeepSummaries(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, known(t, j, now)); d != "" {
				t.Errorf("an old summary was kept (-want +got):\n%s", d)
			}
		})
	}
}

// summaryOf returns a summary of a session as it is now, for an hour.
func summaryOf(t *testing.T, j *journal.Journal, id string) store.NewSummary {
	t.Helper()
	stamp, err := j.Stamp(t.Context(), named(id))
	if err != nil {
		t.Fatal(err)
	}
	return store.NewSummary{
		Summary: store.Summary{Session: named(id), Status: "none", Words: []byte{0, 1}, More: []byte("line")},
		Of:      stamp, Until: sweepTime.Add(time.Hour),
	}
}
