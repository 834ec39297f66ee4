// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var (
	accepted = m{"confirmed": true, "accepted": true}
	toolErr  = failed("boom")
)

// TestStatusOfRows holds what rows alone say of a guarded approval.
func TestStatusOfRows(t *testing.T) {
	later := at(7200)
	tests := map[string]struct {
		rows func(*script)
		now  time.Time
		want inspect.Status
		says string
		ran  bool
	}{
		"asked":          {func(s *script) {}, at(60), inspect.StatusPending, "waits for an answer until 2026-03-01 12:59:59 UTC", false},
		"asked too long": {func(s *script) {}, later, inspect.StatusExpired, "Nothing came of it in time", false},
		"not taken": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "not_authorized"}).over("r2")
		}, at(60), inspect.StatusPending, "did not count: whoever answered may not.", false},
		"no": {func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "rejected"}).executes("r2", "", record.ToolCompleted).over("r2")
		}, later, inspect.StatusRejected, "Rejected by bob", false},
		"a no that was not taken": {func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "not_authorized"}).over("r2")
		}, at(60), inspect.StatusPending, "did not count: whoever answered may not.", false},
		"drift at the answer": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").
				executes("r2", "", record.ToolError, failed("refused")).over("r2")
		}, later, inspect.StatusDrift, "Strava: $40,000 → $52,000", false},
		"check failed": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "check_failed"}).checks("answer", "check_failed", "root-r2").
				executes("r2", "", record.ToolError, failed("refused")).over("r2")
		}, at(60), inspect.StatusCheckFailed, "That is not a sign of a change. The request stays open", false},
		"check failed, too late": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "check_failed"}).checks("answer", "check_failed", "root-r2").over("r2")
		}, later, inspect.StatusExpired, "expired at", false},
		"check failed, its row lost": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "check_failed"}).over("r2")
		}, at(60), inspect.StatusCheckFailed, "", false},
		"approved": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2")
		}, at(60), inspect.StatusSafe, "checked a last time right before buy runs", false},
		"approved and started, the check before is under way": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "", "")
		}, at(60), inspect.StatusSafe, "", false},
		"approved, too late": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").over("r2")
		}, later, inspect.StatusExpired, "", false},
		"drift before it ran": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "drift", record.ToolError, failed("refused")).over("r2")
		}, later, inspect.StatusDrift, "can never run", false},
		"failed check before it ran": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "check_failed", record.ToolError, failed("refused")).over("r2")
		}, at(60), inspect.StatusCheckFailed, "nothing runs without proof", false},
		"executed": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
		}, later, inspect.StatusExecuted, "Approved by bob, checked, and buy ran without an error.", true},
		"executed at the second answer": {func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "check_failed"}).checks("answer", "check_failed", "root-r2").
				executes("r2", "", record.ToolError, failed("refused")).over("r2").
				answers("r3", accepted).checks("answer", "safe", "root-r3").executes("r3", "safe", record.ToolCompleted).over("r3")
		}, later, inspect.StatusExecuted, "", true},
		"failed": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolError, toolErr).over("r2")
		}, later, inspect.StatusFailed, "returned an error", true},
		"in doubt": {func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", "")
		}, later, inspect.StatusInDoubt, "its end is not on record", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).asks()
			tt.rows(s)
			got := s.see(tt.now)
			if len(got.Approvals) != 1 {
				t.Fatalf("%d approvals, want 1", len(got.Approvals))
			}
			a := got.Approvals[0]
			if a.Status != tt.want || got.Summary.Status != tt.want || !strings.Contains(a.Explanation, tt.says) {
				t.Errorf("status %s, of the session %s, want %s; explanation %q, want it to say %q", a.Status, got.Summary.Status, tt.want, a.Explanation, tt.says)
			}
			if (a.Execution != nil) != tt.ran {
				t.Errorf("execution %+v, want one: %v", a.Execution, tt.ran)
			}
			if !a.Enforced || a.ID != "a-1" || a.ConfirmationID != "q1" || a.CallID != "c1" || a.Tool != "buy" || a.Hint != "Please approve" {
				t.Errorf("approval %+v", a)
			}
		})
	}
}

