// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/examples/identity"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Over ADK's own REST server the user id is the client's word. With identities, mallory asks as bob,
// and approves as mallory in vain.
func TestOnePersonAsTwoOverREST(t *testing.T) {
	key := []byte("a key of the program")
	b := newBank(t, func(api http.Handler) http.Handler { return identity.Signed(key, api) }, contextgraph.WithIdentity(identity.Caller))
	as := func(token string) *bank {
		c := &bank{t: t, url: b.url, cg: b.cg, token: token}
		return c
	}
	mallory, eva := as(identity.Token(key, "mallory")), as(identity.Token(key, "eva"))
	mallory.post("/apps/clerk/users/alice/sessions/s1", map[string]any{})
	events := mallory.run(map[string]any{"text": "pay ACME"})
	id := confirmation(t, events)
	if text, _ := json.Marshal(events); !strings.Contains(string(text), "Requester: mallory.") {
		t.Errorf("the request does not say who asks: %s", text)
	}
	for name, token := range map[string]string{
		"no token": "", "a token of mallory for eva": "eva." + strings.Repeat("0", 64), "no name": identity.Token(key, ""),
		"a longer name": strings.Replace(identity.Token(key, "eva"), "eva", "eva.x", 1), "another key": identity.Token([]byte("guessed"), "eva"),
	} {
		if got := as(token).run(approve(id)); got != nil || b.paid.Load() != 0 {
			t.Errorf("%s: %v, paid %d times", name, got, b.paid.Load())
		}
	}
	mallory.run(approve(id))
	for _, name := range []string{"MALLORY", "mallory ", "ｍallory"} {
		as(identity.Token(key, name)).run(approve(id))
	}
	if n := b.paid.Load(); n != 0 {
		t.Fatalf("mallory paid %d times", n)
	}
	eva.run(approve(id))
	if n := b.paid.Load(); n != 1 {
		t.Fatalf("paid %d times, want once", n)
	}
	approvals, err := b.cg.Approvals(t.Context(), record.Session{App: "clerk", User: "alice", ID: "s1"})
	if err != nil || len(approvals) != 1 || approvals[0].Requester != "mallory" || approvals[0].Approver != "eva" || approvals[0].State != safety.StateExecuted {
		t.Errorf("approvals %+v, error %v", approvals, err)
	}
}

// send sends a request with the token of the bank.
func (b *bank) send(path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultClient.Do(req)
}
