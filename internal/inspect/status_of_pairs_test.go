// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// renamed replaces the approval and the confirmation of the rows from n on: they are those of
// a second request for the same call.
func (s *script) renamed(n int) *script {
	other := strings.NewReplacer(`"a-1"`, `"a-2"`, `"q1"`, `"q2"`)
	for i := n; i < len(s.rows); i++ {
		for _, field := range []*[]byte{&s.rows[i].Content, &s.rows[i].Attributes} {
			*field = []byte(other.Replace(string(*field)))
		}
	}
	return s
}

func refusedFor(reason string) m { return m{"confirmed": true, "accepted": false, "reason": reason} }

// TestStatusIsNeverBetter holds that an approval is not shown as safe or executed by rows
// of another attempt, of another request, or in the place of rows that are lost.
func TestStatusIsNeverBetter(t *testing.T) {
	no := m{"confirmed": false, "accepted": false, "reason": "rejected"}
	yes := func(s *script) *script { return s.answers("r2", accepted).checks("answer", "safe", "root-r2") }
	ran := func(s *script) *script { return yes(s).executes("r2", "safe", record.ToolCompleted).over("r2") }
	tests := map[string]struct {
		rows *script
		want []inspect.Status
	}{
		// The tool of a call that was rejected gives a result, not an error.
		"taken back": {yes(newScript(t).asks()).answers("r3", no).executes("r3", "", record.ToolCompleted).over("r3"), []inspect.Status{inspect.StatusRejected}},
		"a no that was not taken": {yes(newScript(t).asks()).answers("r3", m{"confirmed": false, "accepted": false, "reason": "not_authorized"}).
			executes("r3", "", record.ToolCompleted).over("r3"), []inspect.Status{inspect.StatusSafe}},
		"sent again":                {ran(newScript(t).asks()).answers("r3", refusedFor("already_used")).executes("r3", "", record.ToolError, failed("refused")).over("r3"), []inspect.Status{inspect.StatusExecuted}},
		"sent again, the run lost":  {newScript(t).asks().answers("r3", refusedFor("already_used")), []inspect.Status{inspect.StatusInDoubt}},
		"about to run, then silent": {yes(newScript(t).asks()).checks("execution", "safe", "tool-r2"), []inspect.Status{inspect.StatusInDoubt}},
		"two runs at once": {yes(newScript(t).asks()).executes("r2", "safe", "").answers("r3", accepted).executes("r3", "safe", record.ToolError, failed("refused")).
			row(record.ToolCompleted, "tool-r2", "root-r2", content(m{"tool": "buy"}), adk(m{"call_id": "c1"}), func(e *record.Event) { e.RunID, e.TraceID = "r2", "trace-r2" }), []inspect.Status{inspect.StatusExecuted}},
		"asked twice for one call": {func() *script {
			s := newScript(t).asks().answers("r2", refusedFor("drift")).checks("answer", "drift", "root-r2").executes("r2", "", record.ToolError, failed("refused")).over("r2")
			n := len(s.rows)
			s.asks().answers("r3", accepted).checks("answer", "safe", "root-r3").executes("r3", "safe", record.ToolCompleted).over("r3")
			return s.renamed(n)
		}(), []inspect.Status{inspect.StatusDrift, inspect.StatusExecuted}},
		"the second request is lost": {func() *script {
			s := newScript(t).asks()
			n := len(s.rows)
			return ran(s).renamed(n)
		}(), []inspect.Status{inspect.StatusPending}},
		"drift after a failed check, its row lost": {newScript(t).asks().answers("r2", refusedFor("check_failed")).checks("answer", "check_failed", "root-r2").
			answers("r3", refusedFor("drift")), []inspect.Status{inspect.StatusDrift}},
		"a check that failed after a safe one, its row lost": {yes(newScript(t).asks()).answers("r3", refusedFor("check_failed")), []inspect.Status{inspect.StatusCheckFailed}},
		"blocked before":            {newScript(t).asks().answers("r2", refusedFor("blocked")), []inspect.Status{inspect.StatusDrift}},
		"rejected before":           {newScript(t).asks().answers("r2", refusedFor("rejected")), []inspect.Status{inspect.StatusRejected}},
		"expired, then sent again":  {newScript(t).asks().answers("r2", refusedFor("expired")).answers("r3", refusedFor("not_authorized")), []inspect.Status{inspect.StatusExpired}},
		"a yes that no guard took":  {newScript(t).asks().answers("r2", m{"confirmed": true}).checks("answer", "safe", "root-r2"), []inspect.Status{inspect.StatusPending}},
		"an answer of another mark": {newScript(t).asks().answers("r2", m{"confirmed": nil}), []inspect.Status{inspect.StatusPending}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.rows.see(at(60)).Approvals
			if len(got) != len(tt.want) {
				t.Fatalf("%d approvals, want %d", len(got), len(tt.want))
			}
			for i, a := range got {
				if a.Status != tt.want[i] {
					t.Errorf("%s is %s, want %s: %s", a.ID, a.Status, tt.want[i], a.Explanation)
				}
			}
		})
	}
}

