// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/internal/viewer/viewertest"
	"github.com/adk-contextgraph/contextgraph/record"
)

// counted counts how often a session is read.
type counted struct {
	source
	reads int
}

func (c *counted) Record(ctx context.Context, s record.Session) (inspect.Record, error) {
	c.reads++
	return c.source.Record(ctx, s)
}

const ofShop = "app=shop&user=alice&id=s-1"

// asks returns the answer of a handler.
func asks(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
	return w.Code, w.Body.String()
}

// payloadsOf are the payloads of rows as an answer has them, by the ids of their events.
func payloadsOf(t *testing.T, answer string) (ids []string, payloads []string) {
	t.Helper()
	var got struct {
		Rows []struct {
			Event      string `json:"event_id"`
			Content    json.RawMessage
			Attributes json.RawMessage
		}
	}
	if err := json.Unmarshal(unshared(t, answer), &got); err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Rows {
		ids, payloads = append(ids, r.Event), append(payloads, fmt.Sprintf("[%s,%s]", r.Content, r.Attributes))
	}
	return ids, payloads
}

func TestServeSendsPayloadsOnDemand(t *testing.T) {
	s := serve(t, viewer.Options{Source: &source{rows: asked(shop)}})
	if _, body := get(t, s, "/api/session?"+ofShop); strings.Contains(body, "originalFunctionCall") || strings.Contains(body, `"content"`) {
		t.Errorf("the session has payloads: %s", body)
	}
	rows := asked(shop)
	_, body := get(t, s, "/api/payloads?"+ofShop+"&from=1&to=3")
	ids, payloads := payloadsOf(t, body)
	if diff := cmp.Diff([]string{rows[1].EventID, rows[2].EventID}, ids); diff != "" {
		t.Errorf("the rows: -want +got:\n%s", diff)
	}
	want := []string{
		fmt.Sprintf("[%s,%s]", rows[1].Content, rows[1].Attributes),
		fmt.Sprintf("[%s,%s]", rows[2].Content, rows[2].Attributes),
	}
	if diff := cmp.Diff(want, payloads); diff != "" {
		t.Errorf("the payloads: -want +got:\n%s", diff)
	}
	for _, tc := range []struct {
		query  string
		status int
		want   string
	}{
		{ofShop + "&from=3&to=9", http.StatusOK, `{"rows":[]}`},
		{ofShop, http.StatusBadRequest, "use the places of rows"},
		{ofShop + "&from=-1&to=1", http.StatusBadRequest, "use the places of rows"},
		{ofShop + "&from=1&to=1", http.StatusBadRequest, "use the places of rows"},
		{"app=shop&user=alice&id=s-2&from=0&to=1", http.StatusNotFound, `there is no session \"s-2\"`},
	} {
		if resp, body := get(t, s, "/api/payloads?"+tc.query); resp.StatusCode != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %s, want %d and %s", tc.query, resp.StatusCode, body, tc.status, tc.want)
		}
	}
	broken := serve(t, viewer.Options{Source: &source{err: errors.New("the disk is gone")}})
	if resp, body := get(t, broken, "/api/payloads?"+ofShop+"&from=0&to=1"); resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "the disk is gone") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// unshared returns the JSON of an answer of the server.
func unshared(t *testing.T, body string) []byte {
	t.Helper()
	data, err := viewertest.Decode([]byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return data
}

// An answer has as many rows as fit, and one at least.
func TestServeBoundsPayloads(t *testing.T) {
	rows := asked(shop)
	for i, size := range []int{3 << 20, 3 << 20, 6 << 20} {
		rows[i].Content = fmt.Appendf(nil, "%q", strings.Repeat("x", size))
	}
	s := serve(t, viewer.Options{Source: &source{rows: rows}})
	for from := range 3 {
		_, body := get(t, s, fmt.Sprintf("/api/payloads?%s&from=%d&to=3", ofShop, from))
		if ids, _ := payloadsOf(t, body); len(ids) != 1 || ids[0] != rows[from].EventID {
			t.Errorf("from %d: %q", from, ids)
		}
	}
}

// A long answer is compressed for those who take that, and says the same.
func TestServeCompressesLongAnswers(t *testing.T) {
	h, err := viewer.NewHandler(viewer.Options{Source: &source{rows: asked(shop)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/session?" + ofShop, "/api/payloads?" + ofShop + "&from=0&to=3"} {
		_, plain := asks(t, h, path)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		zip, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(zip)
		if err != nil || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v, %v", path, w.Header(), err)
		}
		if diff := cmp.Diff(plain, string(body)); diff != "" {
			t.Errorf("%s: -plain +compressed:\n%s", path, diff)
		}
	}
}

// A source is read once for a session and the payloads that a page opens within a minute of it.
func TestServeReadsASessionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &counted{source: source{rows: asked(shop)}}
		h, err := viewer.NewHandler(viewer.Options{Source: src})
		if err != nil {
			t.Fatal(err)
		}
		payloads := "/api/payloads?" + ofShop + "&from=0&to=3"
		step := func(path string, status, reads int) {
			t.Helper()
			if code, body := asks(t, h, path); code != status || src.reads != reads {
				t.Errorf("GET %s: %d after %d reads, want %d after %d: %s", path, code, src.reads, status, reads, body)
			}
		}
		step("/api/session?"+ofShop, http.StatusOK, 1)
		step(payloads, http.StatusOK, 1)
		time.Sleep(59 * time.Second)
		step(payloads, http.StatusOK, 1)
		time.Sleep(time.Second)
		step(payloads, http.StatusOK, 2)
		// More rows than are known: the session has grown.
		step("/api/payloads?"+ofShop+"&from=3&to=4", http.StatusOK, 3)
		// A session that is gone has no payloads either, once anybody asked for it.
		src.err = inspect.ErrNotFound
		step("/api/session?"+ofShop, http.StatusNotFound, 4)
		step(payloads, http.StatusNotFound, 5)
	})
}
