// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

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

	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

const token = "0123456789abcdef"

func agentAt(t *testing.T, url string) *viewer.Agent {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	a, err := viewer.NewAgent(viewer.AgentConfig{
		URL: url, Token: token, Header: http.Header{"Authorization": {"Bearer of-the-agent"}}, Client: &http.Client{Transport: transport},
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
	d := viewer.Decision{Session: shop, ApprovalID: "approval", ConfirmationID: "confirmation", Confirmed: true}

	message, err := a.Decide(t.Context(), d)
	if err != nil || !strings.Contains(message, "approval was sent") {
		t.Fatalf("%q, %v", message, err)
	}
	want := `{"appName":"shop","newMessage":{"parts":[{"functionResponse":{"id":"confirmation","name":"adk_request_confirmation","response":{"confirmed":true}}}],"role":"user"},"sessionId":"s-1","userId":"alice"}`
	if diff := cmp.Diff([]string{"/api/run", want, "Bearer of-the-agent"}, []string{path, body, auth}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	d.Confirmed = false
	if message, err := a.Decide(t.Context(), d); err != nil || !strings.Contains(message, "rejection") || !strings.Contains(body, `"confirmed":false`) {
		t.Errorf("%q, %v, %s", message, err, body)
	}

	status = http.StatusNotFound
	if _, err := a.Decide(t.Context(), d); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("the agent said 404: %v", err)
	}
	for given, want := range map[string]bool{token: true, token + "x": false, "": false, strings.ToUpper(token): false} {
		if a.Authorized(given) != want {
			t.Errorf("token %q: %v", given, !want)
		}
	}
	server.Close()
	if _, err := a.Decide(t.Context(), d); err == nil || !strings.Contains(err.Error(), "not known whether") {
		t.Errorf("the agent is away: %v", err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Decide(t.Context(), d); err == nil {
		t.Error("a closed agent takes a decision")
	}
}

// A redirect would send what is said to somebody else.
func TestAgentFollowsNothing(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	a, err := viewer.NewAgent(viewer.AgentConfig{URL: server.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	if _, err := a.Decide(t.Context(), viewer.Decision{Session: shop, ConfirmationID: "c"}); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("error %v", err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestAgentConfiguration(t *testing.T) {
	for _, cfg := range []viewer.AgentConfig{
		{Token: token}, {URL: "localhost:8080", Token: token}, {URL: "ftp://localhost", Token: token},
		{URL: "http://me:secret@localhost", Token: token}, {URL: "http://localhost"}, {URL: "http://localhost", Token: "short"},
		{URL: "http://localhost/api?x=1", Token: token}, {URL: "http://localhost/#api", Token: token},
	} {
		if _, err := viewer.NewAgent(cfg); err == nil || strings.Contains(err.Error(), "secret") {
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
	d := viewer.Decision{Session: shop, ConfirmationID: "confirmation", Confirmed: true}
	var sent sync.WaitGroup
	start := func(d viewer.Decision) {
		sent.Go(func() {
			if _, err := a.Decide(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
		<-begun
	}
	start(d)
	if _, err := a.Decide(t.Context(), d); err == nil || !strings.Contains(err.Error(), "sent before") {
		t.Errorf("the same answer again: %v", err)
	}
	other := d
	other.Confirmed = false // takes it back
	start(other)
	for i := range 30 {
		start(viewer.Decision{Session: shop, ConfirmationID: fmt.Sprint(i)})
	}
	if _, err := a.Decide(t.Context(), viewer.Decision{Session: shop, ConfirmationID: "one more"}); err == nil || !strings.Contains(err.Error(), "wait until one of them ends") {
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
	a, err := viewer.NewAgent(viewer.AgentConfig{URL: server.URL, Token: token, Header: header, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(t.Context())
	header.Set("X-Key", "two")
	if _, err := a.Decide(t.Context(), viewer.Decision{Session: shop, ConfirmationID: "c"}); err != nil {
		t.Fatal(err)
	}
	if key := <-got; key != "one" {
		t.Errorf("header %q", key)
	}
}
