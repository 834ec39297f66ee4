// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestLifecycle(t *testing.T) {
	b := newBench(t, nil, yahoo, strava, budget)
	a := b.ask()
	want := safety.Approval{
		ID: a.ID, Session: nike, CallID: "call-1", Tool: "provision_campaign", Agent: "media_planner", InvocationID: "inv-1", RunID: "run-1",
		DecisionNode: "node-1", Answer: "answer-1", After: "after-1", TraceID: "trace-1", SpanID: "span-1",
		ArgsDigest: a.ArgsDigest, Args: []byte(`{"campaign":"summer","total":200000}`),
		Entities: []entity.Canonical{yahoo, strava, budget}, Fingerprint: safety.Fingerprint([]entity.Canonical{budget, strava, yahoo}),
		PolicyVersion: safety.VersionOf(config.Guard{Tools: actsOnNothing(nil)}), Receipt: record.Receipt{Watermark: 12, RowsRead: 10, Version: "rules"},
		Requester: "ana", Approvers: 1, NotChecked: []string{"campaign", "total"}, RequestedAt: epoch, ExpiresAt: epoch.Add(7 * 24 * time.Hour), State: safety.StatePending, UpdatedAt: epoch,
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("Ask (-want +got):\n%s", diff)
	}
	if digest, _, _ := safety.ArgsDigest(b.args); len(a.ID) != 32 || a.ArgsDigest != digest {
		t.Errorf("id %q, digest %q", a.ID, a.ArgsDigest)
	}

	b.clock.Add(time.Hour)
	out := b.answer(true)
	wantSafe(t, out.Report)
	if !out.Accepted || out.Reason != "" || out.Approval.State != safety.StateApproved || out.Approval.Approver != "ana" ||
		!out.Approval.DecidedAt.Equal(epoch.Add(time.Hour)) || out.Approval.Verdict != "safe" ||
		out.Report.ApprovalID() != a.ID || out.Report.Fingerprint() != a.Fingerprint || out.Report.PolicyVersion() != a.PolicyVersion {
		t.Errorf("Answer: %+v", out)
	}
	// The ledger gives back less than that.
	if out.Approval.Args == nil || len(out.Approval.Entities) != 3 {
		t.Errorf("%d entities, arguments %s", len(out.Approval.Entities), out.Approval.Args)
	}
	if stored := string(out.Approval.Report); !strings.Contains(stored, out.Report.ID()) {
		t.Errorf("stored report %s is not report %s", stored, out.Report.ID())
	}

	b.clock.Add(time.Hour)
	p, r, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	wantSafe(t, r)
	if p.ApprovalID() != a.ID || !p.ExpiresAt().Equal(epoch.Add(2*time.Hour+30*time.Second)) || b.state() != safety.StatePermitted {
		t.Errorf("permit of %s until %v, state %s", p.ApprovalID(), p.ExpiresAt(), b.state())
	}
	if !r.StartedAt().Equal(epoch.Add(2*time.Hour)) || !r.CheckedAt().Equal(epoch.Add(2*time.Hour)) {
		t.Errorf("checked from %v to %v", r.StartedAt(), r.CheckedAt())
	}
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	if stored := b.stored(); !stored.InDoubt() || stored.PermitRun != "run-2" || len(stored.PermitNonce) != 32 {
		t.Errorf("while it runs: %+v", stored)
	}
	if err := p.Done(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(b.reports) != 2 {
		t.Errorf("%d reports, want one at the answer and one before the call", len(b.reports))
	}
	asked := record.Decision{Node: "node-1", Answer: "answer-1", Run: "run-1", After: "after-1", Tool: "provision_campaign", Args: `{"campaign":"summer","total":200000}`}
	checked := asked
	checked.UpTo = 12
	if want := []record.Decision{asked, checked, checked}; !slices.Equal(b.record.seen, want) {
		t.Errorf("record read for %+v, want %+v", b.record.seen, want)
	}
}

