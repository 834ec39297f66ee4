// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// What happened to a request is told in order, and no success before the record has it.
func TestProgress(t *testing.T) {
	tests := map[string]struct {
		rows func(*script)
		want []string
	}{
		"asked": {func(*script) {}, []string{"asked pending: buyer asked."}},
		"executed": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes, and it counted.",
			"checked safe: Checked when it was answered: nothing has changed.", "checked safe: Checked right before the call: nothing has changed.",
			"started in_doubt: buy was started.", "ended executed: buy ran without an error.",
		}},
		"running": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", "")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes, and it counted.",
			"checked safe: Checked when it was answered: nothing has changed.", "checked safe: Checked right before the call: nothing has changed.",
			"started in_doubt: buy was started; its end is not on record yet.",
		}},
		"failed": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolError, failed("no money")).over("r2")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes, and it counted.",
			"checked safe: Checked when it was answered: nothing has changed.", "checked safe: Checked right before the call: nothing has changed.",
			"started in_doubt: buy was started.", "ended failed: buy returned an error: no money.",
		}},
		"blocked": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes.",
			"checked drift: Checked when it was answered: the world has changed (price of Product Strava: $40,000 → $52,000).",
		}},
		"not checked": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "check_failed"}).checks("answer", "check_failed", "root-r2").over("r2")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes.",
			"checked check_failed: Checked when it was answered: the check failed (Product Strava: its source gave no answer in time).",
		}},
		"one of two": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "more_approvers"}).over("r2")
		}, []string{"asked pending: buyer asked.", "answered pending: bob said yes: more people have to approve."}},
		"one of two, twice": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "more_approvers"}).over("r2").
				answers("r3", m{"confirmed": true, "accepted": false, "reason": "more_approvers"}).over("r3")
		}, []string{"asked pending: buyer asked.", "answered pending: bob said yes: more people have to approve.", "answered pending: bob said yes again: another person has to approve."}},
		"somebody who may not": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "not_authorized", "approver": ""}).over("r2")
		}, []string{"asked pending: buyer asked.", "refused pending: Somebody said yes, and it did not count: whoever answered may not."}},
		"a no with a reason": {func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "rejected", "because": "too expensive"}).over("r2")
		}, []string{"asked pending: buyer asked.", "answered rejected: bob said no: too expensive."}},
		"resolved": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", "")
			s.answers("r3", m{"confirmed": false, "accepted": false, "reason": "happened", "because": "the shop has the order"}).over("r3")
		}, []string{
			"asked pending: buyer asked.", "answered pending: bob said yes, and it counted.",
			"checked safe: Checked when it was answered: nothing has changed.", "checked safe: Checked right before the call: nothing has changed.",
			"started in_doubt: buy was started; its end is not on record yet.", "resolved executed: bob looked and says that it took effect: the shop has the order.",
		}},
		"a wish": {func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "change_wanted", "change": "at most $30,000"}).over("r2")
		}, []string{"asked pending: buyer asked.", "answered rejected: bob said no: at most $30,000."}},
		"a no that came too late": {func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "already_used"}).over("r2")
		}, []string{"asked pending: buyer asked.", "refused pending: bob said no, and it did not count: the approval was used before."}},
		"checked on demand": {func(s *script) { s.checks("check", "drift", "") },
			[]string{"asked pending: buyer asked.", "checked drift: Checked on demand: the world has changed (price of Product Strava: $40,000 → $52,000)."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).asks()
			tt.rows(s)
			var got []string
			for _, p := range s.see(at(60)).Approvals[0].Progress {
				got = append(got, p.Step+" "+string(p.Status)+": "+p.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The ledger is read before the rows, so later rows count.
func TestRowsAfterTheLedger(t *testing.T) {
	ledger := safety.Approval{ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StatePending, RequestedAt: at(7), ExpiresAt: at(3600), UpdatedAt: at(7)}
	a := newScript(t).asks().answers("r2", m{"confirmed": false, "accepted": false, "reason": "change_wanted", "change": "less"}).over("r2").see(at(60), ledger).Approvals[0]
	if a.Status != inspect.StatusRejected || a.Change != "less" || !contains(a.Explanation, "wants another plan: less") {
		t.Errorf("a wish: %s, %q, %q", a.Status, a.Change, a.Explanation)
	}
	ledger.Approvers, ledger.Consents = 2, []safety.Consent{{Who: "ann"}}
	a = newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": true, "consents": []string{"ann", "bob"}}).see(at(60), ledger).Approvals[0]
	if diff := cmp.Diff([]string{"ann", "bob"}, a.Consents); diff != "" {
		t.Errorf("consents (-want +got):\n%s", diff)
	}
}

// A check on demand shows the world of its time. It decides nothing, and says nothing of a request
// that has ended.
func TestCheckOnDemand(t *testing.T) {
	for _, verdict := range []string{"drift", "check_failed", "safe"} {
		a := newScript(t).asks().checks("check", verdict, "").see(at(60)).Approvals[0]
		if a.Status != inspect.StatusPending || len(a.Checks) != 1 || a.Entities[0].Outcome == "" {
			t.Errorf("after a check on demand, %s: %s, %d checks, %+v", verdict, a.Status, len(a.Checks), a.Entities)
		}
	}
	a := newScript(t).asks().checks("check", "drift", "").see(at(60)).Approvals[0]
	if now := a.Entities[0].Now["price"]; now != "$52,000" {
		t.Errorf("the price now is %q", now)
	}
	s := newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
	a = s.checks("check", "drift", "").see(at(60)).Approvals[0]
	if a.Status != inspect.StatusExecuted || a.Entities[0].Now["price"] != "$40,000" {
		t.Errorf("after its end: %s, %+v", a.Status, a.Entities)
	}
}

func TestChecked(t *testing.T) {
	report := func(verdict, outcome string) []byte {
		return encode(m{"id": "now", "verdict": verdict, "checked_at": at(50), "entities": []m{{"type": "Product", "value": "Strava", "outcome": outcome,
			"now": m{"price": m{"kind": "money", "value": "52000", "currency": "USD"}}}}})
	}
	for _, tt := range []struct {
		verdict, outcome string
		needs            map[string]string
		want             inspect.Status
		says             string
	}{
		{"safe", "unchanged", nil, inspect.StatusSafe, "nothing changed."},
		{"safe", "skipped", nil, inspect.StatusSafe, "1 optional ones could not be checked"},
		{"drift", "changed", nil, inspect.StatusDrift, "After a yes now it can never run"},
		{"check_failed", "failed", nil, inspect.StatusCheckFailed, "nothing runs without proof that nothing has changed."},
		{"check_failed", "failed", map[string]string{"Product": "why"}, inspect.StatusCheckFailed, "What needs the agent"},
		{"approved", "unchanged", nil, inspect.StatusCheckFailed, "nothing runs without proof that nothing has changed."},
	} {
		c, err := inspect.NewChecked(report(tt.verdict, tt.outcome), tt.needs)
		if err != nil || c.Verdict != tt.want || !contains(c.Explanation, tt.says) {
			t.Errorf("%s: %v, %v %q, want %v %q", tt.verdict, err, c.Verdict, c.Explanation, tt.want, tt.says)
		}
		a := newScript(t).asks().see(at(60)).Approvals[0]
		c.AddTo(&a)
		c.AddTo(&a)
		if len(a.Checks) != 1 || a.Entities[0].Now["price"] != "$52,000" || a.Status != inspect.StatusPending || len(a.Progress) != 2 {
			t.Errorf("%s: added %+v", tt.verdict, a)
		}
		a = newScript(t).asks().see(at(7200)).Approvals[0]
		if c.AddTo(&a); len(a.Checks) != 0 {
			t.Errorf("%s: a request that has ended got a check", tt.verdict)
		}
	}
	for _, bad := range []string{"", "null", "[]", `{"verdict":""}`, `{"verdict":1}`} {
		if c, err := inspect.NewChecked([]byte(bad), nil); err == nil || c.Verdict != "" {
			t.Errorf("the report %q is %v, %v", bad, c.Verdict, err)
		}
	}
}
