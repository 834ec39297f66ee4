// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// calls replaces the call that asks asked for.
func calls(args string) func(*record.Event) {
	return func(e *record.Event) {
		e.Content = []byte(strings.Replace(string(e.Content), `"args":{"n":1}`, `"args":`+args, 1))
	}
}

func TestAction(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{`{}`, "If you say yes, and nothing has changed, the agent runs buy once, without arguments."},
		{`null`, "If you say yes, and nothing has changed, the agent runs buy once, without arguments."},
		{`{"n":1}`, "If you say yes, and nothing has changed, the agent runs buy once, with n 1."},
		{`{"account":"nike","dry_run":false,"n":2.50}`, `If you say yes, and nothing has changed, the agent runs buy once, with account "nike", dry run false and n 2.50.`},
		{`{"names":["a"]}`, `If you say yes, and nothing has changed, the agent runs buy once, with names "a".`},
		{`{"names":[]}`, `If you say yes, and nothing has changed, the agent runs buy once, with names (0).`},
		{`{"names":["a","b","c","d","e"]}`, `If you say yes, and nothing has changed, the agent runs buy once, with 5 names ("a", "b", "c", 2 more).`},
		{`{"lines":[{"placement":"Yahoo","spend":90000},{"placement":"ESPN","spend":70000}]}`, "If you say yes, and nothing has changed, the agent runs buy once, with 2 lines (Yahoo 90000, ESPN 70000)."},
		{`{"lines":[[1],[2]]}`, "If you say yes, and nothing has changed, the agent runs buy once, with lines (2)."},
		{`{"to":{"city":"Bonn","zip":"53111"},"x":{"y":{}}}`, "If you say yes, and nothing has changed, the agent runs buy once, with to (Bonn 53111) and x."},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`, "If you say yes, and nothing has changed, the agent runs buy once, with a 1, b 2, c 3, d 4, e 5, f 6 and 2 more arguments."},
		{`{"t":"` + strings.Repeat("x", 100) + `"}`, `If you say yes, and nothing has changed, the agent runs buy once, with t "` + strings.Repeat("x", 59) + `…".`},
		{`{"t":"a\u202eb\n"}`, `If you say yes, and nothing has changed, the agent runs buy once, with t "a\u202eb\n".`},
	} {
		s := newScript(t).asks()
		for i := range s.rows {
			calls(tt.args)(&s.rows[i])
		}
		if got := s.see(at(60)).Approvals[0].Action; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

// What a rule reads as an amount is one in the sentence.
func TestActionOfMoney(t *testing.T) {
	s := newScript(t).asks()
	for i := range s.rows {
		calls(`{"lines":[{"placement":"Yahoo","spend":90000}],"a/b":5,"n":5}`)(&s.rows[i])
		s.rows[i].Content = []byte(strings.Replace(string(s.rows[i].Content), `"warnings":[]`, `"warnings":[],"total":"2 × $5 = $10","money":{"/lines/0/spend":"$90,000","/a~1b":"€5"}`, 1))
	}
	a := s.see(at(60)).Approvals[0]
	if want := "If you say yes, and nothing has changed, the agent runs buy once, with a/b €5, lines Yahoo $90,000 and n 5."; a.Action != want || a.Total != "2 × $5 = $10" {
		t.Errorf("%q, total %q, want %q", a.Action, a.Total, want)
	}
}

// A sentence says who else has to say yes, and that no yes can work.
func TestActionOfOthers(t *testing.T) {
	for want, change := range map[string]func(*safety.Approval){
		"If you and 1 other person say yes, and nothing has changed, the agent runs": func(a *safety.Approval) { a.Approvers = 2 },
		"If you and 2 other people say yes, and nothing has changed, the agent runs": func(a *safety.Approval) { a.Approvers = 3 },
		"If you say yes, and nothing has changed, the agent runs":                    func(a *safety.Approval) { a.Approvers, a.Consents = 2, []safety.Consent{{Who: "eva"}} },
		"If nothing has changed, the agent runs":                                     func(a *safety.Approval) { a.State = safety.StatePermitted },
		"The agent wanted to run":                                                    func(a *safety.Approval) { a.State = safety.StateSuperseded },
	} {
		ledger := safety.Approval{ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StatePending, RequestedAt: at(7), ExpiresAt: at(3600)}
		change(&ledger)
		if got := newScript(t).asks().see(at(60), ledger).Approvals[0].Action; got != want+" buy once, with n 1." {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := newScript(t).asks().checks("check", "drift", "").see(at(60)).Approvals[0].Action; !strings.HasPrefix(got, "This cannot run, even after a yes: the agent asks to run buy once") {
		t.Errorf("hopeless: %q", got)
	}
	a := newScript(t).asks().checks("check", "check_failed", "").see(at(60)).Approvals[0]
	if a.Unproven != "It could not be checked (Product Strava: its source gave no answer in time): as long as that is so, nothing runs after a yes." {
		t.Errorf("unproven: %q", a.Unproven)
	}
}

// A call that was blocked never ran, and the sentence does not say so.
func TestActionThatEnded(t *testing.T) {
	for _, tt := range []struct {
		rows func(*script)
		now  int
		want string
	}{
		{func(*script) {}, 7200, "The agent wanted to run buy once, with n 1."},
		{func(s *script) {
			s.answers("r2", m{"confirmed": false, "accepted": false, "reason": "rejected"}).over("r2")
		}, 60, "The agent wanted to run buy once, with n 1."},
		{func(s *script) {
			s.answers("r2", m{"confirmed": true, "accepted": false, "reason": "drift"}).checks("answer", "drift", "root-r2").over("r2")
		}, 60, "The agent wanted to run buy once, with n 1."},
		{func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", record.ToolCompleted).over("r2")
		}, 60, "The agent ran buy once, with n 1."},
		{func(s *script) {
			s.answers("r2", accepted).checks("answer", "safe", "root-r2").executes("r2", "safe", "")
		}, 60, "The agent started buy once, with n 1."},
	} {
		s := newScript(t).asks()
		tt.rows(s)
		if got := s.see(at(tt.now)).Approvals[0].Action; got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestMayApprove(t *testing.T) {
	ledger := func(change func(*safety.Approval)) safety.Approval {
		a := safety.Approval{ID: "a-1", Session: session, ConfirmationID: "q1", State: safety.StatePending, Requester: "ann", RequestedAt: at(7), ExpiresAt: at(3600)}
		change(&a)
		return a
	}
	for _, tt := range []struct {
		name   string
		ledger safety.Approval
		want   string
	}{
		{"nobody is authenticated", ledger(func(*safety.Approval) {}), "Whoever uses the agent as ann."},
		{"authenticated", ledger(func(a *safety.Approval) { a.RequesterAuthenticated = true }), "One person who is logged in. The request is for ann"},
		{"several", ledger(func(a *safety.Approval) { a.RequesterAuthenticated, a.Approvers = true, 2 }), "2 different people"},
	} {
		if got := newScript(t).asks().see(at(60), tt.ledger).Approvals[0].MayApprove; !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want it to say %q", tt.name, got, tt.want)
		}
	}
	s := newScript(t).asks()
	for i := range s.rows { // as a program without the guard records it
		s.rows[i].Attributes = []byte(strings.ReplaceAll(string(s.rows[i].Attributes), `"approval_id":"a-1",`, ""))
		s.rows[i].Content = []byte(strings.ReplaceAll(string(s.rows[i].Content), `"approval_id":"a-1",`, ""))
	}
	if got := s.see(at(60)).Approvals[0].MayApprove; !strings.Contains(got, "no gate looks at the answer") {
		t.Errorf("unguarded: %q", got)
	}
}

// A refusal has a sentence for each reason of the gate.
func TestRefusalsHaveWords(t *testing.T) {
	for _, code := range []string{
		safety.CodeUnknownRequest, safety.CodeNotPending, safety.CodeNotAuthorized, safety.CodeRejected, safety.CodeChange,
		safety.CodeOtherAnswer, safety.CodeExpired, safety.CodeDrift, safety.CodeCheckFailed, safety.CodeBlocked, safety.CodeAlreadyUsed,
		safety.CodeOtherCall, safety.CodeArgsChanged, safety.CodeInvalid, safety.CodeClock, safety.CodeStore, safety.CodeCanceled, safety.CodeInternal,
		safety.CodeMoreApprovers,
	} {
		s := newScript(t).asks().answers("r2", m{"confirmed": true, "accepted": false, "reason": code}).over("r2")
		a := s.see(at(60)).Approvals[0].Answers[0]
		if a.Refusal == "" || a.Refusal == code || a.Reason != code {
			t.Errorf("%s: %+v", code, a)
		}
	}
}

// The riskiest request comes first, then the oldest; one that no yes can let run is the last.
func TestInbox(t *testing.T) {
	of := func(id, verdict string, asked int) *inspect.Session {
		s := newScript(t)
		s.session.ID = id
		s.asks()
		if verdict != "" {
			s.checks("check", verdict, "")
		}
		for i := range s.rows {
			s.rows[i].SessionID = id
			s.rows[i].Content = []byte(strings.Replace(string(s.rows[i].Content), `"requested_at":"2026-03-01T12:00:06Z"`, `"requested_at":`+string(encode(at(asked))), 1))
		}
		return s.see(at(60))
	}
	sessions := []*inspect.Session{
		of("unchanged", "safe", 1), of("young", "", 8), of("old", "", 2), of("changed", "drift", 9), of("unproven", "check_failed", 3),
	}
	ended := newScript(t).asks()
	sessions = append(sessions, ended.see(at(7200)))
	items := inspect.Inbox(sessions)
	var got []string
	for _, it := range items {
		got = append(got, it.Session.ID+":"+string(it.Known))
	}
	if want := "unproven:check_failed old: young: unchanged:safe changed:drift"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if it := items[4]; it.Tool != "buy" || it.Title != "Buy ads" || it.ApprovalID != "a-1" || it.ConfirmationID != "q1" || !it.Enforced || it.KnownAt.IsZero() || it.Findings[0].Text != "price of Product Strava: $40,000 → $52,000" ||
		!strings.Contains(it.Hopeless, "$40,000 → $52,000): after a yes now it can never run") || strings.Join(it.Can, " ") != "approve reject check" {
		t.Errorf("item %+v", it)
	}
	if data, err := json.Marshal(inspect.Inbox(nil)); err != nil || string(data) != "[]" {
		t.Errorf("an empty inbox is %s, %v", data, err)
	}
}

func TestOpenSessionsOfRows(t *testing.T) {
	s := newScript(t).asks()
	other := newScript(t)
	other.session.ID = "quiet"
	other.start("r9").row(record.UserMessageReceived, "root9", "", content(m{"text_summary": "hello"}))
	src := inspect.NewRows("rows", append(s.rows, other.rows...))
	open, err := inspect.OpenSessions(t.Context(), src, at(60))
	if err != nil || len(open) != 1 || open[0].Session.ID != "s-1" {
		t.Errorf("%d sessions, %v", len(open), err)
	}
	if none, err := inspect.OpenSessions(t.Context(), struct{ inspect.Source }{src}, at(60)); err != nil || none != nil {
		t.Errorf("a source that cannot say: %v, %v", none, err)
	}
}
