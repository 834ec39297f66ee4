// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// says puts a member into the entities of rows of a type, before another.
func (s *script) says(eventType, before, member string) *script {
	for i := range s.rows {
		if e := &s.rows[i]; e.EventType == eventType {
			e.Content = bytes.ReplaceAll(e.Content, []byte(before), []byte(member+","+before))
		}
	}
	return s
}

// TestConditions holds what a value has to meet against each place that says it: the request,
// the check and the ledger.
func TestConditions(t *testing.T) {
	const condition = `"conditions":{"price":"at most $50,000"}`
	want := map[string]string{"price": "at most $50,000"}
	asked := func() *script {
		return newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
	}
	ledger := safety.Approval{
		ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StateBlocked,
		Entities: []entity.Canonical{{Key: "k", Type: "Product", Value: "Strava"}},
		Needs:    map[string]map[string]safety.Need{"k": {"price": {Condition: "at most $50,000"}}},
	}
	for name, a := range map[string]struct {
		script *script
		ledger []safety.Approval
	}{
		"the request": {asked().says(record.HITLConfirmationRequest, `"confidence":0.9`, condition), nil},
		"the check":   {asked().says(record.WorldChangeCheck, `"now":`, condition), nil},
		"the ledger":  {asked(), []safety.Approval{ledger}},
	} {
		got := a.script.see(at(60), a.ledger...).Approvals[0]
		if diff := cmp.Diff(want, got.Entities[0].Conditions); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "the check" {
			if diff := cmp.Diff(want, got.Checks[0].Entities[0].Conditions); diff != "" {
				t.Error(diff)
			}
		}
	}
	if got := asked().see(at(60)).Approvals[0].Entities[0].Conditions; got != nil {
		t.Errorf("without one: %v", got)
	}
	alert := asked().says(record.WorldChangeCheck, `"severity":0.7`, `"condition":"at most $50,000"`).see(at(60)).Approvals[0].Checks[0].Alerts[0]
	if alert.Condition != want["price"] {
		t.Errorf("the alert says %q", alert.Condition)
	}
}
