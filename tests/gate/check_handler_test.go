// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Whoever decides sees the world as it is now, with the checkers of the agent, and the check
// decides nothing.
func TestCheckHandler(t *testing.T) {
	h := cgtest.New(t, cgtest.Listed)
	id, _ := h.Ask("s")
	asked := h.Approvals("s")[0]
	server := httptest.NewServer(h.CG.CheckHandler())
	t.Cleanup(server.Close)
	checker, err := answer.NewChecker(answer.Endpoint{URL: server.URL, Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want inspect.Status) inspect.Checked {
		t.Helper()
		report, needs, err := checker.Check(t.Context(), cgtest.Key("s"), asked.ID)
		if err != nil || len(needs) > 0 {
			t.Fatalf("error %v, needs %v", err, needs)
		}
		found, err := inspect.NewChecked(report, needs)
		if err != nil || found.Verdict != want {
			t.Fatalf("finding %v, %v, want %v", found.Verdict, err, want)
		}
		return found
	}
	check(inspect.StatusSafe)
	h.Shop.Set("$52,000", true)
	found := check(inspect.StatusDrift)
	if len(found.Check.Alerts) != 1 || found.Check.Alerts[0].After != "$52,000" {
		t.Errorf("alerts %+v", found.Check.Alerts)
	}

	// It decided nothing: the request is as open as before, and the inbox knows of the change.
	if a := h.Approvals("s")[0]; a.State != safety.StatePending || a.Verdict != "" {
		t.Errorf("the check left the request %s with the verdict %q", a.State, a.Verdict)
	}
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	open, err := inspect.OpenSessions(t.Context(), inspect.NewJournal(h.Store()), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	items := inspect.Inbox(open)
	if len(items) != 1 || items[0].Known != inspect.StatusDrift || items[0].Status != inspect.StatusPending || items[0].ApprovalID != asked.ID {
		t.Fatalf("inbox %+v", items)
	}
	if p := open[0].Approvals[0]; len(p.Checks) != 3 || p.Entities[0].Now["price"] != "$52,000" || !strings.Contains(p.Progress[len(p.Progress)-1].Text, "Checked on demand") {
		t.Errorf("request %+v", p)
	}

	// The world comes back; the gate decides by its own check.
	h.Shop.Set("$40,000", true)
	if got := h.Answer("s", id, true); got["status"] != "bought" {
		t.Errorf("answer %v", got)
	}
	h.WantBought(1)
	if _, _, err := checker.Check(t.Context(), cgtest.Key("s"), asked.ID); err == nil || !strings.Contains(err.Error(), "409") || !strings.Contains(err.Error(), "executed") {
		t.Errorf("a check of a request that has ended: %v", err)
	}
}

func TestCheckHandlerRefuses(t *testing.T) {
	begun, finish := make(chan struct{}, 8), make(chan struct{})
	h := cgtest.New(t, cgtest.Listed, cgtest.NotChecked, cgtest.WithChecker(func(ctx context.Context, e entity.Canonical) (safety.State, error) {
		begun <- struct{}{}
		<-finish
		return safety.State{Attributes: e.Attributes, AsOf: time.Now()}, nil
	}))
	h.Ask("s")
	asked := h.Approvals("s")[0]
	server := httptest.NewServer(h.CG.CheckHandler())
	t.Cleanup(server.Close)
	question := func(session, approval string) string {
		b, err := json.Marshal(map[string]string{"app": cgtest.App, "user": cgtest.User, "session": session, "approval_id": approval})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	send := func(method, kind, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	const kind = "application/json"
	for _, tc := range []struct {
		name, method, kind, body string
		status                   int
		want                     string
	}{
		{"a GET", http.MethodGet, kind, "", http.StatusMethodNotAllowed, "POST"},
		{"a form", http.MethodPost, "text/plain", question("s", asked.ID), http.StatusUnsupportedMediaType, "application/json"},
		{"no JSON", http.MethodPost, kind, "yes", http.StatusBadRequest, "cannot be read"},
		{"two objects", http.MethodPost, kind, "{}{}", http.StatusBadRequest, "something follows it"},
		{"another member", http.MethodPost, kind, `{"confirmed":true}`, http.StatusBadRequest, "confirmed"},
		{"too long", http.MethodPost, kind, question(strings.Repeat("s", 20<<10), ""), http.StatusBadRequest, "too large"},
		{"no request", http.MethodPost, kind, question("s", ""), http.StatusNotFound, "no such request"},
		{"an unknown request", http.MethodPost, kind, question("s", "unknown"), http.StatusNotFound, "no such request"},
		{"a request of another session", http.MethodPost, kind, question("other", asked.ID), http.StatusNotFound, "no such request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if status, text := send(tc.method, tc.kind, tc.body); status != tc.status || !strings.Contains(text, tc.want) {
				t.Errorf("%d %s, want %d and %q", status, text, tc.status, tc.want)
			}
		})
	}
	done := make(chan int, 4)
	for range 4 {
		go func() {
			status, _ := send(http.MethodPost, kind, question("s", asked.ID))
			done <- status
		}()
		<-begun
	}
	if status, text := send(http.MethodPost, kind, question("s", asked.ID)); status != http.StatusTooManyRequests {
		t.Errorf("a fifth check at once: %d %s", status, text)
	}
	close(finish)
	for range 4 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
}

// Where nothing is recorded there is nothing to check.
func TestCheckHandlerWithoutRecord(t *testing.T) {
	h := cgtest.New(t, cgtest.Listed, func(o *cgtest.Options) { o.Config.Enabled = new(false) })
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"app":"a","user":"u","session":"s","approval_id":"x"}`))
	r.Header.Set("Content-Type", "application/json")
	h.CG.CheckHandler().ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "recording is off") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
