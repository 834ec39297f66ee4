// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// wantOutcome checks that an answer was not accepted, and in which state it left the
// approval.
func (b *bench) wantOutcome(out safety.Outcome, reason string, state safety.ApprovalState) {
	b.t.Helper()
	if out.Accepted || out.Reason != reason || b.state() != state {
		b.t.Errorf("accepted %t, reason %q, state %s; want reason %q, state %s", out.Accepted, out.Reason, b.state(), reason, state)
	}
	if state != safety.StateApproved {
		if p, _, err := b.permit(); p != nil || err == nil {
			b.t.Errorf("a permit was given in state %s", state)
		}
	}
}

// step is something that happens after a request. It says what came of it: "approved", "permitted",
// "runs", a code, or nothing if it is no decision.
type step func(*bench) string

func says(who string, ans safety.Answer) step {
	return func(b *bench) string {
		out := b.says(who, ans)
		if out.Accepted {
			return "approved"
		}
		b.wantOutcome(out, out.Reason, b.state())
		return out.Reason + besides(out.Report)
	}
}

// besides are the reasons of the failures of a check but for sources that are down.
func besides(r safety.Report) (out string) {
	for _, reason := range reasons(r) {
		if reason != safety.ReasonSourceDown {
			out += "+" + reason
		}
	}
	return out
}

func approves(who string) step { return says(who, safety.Answer{Confirmed: true}) }
func rejects(who string) step  { return says(who, safety.Answer{}) }

func overrides(who string) step {
	return says(who, safety.Answer{Confirmed: true, Override: "the shop confirmed by phone"})
}

// isPermitted gets a permit.
func isPermitted(b *bench) string {
	p, _, err := b.permit()
	b.held = p
	if refusal, ok := errors.AsType[*safety.Refusal](err); ok {
		return refusal.Code + besides(refusal.Report)
	}
	return "permitted"
}

// runs gets a permit and consumes it.
func runs(b *bench) string {
	if said := isPermitted(b); said != "permitted" {
		return said
	}
	if err := b.held.Consume(b.t.Context(), b.args); err != nil {
		return err.Error()
	}
	if b.held.Overridden() {
		return "runs overridden"
	}
	return "runs"
}

// ends records the end of the effect, although the run has ended.
func ends(effect error) step {
	return func(b *bench) string {
		ctx, cancel := context.WithCancel(b.t.Context())
		cancel()
		if err := b.held.Done(ctx, effect); err != nil {
			return "unrecorded"
		}
		return string(b.state())
	}
}

// resolves lets a person say how the effect ended.
func resolves(executed bool) step {
	return func(b *bench) string {
		a, err := b.guard.Resolve(b.t.Context(), nike, b.approval.ID, executed, "olga", "looked at\nthe ad server")
		switch {
		case errors.Is(err, safety.ErrConflict) && strings.Contains(err.Error(), string(b.state())):
			return "conflict"
		case err != nil:
			return err.Error()
		}
		return string(a.State)
	}
}

// do is a step that decides nothing.
func do(f func(*bench)) step {
	return func(b *bench) string {
		f(b)
		return ""
	}
}

func wait(d time.Duration) step { return do(func(b *bench) { b.clock.Add(d) }) }

func becomes(e entity.Canonical, name string, v entity.Value) step {
	return do(func(b *bench) { b.world.put(e, name, v) })
}

// fails makes the checker of a thing fail from now on; nil lets it answer again.
func fails(e entity.Canonical, err error) step {
	return do(func(b *bench) { b.world.down[e.Key] = err })
}

func isDown(e entity.Canonical) step { return fails(e, down) }

// approvers gives the tool a number of people who have to approve; three people may override.
func approvers(n int) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) {
		cfg.Identity = known
		cfg.Policy.Tools = map[string]config.ToolSettings{"provision_*": {Approvers: n, Override: []string{"eva", "tom", "ann"}}}
	}
}

