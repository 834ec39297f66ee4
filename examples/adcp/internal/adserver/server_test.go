// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T) *adserver.Server {
	t.Helper()
	c, err := adserver.DemoCatalog()
	if err != nil {
		t.Fatal(err)
	}
	return adserver.New(c)
}

// do sends one request and returns the answer with its JSON body; as_of is checked and taken out of it.
func do(t *testing.T, h http.Handler, method, target, body string, header ...string) (*http.Response, map[string]any) {
	t.Helper()
	before := time.Now()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	res := w.Result()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%s %s: body %q: %v", method, target, data, err)
	}
	if res.StatusCode < 300 {
		text, _ := got["as_of"].(string)
		asOf, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || asOf.Before(before.Add(-time.Second)) || asOf.After(time.Now().Add(time.Second)) {
			t.Errorf("%s %s: as_of = %q (%v), want the time of the answer", method, target, text, err)
		}
		delete(got, "as_of")
	}
	return res, got
}

const elfPlan = `{"account":"elf-cosmetics","lines":[{"placement":"Instagram Reels","spend":20000}],"audiences":["Beauty Enthusiasts"]}`

func TestState(t *testing.T) {
	s := newServer(t)
	if res, _ := do(t, s, "POST", "/v1/campaigns", elfPlan); res.StatusCode != http.StatusCreated {
		t.Fatalf("drafting: %s", res.Status)
	}
	for _, tc := range []struct {
		target string
		status int
		want   map[string]any
	}{
		{"/v1/placements/Strava%20Sponsored%20Routes", 200, map[string]any{
			"name": "Strava Sponsored Routes", "category": "sportswear", "available": true, "price": 40000.0, "currency": "USD", "match": 0.91}},
		{"/v1/audiences/gen%20z%20female%2018-24", 200, map[string]any{
			"name": "Gen Z Female 18-24", "category": "cosmetics", "reach": 8200000.0, "score": 0.94}},
		{"/v1/accounts/nike-running/budget", 200, map[string]any{"account": "nike-running", "amount": 200000.0, "currency": "USD"}},
		{"/v1/campaigns/GAM-2026-ELF-001", 200, map[string]any{
			"id": "GAM-2026-ELF-001", "account": "elf-cosmetics", "status": "draft",
			"lines":        []any{map[string]any{"placement": "Instagram Reels", "spend": 20000.0}},
			"audiences":    []any{"Beauty Enthusiasts"},
			"artifact_uri": "gs://adcp-artifacts/elf/campaign_config.json"}},
		{"/v1/placements/Moon", 404, map[string]any{"error": map[string]any{"code": "no_such_placement", "message": `no placement "Moon"`}}},
		{"/v1/audiences/Nobody", 404, map[string]any{"error": map[string]any{"code": "no_such_audience", "message": `no audience "Nobody"`}}},
		{"/v1/accounts/acme/budget", 404, map[string]any{"error": map[string]any{"code": "no_such_account", "message": `no account "acme"`}}},
		{"/v1/campaigns/GAM-1", 404, map[string]any{"error": map[string]any{"code": "no_such_campaign", "message": `no campaign "GAM-1"`}}},
	} {
		t.Run(tc.target, func(t *testing.T) {
			res, got := do(t, s, "GET", tc.target, "")
			if res.StatusCode != tc.status {
				t.Errorf("status %d, want %d", res.StatusCode, tc.status)
			}
			if tc.status == 200 && res.Header.Get("ETag") == "" {
				t.Error("no ETag")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	s := newServer(t)
	for _, tc := range []struct {
		target, list string
		want         []string
	}{
		{"/v1/placements?category=automotive", "placements", []string{"CNN Digital", "NYT Sponsored Content"}},
		{"/v1/audiences?category=Sportswear", "audiences", []string{"Athletes 18-35", "Fitness Enthusiasts", "Running Community"}},
		{"/v1/audiences?category=automotive", "audiences", nil},
		{"/v1/placements?category=yachts", "placements", nil},
	} {
		_, got := do(t, s, "GET", tc.target, "")
		list, ok := got[tc.list].([]any)
		if !ok {
			t.Errorf("%s: %v, want a list", tc.target, got[tc.list])
		}
		var names []string
		for _, item := range list {
			names = append(names, item.(map[string]any)["name"].(string))
		}
		if diff := cmp.Diff(tc.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.target, diff)
		}
	}
	if _, got := do(t, s, "GET", "/v1/placements", ""); len(got["placements"].([]any)) != 8 {
		t.Errorf("without a category: %v, want all 8", got)
	}
}

func TestWorldChanges(t *testing.T) {
	s := newServer(t)
	const strava, yahoo = "/v1/placements/Strava%20Sponsored%20Routes", "/v1/placements/Yahoo%20Homepage%20Takeover"
	first, _ := do(t, s, "GET", strava, "")
	if again, _ := do(t, s, "GET", strava, ""); again.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Error("the ETag changed with nothing else")
	}
	if err := errors.Join(s.SetPrice("Strava Sponsored Routes", 52000), s.SellOut("Yahoo Homepage Takeover")); err != nil {
		t.Fatal(err)
	}
	changed, got := do(t, s, "GET", strava, "")
	if got["price"] != 52000.0 || changed.Header.Get("ETag") == first.Header.Get("ETag") {
		t.Errorf("price %v, ETag %s; want 52000 and a new ETag", got["price"], changed.Header.Get("ETag"))
	}
	if _, got := do(t, s, "GET", yahoo, ""); got["available"] != false || got["price"] != 90000.0 {
		t.Errorf("sold out: %v", got)
	}
	for _, err := range []error{s.SetPrice("Moon", 1), s.SellOut("Moon")} {
		if !errors.Is(err, adserver.ErrNotFound) {
			t.Errorf("unknown placement: %v, want ErrNotFound", err)
		}
	}
}

func TestFailState(t *testing.T) {
	s := newServer(t)
	s.FailState(true)
	for _, target := range []string{"/v1/placements", "/v1/placements/CNN%20Digital", "/v1/audiences/Athletes%2018-35",
		"/v1/accounts/tesla-motors/budget", "/v1/campaigns/GAM-2026-ELF-001"} {
		if res, got := do(t, s, "GET", target, ""); res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %v, want 503", target, res.StatusCode, got)
		}
	}
	s.FailState(false)
	if res, _ := do(t, s, "GET", "/v1/placements/CNN%20Digital", ""); res.StatusCode != http.StatusOK {
		t.Errorf("recovered: %s", res.Status)
	}
}

func TestDraft(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"not json", `{`, 400, "bad_request"},
		{"unknown field", `{"account":"elf-cosmetics","budget":1}`, 400, "bad_request"},
		{"too large", `{"account":"` + strings.Repeat("x", 70<<10) + `"}`, 413, "bad_request"},
		{"unknown account", `{"account":"acme"}`, 422, "no_such_account"},
		{"no lines", `{"account":"elf-cosmetics"}`, 422, "empty_plan"},
		{"unknown placement", `{"account":"elf-cosmetics","lines":[{"placement":"Moon","spend":1}]}`, 422, "no_such_placement"},
		{"no spend", `{"account":"elf-cosmetics","lines":[{"placement":"CNN Digital","spend":0}]}`, 422, "bad_spend"},
		{"unknown audience", `{"account":"elf-cosmetics","lines":[{"placement":"CNN Digital","spend":1}],"audiences":["Nobody"]}`, 422, "no_such_audience"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			res, got := do(t, s, "POST", "/v1/campaigns", tc.body)
			problem, _ := got["error"].(map[string]any)
			if res.StatusCode != tc.status || problem["code"] != tc.code {
				t.Errorf("%d %v, want %d %s", res.StatusCode, got, tc.status, tc.code)
			}
			if res, _ := do(t, s, "GET", "/v1/campaigns/GAM-2026-ELF-001", ""); res.StatusCode != 404 {
				t.Error("a refused plan was stored")
			}
		})
	}
	s := newServer(t)
	if got := s.Campaigns(); len(got) != 0 {
		t.Errorf("campaigns of a new server: %v", got)
	}
	for _, want := range []string{"GAM-2026-ELF-001", "GAM-2026-ELF-002"} {
		if res, got := do(t, s, "POST", "/v1/campaigns", elfPlan); got["id"] != want || res.Header.Get("Location") != "/v1/campaigns/"+want {
			t.Errorf("drafted %v at %q, want %s", got["id"], res.Header.Get("Location"), want)
		}
	}
	var ids []string
	for _, c := range s.Campaigns() {
		ids = append(ids, c.ID+" "+string(c.Status))
	}
	if diff := cmp.Diff([]string{"GAM-2026-ELF-001 draft", "GAM-2026-ELF-002 draft"}, ids); diff != "" {
		t.Errorf("campaigns (-want +got):\n%s", diff)
	}
}