// TestLedgerOverrides holds that the word of the ledger counts and not that of the rows.
func TestLedgerOverrides(t *testing.T) {
	tests := map[string]struct {
		ledger safety.Approval
		want   inspect.Status
	}{
		"pending":           {safety.Approval{State: safety.StatePending}, inspect.StatusPending},
		"pending, failed":   {safety.Approval{State: safety.StatePending, Verdict: "check_failed"}, inspect.StatusCheckFailed},
		"pending, late":     {safety.Approval{State: safety.StatePending, Verdict: "check_failed", ExpiresAt: at(30)}, inspect.StatusExpired},
		"approved":          {safety.Approval{State: safety.StateApproved, Verdict: "safe"}, inspect.StatusSafe},
		"approved, failed":  {safety.Approval{State: safety.StateApproved, Verdict: "check_failed"}, inspect.StatusCheckFailed},
		"permitted":         {safety.Approval{State: safety.StatePermitted, PermitExpiresAt: at(100)}, inspect.StatusSafe},
		"a permit not used": {safety.Approval{State: safety.StatePermitted, PermitExpiresAt: at(30)}, inspect.StatusExpired},
		"rejected":          {safety.Approval{State: safety.StateRejected}, inspect.StatusRejected},
		"expired":           {safety.Approval{State: safety.StateExpired}, inspect.StatusExpired},
		"blocked":           {safety.Approval{State: safety.StateBlocked, Verdict: "drift"}, inspect.StatusDrift},
		"executing":         {safety.Approval{State: safety.StateExecuting}, inspect.StatusInDoubt},
		"executed":          {safety.Approval{State: safety.StateExecuted}, inspect.StatusExecuted},
		"failed":            {safety.Approval{State: safety.StateFailed}, inspect.StatusFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.ledger.ID, tt.ledger.Session = "a-1", session
			if tt.ledger.ExpiresAt.IsZero() {
				tt.ledger.ExpiresAt = at(3600)
			}
			for what, s := range map[string]*script{
				"with rows":    newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2").over("r2"),
				"without rows": newScript(t),
			} {
				got := s.see(at(60), tt.ledger)
				if len(got.Approvals) != 1 {
					t.Fatalf("%s: %d approvals, want 1", what, len(got.Approvals))
				}
				if a := got.Approvals[0]; a.Status != tt.want || a.State != string(tt.ledger.State) || a.Explanation == "" || !a.Enforced {
					t.Errorf("%s: %s (%s), enforced %v, want %s", what, a.Status, a.State, a.Enforced, tt.want)
				}
			}
		})
	}
}

// TestReportOfLedger holds that a check whose row is lost is known from the ledger.
func TestReportOfLedger(t *testing.T) {
	s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2")
	report := s.rows[len(s.rows)-1].Content
	ledger := safety.Approval{ID: "a-1", Session: session, State: safety.StateBlocked, Verdict: "drift", Report: report, UpdatedAt: at(11)}
	if a := s.see(at(60), ledger).Approvals[0]; len(a.Checks) != 1 || a.Checks[0].Row != 10 {
		t.Errorf("checks %+v, want the one of row 10 alone", a.Checks)
	}
	s.rows = s.rows[:len(s.rows)-1]
	a := s.see(at(60), ledger).Approvals[0]
	if len(a.Checks) != 1 || a.Checks[0].Row != -1 || a.Checks[0].Stage != "answer" || a.Checks[0].Verdict != "drift" || a.Entities[0].Now["price"] != "$52,000" {
		t.Errorf("checks %+v, entities %+v, want those of the ledger", a.Checks, a.Entities)
	}
}

// TestObserved holds that a call that ran over a verdict is not shown as blocked.
func TestObserved(t *testing.T) {
	observed := func(s *script) *script {
		for i := range s.rows {
			s.rows[i].Attributes = []byte(strings.ReplaceAll(string(s.rows[i].Attributes), `"enforced":true`, `"enforced":false`))
		}
		return s
	}
	s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2")
	blocked := safety.Approval{ID: "a-1", Session: session, State: safety.StateBlocked, Verdict: "drift"}

	if a := observed(s).see(at(60), blocked).Approvals[0]; a.Status != inspect.StatusDrift || a.Execution != nil {
		t.Errorf("before it ran: %s, %+v", a.Status, a.Execution)
	}
	s.executes("r2", "", record.ToolCompleted).over("r2")
	for _, ledger := range [][]safety.Approval{nil, {blocked}} {
		a := observed(s).see(at(60), ledger...).Approvals[0]
		if a.Status != inspect.StatusExecuted || a.Enforced || a.Execution == nil || !strings.Contains(a.Explanation, "only observed") ||
			!strings.Contains(a.Explanation, "would have been blocked") {
			t.Errorf("%s, enforced %v, %q", a.Status, a.Enforced, a.Explanation)
		}
	}
}