// TestDecisions says what comes of answers and calls one after the other.
func TestDecisions(t *testing.T) {
	const (
		week     = 7 * 24 * time.Hour
		pending  = safety.StatePending
		approved = safety.StateApproved
		blocked  = safety.StateBlocked
	)
	dearer, back := becomes(strava, "price", usd("$52,000")), becomes(strava, "price", usd("$40,000"))
	gap := do(snapped(func(s *safety.Snapshot) { s.Gaps = []string{"a gap"} }))
	ship := do(snapped(func(s *safety.Snapshot) { s.Entities = append(s.Entities, thing("Ship", "Nautilus", nil)) }))
	content := func(who, content, override string) step {
		return says(who, safety.Answer{Confirmed: true, Content: content, Override: override})
	}
	anybody := func(cfg *safety.GuardConfig) {
		cfg.Policy.Tools = map[string]config.ToolSettings{"*": {Override: []string{"ana", "eva"}}}
	}
	twoUnknown := func(cfg *safety.GuardConfig) { cfg.Policy.Tools = map[string]config.ToolSettings{"*": {Approvers: 2}} }
	// Several rules for one tool add up to the strictest.
	several := func(cfg *safety.GuardConfig) {
		cfg.Identity = known
		cfg.Policy.Tools = map[string]config.ToolSettings{
			"provision_*": {Approvers: 2, Override: []string{"eva", "tom"}}, "*_campaign": {Override: []string{"Tom", "max"}}, "other": {Approvers: 9},
		}
	}
	anotherPolicy := do(func(b *bench) {
		b.cfg.Policy.Tools = nil
		b.guard = b.made()
	})
	// late makes a check take longer than the request waits.
	late := do(func(b *bench) { b.world.takes = week + time.Microsecond })
	for _, test := range []struct {
		name   string
		change func(*safety.GuardConfig)
		steps  []step
		want   string
		state  safety.ApprovalState
		checks int
	}{
		{"rejected, then approved", nil, []step{rejects(""), approves(""), rejects(""), isPermitted}, "rejected rejected rejected rejected", safety.StateRejected, 0},
		{"approved again", nil, []step{approves(""), approves(""), isPermitted, approves(""), rejects("")}, "approved approved permitted already_used already_used", safety.StatePermitted, 2},
		{"taken back", nil, []step{approves(""), rejects(""), approves("")}, "approved rejected rejected", safety.StateRejected, 1},
		{"drift at the answer, and back", nil, []step{dearer, approves(""), back, approves(""), isPermitted}, "drift blocked blocked", blocked, 1},
		{"drift at the call, and back", nil, []step{approves(""), dearer, isPermitted, back, isPermitted}, "approved drift blocked", blocked, 2},
		{"answered at the last moment", nil, []step{wait(week), approves(""), runs}, "approved runs", safety.StateExecuting, 2},
		{"answered too late", nil, []step{wait(week + 1), approves(""), approves(""), isPermitted}, "expired expired expired", safety.StateExpired, 0},
		{"called too late", nil, []step{approves(""), wait(week + 1), isPermitted, isPermitted}, "approved expired expired", safety.StateExpired, 1},
		{"called twice", nil, []step{approves(""), runs, runs}, "approved runs already_used", safety.StateExecuting, 2},
		{"an effect that ended", nil, []step{approves(""), runs, ends(nil), ends(nil), isPermitted}, "approved runs executed unrecorded already_used", safety.StateExecuted, 2},
		{"an effect that failed", nil, []step{approves(""), runs, ends(errors.New("503")), isPermitted}, "approved runs failed already_used", safety.StateFailed, 2},
		{"an effect that did not begin", nil, []step{approves(""), isPermitted, ends(nil)}, "approved permitted unrecorded", safety.StatePermitted, 2},
		{"resolved as done", nil, []step{approves(""), runs, resolves(true), resolves(true), ends(nil), isPermitted}, "approved runs executed conflict unrecorded already_used", safety.StateExecuted, 2},
		{"resolved as failed", nil, []step{approves(""), runs, resolves(false), resolves(false), ends(nil), isPermitted}, "approved runs failed conflict unrecorded already_used", safety.StateFailed, 2},
		{"resolved without a doubt", nil, []step{resolves(true), approves(""), resolves(true), isPermitted, resolves(true)}, "conflict approved conflict permitted conflict", safety.StatePermitted, 2},
		{"a clock that is set back a little", nil, []step{wait(-2 * time.Second), approves("")}, "approved", approved, 1},
		{"a clock that is set back behind the request", nil, []step{wait(-2*time.Second - 1), approves("")}, "check_failed+clock", pending, 1},
		{"a clock that is set back behind the approval", nil, []step{wait(time.Hour), approves(""), wait(-time.Hour), isPermitted}, "approved check_failed+clock", approved, 2},

		{"two have to approve", approvers(2), []step{approves("eva"), approves("EVA"), approves("bob"), isPermitted, approves("tom"), approves("eva"), approves("Tom"), approves("ann"), runs},
			"more_approvers more_approvers not_authorized not_approved approved approved approved not_pending runs", safety.StateExecuting, 4},
		{"one of two rejects", approvers(2), []step{approves("eva"), rejects("tom"), isPermitted}, "more_approvers rejected rejected", safety.StateRejected, 1},
		{"one of two takes it back", approvers(2), []step{approves("eva"), rejects("eva"), isPermitted}, "more_approvers rejected rejected", safety.StateRejected, 1},
		{"drift at the second answer", approvers(2), []step{approves("eva"), dearer, approves("tom"), isPermitted}, "more_approvers drift blocked", blocked, 2},
		{"a source that is down at the second answer", approvers(2), []step{approves("eva"), isDown(strava), approves("tom"), isPermitted}, "more_approvers check_failed not_approved", pending, 2},
		{"two with other payloads", approvers(2), []step{approves("eva"), content("tom", "another", ""), content("eva", "another", "")}, "more_approvers other_answer other_answer", pending, 1},
		{"one with another payload later", approvers(1), []step{content("eva", "one", ""), content("eva", "two", "")}, "approved approved", approved, 1},
		{"two who are not known", twoUnknown, []step{approves("")}, "not_authorized", pending, 0},
		{"several rules", several, []step{approves("ann"), isDown(strava), overrides("eva"), overrides("max"), overrides("tom")},
			"more_approvers not_authorized not_authorized check_failed", pending, 2},

		{"two override", approvers(1), []step{isDown(strava), approves("eva"), overrides("eva"), overrides("Eva"), overrides("tom"), runs, runs},
			"check_failed check_failed check_failed approved runs overridden already_used", safety.StateExecuting, 5},
		{"somebody without the right", approvers(1), []step{isDown(strava), overrides("max")}, "not_authorized", pending, 0},
		{"somebody unknown", anybody, []step{isDown(strava), overrides("")}, "not_authorized", pending, 0},
		{"with other payloads", approvers(1), []step{isDown(strava), content("eva", "one", "down"), content("tom", "two", "down"), content("tom", "one", "down"), content("eva", "two", "")},
			"check_failed other_answer approved other_answer", approved, 2},
		{"drift elsewhere", approvers(1), []step{isDown(strava), becomes(yahoo, "price", usd("$95,000")), overrides("eva"), overrides("tom"), isPermitted}, "drift blocked blocked", blocked, 1},
		{"drift of what is up", approvers(1), []step{dearer, overrides("eva"), overrides("tom")}, "drift blocked", blocked, 1},
		{"another error elsewhere", approvers(1), []step{isDown(strava), fails(yahoo, errors.New("status 404")), overrides("eva"), overrides("tom"), isPermitted}, "check_failed+error check_failed+error not_approved", pending, 2},
		{"no answer elsewhere", approvers(1), []step{isDown(strava), fails(yahoo, &safety.AnswerError{Reason: safety.ReasonEmptyAnswer, Err: errors.New("gone")}), overrides("eva"), overrides("tom")},
			"check_failed+empty_answer check_failed+empty_answer", pending, 2},
		{"a missing attribute elsewhere", approvers(1), []step{isDown(strava), becomes(yahoo, "availability", entity.Value{}), overrides("eva"), overrides("tom")}, "check_failed+missing_attribute check_failed+missing_attribute", pending, 2},
		{"a gap in the record", approvers(1), []step{isDown(strava), gap, overrides("eva"), overrides("tom")}, "check_failed+incomplete_record check_failed+incomplete_record", pending, 2},
		{"no record", approvers(1), []step{isDown(strava), do(func(b *bench) { b.record.err = errors.New("disk") }), overrides("eva"), overrides("tom")}, "check_failed+store check_failed+store", pending, 2},
		{"something that nobody can check", approvers(1), []step{isDown(strava), ship, overrides("eva"), overrides("tom")},
			"check_failed+no_checker check_failed+no_checker", pending, 2},
		{"overridden, and it is back", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), fails(strava, nil), runs}, "check_failed approved runs", safety.StateExecuting, 3},
		{"overridden, and it is back and changed", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), fails(strava, nil), dearer, isPermitted}, "check_failed approved drift", blocked, 3},
		{"overridden, and another is down too", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), isDown(yahoo), isPermitted}, "check_failed approved check_failed", approved, 3},
		{"overridden, and another is down instead", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), fails(strava, nil), isDown(yahoo), isPermitted}, "check_failed approved check_failed", approved, 3},
		{"overridden, and it fails otherwise", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), fails(strava, errors.New("status 404")), isPermitted}, "check_failed approved check_failed+error", approved, 3},
		{"overridden, and the record has a gap", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), gap, isPermitted}, "check_failed approved check_failed+incomplete_record", approved, 3},
		{"overridden, and another policy", approvers(1), []step{isDown(strava), overrides("eva"), overrides("tom"), anotherPolicy, isPermitted}, "check_failed approved check_failed+policy_changed", approved, 3},
		{"down after an approval", approvers(1), []step{approves("ann"), isDown(strava), isPermitted, overrides("eva"), isPermitted, overrides("tom"), runs},
			"approved check_failed check_failed check_failed approved runs overridden", safety.StateExecuting, 6},
		{"safe, and down later", approvers(1), []step{overrides("eva"), overrides("tom"), isDown(strava), isPermitted}, "approved approved check_failed", approved, 3},
		{"one of three approves, two override", approvers(3), []step{approves("max"), isDown(strava), overrides("eva"), overrides("tom")}, "more_approvers check_failed approved", approved, 3},
		{"two of three override, one approves", approvers(3), []step{isDown(strava), overrides("eva"), overrides("tom"), fails(strava, nil), approves("max")}, "check_failed more_approvers approved", approved, 3},
		{"overridden too late", approvers(1), []step{isDown(strava), overrides("eva"), late, overrides("tom")}, "check_failed expired", pending, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.change, strava, yahoo)
			b.asker = "bob"
			b.ask()
			var got []string
			for _, take := range test.steps {
				if said := take(b); said != "" {
					got = append(got, said)
				}
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if b.state() != test.state || len(b.reports) != test.checks {
				t.Errorf("state %s after %d checks; want %s after %d", b.state(), len(b.reports), test.state, test.checks)
			}
		})
	}
}

