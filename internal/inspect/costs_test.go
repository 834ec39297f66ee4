// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// The cost is the one that the human saw until a check finds another one.
func TestCosts(t *testing.T) {
	s := newScript(t).asks()
	for i := range s.rows {
		s.rows[i].Content = []byte(strings.Replace(string(s.rows[i].Content), `"warnings":[]`, `"costs":[{"budget_type":"Budget","budget":"nike","limit":"$200,000","seen":"$190,000"}],"warnings":[]`, 1))
	}
	asked := safety.Cost{BudgetType: "Budget", Budget: "nike", Limit: "$200,000", Seen: "$190,000"}
	if diff := cmp.Diff([]safety.Cost{asked}, s.see(at(60)).Approvals[0].Costs); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	s.checks("check", "drift", "")
	last := &s.rows[len(s.rows)-1]
	last.Content = []byte(strings.Replace(string(last.Content), `{`, `{"costs":[{"budget_type":"Budget","budget":"nike","limit":"$200,000","seen":"$190,000","now":"$212,000","exceeded":true}],`, 1))
	found := asked
	found.Now, found.Exceeded = "$212,000", true
	a := s.see(at(60)).Approvals[0]
	if diff := cmp.Diff([]safety.Cost{found}, a.Costs); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]safety.Cost{found}, a.Checks[0].Costs); diff != "" {
		t.Errorf("the check (-want +got):\n%s", diff)
	}
	if none := newScript(t).asks().see(at(60)).Approvals[0].Costs; none == nil || len(none) > 0 {
		t.Errorf("without a budget: %v", none)
	}
}