// TestOlderLedger holds that a ledger that was read, or written last, before the rows does not
// make safe what they say is not, and that a state that is not known is not an open one.
func TestOlderLedger(t *testing.T) {
	approved := safety.Approval{ID: "a-1", Session: session, State: safety.StateApproved, Verdict: "safe", UpdatedAt: at(11), ExpiresAt: at(3600)}
	yes := func() *script { return newScript(t).asks().answers("r2", accepted).checks("answer", "safe", "root-r2") } // rows 9 to 11
	pending := approved
	pending.State, pending.Verdict, pending.UpdatedAt = safety.StatePending, "", at(7)
	permitted := approved
	permitted.State, permitted.PermitExpiresAt = safety.StatePermitted, at(600)
	unknown, unchecked := approved, approved
	unknown.State, unchecked.Verdict = "frozen", ""
	tests := map[string]struct {
		rows   *script
		ledger safety.Approval
		want   inspect.Status
	}{
		"drift":            {yes().executes("r2", "drift", record.ToolError, failed("refused")), approved, inspect.StatusDrift},
		"drift, permitted": {yes().executes("r2", "drift", record.ToolError, failed("refused")), permitted, inspect.StatusDrift},
		"check failed":     {yes().executes("r2", "check_failed", record.ToolError, failed("refused")), approved, inspect.StatusCheckFailed},
		"rejected":         {yes().answers("r3", m{"confirmed": false, "accepted": false, "reason": "rejected"}), approved, inspect.StatusRejected},
		"blocked":          {newScript(t).asks().answers("r2", refusedFor("drift")), pending, inspect.StatusDrift},
		"older rows":       {newScript(t).asks().answers("r2", refusedFor("check_failed")).checks("answer", "check_failed", "root-r2"), approved, inspect.StatusSafe},
		// That a call has a result does not say that its permit was used: a callback may have given it.
		"a result":  {yes().executes("r2", "safe", record.ToolCompleted), permitted, inspect.StatusSafe},
		"unknown":   {yes(), unknown, inspect.StatusInDoubt},
		"unchecked": {yes(), unchecked, inspect.StatusCheckFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if a := tt.rows.see(at(60), tt.ledger).Approvals[0]; a.Status != tt.want {
				t.Errorf("%s, want %s: %s", a.Status, tt.want, a.Explanation)
			}
		})
	}
}

// TestGuardedInputs are runs that the answers to guarded inputs began.
func TestGuardedInputs(t *testing.T) {
	ids := m{"call_id": "i1", "interrupt_id": "i1"}
	shown := m{"contextgraph": m{"approval_id": "a-1", "expires_at": at(3600)}}
	asks := func() *script {
		return newScript(t).start("r1").row(record.UserMessageReceived, "root1", "", content(m{"text_summary": "hi"})).
			row(record.HITLInputRequest, "h1", "root1", content(m{"args": m{"payload": shown}}), adk(ids)).row(record.InvocationCompleted, "root1", "")
	}
	answers := func(s *script, run string, accepted bool, reason string) *script {
		return s.start(run).row(record.HITLInputRequestCompleted, "root-"+run, "", content(m{"result": m{"n": 3}}),
			adk(m{"call_id": "i1", "interrupt_id": "i1", "approval_id": "a-1", "accepted": accepted, "reason": reason}))
	}
	refused := func() *script {
		return answers(asks(), "r2", false, "check_failed").checks("answer", "check_failed", "root-r2").row(record.InvocationError, "root-r2", "", failed("refused"))
	}
	again := func() *script { return answers(refused(), "r3", true, "").checks("answer", "safe", "root-r3") }
	tests := map[string]struct {
		rows *script
		want inspect.Status
	}{
		"refused":               {refused(), inspect.StatusCheckFailed},
		"executed at last":      {again().checks("execution", "safe", "root-r3").over("r3"), inspect.StatusExecuted},
		"under way":             {again().checks("execution", "safe", "root-r3"), inspect.StatusInDoubt},
		"drift at last":         {again().checks("execution", "drift", "root-r3").row(record.InvocationError, "root-r3", "", failed("refused")), inspect.StatusDrift},
		"failed":                {again().checks("execution", "safe", "root-r3").row(record.InvocationError, "root-r3", "", failed("boom")), inspect.StatusFailed},
		"no word of the guard":  {asks().start("r2").row(record.HITLInputRequestCompleted, "root-r2", "", content(m{"result": m{}}), adk(ids)).over("r2"), inspect.StatusPending},
		"another run went well": {again().checks("execution", "safe", "root-r3").start("r4").over("r4"), inspect.StatusInDoubt},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if a := tt.rows.see(at(60)).Approvals[0]; a.Status != tt.want {
				t.Errorf("%s, want %s: %s", a.Status, tt.want, a.Explanation)
			}
		})
	}
}

