// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// callerKey is the key of who calls, in a context.
type callerKey struct{}

// as is the context of somebody whom the host authenticated; of nobody for "".
func as(t *testing.T, who string) context.Context {
	if who == "" {
		return t.Context()
	}
	return context.WithValue(t.Context(), callerKey{}, who)
}

// known is the identity of the tests.
func known(ctx context.Context) (string, error) {
	who, ok := ctx.Value(callerKey{}).(string)
	if !ok {
		return "", errors.New("no token")
	}
	return who, nil
}

// authorized gives the guard an authorizer.
func authorized(f safety.AuthorizerFunc) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) { cfg.Authorizer = f }
}

func TestRequester(t *testing.T) {
	for name, tt := range map[string]struct {
		identity func(context.Context) (string, error)
		asker    string
		want     string
		known    bool
	}{
		"no identity":      {nil, "bob", "ana", false},
		"known":            {known, "bob", "bob", true},
		"no token":         {known, "", "ana", false},
		"nobody":           {known, " \u200b", "ana", false},
		"an error and bob": {func(context.Context) (string, error) { return "bob", errors.New("expired") }, "", "ana", false},
		"a panic":          {func(context.Context) (string, error) { panic("boom") }, "", "ana", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(cfg *safety.GuardConfig) { cfg.Identity = tt.identity }, strava)
			b.asker = tt.asker
			a := b.ask()
			if a.Requester != tt.want || a.RequesterAuthenticated != tt.known {
				t.Fatalf("requester %q, authenticated %t; want %q, %t", a.Requester, a.RequesterAuthenticated, tt.want, tt.known)
			}
			if step := b.history()[0]; step.Actor != tt.want || step.Authenticated != tt.known {
				t.Errorf("history %+v", step)
			}
			want, two := "Requester: "+tt.want+" (not authenticated).", tt.identity != nil && !tt.known
			if tt.known {
				want = "Requester: " + tt.want + "."
			}
			if hint := a.Hint("buy"); !strings.HasSuffix(hint, want) || strings.Contains(hint, "Approvers needed: 2.") != two {
				t.Errorf("hint %q, want %q at the end", hint, want)
			}
			if got := a.Shown()["requester"]; !cmp.Equal(got, any(map[string]any{"name": tt.want, "authenticated": tt.known})) {
				t.Errorf("shown %v", got)
			}
			r := b.check()
			data, err := r.MarshalJSON()
			if err != nil || strings.Contains(string(data), `"requester":{"name":"`+tt.want+`","authenticated":true}`) != tt.known ||
				strings.Contains(r.Summary(), "  Requester        : ana (not authenticated)\n") == tt.known {
				t.Errorf("error %v, report %s\n%s", err, data, r.Summary())
			}
		})
	}
	r := newBench(t, nil, strava).check()
	if data, err := r.MarshalJSON(); err != nil || strings.Contains(string(data), "requester") || strings.Contains(r.Summary(), "Requester") {
		t.Errorf("without a request: error %v, report %s", err, data)
	}
}

