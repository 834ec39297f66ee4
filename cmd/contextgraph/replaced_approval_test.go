// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/store/storetest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What a request replaces, and what is different, is in its card and in its JSON.
func TestApprovalThatReplacesAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	first, second, third := storetest.Pending(1), storetest.Pending(2), storetest.Pending(3)
	first.Replaces, first.Chain, first.Difference = "", 0, safety.Difference{}
	second.Replaces = first.ID
	second.Difference.Entities = append(second.Difference.Entities, safety.EntityDifference{Type: "Product", Value: "Yahoo", Change: "removed"})
	third.Replaces, third.Difference = second.ID, safety.Difference{Since: second.RequestedAt}
	recorded(t, first.Session)
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []safety.Approval{first, second, third} {
		if err := j.Ledger().Create(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ago := regexp.MustCompile(`made \d+d ago`)
	card := func(id string) string {
		t.Helper()
		code, stdout, stderr := in(t, nil, "approvals", id)
		if code != exitOK {
			t.Fatalf("%d\n%s%s", code, stdout, stderr)
		}
		return ago.ReplaceAllString(strings.Join(strings.Fields(stdout), " "), "made N days ago")
	}
	if got := card(first.ID); strings.Contains(got, "eplaces") || strings.Contains(got, "different") {
		t.Errorf("the first request: %s", got)
	}
	got := card(second.ID)
	for _, want := range []string{
		"Replaces " + first.ID, "What is different from the request that it replaces, made N days ago",
		"· Product Strava price $1 → $2", "· Product Yahoo removed", "· argument n 1 → -", "… 3 more values",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if got := card(third.ID); !strings.Contains(got, "made N days ago nothing") {
		t.Errorf("the third request: %s", got)
	}
	code, stdout, stderr := in(t, nil, "approvals", second.ID, "--output", "json")
	var a inspect.Approval
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || code != exitOK {
		t.Fatalf("%d, %v\n%s%s", code, err, stdout, stderr)
	}
	if diff := cmp.Diff(&second.Difference, a.Difference); diff != "" || a.Replaces != first.ID {
		t.Errorf("replaces %q, difference (-want +got):\n%s", a.Replaces, diff)
	}
}