// TestHistory holds every step of a request: by whom or in which run, on what verdict, how anybody
// knows them, and what is noted.
func TestHistory(t *testing.T) {
	// odd cannot be compared: the check fails.
	odd, back, changed := becomes(strava, "price", entity.Text("?")), becomes(strava, "price", usd("$40,000")), becomes(strava, "price", usd("$1"))
	olga := authorized(func(context.Context, safety.AuthorizationRequest) (string, error) { return "olga", nil })
	const byUser = " in run run-2 by the user of the session; nothing authenticated them"
	for name, test := range map[string]struct {
		change func(*safety.GuardConfig)
		steps  []step
		want   []string // all but the first
	}{
		"carried out": {nil, []step{odd, approves(""), back, approves(""), odd, isPermitted, back, runs, ends(nil)}, []string{
			"pending, pending, ana, run-2, check_failed: said yes" + byUser, "pending, approved, ana, run-2, safe: said yes" + byUser,
			"approved, approved, run-2, run-2, check_failed: check before execution failed", "approved, permitted, run-2, run-2, safe: unchanged before execution",
			"permitted, executing, run-2, run-2", "executing, executed, run-2, run-2",
		}},
		"by somebody known": {olga, []step{odd, approves(""), back, approves(""), runs, ends(errors.New("ad server: 503\nretry later"))}, []string{
			"pending, pending, olga, run-2, check_failed, authenticated: said yes in run run-2", "pending, approved, olga, run-2, safe, authenticated: said yes in run run-2",
			"approved, permitted, run-2, run-2, safe: unchanged before execution", "permitted, executing, run-2, run-2",
			"executing, failed, run-2, run-2: ad server: 503 retry later",
		}},
		"resolved": {olga, []step{approves(""), runs, resolves(true)}, []string{
			"pending, approved, olga, run-2, safe, authenticated: said yes in run run-2", "approved, permitted, run-2, run-2, safe: unchanged before execution",
			"permitted, executing, run-2, run-2", "executing, executed, olga, , resolved: looked at the ad server",
		}},
		"rejected":            {nil, []step{rejects("")}, []string{"pending, rejected, ana, run-2: rejected" + byUser}},
		"drift at the answer": {nil, []step{changed, approves("")}, []string{"pending, blocked, ana, run-2, drift: said yes" + byUser}},
		"too late":            {nil, []step{wait(8 * 24 * time.Hour), approves("")}, []string{"pending, expired, run-2, run-2: expired"}},
		"drift at the call": {olga, []step{approves(""), changed, isPermitted}, []string{
			"pending, approved, olga, run-2, safe, authenticated: said yes in run run-2", "approved, blocked, run-2, run-2, drift: changed before execution",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.change, strava)
			b.ask()
			for _, take := range test.steps {
				take(b)
			}
			var got []string
			checks := b.reports
			for _, s := range b.history() {
				line := fmt.Sprintf("%s, %s, %s, %s", s.From, s.To, s.Actor, s.Run)
				if s.Verdict != "" {
					line += ", " + s.Verdict
					if s.Check != checks[0].ID() {
						t.Errorf("%s: check %s, want %s", line, s.Check, checks[0].ID())
					}
					checks = checks[1:]
				}
				if s.Authenticated {
					line += ", authenticated"
				}
				if s.Resolved {
					line += ", resolved"
				}
				if s.Note != "" {
					line += ": " + s.Note
				}
				if !s.At.Equal(b.clock.Now()) && len(got) > 0 {
					t.Errorf("%s: at %v", line, s.At)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(append([]string{", pending, ana, run-1"}, test.want...), got); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAskRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*bench, *safety.Request){
		"app":       func(_ *bench, r *safety.Request) { r.Session.App = "" },
		"user":      func(_ *bench, r *safety.Request) { r.Session.User = "" },
		"session":   func(_ *bench, r *safety.Request) { r.Session.ID = "" },
		"call":      func(_ *bench, r *safety.Request) { r.CallID = "" },
		"tool":      func(_ *bench, r *safety.Request) { r.Tool = "" },
		"run":       func(_ *bench, r *safety.Request) { r.RunID = "" },
		"arguments": func(_ *bench, r *safety.Request) { r.Args = map[string]any{"x": func() {}} },
		"record":    func(b *bench, _ *safety.Request) { b.record.err = errors.New("disk") },
		"clock":     func(b *bench, _ *safety.Request) { b.clock.now = time.Time{} },
	} {
		b := newBench(t, nil, strava)
		r := b.request()
		spoil(b, &r)
		a, err := b.guard.Ask(t.Context(), r)
		if err == nil || a.ID != "" || a.State != "" {
			t.Errorf("%s: approval %q in state %q, error %v", name, a.ID, a.State, err)
		}
		if stored, err := b.ledger.List(t.Context(), safety.Query{Session: nike}); err != nil || len(stored) != 0 {
			t.Errorf("%s: %d approvals stored, error %v", name, len(stored), err)
		}
	}
}

func TestShown(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	want := map[string]any{
		"approval_id": a.ID, "tool": "provision_campaign", "agent": "media_planner", "args_digest": a.ArgsDigest, "fingerprint": a.Fingerprint,
		"requested_at": "2026-01-19T11:00:13Z", "expires_at": "2026-01-26T11:00:13Z",
		"requester": map[string]any{"name": "ana", "authenticated": false}, "approvers": 1, "not_checked": []any{"campaign", "total"},
		"entities": []any{map[string]any{
			"type": "Product", "value": "Strava Sponsored Routes", "confidence": 0.95, "seen_at": "2026-01-19T11:00:03Z", "age": "10s",
			"attributes": map[string]any{"price": "$40,000", "availability": "available"},
		}},
		"warnings": []any{},
	}
	if diff := cmp.Diff(want, a.Shown()); diff != "" {
		t.Errorf("Shown (-want +got):\n%s", diff)
	}
	a.Receipt.Notes = []string{"rule \"x\" found\nnothing"}
	if diff := cmp.Diff([]any{"rule \"x\" found nothing"}, a.Shown()["notes"]); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	a.Entities, a.Receipt.Failed, a.Receipt.Truncated, a.Gaps = nil, 1, 2, []string{"a gap"}
	if got := a.Shown()["warnings"].([]any); len(got) != 4 {
		t.Errorf("warnings %q, want 4", got)
	}
	if got := (safety.Approval{}).Shown()["warnings"].([]any); len(got) != 2 {
		t.Errorf("warnings of the zero approval %q, want 2", got)
	}
}

func TestObserve(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	b.world.put(strava, "price", usd("$52,000"))
	r, err := b.guard.Observe(t.Context(), nike, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantDrift(t, r, safety.PriceChanged)
	if b.state() != safety.StatePending {
		t.Errorf("Observe left the approval %s", b.state())
	}
	other := nike
	other.User = "bob"
	for name, of := range map[string]safety.Execution{"unknown": {Session: nike, ApprovalID: "x"}, "none": {Session: nike}, "another user": {Session: other, ApprovalID: a.ID}} {
		if _, err := b.guard.Observe(t.Context(), of.Session, of.ApprovalID); !errors.Is(err, safety.ErrNotFound) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestPermitIsForOneCall(t *testing.T) {
	for name, test := range map[string]struct {
		code  string
		spoil func(*safety.Execution)
	}{
		"no session":         {safety.CodeInvalid, func(e *safety.Execution) { e.Session = record.Session{} }},
		"no approval":        {safety.CodeInvalid, func(e *safety.Execution) { e.ApprovalID = "" }},
		"no call":            {safety.CodeInvalid, func(e *safety.Execution) { e.CallID = "" }},
		"no tool":            {safety.CodeInvalid, func(e *safety.Execution) { e.Tool = "" }},
		"no run":             {safety.CodeInvalid, func(e *safety.Execution) { e.RunID = "" }},
		"unknown approval":   {safety.CodeUnknownRequest, func(e *safety.Execution) { e.ApprovalID = "x" }},
		"another app":        {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.App = "x" }},
		"another user":       {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.User = "x" }},
		"another session":    {safety.CodeUnknownRequest, func(e *safety.Execution) { e.Session.ID = "x" }},
		"another call":       {safety.CodeOtherCall, func(e *safety.Execution) { e.CallID = "call-2" }},
		"another tool":       {safety.CodeOtherCall, func(e *safety.Execution) { e.Tool = "delete_campaign" }},
		"another agent":      {safety.CodeOtherCall, func(e *safety.Execution) { e.Agent = "root_agent" }},
		"other arguments":    {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args = map[string]any{"total": 1.0} }},
		"no arguments":       {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args = nil }},
		"one more argument":  {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["x"] = nil }},
		"a text for a value": {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["total"] = "200000" }},
		"bad arguments":      {safety.CodeArgsChanged, func(e *safety.Execution) { e.Args["x"] = math.NaN() }},
	} {
		b := newBench(t, nil, strava).approved()
		calls := b.world.calls
		e := b.execution()
		test.spoil(&e)
		p, r, err := b.guard.Permit(t.Context(), e)
		wantRefusal(t, err, test.code)
		if p != nil || r.ID() != "" || b.world.calls != calls || b.state() != safety.StateApproved {
			t.Errorf("%s: permit %v, report %q, %d checks, state %s", name, p, r.ID(), b.world.calls-calls, b.state())
		}
	}
	b := newBench(t, nil, strava).approved()
	e := b.execution()
	e.Args = map[string]any{"total": 200000, "campaign": "summer"} // an int, another order
	if _, _, err := b.guard.Permit(t.Context(), e); err != nil {
		t.Errorf("the same arguments: %v", err)
	}
}

