// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A card has the conditions, what could have been chosen, and whole remedies.
func TestCard(t *testing.T) {
	long := strings.Repeat("x ", 150) + "remedy"
	cluster := inspect.Rested{
		Type: "Cluster", Value: "eu-west", Seen: map[string]string{"free": "64"}, Now: map[string]string{"free": "7"},
		Conditions: map[string]string{"free": "at least 8"}, Outcome: safety.EntityChanged, Unseen: true,
	}
	request := inspect.Approval{
		Entities: []inspect.Rested{cluster},
		NotChosen: &inspect.NotChosen{Total: 3, Entities: []inspect.Alternative{
			{Type: "Product", Value: "Hulu", Seen: map[string]string{"price": "$9", "availability": "available"}},
			{Type: "Product", Value: "Vimeo"},
		}},
		Checks: []inspect.Check{{
			Findings: safety.Findings([]safety.Alert{{Recommendation: long}}, []safety.Failure{{Reason: "error", Remedy: long}}),
		}},
	}
	for _, test := range []struct {
		request inspect.Approval
		want    []string
		never   string
	}{
		{request, []string{
			"· Cluster eu-west free 64 → 7, 8 needed - ≠ changed", "Cluster eu-west: not shown to the human",
			"Not chosen, and not checked · Product Hulu availability available, price $9 · Product Vimeo and 1 more", "remedy ! error",
		}, "nothing that was recorded"},
		{inspect.Approval{}, []string{"nothing that was recorded"}, "Not chosen"},
	} {
		var out strings.Builder
		a := &app{stdout: &out, noColor: true, now: time.Now}
		if err := a.card(test.request, nil); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
		if strings.Contains(got, test.never) {
			t.Errorf("%q is in\n%s", test.never, out.String())
		}
	}
}