// Consents are kept with what each person said, and told.
func TestConsents(t *testing.T) {
	b := newBench(t, approvers(3), strava)
	b.asker = "bob"
	b.ask()
	if got := b.approval.Hint("buy"); !strings.Contains(got, "Approvers needed: 3. Requester: bob.") || b.approval.Shown()["approvers"] != 3 {
		t.Errorf("hint %q, shown %v", got, b.approval.Shown()["approvers"])
	}
	b.says("eva", safety.Answer{Confirmed: true})
	if out := b.says("eva", safety.Answer{Confirmed: true}); out.Detail != "eva approved already: eva approved; 1 of 3 people have" {
		t.Errorf("eva once more: %q", out.Detail)
	}
	if out := b.says("bob", safety.Answer{Confirmed: true}); !strings.HasPrefix(out.Detail, "bob asked: whoever asks for an approval may not give it") {
		t.Errorf("who asked: %q", out.Detail)
	}
	b.clock.Add(time.Minute)
	out := b.says("tom", safety.Answer{Confirmed: true})
	if out.Detail != "eva, tom approved; 2 of 3 people have" || out.Approval.Approver != "" || !out.Approval.DecidedAt.IsZero() || out.Approval.Missing() != 1 {
		t.Errorf("%+v", out)
	}
	out = b.says("ann", safety.Answer{Confirmed: true})
	want := []safety.Consent{{Who: "eva", At: epoch}, {Who: "tom", At: epoch.Add(time.Minute)}, {Who: "ann", At: epoch.Add(time.Minute)}}
	if diff := cmp.Diff(want, out.Approval.Consents); diff != "" || out.Approval.Approver != "ann" {
		t.Errorf("approved by %q, consents (-want +got):\n%s", out.Approval.Approver, diff)
	}
	if step := b.history()[1]; step.To != safety.StatePending || step.Actor != "eva" || step.Verdict != "safe" || !step.Authenticated || step.Override {
		t.Errorf("history %+v", step)
	}
}