// TestWithoutIDs reads rows as the plugin for Python writes them: neither an approval id
// nor anything that ties an answer to its request.
func TestWithoutIDs(t *testing.T) {
	plain := func(e *record.Event) { e.RunID, e.RunSeq, e.Seq = "", 0, 0 }
	asked := func(s *script, call, tool string) {
		s.row(record.HITLConfirmationRequest, "agent1", "root1", plain, content(m{"tool": "adk_request_confirmation", "args": m{
			"originalFunctionCall": m{"id": call, "name": tool, "args": m{"n": 1}}, "toolConfirmation": m{"hint": "sure?", "confirmed": false},
		}}))
	}
	said := func(s *script, yes bool) {
		s.row(record.HITLConfirmationRequestCompleted, "root2", "", plain, content(m{"tool": "adk_request_confirmation", "result": m{"confirmed": yes}}))
	}
	ran := func(s *script, tool, end string, change ...func(*record.Event)) {
		s.row(record.ToolStarting, "t-"+tool, "root2", plain, content(m{"tool": tool, "args": m{"n": 1}}))
		if end != "" {
			s.row(end, "t-"+tool, "root2", append(change, plain, content(m{"tool": tool, "result": m{}}))...)
		}
	}
	tests := map[string]struct {
		rows func(*script)
		want []inspect.Status
	}{
		"asked":        {func(s *script) { asked(s, "c1", "buy") }, []inspect.Status{inspect.StatusPending}},
		"rejected":     {func(s *script) { asked(s, "c1", "buy"); said(s, false); ran(s, "buy", record.ToolCompleted) }, []inspect.Status{inspect.StatusRejected}},
		"approved":     {func(s *script) { asked(s, "c1", "buy"); said(s, true) }, []inspect.Status{inspect.StatusPending}},
		"executed":     {func(s *script) { asked(s, "c1", "buy"); said(s, true); ran(s, "buy", record.ToolCompleted) }, []inspect.Status{inspect.StatusExecuted}},
		"failed":       {func(s *script) { asked(s, "c1", "buy"); said(s, true); ran(s, "buy", record.ToolError, toolErr) }, []inspect.Status{inspect.StatusFailed}},
		"in doubt":     {func(s *script) { asked(s, "c1", "buy"); said(s, true); ran(s, "buy", "") }, []inspect.Status{inspect.StatusInDoubt}},
		"another tool": {func(s *script) { asked(s, "c1", "buy"); said(s, true); ran(s, "look", record.ToolCompleted) }, []inspect.Status{inspect.StatusPending}},
		"two, in order": {func(s *script) {
			asked(s, "c1", "buy")
			asked(s, "c2", "sell")
			said(s, false)
			said(s, true)
			ran(s, "sell", record.ToolCompleted)
		}, []inspect.Status{inspect.StatusRejected, inspect.StatusExecuted}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).start("x")
			tt.rows(s)
			got := s.see(at(1 << 20))
			if len(got.Approvals) != len(tt.want) {
				t.Fatalf("%d approvals, want %d", len(got.Approvals), len(tt.want))
			}
			for i, a := range got.Approvals {
				if a.Status != tt.want[i] || a.Enforced || a.ID != "" || !strings.Contains(a.Explanation, "No guard looked at it") {
					t.Errorf("approval %d: %s, want %s: %q", i, a.Status, tt.want[i], a.Explanation)
				}
			}
		})
	}
}

