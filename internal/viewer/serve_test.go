// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// serve serves a source with o's other options.
func serve(t *testing.T, o viewer.Options) *httptest.Server {
	t.Helper()
	o.Now = func() time.Time { return noon }
	h, err := viewer.NewHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// get returns the status and the body of a request.
func get(t *testing.T, s *httptest.Server, path string) (*http.Response, string) {
	t.Helper()
	resp, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestServe(t *testing.T) {
	src := &source{rows: asked(shop)}
	s := serve(t, viewer.Options{Source: src})
	for _, tc := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", http.StatusOK, `id="cg-data">`},
		{"/api/sessions?app=shop&user=alice&q=buy&status=pending&status=drift&limit=3&after=x&from=2026-03-05T12:00:00Z", http.StatusOK, `{"sessions":[],"next":"next"}`},
		{"/api/sessions?limit=many", http.StatusBadRequest, "use a number above zero"},
		{"/api/sessions?from=today", http.StatusBadRequest, "use a time such as"},
		{"/api/session?app=shop&user=alice&id=s-1", http.StatusOK, `"confirmation_id":"confirmation"`},
		{"/api/session?app=shop&user=alice&id=s-2", http.StatusNotFound, `there is no session \"s-2\"`},
		{"/api/nothing", http.StatusNotFound, ""},
		{"/api/changes", http.StatusNoContent, ""},
	} {
		resp, body := get(t, s, tc.path)
		if resp.StatusCode != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("GET %s = %d %s\nwant %d and %s", tc.path, resp.StatusCode, body, tc.status, tc.want)
		}
		for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options", "Cache-Control"} {
			if resp.Header.Get(name) == "" {
				t.Errorf("GET %s has no header %s", tc.path, name)
			}
		}
	}
	want := inspect.Query{App: "shop", User: "alice", Search: "buy", Status: []inspect.Status{"pending", "drift"}, Limit: 3, After: "x", From: noon}
	if diff := cmp.Diff(want, src.query); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if _, page := get(t, s, "/"); !strings.Contains(string(viewertest.Data(t, page)), `"live":true`) {
		t.Error("the page does not know that it is served")
	}

	broken := serve(t, viewer.Options{Source: &source{err: errors.New("the disk is gone")}})
	for _, path := range []string{"/api/sessions", "/api/session?id=s-1"} {
		if resp, body := get(t, broken, path); resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "the disk is gone") {
			t.Errorf("GET %s = %d %s", path, resp.StatusCode, body)
		}
	}
	for _, after := range []string{"%00", "x", "W10"} {
		lost := serve(t, viewer.Options{Source: inspect.NewRows("rows", nil)})
		if resp, body := get(t, lost, "/api/sessions?after="+after); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "is no place in this list") {
			t.Errorf("after=%s: %d %s", after, resp.StatusCode, body)
		}
		if resp, body := get(t, lost, "/api/sessions?status=good"); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "use one of") {
			t.Errorf("status=good: %d %s", resp.StatusCode, body)
		}
	}
	if _, err := viewer.NewHandler(viewer.Options{}); err == nil {
		t.Error("a handler without a source")
	}
}

