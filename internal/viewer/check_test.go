// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Waiting makes the source one that has an inbox.
func (s *source) Waiting(context.Context, time.Time, int) ([]record.Session, error) {
	return []record.Session{shop, {App: "shop", User: "alice", ID: "gone"}}, s.err
}

// checkFunc is a [viewer.Checker].
type checkFunc func(ctx context.Context, s record.Session, id string) ([]byte, map[string]string, error)

func (f checkFunc) Check(ctx context.Context, s record.Session, id string) ([]byte, map[string]string, error) {
	return f(ctx, s, id)
}

const (
	askCheck = `{"app":"shop","user":"alice","session":"s-1","approval_id":"approval"}`
	drifted  = `{"id":"c1","verdict":"drift","checked_at":"2026-03-05T12:00:00Z","total_entities":1,"stale_entities":1,
		"entities":[{"type":"Product","value":"it","outcome":"changed","seen":{"price":{"kind":"text","value":"1"}},"now":{"price":{"kind":"text","value":"2"}}}],
		"alerts":[{"entity_type":"Product","entity":"it","attribute":"price","drift_type":"price_changed","before":"1","after":"2","severity":0.7,"effect":"block"}]}`
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		change     func(*http.Request)
		source     *source
		check      viewer.Checker
		status     int
		want       string
	}{
		{name: "changed", body: askCheck, status: http.StatusOK, want: `"verdict":"drift"`},
		{name: "read only", body: askCheck, check: nil, status: http.StatusForbidden, want: "cannot check"},
		{name: "another page", body: askCheck, change: func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, status: http.StatusForbidden, want: "another page"},
		{name: "a form", body: askCheck, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, status: http.StatusUnsupportedMediaType, want: "application/json"},
		{name: "no JSON", body: "check", status: http.StatusBadRequest, want: "cannot be read"},
		{name: "another member", body: `{"force":true}`, status: http.StatusBadRequest, want: "force"},
		{name: "another session", body: strings.Replace(askCheck, "s-1", "s-2", 1), status: http.StatusNotFound, want: "no such request"},
		{name: "another request", body: strings.Replace(askCheck, "approval\"}", "other\"}", 1), status: http.StatusNotFound, want: "no such request"},
		{name: "no request", body: strings.Replace(askCheck, "approval\"}", "\"}", 1), status: http.StatusNotFound, want: "no such request"},
		{name: "ended", body: askCheck, source: &source{rows: asked(shop), ledger: in(safety.StateExecuted, "safe")}, status: http.StatusConflict, want: "has ended"},
		{name: "the source is broken", body: askCheck, source: &source{err: errors.New("the disk is gone")}, status: http.StatusInternalServerError, want: "the disk is gone"},
		{name: "no checker answers", body: askCheck, status: http.StatusBadGateway, want: "nobody is there", check: checkFunc(func(context.Context, record.Session, string) ([]byte, map[string]string, error) {
			return nil, nil, errors.New("nobody is there")
		})},
		{name: "no report", body: askCheck, status: http.StatusBadGateway, want: "no report", check: checkFunc(func(context.Context, record.Session, string) ([]byte, map[string]string, error) {
			return []byte("{}"), nil, nil
		})},
		{name: "needs the agent", body: askCheck, status: http.StatusOK, want: `"needs_agent":{"Product":"why"}`, check: checkFunc(func(context.Context, record.Session, string) ([]byte, map[string]string, error) {
			return []byte(`{"verdict":"check_failed"}`), map[string]string{"Product": "why"}, nil
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.source == nil {
				tc.source = &source{rows: asked(shop)}
			}
			if tc.check == nil && tc.name != "read only" {
				tc.check = checkFunc(func(ctx context.Context, s record.Session, id string) ([]byte, map[string]string, error) {
					if _, bounded := ctx.Deadline(); !bounded || s != shop || id != "approval" {
						t.Errorf("asked for %v %q, bounded %v", s, id, bounded)
					}
					return []byte(drifted), nil, nil
				})
			}
			s := serve(t, viewer.Options{Source: tc.source, Check: tc.check})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/check", strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if tc.change != nil {
				tc.change(r)
			}
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tc.status || !strings.Contains(string(b), tc.want) || !json.Valid(b) {
				t.Errorf("%d %s, want %d and %s", resp.StatusCode, b, tc.status, tc.want)
			}
		})
	}
}

// The server remembers the check of an open request, for the session and for the inbox.
func TestCheckIsRemembered(t *testing.T) {
	s := serve(t, viewer.Options{Source: &source{rows: asked(shop)}, Check: checkFunc(func(context.Context, record.Session, string) ([]byte, map[string]string, error) {
		return []byte(drifted), nil, nil
	})})
	if resp, body := get(t, s, "/api/inbox"); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"known":""`) {
		t.Errorf("before: %d %s", resp.StatusCode, body)
	}
	resp, err := s.Client().Post(s.URL+"/api/check", "application/json", strings.NewReader(askCheck))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, body := get(t, s, "/api/inbox"); !strings.Contains(body, `"known":"drift"`) || !strings.Contains(body, "price of Product it: 1 → 2") || strings.Count(body, "approval_id") != 1 {
		t.Errorf("inbox %s", body)
	}
	if _, body := get(t, s, "/api/session?app=shop&user=alice&id=s-1"); !strings.Contains(body, `"stage":"check"`) || !strings.Contains(body, `"status":"pending"`) {
		t.Errorf("session %s", body)
	}
	broken := serve(t, viewer.Options{Source: &source{err: errors.New("the disk is gone")}})
	if resp, body := get(t, broken, "/api/inbox"); resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "the disk is gone") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// One request is checked once at a time, and few at the same time.
func TestChecksAreBounded(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, viewer.Options{Source: &source{rows: asked(shop)}, Check: checkFunc(func(context.Context, record.Session, string) ([]byte, map[string]string, error) {
		begun <- struct{}{}
		<-finish
		return []byte(drifted), nil, nil
	})})
	ask := func() int {
		resp, err := s.Client().Post(s.URL+"/api/check", "application/json", strings.NewReader(askCheck))
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	done := make(chan int)
	go func() { done <- ask() }()
	<-begun
	if status := ask(); status != http.StatusTooManyRequests {
		t.Errorf("the same request again: %d", status)
	}
	close(finish)
	if status := <-done; status != http.StatusOK {
		t.Errorf("the check: %d", status)
	}
}