// TestInputs are requests for an input and a credential.
func TestInputs(t *testing.T) {
	input := func(s *script, shown any, attrs m) *script {
		s.start("r1").row(record.UserMessageReceived, "root1", "", content(m{"text_summary": "hi"}))
		return s.row(record.HITLInputRequest, "h1", "root1", content(m{"tool": "adk_request_input", "args": m{"message": "how many?", "payload": shown}}), adk(attrs)).
			row(record.InvocationCompleted, "root1", "")
	}
	ids := m{"call_id": "i1", "interrupt_id": "i1"}
	answer := m{"call_id": "i1", "interrupt_id": "i1", "approver": "ann", "waited_ms": 5}
	guarded := m{"call_id": "i1", "interrupt_id": "i1", "approval_id": "a-1", "accepted": true, "enforced": true}
	keys := m{"contextgraph": m{"approval_id": "a-1", "expires_at": at(3600)}}

	tests := map[string]struct {
		rows *script
		want inspect.Status
	}{
		"open": {input(newScript(t), nil, ids), inspect.StatusPending},
		"answered": {input(newScript(t), nil, ids).start("r2").
			row(record.HITLInputRequestCompleted, "root-r2", "", content(m{"result": m{"n": 3}}), adk(answer)), inspect.StatusExecuted},
		"guarded, open": {input(newScript(t), keys, ids), inspect.StatusPending},
		"guarded, executed": {input(newScript(t), keys, ids).start("r2").
			row(record.HITLInputRequestCompleted, "root-r2", "", content(m{"result": m{"n": 3}}), adk(guarded)).
			checks("answer", "safe", "root-r2").checks("execution", "safe", "root-r2").over("r2"), inspect.StatusExecuted},
		"guarded, drift": {input(newScript(t), keys, ids).start("r2").
			row(record.HITLInputRequestCompleted, "root-r2", "", content(m{"result": m{"n": 3}}), adk(m{"approval_id": "a-1", "accepted": false, "reason": "drift"})).
			checks("answer", "drift", "root-r2"), inspect.StatusDrift},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := tt.rows.see(at(60)).Approvals[0]
			if a.Status != tt.want || a.Kind != "input" || a.Hint != "how many?" || a.ConfirmationID != "i1" {
				t.Errorf("%s of kind %s (%q, %q), want %s: %s", a.Status, a.Kind, a.Hint, a.ConfirmationID, tt.want, a.Explanation)
			}
		})
	}
}

// TestWaived says of what is unchanged that the policy let it pass unseen.
func TestWaived(t *testing.T) {
	s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": true}).checks("answer", "waived", "root-r2").over("r2")
	e := s.see(at(60)).Approvals[0].Entities[0]
	if e.Outcome != "unchanged" || e.Reason != "nothing on record shows it" {
		t.Errorf("outcome %q, reason %q, want what no tool showed", e.Outcome, e.Reason)
	}
}

// TestRested holds what a human saw against what the checks found.
func TestRested(t *testing.T) {
	s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
	a := s.see(at(60)).Approvals[0]
	if len(a.Entities) != 1 || len(a.Checks) != 1 || len(a.Answers) != 1 {
		t.Fatalf("%d entities, %d checks, %d answers, want one each", len(a.Entities), len(a.Checks), len(a.Answers))
	}
	e := a.Entities[0]
	if e.Seen["price"] != "$40,000" || e.Now["price"] != "$52,000" || e.Outcome != "changed" || !e.SeenAt.Equal(at(4)) || e.Confidence != 0.9 {
		t.Errorf("rested on %+v", e)
	}
	k := a.Checks[0]
	if k.Stage != "answer" || k.Verdict != "drift" || k.Stale != 1 || k.Total != 1 || len(k.Alerts) != 1 || k.Alerts[0].Drift != safety.PriceChanged || k.Row != 10 {
		t.Errorf("check %+v", k)
	}
	ans := a.Answers[0]
	if !ans.Confirmed || ans.Accepted || ans.Reason != "drift" || ans.Approver != "bob" || !ans.Authenticated || !ans.At.Equal(at(10)) || ans.Row != 9 {
		t.Errorf("answer %+v", ans)
	}
}

// The ledger says why a request was superseded; without its steps all ways are named.
func TestSupersededSaysWhy(t *testing.T) {
	key := record.Session{App: "a", User: "u", ID: "s"}
	for note, want := range map[string]string{
		"asked for again by 2":                "The same call was asked for again, and only the newer request counts.",
		safety.WentBack + " to before buying": "The session went back to before this request.",
		safety.Withdrawn:                      "The run went on without an answer to this request.",
		"":                                    "The same call was asked for again, the session went back to before this request, or the run went on without an answer to it.",
	} {
		r := inspect.Record{Session: key, Approvals: []safety.Approval{{ID: "1", Session: key, Tool: "buy", State: safety.StateSuperseded}}}
		if note != "" {
			r.History = map[string][]safety.Step{"1": {{From: safety.StatePending, To: safety.StateSuperseded, Note: note}}}
		}
		s, err := inspect.New(r, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Approvals[0].Explanation; got != want+" An answer to it does not let buy run." {
			t.Errorf("%q: %s", note, got)
		}
	}
}
