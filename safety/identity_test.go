// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestRequester(t *testing.T) {
	for name, tt := range map[string]struct {
		identity safety.IdentityFunc
		ctx      context.Context
		want     string
		known    bool
	}{
		"no identity":      {nil, as(t, "bob"), "ana", false},
		"known":            {known, as(t, "bob"), "bob", true},
		"no token":         {known, t.Context(), "ana", false},
		"nobody":           {known, as(t, " \u200b"), "ana", false},
		"an error and bob": {func(context.Context) (string, error) { return "bob", errors.New("expired") }, t.Context(), "ana", false},
		"a panic":          {func(context.Context) (string, error) { panic("boom") }, t.Context(), "ana", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Identity = tt.identity }, strava)
			a, err := b.guard.Ask(tt.ctx, b.request())
			if err != nil || a.Requester != tt.want || a.RequesterAuthenticated != tt.known {
				t.Fatalf("requester %q, authenticated %t, error %v; want %q, %t", a.Requester, a.RequesterAuthenticated, err, tt.want, tt.known)
			}
			steps, err := b.ledger.History(t.Context(), a.ID)
			if err != nil || steps[0].Actor != tt.want || steps[0].Authenticated != tt.known {
				t.Errorf("history %+v, %v", steps, err)
			}
			hint := a.Hint("buy")
			want := "Requester: " + tt.want + "."
			if !tt.known {
				want = "Requester: " + tt.want + " (not authenticated)."
			}
			if !strings.HasSuffix(hint, want) {
				t.Errorf("hint %q, want %q at the end", hint, want)
			}
			if strings.Contains(hint, "Approvers needed") {
				t.Errorf("hint %q", hint)
			}
			if got := a.Shown()["requester"]; !cmp.Equal(got, any(map[string]any{"name": tt.want, "authenticated": tt.known})) {
				t.Errorf("shown %v", got)
			}
			report, err := b.guard.Check(t.Context(), nike)
			if err != nil || strings.Contains(report.Summary(), "  Requester        : ana (not authenticated)\n") == tt.known {
				t.Errorf("error %v, summary\n%s", err, report.Summary())
			}
			data, err := report.MarshalJSON()
			if err != nil || strings.Contains(string(data), `"requester":{"name":"`+tt.want+`","authenticated":true}`) != tt.known {
				t.Errorf("error %v, report %s", err, data)
			}
		})
	}
}

func TestRequesterOfNoApproval(t *testing.T) {
	b := newBench(t, nil, strava)
	data, err := b.check().MarshalJSON()
	if err != nil || strings.Contains(string(data), "requester") || strings.Contains(b.check().Summary(), "Requester") {
		t.Errorf("error %v, report %s", err, data)
	}
}

// Whoever asked does not approve, however the name is written.
func TestFourEyes(t *testing.T) {
	names := func(who string) safety.AuthorizerFunc {
		return func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
			if r.Identity == "" {
				return "", errors.New("no identity")
			}
			return who, nil
		}
	}
	for name, tt := range map[string]struct {
		caller     string
		authorizer safety.Authorizer
		self       bool
		want       string // of the detail; "" for an approval that is accepted
	}{
		"another":                      {caller: "eva"},
		"another, by the authorizer":   {caller: "eva", authorizer: names("eva@example.com")},
		"the requester":                {caller: "bob smith", want: "may not give it"},
		"the requester may":            {caller: "bob smith", self: true},
		"in capitals":                  {caller: "BOB SMITH", want: "may not give it"},
		"without the space":            {caller: "bobsmith", want: "may not give it"},
		"with space around":            {caller: " bob smith\t", want: "may not give it"},
		"in full width":                {caller: "ｂｏｂ　ｓｍｉｔｈ", want: "may not give it"},
		"with a zero-width space":      {caller: "bo\u200bb smith", want: "may not give it"},
		"by another name":              {caller: "Bob Smith", authorizer: names("boss"), want: "may not give it"},
		"named by the authorizer":      {caller: "eva", authorizer: names("BOB SMITH"), want: "may not give it"},
		"nobody":                       {caller: "\u2060", want: "nothing authenticated"},
		"nobody, with an authorizer":   {caller: " ", authorizer: names("boss"), want: "nothing authenticated"},
		"the authorizer names nothing": {caller: "eva", authorizer: names("\u200b "), want: "names nobody"},
		"the authorizer refuses":       {caller: "eva", authorizer: safety.AuthorizerFunc(nil), want: "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) {
				cfg.Identity, cfg.Authorizer, cfg.SelfApproval = known, tt.authorizer, tt.self
			}, strava)
			a, err := b.guard.Ask(as(t, "Bob Smith"), b.request())
			if err == nil {
				err = b.guard.Attach(t.Context(), a.ID, "conf-1")
			}
			if err != nil {
				t.Fatal(err)
			}
			p := &people{bench: b}
			out := p.approves(tt.caller)
			switch {
			case tt.want == "":
				if !out.Accepted || !out.Authenticated {
					t.Errorf("not accepted: %+v", out)
				}
			case out.Reason != safety.CodeNotAuthorized || !strings.Contains(out.Detail, tt.want) || len(b.reports) > 0:
				t.Errorf("reason %q, detail %q, %d checks; want %q", out.Reason, out.Detail, len(b.reports), tt.want)
			}
		})
	}
}

func TestIdentityOfAnswer(t *testing.T) {
	b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Identity = known }, strava)
	b.ask()
	for _, confirmed := range []bool{true, false} {
		out := b.answer(confirmed) // without a token
		b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
		if out.Cause == nil || !strings.Contains(out.Cause.Error(), "no token") {
			t.Errorf("cause %v", out.Cause)
		}
	}
	out, err := b.guard.Answer(as(t, "eva"), safety.Answer{Session: nike, ConfirmationID: "conf-1", Confirmed: true, Peer: true})
	if err != nil || out.Reason != safety.CodeNotAuthorized || !strings.Contains(out.Detail, "peer") {
		t.Errorf("a peer without an authorizer: %+v, %v", out, err)
	}
	p := &people{bench: b}
	if out := p.approves("ana"); !out.Accepted { // ana is the word of a client, and not the requester's
		if !strings.Contains(out.Detail, "may not give it") {
			t.Errorf("%+v", out)
		}
	} else {
		t.Error("the user of the session approves a request of the session that nobody else is known to have asked")
	}
	if out := p.says("eva", safety.Answer{}); out.Reason != safety.CodeRejected || out.Approval.Approver != "eva" {
		t.Errorf("rejected: %+v", out)
	}
}