// atOnce calls f a hundred times at the same time. It must return nil once, and else that the
// approval was used.
func atOnce(t *testing.T, f func() error) {
	t.Helper()
	const n = 100
	errs := make(chan error, n)
	gate := make(chan struct{})
	for range n {
		go func() {
			<-gate
			errs <- f()
		}()
	}
	close(gate)
	succeeded := 0
	for range n {
		if err := <-errs; err == nil {
			succeeded++
		} else {
			wantRefusal(t, err, safety.CodeAlreadyUsed)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d of %d at the same time succeeded", succeeded, n)
	}
}

// Many runs carry out the same approval at the same time: one gets the permit.
func TestPermitsRace(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	atOnce(t, func() error {
		p, _, err := b.guard.Permit(t.Context(), b.execution())
		if err == nil {
			err = p.Consume(t.Context(), b.args)
		}
		return err
	})
	if b.state() != safety.StateExecuting {
		t.Errorf("state %s", b.state())
	}
}

func TestConsumeRefuses(t *testing.T) {
	consume := func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), b.args) }
	at := func(d time.Duration) func(*bench, *safety.Permit) error {
		return func(b *bench, p *safety.Permit) error {
			b.clock.Add(d)
			return consume(b, p)
		}
	}
	with := func(args map[string]any) func(*bench, *safety.Permit) error {
		return func(b *bench, p *safety.Permit) error { return p.Consume(b.t.Context(), args) }
	}
	for name, test := range map[string]struct {
		code string // "" if the permit can be used
		do   func(*bench, *safety.Permit) error
	}{
		"other arguments":    {safety.CodeArgsChanged, with(map[string]any{"campaign": "summer", "total": 300000.0})},
		"no arguments":       {safety.CodeArgsChanged, with(nil)},
		"bad arguments":      {safety.CodeArgsChanged, with(map[string]any{"x": 1i})},
		"at the last moment": {"", at(30 * time.Second)},
		"expired":            {safety.CodeExpired, at(30*time.Second + 1)},
		"clock set back":     {safety.CodeClock, at(-1)},
		"no clock": {safety.CodeClock, func(b *bench, p *safety.Permit) error {
			b.clock.now = time.Time{}
			return consume(b, p)
		}},
		"end of the run": {safety.CodeCanceled, func(b *bench, p *safety.Permit) error {
			ctx, cancel := context.WithCancel(b.t.Context())
			cancel()
			return p.Consume(ctx, b.args)
		}},
		"taken back in the ledger": {safety.CodeAlreadyUsed, func(b *bench, p *safety.Permit) error {
			_, err := b.ledger.Transition(b.t.Context(), safety.Transition{
				ID: p.ApprovalID(), From: []safety.ApprovalState{safety.StatePermitted}, To: safety.StateExpired, At: epoch,
			})
			return errors.Join(err, consume(b, p))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, strava)
			p := b.permitted()
			err := test.do(b, p)
			if test.code == "" {
				if err != nil || b.state() != safety.StateExecuting {
					t.Errorf("state %s, %v", b.state(), err)
				}
				return
			}
			refusal, _ := errors.AsType[*safety.Refusal](err)
			if refusal == nil || refusal.Code != test.code || refusal.Tool != "provision_campaign" || refusal.ApprovalID != b.approval.ID {
				t.Errorf("refused with %v, want %s", err, test.code)
			}
			if s := b.state(); s == safety.StateExecuting {
				t.Errorf("state %s", s)
			}
			// What failed once does not come back.
			b.clock.now = epoch
			wantRefusal(t, consume(b, p), safety.CodeAlreadyUsed)
			if err := p.Done(t.Context(), nil); err == nil {
				t.Error("done without having been consumed")
			}
		})
	}
}

