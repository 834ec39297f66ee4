// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/journal/journaltest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestNamed(t *testing.T) {
	all := []record.Session{{ID: "s-1"}, {ID: "s-1", User: "eve"}, {ID: "s-10"}, {ID: "s-11"}, {ID: "other…"}, {ID: "0123456789"}, {ID: "%"}}
	for id, want := range map[string]int{
		"s-1": 2, "s-10": 1, "s-": 4, "s": 4, "other…": 1, "o": 1, "": 0, "x": 0, "S-1": 0, "_": 0, "%": 1,
		"01…89": 1, "01…": 1, "…89": 1, "01…88": 0, "0123456…456789": 0, // which would overlap
	} {
		if got := inspect.NamedSessions(all, id); len(got) != want {
			t.Errorf("%q names %v, want %d", id, got, want)
		}
	}
}

func TestShortIDs(t *testing.T) {
	for name, test := range map[string]struct{ ids, want []string }{
		"none":                {nil, []string{}},
		"8 characters":        {[]string{"e43c5bd854ffcbba", "855a0b19a1c48f18"}, []string{"e43c5bd8", "855a0b19"}},
		"one more":            {[]string{"e43c5bd854ffcbba", "e43c5bd8a1c48f18"}, []string{"e43c5bd85", "e43c5bd8a"}},
		"short ones":          {[]string{"later", "e43c5bd854ffcbba", ""}, []string{"later", "e43c5bd8", ""}},
		"one twice":           {[]string{"e43c5bd854ffcbba", "e43c5bd854ffcbba"}, []string{"e43c5bd8", "e43c5bd8"}},
		"of the framework":    {[]string{"adk-f783f2ad-258f", "adk-f783f2ae-258f"}, []string{"adk-f783f2ad", "adk-f783f2ae"}},
		"one begins another":  {[]string{"0123456789", "01234567"}, []string{"012345678", "01234567"}},
		"within a character":  {[]string{"abcdefgäx", "b"}, []string{"abcdefg", "b"}},
		"alike until the end": {[]string{"00000000000001", "00000000000002"}, []string{"00000000000001", "00000000000002"}},
	} {
		if diff := cmp.Diff(test.want, inspect.ShortIDs(test.ids)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFindRequests: the ledger of a journal names requests, and rows those that it does not have.
func TestFindRequests(t *testing.T) {
	s := newScript(t).asks()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: journaltest.Path(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	ask := func(user, id, confirmation string) error {
		return j.Ledger().Create(t.Context(), safety.Approval{
			ID: id, Session: record.Session{App: "shop", User: user, ID: "ledger"}, ConfirmationID: confirmation, CallID: id, Tool: "buy", RunID: "r",
			RequestedAt: at(1), ExpiresAt: at(60), State: safety.StatePending,
		})
	}
	if err := errors.Join(store.Import(t.Context(), j, s.rows), ask("bob", "b-10", "q-10"), ask("bob", "b-1", "q-1"), ask("cy", "b-2", "a-9")); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]inspect.Source{"journal": inspect.NewJournal(j), "rows": inspect.NewRows("rows", s.rows)} {
		for _, test := range []struct {
			id   string
			user string
			want []string
		}{
			{"b-1", "", []string{"b-1"}}, {"b-", "", []string{"b-2", "b-1", "b-10"}}, {"b-", "bob", []string{"b-1", "b-10"}}, {"b-10", "cy", nil},
			{"q-10", "", []string{"b-10"}}, {"q-", "", []string{"b-1", "b-10"}}, {"q-1…0", "", []string{"b-10"}},
			{"a-1", "", []string{"a-1"}}, {"q1", "", []string{"a-1"}}, {"a", "ann", []string{"a-1"}}, {"nothing", "", nil}, {"", "", nil},
		} {
			if name == "rows" && (len(test.want) == 0 || test.want[0] != "a-1") {
				test.want = nil
			}
			list, err := inspect.FindRequests(t.Context(), src, record.Session{User: test.user}, test.id, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]bool)
			for _, a := range list {
				got[a.ID] = true
			}
			want := make(map[string]bool)
			for _, id := range test.want {
				want[id] = true
			}
			if diff := cmp.Diff(want, got); diff != "" || len(list) != len(test.want) {
				t.Errorf("%s: %q of %q (-want +got):\n%s", name, test.id, test.user, diff)
			}
		}
	}
}