func TestOverride(t *testing.T) {
	b := newBench(t, approvers(1), strava)
	b.asker = "bob"
	b.ask()
	b.world.down[strava.Key] = down
	override := safety.Answer{Confirmed: true, Override: "the shop confirmed by phone"}
	if out := b.says("max", override); !strings.Contains(out.Detail, "no right to override") || out.Report.ID() != "" {
		t.Errorf("%+v", out)
	}
	if out := b.says("eva", override); out.Detail != "eva overrides the check, and it takes another person with that right" {
		t.Errorf("detail %q", out.Detail)
	}
	if out := b.says("tom", safety.Answer{Confirmed: true, Override: "x", Content: "x"}); !strings.Contains(out.Detail, "that of eva") {
		t.Errorf("detail %q", out.Detail)
	}
	out := b.says("tom", override)
	want := []safety.Consent{
		{Who: "eva", At: epoch, Override: "the shop confirmed by phone", Unchecked: []string{"Product Strava Sponsored Routes"}},
		{Who: "tom", At: epoch, Override: "the shop confirmed by phone", Unchecked: []string{"Product Strava Sponsored Routes"}},
	}
	if diff := cmp.Diff(want, out.Approval.Consents); diff != "" || out.Report.Verdict() != safety.CheckFailed {
		t.Errorf("verdict %s, consents (-want +got):\n%s", out.Report.Verdict(), diff)
	}
	runs(b)
	if a := b.stored(); !a.Overridden || a.Verdict != "check_failed" {
		t.Errorf("overridden %t, verdict %q", a.Overridden, a.Verdict)
	}
	var notes []string
	for _, s := range b.history() {
		if s.Override {
			notes = append(notes, s.Note)
		}
	}
	const noted = `said yes although sources are down ("the shop confirmed by phone") in run run-2`
	if diff := cmp.Diff([]string{noted, noted, "sources are down; runs on the word of eva, tom"}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestReasonOfARejection says what becomes of the reason that a person gives.
func TestReasonOfARejection(t *testing.T) {
	for _, tt := range []struct {
		name          string
		ans           safety.Answer
		code          string
		because, note string
	}{
		{"a reason", safety.Answer{Because: " too expensive\n"}, safety.CodeRejected, "too expensive", `rejected ("too expensive") in run run-2`},
		{"a reason in lines", safety.Answer{Because: "no \"ads\"\nnow"}, safety.CodeRejected, "no \"ads\"\nnow", `rejected ("no 'ads' now") in run run-2`},
		{"a reason of blanks", safety.Answer{Because: " \n"}, safety.CodeRejected, "", "rejected in run run-2"},
		{"a wish says it all", safety.Answer{Because: "too expensive", Change: "less"}, safety.CodeChange, "", "rejected, with a wish for a change, in run run-2"},
		{"an approval has none", safety.Answer{Confirmed: true, Because: "cheap"}, "", "", "said yes in run run-2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for who, known := range map[string]string{"eva": "", "": " by the user of the session; nothing authenticated them"} {
				b := newBench(t, nil, strava)
				if who != "" {
					b = newBench(t, approvers(1), strava)
					b.asker = "bob"
				}
				b.ask()
				out := b.says(who, tt.ans)
				if out.Reason != tt.code || out.Because != tt.because || out.Detail != "" {
					t.Errorf("%s because %q, detail %q; want %s because %q", out.Reason, out.Because, out.Detail, tt.code, tt.because)
				}
				if got := b.history()[1].Note; got != tt.note+known {
					t.Errorf("noted %q, want %q", got, tt.note+known)
				}
				if out := b.says(who, safety.Answer{Because: "me too"}); tt.code != "" && out.Because != "" {
					t.Errorf("a second rejection says %q", out.Because)
				}
			}
		})
	}
}