// The age of a check counts from its start: a check that takes longer than it is good
// for gives a permit that cannot be used.
func TestSlowCheckGivesNoTime(t *testing.T) {
	b := newBench(t, nil, strava).approved()
	b.world.takes = 30*time.Second + time.Microsecond
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, p.Consume(t.Context(), b.args), safety.CodeExpired)
}

func TestResolveRefuses(t *testing.T) {
	bob := nike
	bob.User = "bob"
	for name, test := range map[string]struct {
		session record.Session
		id, who string
		found   bool // whether anything was looked for
	}{
		"no session":      {who: "olga"},
		"no approval":     {session: nike, id: "-", who: "olga"},
		"nobody":          {session: nike},
		"a blank name":    {session: nike, who: " \n"},
		"another session": {session: bob, who: "olga", found: true},
		"unknown":         {session: nike, id: "unknown", who: "olga", found: true},
	} {
		b := newBench(t, nil, strava).approved()
		runs(b)
		id := map[string]string{"": b.approval.ID, "-": "", "unknown": "unknown"}[test.id]
		_, err := b.guard.Resolve(t.Context(), test.session, id, false, test.who, "")
		if err == nil || errors.Is(err, safety.ErrNotFound) != test.found || errors.Is(err, safety.ErrConflict) || b.state() != safety.StateExecuting {
			t.Errorf("%s: %v, left %s", name, err, b.state())
		}
	}
}