// Who asks does not approve, however the name is written, and a peer does not either, unless
// somebody says so who knows them. Both may take their request back.
func TestWhoMayApprove(t *testing.T) {
	names := func(who string) safety.AuthorizerFunc {
		return func(context.Context, safety.AuthorizationRequest) (string, error) { return who, nil }
	}
	noPeers := safety.AuthorizerFunc(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
		if r.Peer {
			return "", errors.New("not over A2A")
		}
		return "boss", nil
	})
	refuses := safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { return "boss", errors.New("no") })
	panics := safety.AuthorizerFunc(func(context.Context, safety.AuthorizationRequest) (string, error) { panic("boom") })
	spoils := safety.AuthorizerFunc(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
		r.Approval.Entities[0].Attributes["price"] = usd("$1")
		return map[bool]string{true: r.Approval.Requester + "'s boss", false: "boss"}[r.Confirmed], nil
	})
	tellsIdentity := safety.AuthorizerFunc(func(_ context.Context, r safety.AuthorizationRequest) (string, error) {
		return r.Identity + "@example.com", nil
	})
	const (
		self   = "guard.self_approval"
		nobody = "nothing authenticated"
	)
	for name, tt := range map[string]struct {
		asker, caller string // known to the host; "" for a guard without an identity
		authorizer    safety.Authorizer
		self, peer    bool
		approver      string // "" for an approval that is refused,
		detail        string // with these words
		rejecter      string // "" for a rejection that is refused
	}{
		"the user of the session":                          {approver: "ana", rejecter: "ana"},
		"a peer":                                           {peer: true, detail: "only an Authorizer", rejecter: "ana"},
		"a peer, with self-approval allowed":               {peer: true, self: true, detail: "only an Authorizer", rejecter: "ana"},
		"a person who is known":                            {authorizer: names("boss"), approver: "boss", rejecter: "boss"},
		"the requester, who is known":                      {authorizer: names("ana"), detail: self, rejecter: "ana"},
		"the requester, who is known and may":              {authorizer: names("ana"), self: true, approver: "ana", rejecter: "ana"},
		"a peer that is known":                             {authorizer: names("broker"), peer: true, approver: "broker", rejecter: "broker"},
		"a peer that is known and asked":                   {authorizer: names("ana"), peer: true, detail: self, rejecter: "ana"},
		"a peer that the authorizer refuses for being one": {authorizer: noPeers, peer: true, detail: "refused"},
		"a person, where peers are refused":                {authorizer: noPeers, approver: "boss", rejecter: "boss"},
		"nobody":                                           {authorizer: names(""), detail: "names nobody"},
		"a name beside an error":                           {authorizer: refuses, detail: "refused"},
		"an authorizer that panics":                        {authorizer: panics, detail: "refused"},
		"a nil authorizer":                                 {authorizer: safety.AuthorizerFunc(nil), detail: "refused"},
		"an authorizer that spoils its copy":               {authorizer: spoils, approver: "ana's boss", rejecter: "boss"},

		"another":                              {asker: "Bob Smith", caller: "eva", approver: "eva", rejecter: "eva"},
		"another, by the authorizer":           {asker: "Bob Smith", caller: "eva", authorizer: tellsIdentity, approver: "eva@example.com", rejecter: "eva@example.com"},
		"another peer":                         {asker: "Bob Smith", caller: "eva", peer: true, detail: "only an Authorizer", rejecter: "eva"},
		"the requester":                        {asker: "Bob Smith", caller: "bob smith", detail: self, rejecter: "bob smith"},
		"the requester may":                    {asker: "Bob Smith", caller: "bob smith", self: true, approver: "bob smith", rejecter: "bob smith"},
		"in capitals":                          {asker: "Bob Smith", caller: "BOB SMITH", detail: self, rejecter: "BOB SMITH"},
		"without the space":                    {asker: "Bob Smith", caller: "bobsmith", detail: self, rejecter: "bobsmith"},
		"with space around":                    {asker: "Bob Smith", caller: " bob smith\t", detail: self, rejecter: " bob smith\t"},
		"in full width":                        {asker: "Bob Smith", caller: "ｂｏｂ　ｓｍｉｔｈ", detail: self, rejecter: "ｂｏｂ　ｓｍｉｔｈ"},
		"with a zero-width space":              {asker: "Bob Smith", caller: "bo\u200bb smith", detail: self, rejecter: "bo\u200bb smith"},
		"by another name":                      {asker: "Bob Smith", caller: "Bob Smith", authorizer: names("boss"), detail: self, rejecter: "boss"},
		"named by the authorizer":              {asker: "Bob Smith", caller: "eva", authorizer: names("BOB SMITH"), detail: self, rejecter: "BOB SMITH"},
		"a caller without a name":              {asker: "Bob Smith", caller: "\u2060", detail: nobody},
		"a caller without a name, authorized":  {asker: "Bob Smith", caller: " ", authorizer: names("boss"), detail: nobody},
		"the authorizer names what is no name": {asker: "Bob Smith", caller: "eva", authorizer: names("\u200b "), detail: "names nobody"},
		"the user for whom nobody known asked": {asker: " ", caller: "ana", detail: self, rejecter: "ana"},
		"that user, who may":                   {asker: " ", caller: "ana", self: true, approver: "ana", rejecter: "ana"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, confirmed := range []bool{true, false} {
				b := newBench(t, func(cfg *safety.GuardConfig) {
					cfg.Authorizer, cfg.Policy.SelfApproval = tt.authorizer, tt.self
					if tt.asker != "" {
						cfg.Identity = known
					}
				}, strava)
				b.asker = tt.asker
				b.ask()
				out := b.says(tt.caller, safety.Answer{Confirmed: confirmed, Peer: tt.peer})
				want := tt.approver
				if !confirmed {
					want = tt.rejecter
				}
				if out.Accepted != (confirmed && want != "") || out.Approval.Approver != want {
					t.Errorf("confirmed %t: accepted %t, approver %q; want approver %q", confirmed, out.Accepted, out.Approval.Approver, want)
				}
				if out.Authenticated != (tt.authorizer != nil || tt.asker != "") {
					t.Errorf("authenticated = %t", out.Authenticated)
				}
				if refused := want == "" && (tt.detail == "refused" || tt.detail == nobody); (out.Cause != nil) != refused {
					t.Errorf("cause %v", out.Cause)
				}
				if want != "" {
					continue
				}
				b.wantOutcome(out, safety.CodeNotAuthorized, safety.StatePending)
				if !strings.Contains(out.Detail, tt.detail) || out.Detail == "" || len(b.reports) > 0 {
					t.Errorf("detail %q, want %q in it; %d checks", out.Detail, tt.detail, len(b.reports))
				}
			}
		})
	}
}

// A name is the same person in another case, whatever its letters become there.
func TestFullCaseFolding(t *testing.T) {
	folded, upper := cases.Fold(), cases.Upper(language.Und)
	for r := range '\U00020000' { // no letter beyond has a case
		name := "a" + string(r)
		for _, other := range []string{folded.String(name), upper.String(name), strings.ToUpper(name), strings.ToLower(name)} {
			if a := (safety.Approval{Consents: []safety.Consent{{Who: name}}}); !a.Consented(other) {
				t.Errorf("%q is not %q, %U", name, other, r)
			}
		}
	}
}