func TestWordsAreBounded(t *testing.T) {
	long := strings.Repeat("x", safety.MaxWords+1)
	for name, word := range map[string]func(*safety.Answer) *string{
		"change":   func(ans *safety.Answer) *string { return &ans.Change },
		"reason":   func(ans *safety.Answer) *string { return &ans.Because },
		"override": func(ans *safety.Answer) *string { return &ans.Override },
	} {
		b := newBench(t, approvers(1), strava)
		b.ask()
		ans := safety.Answer{Confirmed: name == "override"}
		*word(&ans) = long
		out := b.says("eva", ans)
		b.wantOutcome(out, safety.CodeInvalid, safety.StatePending)
		if !strings.Contains(out.Detail, "2000 bytes") {
			t.Errorf("%s: %q", name, out.Detail)
		}
		*word(&ans) = long[1:]
		if out := b.says("eva", ans); out.Reason == safety.CodeInvalid {
			t.Errorf("%s of the greatest length: %+v", name, out)
		}
	}
}

func TestAnswerOfNobodysRequest(t *testing.T) {
	b := newBench(t, nil, strava)
	a := b.ask()
	nameless := a
	nameless.ID, nameless.Session.User, nameless.ConfirmationID = "nameless", "", "conf-3"
	if err := b.ledger.Create(t.Context(), nameless); err != nil {
		t.Fatal(err)
	}
	for name, ans := range map[string]safety.Answer{
		"unknown confirmation":   {Session: nike, ConfirmationID: "conf-2", Confirmed: true},
		"no confirmation":        {Session: nike, Confirmed: true},
		"no session":             {ConfirmationID: "conf-1", Confirmed: true},
		"another app":            {Session: record.Session{App: "x", User: nike.User, ID: nike.ID}, ConfirmationID: "conf-1", Confirmed: true},
		"another user":           {Session: record.Session{App: nike.App, User: "bob", ID: nike.ID}, ConfirmationID: "conf-1", Confirmed: true},
		"another session":        {Session: record.Session{App: nike.App, User: nike.User, ID: "x"}, ConfirmationID: "conf-1", Confirmed: true},
		"a session without user": {Session: nameless.Session, ConfirmationID: "conf-3", Confirmed: true},
		"the approval's id":      {Session: nike, ConfirmationID: a.ID, Confirmed: true},
	} {
		out, err := b.guard.Answer(t.Context(), ans)
		if err != nil || out.Approval.ID != "" {
			t.Errorf("%s: approval %q, error %v", name, out.Approval.ID, err)
		}
		b.wantOutcome(out, safety.CodeUnknownRequest, safety.StatePending)
	}
}

func TestAuthorizerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, all(realTime, authorized(func(context.Context, safety.AuthorizationRequest) (string, error) {
			time.Sleep(time.Hour)
			return "boss", nil
		})), seenNow(strava)...)
		b.ask()
		begun := time.Now()
		out := b.answer(true)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the answer took %v, want 5s", took)
		}
		b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
		time.Sleep(2 * time.Hour)
	})
}

// A rejection counts although the request was approved while it was looked at.
func TestRejectionDuringAnApproval(t *testing.T) {
	var b *bench
	b = newBench(t, authorized(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
		if !r.Confirmed && !b.answer(true).Accepted {
			b.t.Error("the approval was not accepted")
		}
		return "boss", nil
	}), strava)
	b.ask()
	b.wantOutcome(b.answer(false), safety.CodeRejected, safety.StateRejected)
}

// TestLostRace lets somebody else be first. The same answer of the same approver at the same time
// is one decision, however often it comes; that of somebody else is not.
func TestLostRace(t *testing.T) {
	approved := func(a *safety.Approval) error {
		a.State, a.Approver, a.Consents = safety.StateApproved, "eva", []safety.Consent{{Who: "eva"}}
		return nil
	}
	rejected := func(a *safety.Approval) error {
		a.State = safety.StateRejected
		return nil
	}
	lost := func(*safety.Approval) error { return errInjected }
	approves, overrides := safety.Answer{Confirmed: true}, safety.Answer{Confirmed: true, Override: "down"}
	for name, test := range map[string]struct {
		who  string
		ans  safety.Answer
		won  func(*safety.Approval) error
		want string // "" if the answer is accepted
		err  error
	}{
		"the same approver":            {"eva", approves, approved, "", nil},
		"another approver":             {"tom", approves, approved, safety.CodeNotPending, nil},
		"an override":                  {"eva", overrides, approved, safety.CodeNotPending, nil},
		"a rejection, and the first":   {"eva", safety.Answer{Because: "too expensive"}, rejected, safety.CodeRejected, nil},
		"nobody can say who was first": {"eva", approves, lost, safety.CodeStore, errInjected},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, approvers(1), strava)
			b.ask()
			if test.ans.Override != "" {
				b.world.down[strava.Key] = down
			}
			g := b.with(altered{Ledger: b.ledger, get: test.won, transition: func(safety.Transition, func() (safety.Approval, error)) (safety.Approval, error) {
				return safety.Approval{}, safety.ErrConflict
			}})
			ans := test.ans
			ans.Session, ans.ConfirmationID = nike, "conf-1"
			out, err := g.Answer(as(t, test.who), ans)
			if out.Accepted != (test.want == "") || out.Reason != test.want || out.Because != "" || !errors.Is(err, test.err) {
				t.Errorf("%+v, %v; want %s, %v", out, err, test.want, test.err)
			}
		})
	}
}