// A web page of somebody else that made its name point here is not served.
func TestServeRefusesOtherNames(t *testing.T) {
	s := serve(t, viewer.Options{Source: &source{}})
	for host, want := range map[string]int{
		"localhost": http.StatusOK, "LOCALHOST:8080": http.StatusOK, "[::1]:80": http.StatusOK, "127.0.0.1:1": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "localhost.evil.example:80": http.StatusMisdirectedRequest,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/sessions", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestServeTellsOfChanges(t *testing.T) {
	var seq atomic.Int64
	seq.Store(7)
	s := serve(t, viewer.Options{
		Source: &source{}, Interval: time.Millisecond,
		Changes: func(context.Context) (int64, error) { return seq.Load(), nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{`data: {"seq":7}`, `data: {"seq":8}`} {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
		}
		if lines.Text() != want {
			t.Fatalf("%q, want %q (%v)", lines.Text(), want, lines.Err())
		}
		seq.Store(8)
	}
}

// decider is one that remembers what it was given.
type decider struct {
	got []answer.Decision
	err error
}

const token = "0123456789abcdef"

func (d *decider) Send(_ context.Context, one answer.Decision) (<-chan error, error) {
	d.got = append(d.got, one)
	end := make(chan error, 1)
	end <- d.err
	return end, nil
}

func TestDecide(t *testing.T) {
	const good = `{"app":"shop","user":"alice","session":"s-1","approval_id":"approval","confirmation_id":"confirmation","confirmed":true}`
	answered := append(asked(shop), asked(shop)[2])
	answered[3].EventType, answered[3].EventID, answered[3].Seq, answered[3].SpanID = "HITL_CONFIRMATION_REQUEST_COMPLETED", "answer", 4, "1"
	answered[3].Content = []byte(`{"tool":"adk_request_confirmation","result":{"confirmed":false}}`)
	answered[3].Attributes = []byte(`{"adk":{"pause_kind":"hitl_confirmation","call_id":"call","confirmation_id":"confirmation","approval_id":"approval","confirmed":false,"accepted":false,"reason":"rejected","enforced":true,"approver":"alice"}}`)
	for _, tc := range []struct {
		name, body string
		change     func(*http.Request)
		source     *source
		decider    *decider
		status     int
		want       string
	}{
		{name: "taken", body: good, status: http.StatusOK, want: `"ok":true`},
		{name: "rejected", body: strings.Replace(good, "true", "false", 1), status: http.StatusOK, want: "sent"},
		{name: "rejected with a reason", body: strings.Replace(good, `true`, `false,"reason":"too much"`, 1), status: http.StatusOK, want: "sent"},
		{name: "approved with a wish", body: strings.Replace(good, `true`, `true,"change":"less"`, 1), status: http.StatusBadRequest, want: "go with a no"},
		{name: "no token", body: good, change: func(r *http.Request) { r.Header.Del("Authorization") }, status: http.StatusUnauthorized, want: "token"},
		{name: "wrong token", body: good, change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[1:]) }, status: http.StatusUnauthorized, want: "token"},
		{name: "a form", body: good, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, status: http.StatusUnsupportedMediaType, want: "application/json"},
		{name: "another page", body: good, change: func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, status: http.StatusForbidden, want: "another page"},
		{name: "no JSON", body: "yes", status: http.StatusBadRequest, want: "cannot be read"},
		{name: "no answer in it", body: strings.Replace(good, `,"confirmed":true`, "", 1), status: http.StatusBadRequest, want: "confirmed"},
		{name: "a field too many", body: strings.Replace(good, `"confirmed"`, `"force":true,"confirmed"`, 1), status: http.StatusBadRequest, want: "force"},
		{name: "too long", body: strings.Replace(good, "s-1", strings.Repeat("s", 20<<10), 1), status: http.StatusBadRequest, want: "cannot be read"},
		{name: "another session", body: strings.Replace(good, "s-1", "s-2", 1), status: http.StatusNotFound, want: "no such session"},
		{name: "another request", body: strings.Replace(good, `"confirmation"`, `"other"`, 1), status: http.StatusConflict, want: "no such request"},
		{name: "decided", body: good, source: &source{rows: answered}, status: http.StatusConflict, want: "cannot be answered any more"},
		{name: "something behind it", body: good + good, status: http.StatusBadRequest, want: "send one JSON object"},
		{name: "the source is broken", body: good, source: &source{err: errors.New("the disk is gone")}, status: http.StatusInternalServerError, want: "the disk is gone"},
		// The gate of an input takes a message by its id, whatever its name says: a yes would be its answer.
		{name: "an input", body: good, source: &source{rows: replaced(replaced(asked(shop), "HITL_CONFIRMATION", "HITL_INPUT"), `"confirmation_id"`, `"interrupt_id"`)}, status: http.StatusConflict, want: "for an input"},
		{name: "approved before", body: good, source: &source{rows: asked(shop), ledger: in(safety.StateApproved, "safe")}, status: http.StatusOK, want: "sent"},
		{name: "failed its check", body: good, source: &source{rows: asked(shop), ledger: in(safety.StatePending, "check_failed")}, status: http.StatusOK, want: "sent"},
		{name: "permitted", body: good, source: &source{rows: asked(shop), ledger: in(safety.StatePermitted, "safe")}, status: http.StatusConflict, want: "no answer counts any more"},
		{name: "blocked", body: good, source: &source{rows: asked(shop), ledger: in(safety.StateBlocked, "drift")}, status: http.StatusConflict, want: "cannot be answered"},
		{name: "running", body: good, source: &source{rows: asked(shop), ledger: in(safety.StateExecuting, "safe")}, status: http.StatusConflict, want: "cannot be answered"},
		{name: "in doubt, resolved", body: strings.Replace(good, "true", `false,"resolve":"happened","reason":"it is there"`, 1), source: &source{rows: asked(shop), ledger: in(safety.StateExecuting, "safe")}, status: http.StatusOK, want: "sent"},
		{name: "in doubt, without a reason", body: strings.Replace(good, "true", `false,"resolve":"happened"`, 1), source: &source{rows: asked(shop), ledger: in(safety.StateExecuting, "safe")}, status: http.StatusBadRequest, want: "how you know"},
		{name: "resolved, and not in doubt", body: strings.Replace(good, "true", `false,"resolve":"happened","reason":"it is there"`, 1), status: http.StatusConflict, want: "not in doubt"},
		{name: "overridden", body: strings.Replace(good, "true", `true,"override":"by phone"`, 1), source: &source{rows: asked(shop), ledger: in(safety.StatePending, "check_failed")}, status: http.StatusOK, want: "sent"},
		{name: "only observed", body: good, source: &source{rows: replaced(asked(shop), `"enforced":true`, `"enforced":false`)}, status: http.StatusConflict, want: "no gate would check"},
		{name: "only observed, rejected", body: strings.Replace(good, "true", "false", 1), source: &source{rows: replaced(asked(shop), `"enforced":true`, `"enforced":false`)}, status: http.StatusOK, want: "sent"},
		{name: "the agent is away", body: good, decider: &decider{err: errors.New("connection refused")}, status: http.StatusBadGateway, want: "connection refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.source == nil {
				tc.source = &source{rows: asked(shop)}
			}
			if tc.decider == nil {
				tc.decider = &decider{}
			}
			s := serve(t, viewer.Options{Source: tc.source, Decide: tc.decider, Token: token})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/decide", strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
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
			if reached := len(tc.decider.got) > 0; reached != (tc.status == http.StatusOK || tc.status == http.StatusBadGateway) {
				t.Errorf("the decision reached the agent: %v", reached)
			}
		})
	}

	if _, err := viewer.NewHandler(viewer.Options{Source: &source{}, Decide: &decider{}, Token: token[1:]}); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("a short token: %v", err)
	}
	resp, err := http.Post(serve(t, viewer.Options{Source: &source{rows: asked(shop)}}).URL+"/api/decide", "application/json", strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page that is read only took a decision: %d", resp.StatusCode)
	}
}

