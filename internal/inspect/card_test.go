// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A card says what can be done now, and why no yes can work.
func TestCan(t *testing.T) {
	blocked := m{"confirmed": true, "accepted": false, "reason": "drift"}
	failed := m{"confirmed": true, "accepted": false, "reason": "check_failed"}
	tests := map[string]struct {
		rows     func(*script)
		ledger   []safety.Approval
		now      int
		can      string
		hopeless string
	}{
		"asked":             {func(*script) {}, nil, 60, "approve reject check", ""},
		"too late":          {func(*script) {}, nil, 7200, "", ""},
		"drift at a look":   {func(s *script) { s.checks("check", "drift", "") }, nil, 60, "approve reject check", "after a yes now it can never run"},
		"drift":             {func(s *script) { s.answers("r2", blocked).checks("answer", "drift", "root-r2").over("r2") }, nil, 60, "", ""},
		"a source is down":  {func(s *script) { s.answers("r2", failed).checks("answer", "check_failed", "root-r2").over("r2") }, nil, 60, "approve reject override check", ""},
		"unchanged at last": {func(s *script) { s.checks("check", "drift", "").checks("check", "safe", "") }, nil, 60, "approve reject check", ""},
		"in doubt, by rows": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", "")
		}, nil, 7200, "", ""},
		"in doubt": {func(*script) {}, []safety.Approval{{ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StateExecuting, RequestedAt: at(7), ExpiresAt: at(3600), UpdatedAt: at(9)}},
			60, "resolve", ""},
		"a permit": {func(*script) {}, []safety.Approval{{ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StatePermitted, PermitExpiresAt: at(100), RequestedAt: at(7), ExpiresAt: at(3600)}},
			60, "", ""},
		"nothing was seen": {func(s *script) {
			s.rows[6].Content = []byte(strings.Replace(string(s.rows[6].Content), `"warnings":[]`, `"warnings":[],"hopeless":"Product Strava: not seen"`, 1))
		}, nil, 60, "approve reject check", "No check of this request can pass: Product Strava: not seen."},
		"nothing was seen, says a check": {func(s *script) {
			s.checks("check", "check_failed", "")
			last := &s.rows[len(s.rows)-1]
			last.Content = []byte(strings.Replace(string(last.Content), `"reason":"timeout"`, `"reason":"nothing_seen"`, 1))
		}, nil, 60, "approve reject check", "Product Strava: not seen."},
		"only observed": {func(s *script) {
			for i := range s.rows {
				s.rows[i].Attributes = []byte(strings.ReplaceAll(string(s.rows[i].Attributes), `"enforced":true`, `"enforced":false`))
			}
			s.checks("check", "drift", "")
		}, nil, 60, "reject check", ""},
		"executed": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
		}, nil, 60, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).asks()
			tt.rows(s)
			a := s.see(at(tt.now), tt.ledger...).Approvals[0]
			if got := strings.Join(a.Can, " "); got != tt.can || !strings.Contains(a.Hopeless, tt.hopeless) || (a.Hopeless == "") != (tt.hopeless == "") {
				t.Errorf("%s: can %q, hopeless %q, want %q and %q", a.Status, got, a.Hopeless, tt.can, tt.hopeless)
			}
		})
	}
	if a := newScript(t).asks().see(at(60)).Approvals[0]; a.Findings == nil {
		t.Error("findings are null in JSON")
	}
}

// The check before anybody was asked shows what is now beside what was read. It decides nothing.
func TestCheckBeforeAsking(t *testing.T) {
	if a := newScript(t).asks().checks("asking", "check_failed", "").see(at(60)).Approvals[0]; a.Status != "pending" {
		t.Errorf("a source was down when it was asked: %s", a.Status)
	}
	s := newScript(t).asks().checks("asking", "safe", "")
	last := s.rows[len(s.rows)-1]
	s.rows = append(s.rows[:6:6], append([]record.Event{last}, s.rows[6:len(s.rows)-1]...)...)
	a := s.see(at(60)).Approvals[0]
	if len(a.Checks) != 1 || a.Entities[0].Now["price"] != "$40,000" || a.Status != "pending" || len(a.Progress) != 2 {
		t.Errorf("%s, checks %+v, entities %+v, progress %+v", a.Status, a.Checks, a.Entities, a.Progress)
	}
}
