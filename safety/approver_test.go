// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Who asks does not approve, and a peer does not either, unless somebody says so who
// knows them. Both may take their request back.
func TestWhoMayApprove(t *testing.T) {
	names := func(who string) safety.AuthorizerFunc {
		return func(context.Context, safety.AuthorizationRequest) (string, error) { return who, nil }
	}
	for name, tt := range map[string]struct {
		authorizer safety.Authorizer
		self, peer bool
		approver   string // "" for an approval that is refused,
		detail     string // with these words
		rejecter   string
	}{
		"the user of the session":                          {approver: "ana", rejecter: "ana"},
		"a peer":                                           {peer: true, detail: "only an Authorizer", rejecter: "ana"},
		"a peer, with self-approval allowed":               {peer: true, self: true, detail: "only an Authorizer", rejecter: "ana"},
		"a person who is known":                            {authorizer: names("boss"), approver: "boss", rejecter: "boss"},
		"the requester, who is known":                      {authorizer: names("ana"), detail: "guard.self_approval", rejecter: "ana"},
		"the requester, who is known and may":              {authorizer: names("ana"), self: true, approver: "ana", rejecter: "ana"},
		"a peer that is known":                             {authorizer: names("broker"), peer: true, approver: "broker", rejecter: "broker"},
		"a peer that is known and asked":                   {authorizer: names("ana"), peer: true, detail: "guard.self_approval", rejecter: "ana"},
		"a peer that the authorizer refuses for being one": {authorizer: noPeers("boss"), peer: true, detail: "refused"},
		"a person, where peers are refused":                {authorizer: noPeers("boss"), approver: "boss", rejecter: "boss"},
		"nobody":                                           {authorizer: names(""), detail: "names nobody"},
		"a name beside an error":                           {authorizer: safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { return "boss", errors.New("no") }), detail: "refused"},
		"an authorizer that panics":                        {authorizer: safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { panic("boom") }), detail: "refused"},
		"a nil authorizer":                                 {authorizer: safety.AuthorizerFunc(nil), detail: "refused"},
		"an authorizer that spoils its copy": {authorizer: safety.AuthorizerFunc(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
			r.Approval.Entities[0].Attributes["price"] = usd("$1")
			return map[bool]string{true: r.Approval.Requester + "'s boss", false: "boss"}[r.Confirmed], nil
		}), approver: "ana's boss", rejecter: "boss"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, confirmed := range []bool{true, false} {
				b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Authorizer, cfg.SelfApproval = tt.authorizer, tt.self }, strava)
				b.ask()
				out, err := b.guard.Answer(t.Context(), safety.Answer{
					Session: nike, ConfirmationID: "conf-1", Confirmed: confirmed, RunID: "run-2", Peer: tt.peer,
				})
				if err != nil {
					t.Fatal(err)
				}
				want := tt.approver
				if !confirmed {
					want = tt.rejecter
				}
				if out.Accepted != (confirmed && want != "") || out.Approval.Approver != want {
					t.Errorf("confirmed %t: accepted %t, approver %q; want approver %q", confirmed, out.Accepted, out.Approval.Approver, want)
				}
				if out.Authenticated != (tt.authorizer != nil) {
					t.Errorf("authenticated = %t", out.Authenticated)
				}
				if refused := want == "" && tt.detail == "refused"; (out.Cause != nil) != refused {
					t.Errorf("cause %v", out.Cause)
				}
				if want != "" {
					continue
				}
				b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
				if !strings.Contains(out.Detail, tt.detail) || out.Detail == "" {
					t.Errorf("detail %q, want %q in it", out.Detail, tt.detail)
				}
				if b.world.calls != 0 {
					t.Errorf("%d checks for somebody who may not approve", b.world.calls)
				}
			}
		})
	}
}

// noPeers refuses peers, and names who for others.
func noPeers(who string) safety.AuthorizerFunc {
	return func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
		if r.Peer {
			return "", errors.New("not over A2A")
		}
		return who, nil
	}
}