// A person resolves a call in doubt by an answer. It has to be somebody who may approve, with a reason, while nothing of
// it runs. Anything else changes nothing.
func TestResolveByAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		who            string
		change         func(*safety.Answer)
		ended, running bool
		panics         bool
		fault          error
		code           string
		want           safety.ApprovalState
		detail         string
	}{
		"happened":      {code: safety.CodeHappened, want: safety.StateExecuted},
		"did not":       {change: func(a *safety.Answer) { a.Resolve = safety.CodeDidNotHappen }, code: safety.CodeDidNotHappen, want: safety.StateFailed},
		"the requester": {who: "bob", code: safety.CodeNotAuthorized, want: safety.StateExecuting, detail: "may not give it"},
		"no reason":     {change: func(a *safety.Answer) { a.Because = " " }, code: safety.CodeInvalid, want: safety.StateExecuting, detail: "say happened or did_not_happen"},
		"too long":      {change: func(a *safety.Answer) { a.Because = strings.Repeat("x", 2001) }, code: safety.CodeInvalid, want: safety.StateExecuting, detail: "at most 2000 bytes"},
		"another word":  {change: func(a *safety.Answer) { a.Resolve = "perhaps" }, code: safety.CodeInvalid, want: safety.StateExecuting, detail: "say happened"},
		"with a yes":    {change: func(a *safety.Answer) { a.Confirmed = true }, code: safety.CodeInvalid, want: safety.StateExecuting, detail: "do not approve"},
		"it runs":       {running: true, code: safety.CodeNotPending, want: safety.StateExecuting, detail: "under way"},
		"a panic":       {panics: true, code: safety.CodeInternal, want: safety.StateExecuting},
		"it ended":      {ended: true, code: safety.CodeNotPending, want: safety.StateExecuted, detail: "not in doubt"},
		"at that time":  {fault: safety.ErrConflict, code: safety.CodeNotPending, want: safety.StateExecuting, detail: "conflict"},
		"a full disk":   {fault: errors.New("the disk is full"), code: safety.CodeStore, want: safety.StateExecuting},
	} {
		t.Run(name, func(t *testing.T) {
			var fault error
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Identity = known
				cfg.Running = func(s record.Session, run string) bool {
					if test.panics {
						panic("boom")
					}
					return test.running && s == nike && run == "run-2"
				}
				cfg.Ledger = altered{Ledger: cfg.Ledger, transition: func(_ safety.Transition, do func() (safety.Approval, error)) (safety.Approval, error) {
					if fault != nil {
						return safety.Approval{}, fault
					}
					return do()
				}}
			}, strava)
			b.asker = "bob"
			b.ask()
			if out := b.says("eva", safety.Answer{Confirmed: true}); !out.Accepted {
				t.Fatal(out.Reason)
			}
			runs(b)
			if test.ended {
				if err := b.held.Done(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			fault = test.fault
			ans := safety.Answer{Session: nike, ConfirmationID: "conf-1", RunID: "run-3", Resolve: safety.CodeHappened, Because: "asked\nthe shop"}
			if test.change != nil {
				test.change(&ans)
			}
			who := "tom"
			if test.who != "" {
				who = test.who
			}
			out, err := b.guard.Answer(as(t, who), ans)
			if out.Reason != test.code || out.Accepted || b.state() != test.want || !strings.Contains(out.Detail, test.detail) || (err != nil) != (test.code == safety.CodeStore || test.panics) {
				t.Fatalf("reason %q, detail %q, state %s, error %v", out.Reason, out.Detail, b.state(), err)
			}
			last := b.history()[len(b.history())-1]
			resolved := test.code == ans.Resolve
			if last.Resolved != resolved || resolved && (last.Actor != "tom" || !last.Authenticated || last.Run != "run-3" || !strings.HasPrefix(last.Note, `resolved ("asked`) || !strings.HasSuffix(last.Note, `the shop") in run run-3`) || out.Because != "asked\nthe shop") {
				t.Errorf("the history ends with %+v", last)
			}
		})
	}
}