func TestProvision(t *testing.T) {
	const target = "/v1/campaigns/GAM-2026-ELF-001/provision"
	for _, tc := range []struct {
		name    string
		arrange func(t *testing.T, s *adserver.Server)
		header  []string
		body    string
		status  int
		code    string
	}{
		{"goes live", nil, nil, "", 200, ""},
		{"at the revision drafted", nil, []string{"If-Match", `"1"`}, "", 200, ""},
		{"at any revision", nil, []string{"If-Match", "*"}, "", 200, ""},
		{"at another revision", nil, []string{"If-Match", `"7"`}, "", 412, "campaign_changed"},
		{"as expected", nil, nil, `{"placements":{"instagram reels":"\"1\""},"audiences":{"Beauty Enthusiasts":"\"1\""},"account":"\"1\""}`, 200, ""},
		{"another placement", nil, nil, `{"placements":{"Instagram Reels":"\"2\""}}`, 412, "world_changed"},
		{"an unknown placement", nil, nil, `{"placements":{"Billboard":"\"1\""}}`, 412, "world_changed"},
		{"another audience", nil, nil, `{"audiences":{"Beauty Enthusiasts":"\"2\""}}`, 412, "world_changed"},
		{"another account", nil, nil, `{"account":"\"2\""}`, 412, "world_changed"},
		{"no expectation", nil, nil, `[]`, 400, "bad_request"},
		{"while state cannot be read", func(t *testing.T, s *adserver.Server) { s.FailState(true) }, nil, "", 200, ""},
		{"sold out", func(t *testing.T, s *adserver.Server) {
			if err := s.SellOut("Instagram Reels"); err != nil {
				t.Fatal(err)
			}
		}, nil, "", 409, "placement_unavailable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			do(t, s, "POST", "/v1/campaigns", elfPlan)
			if tc.arrange != nil {
				tc.arrange(t, s)
			}
			res, got := do(t, s, "POST", target, tc.body, tc.header...)
			if tc.status == 200 {
				if res.StatusCode != 200 || got["status"] != "live" {
					t.Fatalf("%d %v, want a live campaign", res.StatusCode, got)
				}
				tag := res.Header.Get("ETag")
				if tag == `"1"` {
					t.Error("the ETag of the draft is still that of the live campaign")
				}
				if res, got := do(t, s, "POST", target, ""); got["status"] != "live" || res.Header.Get("ETag") != tag {
					t.Errorf("asked again: %v, ETag %s; want the same live campaign", got, res.Header.Get("ETag"))
				}
				return
			}
			problem, _ := got["error"].(map[string]any)
			if res.StatusCode != tc.status || problem["code"] != tc.code {
				t.Errorf("%d %v, want %d %s", res.StatusCode, got, tc.status, tc.code)
			}
		})
	}
	if res, _ := do(t, newServer(t), "POST", target, ""); res.StatusCode != 404 {
		t.Errorf("unknown campaign: %s", res.Status)
	}
}

func TestStartClose(t *testing.T) {
	s := newServer(t)
	if err := s.Close(); err != nil {
		t.Errorf("closing what was not started: %v", err)
	}
	base, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("base URL %q is not loopback", base)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/v1/accounts/tesla-motors/budget", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("over the network: %s", res.Status)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if _, err := client.Do(req); err == nil {
		t.Error("a closed server still answers")
	}
}
