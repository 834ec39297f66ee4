// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestReasonOfARejection(t *testing.T) {
	for _, tt := range []struct {
		name          string
		ans           safety.Answer
		code          string
		because, note string
	}{
		{"a reason", safety.Answer{Because: " too expensive\n"}, safety.CodeRejected, "too expensive", `rejected ("too expensive") in run run of eva`},
		{"a reason in lines", safety.Answer{Because: "no \"ads\"\nnow"}, safety.CodeRejected, "no \"ads\"\nnow", `rejected ("no 'ads' now") in run run of eva`},
		{"a reason of blanks", safety.Answer{Because: " \n"}, safety.CodeRejected, "", "rejected in run run of eva"},
		{"a wish says it all", safety.Answer{Because: "too expensive", Change: "less"}, safety.CodeChange, "", "rejected, with a wish for a change, in run run of eva"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeople(t, 1, strava)
			out := p.says("eva", tt.ans)
			p.wantOutcome(out, tt.code, safety.StateRejected)
			if out.Because != tt.because || out.Detail != "" {
				t.Errorf("because %q, detail %q; want %q and no detail", out.Because, out.Detail, tt.because)
			}
			steps, err := p.ledger.History(t.Context(), p.approval.ID)
			if err != nil || steps[1].Note != tt.note {
				t.Errorf("history %+v, error %v; want the note %q", steps, err, tt.note)
			}
			if out := p.says("tom", safety.Answer{Because: "me too"}); out.Because != "" {
				t.Errorf("a second rejection says %q", out.Because)
			}
		})
	}
}

// An approval has no reason, and one that came too late gives none.
func TestReasonThatDoesNotCount(t *testing.T) {
	p := newPeople(t, 1, strava)
	if out := p.says("eva", safety.Answer{Confirmed: true, Because: "cheap"}); !out.Accepted || out.Because != "" {
		t.Errorf("%+v", out)
	}
	p.cfg.Ledger = lost{p.ledger, func(a *safety.Approval) { a.State = safety.StateRejected }}
	p.guard = p.made()
	if out := p.says("eva", safety.Answer{Because: "too expensive"}); out.Reason != safety.CodeRejected || out.Because != "" {
		t.Errorf("somebody else rejected first: %+v", out)
	}
}

// Without anybody who authenticates, the history says so behind the reason.
func TestReasonOfTheUser(t *testing.T) {
	b := newBench(t, nil, strava)
	b.ask()
	if _, err := b.guard.Answer(t.Context(), safety.Answer{Session: nike, ConfirmationID: "conf-1", Because: "no", RunID: "run-2"}); err != nil {
		t.Fatal(err)
	}
	steps, err := b.ledger.History(t.Context(), b.approval.ID)
	if want := `rejected ("no") in run run-2 by the user of the session; `; err != nil || !strings.HasPrefix(steps[1].Note, want) {
		t.Errorf("history %+v, error %v; want a note with %q", steps, err, want)
	}
}