// However many people answer at once, three are counted once each.
func TestConcurrentApprovers(t *testing.T) {
	b := newBench(t, approvers(3), strava)
	b.asker = "bob"
	b.ask()
	outs := make(chan safety.Outcome)
	who := []string{"eva", "tom", "ann", "EVA", "Tom", "ANN", "bob"}
	for _, name := range who {
		go func() { outs <- b.says(name, safety.Answer{Confirmed: true}) }()
	}
	accepted := 0
	for range who {
		if out := <-outs; out.Accepted {
			accepted++
		}
	}
	if a := b.stored(); a.State != safety.StateApproved || len(a.Consents) != 3 || accepted == 0 {
		t.Errorf("%s with %v, %d accepted", a.State, a.Consents, accepted)
	}
}

// Nothing is decided, and nothing reported, without a clock.
func TestWithoutClock(t *testing.T) {
	pending, approved := newBench(t, nil, strava), newBench(t, nil, strava).approved()
	pending.ask()
	for name, times := range map[string][]time.Time{
		"at once":          {{}},
		"before the check": {epoch, {}},
	} {
		pending.cfg.Now, approved.cfg.Now = clockOf(times...), clockOf(times...)
		out, err := pending.made().Answer(t.Context(), yes)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		pending.wantOutcome(out, safety.CodeClock, safety.StatePending)
		p, _, err := approved.made().Permit(t.Context(), approved.execution())
		wantRefusal(t, err, safety.CodeClock)
		if p != nil {
			t.Errorf("%s: a permit", name)
		}
	}
	reports := len(pending.reports)
	pending.cfg.Now = clockOf(time.Time{})
	g := pending.made()
	unlisted := pending.with(altered{Ledger: pending.ledger, list: func() error { return errInjected }})
	for name, check := range map[string]func() (safety.Report, error){
		"a session with a request": func() (safety.Report, error) { return g.Check(t.Context(), nike) },
		"a request":                func() (safety.Report, error) { return g.Observe(t.Context(), nike, pending.approval.ID) },
		"a ledger that fails":      func() (safety.Report, error) { return unlisted.Check(t.Context(), nike) },
		"a session": func() (safety.Report, error) {
			return g.Check(t.Context(), record.Session{App: "a", User: "b", ID: "c"})
		},
	} {
		if r, err := check(); err == nil || r.IsSafeToApprove() || len(pending.reports) != reports {
			t.Errorf("%s: error %v, %d reports", name, err, len(pending.reports)-reports)
		}
	}
}
