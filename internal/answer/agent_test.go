// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package answer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var shop = record.Session{App: "shop", User: "alice", ID: "s-1"}

// turn sends a decision and waits for the end of the turn.
func turn(t *testing.T, a *answer.Agent, d answer.Decision) error {
	t.Helper()
	end, err := a.Send(t.Context(), d)
	if err != nil {
		return err
	}
	return <-end
}

func agentAt(t *testing.T, url string) *answer.Agent {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	a, err := answer.NewAgent(answer.Endpoint{
		URL: url, Header: http.Header{"Authorization": {"Bearer of-the-agent"}}, Client: &http.Client{Transport: transport},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestAgent(t *testing.T) {
	var path, body, auth string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		path, body, auth = r.URL.Path, string(b), r.Header.Get("Authorization")
		w.WriteHeader(status)
		io.WriteString(w, "[]")
	}))
	t.Cleanup(server.Close)
	a := agentAt(t, server.URL+"/api/")
	d := answer.Decision{Session: shop, ApprovalID: "approval", ConfirmationID: "confirmation", Confirmed: true}

	if err := turn(t, a, d); err != nil {
		t.Fatal(err)
	}
	want := `{"appName":"shop","newMessage":{"parts":[{"functionResponse":{"id":"confirmation","name":"adk_request_confirmation","response":{"confirmed":true}}}],"role":"user"},"sessionId":"s-1","userId":"alice"}`
	if diff := cmp.Diff([]string{"/api/run", want, "Bearer of-the-agent"}, []string{path, body, auth}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	d.Confirmed = false
	for _, tc := range []struct {
		d    answer.Decision
		want string
	}{
		{answer.Decision{Session: shop, ConfirmationID: "c"}, `"response":{"confirmed":false}`},
		{answer.Decision{Session: shop, ConfirmationID: "c", Reason: "too much"}, `"response":{"confirmed":false,"payload":{"contextgraph":{"reason":"too much"}}}`},
		{answer.Decision{Session: shop, ConfirmationID: "c", Change: "less"}, `"response":{"confirmed":false,"payload":{"contextgraph":{"change":"less"}}}`},
		{answer.Decision{Session: shop, ConfirmationID: "c", Confirmed: true, Override: "by phone"}, `"response":{"confirmed":true,"payload":{"contextgraph":{"override":"by phone"}}}`},
		{answer.Decision{Session: shop, ConfirmationID: "c", Resolve: safety.CodeHappened, Reason: "it is there"}, `"response":{"confirmed":false,"payload":{"contextgraph":{"reason":"it is there","resolve":"happened"}}}`},
	} {
		if err := turn(t, a, tc.d); err != nil || !strings.Contains(body, tc.want) {
			t.Errorf("%+v: %v, %s", tc.d, err, body)
		}
	}
	body = ""
	for _, wrong := range []answer.Decision{
		{}, {Session: shop}, {ConfirmationID: "c"},
		{Session: shop, ConfirmationID: "c", Confirmed: true, Reason: "because"},
		{Session: shop, ConfirmationID: "c", Confirmed: true, Change: "less"},
		{Session: shop, ConfirmationID: "c", Change: "less", Reason: "because"},
		{Session: shop, ConfirmationID: "c", Override: "by phone"},
		{Session: shop, ConfirmationID: "c", Resolve: "happened"},
		{Session: shop, ConfirmationID: "c", Resolve: "perhaps", Reason: "it is there"},
		{Session: shop, ConfirmationID: "c", Resolve: "happened", Reason: "it is there", Confirmed: true},
		{Session: shop, ConfirmationID: "c", Reason: strings.Repeat("x", safety.MaxWords+1)},
	} {
		if err := turn(t, a, wrong); err == nil || body != "" {
			t.Errorf("%+v was sent: %v", wrong, err)
		}
	}

	status = http.StatusNotFound
	if err := turn(t, a, d); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("the agent said 404: %v", err)
	}
	server.Close()
	if err := turn(t, a, d); err == nil || !strings.Contains(err.Error(), "nothing was sent: the agent at "+server.URL+"/api/run cannot be reached") {
		t.Errorf("the agent is away: %v", err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := turn(t, a, d); err == nil {
		t.Error("a closed agent takes a decision")
	}
}

// A redirect would send what is said to somebody else.
func TestAgentFollowsNothing(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	a, err := answer.NewAgent(answer.Endpoint{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	if err := turn(t, a, answer.Decision{Session: shop, ConfirmationID: "c"}); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("error %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestAgentConfiguration(t *testing.T) {
	for _, cfg := range []answer.Endpoint{
		{}, {URL: "localhost:8080"}, {URL: "ftp://localhost"}, {URL: "http://me:secret@localhost"},
		{URL: "http://localhost/api?x=1"}, {URL: "http://localhost/#api"},
	} {
		if _, err := answer.NewAgent(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// What is sent is not sent again while the agent is at work on it, and there is an end to
// how many turns a page can start.
func TestAgentSendsOnce(t *testing.T) {
	begun, finish := make(chan struct{}, 64), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		<-finish
		io.WriteString(w, "[]")
	}))
	t.Cleanup(server.Close)
	a := agentAt(t, server.URL)
	d := answer.Decision{Session: shop, ConfirmationID: "confirmation", Confirmed: true}
	var sent sync.WaitGroup
	start := func(d answer.Decision) {
		sent.Go(func() {
			if err := turn(t, a, d); err != nil {
				t.Error(err)
			}
		})
		<-begun
	}
	start(d)
	if err := turn(t, a, d); err == nil || !strings.Contains(err.Error(), "sent before") {
		t.Errorf("the same answer again: %v", err)
	}
	other := d
	other.Confirmed = false // takes it back
	start(other)
	for i := range 30 {
		start(answer.Decision{Session: shop, ConfirmationID: fmt.Sprint(i)})
	}
	if err := turn(t, a, answer.Decision{Session: shop, ConfirmationID: "one more"}); err == nil || !strings.Contains(err.Error(), "wait until one of them ends") {
		t.Errorf("one turn more: %v", err)
	}
	close(finish)
	sent.Wait()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The headers are those of the time when the agent was made.
func TestAgentKeepsItsHeaders(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("X-Key") }))
	t.Cleanup(server.Close)
	header := http.Header{"X-Key": {"one"}}
	a, err := answer.NewAgent(answer.Endpoint{URL: server.URL, Header: header, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	header.Set("X-Key", "two")
	if err := turn(t, a, answer.Decision{Session: shop, ConfirmationID: "c"}); err != nil {
		t.Fatal(err)
	}
	if key := <-got; key != "one" {
		t.Errorf("header %q", key)
	}
}

func TestChecker(t *testing.T) {
	var body, auth string
	status, reply := http.StatusOK, `{"verdict":"safe"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, auth = string(b), r.Header.Get("Authorization")
		w.WriteHeader(status)
		io.WriteString(w, reply)
	}))
	t.Cleanup(server.Close)
	c, err := answer.NewChecker(answer.Endpoint{URL: server.URL, Header: http.Header{"Authorization": {"Bearer of-the-agent"}}, Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	report, needs, err := c.Check(t.Context(), shop, "approval")
	if err != nil || string(report) != reply || needs != nil {
		t.Errorf("%s, %v, %v", report, needs, err)
	}
	if want := `{"app":"shop","approval_id":"approval","session":"s-1","user":"alice"}`; body != want || auth != "Bearer of-the-agent" {
		t.Errorf("sent %s with %q, want %s", body, auth, want)
	}
	status, reply = http.StatusNotFound, "the session has no such request"
	if _, _, err := c.Check(t.Context(), shop, "approval"); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), reply) {
		t.Errorf("the agent said no: %v", err)
	}
	server.Close()
	if _, _, err := c.Check(t.Context(), shop, "approval"); err == nil || !strings.Contains(err.Error(), "could not be asked") {
		t.Errorf("the agent is away: %v", err)
	}
	if _, err := answer.NewChecker(answer.Endpoint{URL: "localhost"}); err == nil || !strings.Contains(err.Error(), "/contextgraph/check") {
		t.Errorf("a bad URL: %v", err)
	}
}