// The preconditions are those of the check before the effect, not of the one before the approval,
// of what was compared in it and has a version. There are none until the permit is consumed.
func TestPreconditions(t *testing.T) {
	audience := thing("Targeting", "Athletes", values{"reach": number(1)})
	b := newBench(t, all(
		ofType("Targeting", config.TypePolicy{Optional: true}),
		checking("Targeting", answer(safety.State{Attributes: audience.Attributes, AsOf: epoch, Version: `"9"`}, errors.New("beside a failure"))),
	), yahoo, strava, budget, audience)
	revise := func(e entity.Canonical, version string) {
		s := b.world.states[e.Key]
		s.Version = version
		b.world.states[e.Key] = s
	}
	revise(yahoo, `"1"`)
	revise(strava, `"1"`)
	revise(budget, "") // its source has none
	b.approved()
	revise(strava, `"2"`)
	p, _, err := b.permit()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Preconditions(); got != nil {
		t.Errorf("preconditions before the permit is consumed: %v", got)
	}
	revise(yahoo, `"3"`) // after the check: what the effect has to notice
	if err := p.Consume(t.Context(), b.args); err != nil {
		t.Fatal(err)
	}
	want := []safety.Precondition{
		{EntityType: "Product", Entity: yahoo.Value, Key: yahoo.Key, Version: `"1"`},
		{EntityType: "Product", Entity: strava.Value, Key: strava.Key, Version: `"2"`},
	}
	got := p.Preconditions()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
	got[0].Version = "changed by the caller"
	if err := p.Done(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.Preconditions()); diff != "" {
		t.Errorf("preconditions after the end (-want +got):\n%s", diff)
	}

	overridden := newBench(t, approvers(1), yahoo, strava)
	overridden.asker = "bob"
	overridden.ask()
	for _, do := range []step{isDown(strava), overrides("eva"), overrides("tom"), runs} {
		do(overridden)
	}
	want = []safety.Precondition{
		{EntityType: "Product", Entity: yahoo.Value, Key: yahoo.Key, Version: "v1"},
		{EntityType: "Product", Entity: strava.Value, Key: strava.Key, Overridden: true},
	}
	if diff := cmp.Diff(want, overridden.held.Preconditions()); diff != "" {
		t.Errorf("preconditions of an overridden check (-want +got):\n%s", diff)
	}

	refused := newBench(t, nil, strava).permitted()
	if err := refused.Consume(t.Context(), map[string]any{"other": true}); err == nil {
		t.Fatal("consumed with other arguments")
	}
	for name, p := range map[string]*safety.Permit{"not consumed": refused, "nil": nil, "zero": {}} {
		if got := p.Preconditions(); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A state is final if it leads nowhere.
func TestFinal(t *testing.T) {
	for state, want := range map[safety.ApprovalState]bool{
		safety.StatePending: false, safety.StateApproved: false, safety.StatePermitted: false, safety.StateExecuting: false,
		safety.StateRejected: true, safety.StateExpired: true, safety.StateBlocked: true, safety.StateExecuted: true, safety.StateFailed: true,
	} {
		if state.Final() != want {
			t.Errorf("%s: %t, want %t", state, state.Final(), want)
		}
	}
}