// TestCallsWithoutIDs holds that a run of a call is that of one request for it.
func TestCallsWithoutIDs(t *testing.T) {
	plain := func(e *record.Event) { e.RunID, e.RunSeq, e.Seq = "", 0, 0 }
	s := newScript(t).start("x")
	asked := func(result any) {
		s.row(record.HITLConfirmationRequest, "agent1", "root1", plain, content(m{"args": m{"originalFunctionCall": m{"name": "buy", "args": m{"n": 1}}}}))
		s.row(record.HITLConfirmationRequestCompleted, "root2", "", plain, content(m{"result": result}))
	}
	ran := func(span, end string) {
		s.row(record.ToolStarting, span, "root2", plain, content(m{"tool": "buy", "args": m{"n": 1}}))
		s.row(end, span, "root2", plain, content(m{"tool": "buy", "result": m{}}))
	}
	asked(m{"confirmed": true})
	ran("t1", record.ToolCompleted)
	asked(m{"response": `{"confirmed":true}`})
	ran("t2", record.ToolError)
	asked(m{"confirmed": false, "response": `{"confirmed":true}`}) // the framework reads the first
	asked(m{"response": `{"confirmed":true,"confirmed":1}`})
	want := []inspect.Status{inspect.StatusExecuted, inspect.StatusFailed, inspect.StatusRejected, inspect.StatusRejected}
	for i, a := range s.see(at(60)).Approvals {
		if a.Status != want[i] {
			t.Errorf("request %d is %s, want %s", i, a.Status, want[i])
		}
	}
}

// TestCallThatFitsSeveralRequests holds that a call of rows which name no calls belongs to the request that alone fits it, and to
// none where several do.
func TestCallThatFitsSeveralRequests(t *testing.T) {
	ask := func(s *script, id string, n int) *script {
		return s.row(record.HITLConfirmationRequest, "hitl-"+id, "root1", content(m{"tool": "adk_request_confirmation", "args": m{
			"originalFunctionCall": m{"name": "buy", "args": m{"n": n}}, "toolConfirmation": m{},
		}}), adk(m{"confirmation_id": id}))
	}
	yes := func(s *script, id string) *script {
		return s.row(record.HITLConfirmationRequestCompleted, "root-"+id, "", content(m{"tool": "adk_request_confirmation", "result": m{"confirmed": true}}),
			adk(m{"confirmation_id": id, "confirmed": true}))
	}
	ran := func(s *script, span string, n int) *script {
		return s.row(record.ToolStarting, span, "root1", content(m{"tool": "buy", "args": m{"n": n}})).
			row(record.ToolCompleted, span, "root1", content(m{"tool": "buy", "result": m{"id": 7}}))
	}
	for name, tt := range map[string]struct {
		rows *script
		want []inspect.Status
	}{
		"other arguments": {ran(yes(yes(ask(ask(newScript(t).start("r1"), "q1", 1), "q2", 2), "q1"), "q2"), "t1", 2),
			[]inspect.Status{inspect.StatusPending, inspect.StatusExecuted}},
		"one yes": {ran(yes(ask(ask(newScript(t).start("r1"), "q1", 1), "q2", 1), "q2"), "t1", 1),
			[]inspect.Status{inspect.StatusPending, inspect.StatusExecuted}},
		"one after the other": {ran(yes(ask(ran(yes(ask(newScript(t).start("r1"), "q1", 1), "q1"), "t1", 1), "q2", 1), "q2"), "t2", 1),
			[]inspect.Status{inspect.StatusExecuted, inspect.StatusExecuted}},
		"two that fit": {ran(yes(yes(ask(ask(newScript(t).start("r1"), "q1", 1), "q2", 1), "q1"), "q2"), "t1", 1),
			[]inspect.Status{inspect.StatusUnknown, inspect.StatusUnknown}},
		"two that fit, and two calls": {ran(ran(yes(yes(ask(ask(newScript(t).start("r1"), "q1", 1), "q2", 1), "q1"), "q2"), "t1", 1), "t2", 1),
			[]inspect.Status{inspect.StatusUnknown, inspect.StatusUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []inspect.Status
			for _, a := range tt.rows.see(at(60)).Approvals {
				got = append(got, a.Status)
				if a.Status == inspect.StatusUnknown && !strings.Contains(a.Explanation, "nothing says which of them it was for") {
					t.Errorf("%q", a.Explanation)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