// A source that cannot be asked is told of once in an interval, however many pages wait.
func TestServeTellsOnceOfABrokenSource(t *testing.T) {
	var asked atomic.Int64
	var log lines
	s := serve(t, viewer.Options{
		Source: &source{}, Interval: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Changes: func(ctx context.Context) (int64, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the question has no deadline")
			}
			asked.Add(1)
			return 0, errors.New("the disk is gone")
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 8 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/changes", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	cancel()
	s.Close()
	if told := log.n.Load(); told == 0 || told != asked.Load() {
		t.Errorf("told %d times of %d errors", told, asked.Load())
	}
}

// lines counts what is written.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(p []byte) (int, error) {
	l.n.Add(1)
	return len(p), nil
}

// slow is a writer whose reader went away without a word.
type slow struct {
	http.ResponseWriter
	deadlines []time.Time
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, t)
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	if n := len(s.deadlines); n == 0 || s.deadlines[n-1].IsZero() {
		panic("a page that does not read would keep its stream for ever")
	}
	return 0, os.ErrDeadlineExceeded
}

func TestServeGivesUpAPageThatDoesNotRead(t *testing.T) {
	h, err := viewer.NewHandler(viewer.Options{Source: &source{}, Changes: func(context.Context) (int64, error) { return 1, nil }})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/changes", nil)
	h.ServeHTTP(&slow{ResponseWriter: httptest.NewRecorder()}, r)
}

// Nothing is a list where there is nothing.
func TestServeHasNoNulls(t *testing.T) {
	var b bytes.Buffer
	if err := viewer.Write(&b, viewer.Document{}); err != nil {
		t.Fatal(err)
	}
	_, live := get(t, serve(t, viewer.Options{Source: &source{}}), "/")
	for _, page := range []string{b.String(), live} {
		data := string(viewertest.Data(t, page))
		if strings.Contains(data, "null") || !strings.Contains(data, `"queries":[]`) {
			t.Errorf("the data of the page: %s", data)
		}
	}
}
