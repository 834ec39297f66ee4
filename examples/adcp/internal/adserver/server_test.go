// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
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

var elfLines = []adserver.Line{{Placement: "Instagram Reels", Spend: 20000}}

func draft(t *testing.T, s *adserver.Server) {
	t.Helper()
	if _, _, err := s.Draft("elf-cosmetics", elfLines, []string{"Beauty Enthusiasts"}); err != nil {
		t.Fatal(err)
	}
}

// What a checker reads over HTTP: the state, the time it was true, and an ETag that changes with it.
func TestState(t *testing.T) {
	s := newServer(t)
	base, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(target string) (status int, etag string, body map[string]any) {
		t.Helper()
		res, err := client.Get(base + target)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode == http.StatusOK {
			if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			text, _ := body["as_of"].(string)
			if asOf, err := time.Parse(time.RFC3339Nano, text); err != nil || time.Since(asOf).Abs() > time.Minute {
				t.Errorf("%s: as_of %q, %v", target, text, err)
			}
			delete(body, "as_of")
		}
		return res.StatusCode, res.Header.Get("ETag"), body
	}
	draft(t, s)
	for target, want := range map[string]map[string]any{
		"/v1/placements/strava%20Sponsored%20Routes": {"name": "Strava Sponsored Routes", "category": "sportswear", "available": true, "price": 40000.0, "currency": "USD", "match": 0.91},
		"/v1/audiences/Gen%20Z%20Female%2018-24":     {"name": "Gen Z Female 18-24", "category": "cosmetics", "reach": 8200000.0, "score": 0.94},
		"/v1/accounts/nike-running/budget":           {"account": "nike-running", "code": "NIKE", "advertiser": "Nike", "amount": 200000.0, "currency": "USD"},
		"/v1/campaigns/GAM-2026-ELF-001":             {"id": "GAM-2026-ELF-001", "account": "elf-cosmetics", "status": "draft", "lines": []any{map[string]any{"placement": "Instagram Reels", "spend": 20000.0}}, "audiences": []any{"Beauty Enthusiasts"}, "artifact_uri": "gs://adcp-artifacts/elf/campaign_config.json"},
		"/v1/placements/Moon":                        nil,
		"/v1/campaigns/GAM-1":                        nil,
	} {
		status, etag, got := get(target)
		if wanted := want != nil; (status == http.StatusOK) != wanted || (etag != "") != wanted || !wanted && status != http.StatusNotFound {
			t.Errorf("%s: status %d, ETag %s", target, status, etag)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}

	const strava = "/v1/placements/Strava%20Sponsored%20Routes"
	_, before, _ := get(strava)
	if err := errors.Join(s.SetPrice("Strava Sponsored Routes", 52000), s.SellOut("Yahoo Homepage Takeover")); err != nil {
		t.Fatal(err)
	}
	if _, etag, got := get(strava); got["price"] != 52000.0 || etag == before {
		t.Errorf("price %v, ETag %s; want 52000 and a new ETag", got["price"], etag)
	}
	if _, _, got := get("/v1/placements/Yahoo%20Homepage%20Takeover"); got["available"] != false {
		t.Errorf("sold out: %v", got)
	}
	if err := s.SellOut("Moon"); err == nil {
		t.Error("an unknown placement is sold out")
	}
	s.FailState(true)
	if status, _, _ := get(strava); status != http.StatusServiceUnavailable {
		t.Errorf("status %d while the state cannot be read", status)
	}
}

func TestDraft(t *testing.T) {
	s := newServer(t)
	for want, plan := range map[string]struct {
		account  string
		line     adserver.Line
		audience string
	}{
		`no account "acme"`:      {"acme", elfLines[0], "Beauty Enthusiasts"},
		`no placement "Moon"`:    {"elf-cosmetics", adserver.Line{Placement: "Moon", Spend: 1}, "Beauty Enthusiasts"},
		"it must be more than 0": {"elf-cosmetics", adserver.Line{Placement: "CNN Digital"}, "Beauty Enthusiasts"},
		`no audience "Nobody"`:   {"elf-cosmetics", elfLines[0], "Nobody"},
	} {
		if _, _, err := s.Draft(plan.account, []adserver.Line{plan.line}, []string{plan.audience}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, err := s.Draft("elf-cosmetics", nil, nil); err == nil {
		t.Error("a plan without lines is stored")
	}
	draft(t, s)
	draft(t, s)
	var ids []string
	for _, c := range s.Campaigns() {
		ids = append(ids, c.ID+" "+string(c.Status))
	}
	if diff := cmp.Diff([]string{"GAM-2026-ELF-001 draft", "GAM-2026-ELF-002 draft"}, ids); diff != "" {
		t.Errorf("campaigns (-want +got):\n%s", diff)
	}
}

func TestProvision(t *testing.T) {
	for name, tc := range map[string]struct {
		expect adserver.Expect
		change func(*adserver.Server) error
		want   string // in the error; "" for a live campaign
	}{
		"anything": {},
		"as expected": {expect: adserver.Expect{
			Placements: map[string]string{"instagram reels": `"1"`}, Audiences: map[string]string{"Beauty Enthusiasts": `"1"`}, Account: `"1"`, Campaign: `"1"`,
		}},
		"another campaign":     {expect: adserver.Expect{Campaign: `"7"`}, want: "is at revision"},
		"another placement":    {expect: adserver.Expect{Placements: map[string]string{"Instagram Reels": `"2"`}}, want: "placement Instagram Reels is not what it was"},
		"an unknown placement": {expect: adserver.Expect{Placements: map[string]string{"Billboard": `"1"`}}, want: "placement Billboard is not what it was"},
		"another audience":     {expect: adserver.Expect{Audiences: map[string]string{"Beauty Enthusiasts": `"2"`}}, want: "audience Beauty Enthusiasts is not what it was"},
		"another account":      {expect: adserver.Expect{Account: `"2"`}, want: "account elf-cosmetics is not what it was"},
		"sold out":             {change: func(s *adserver.Server) error { return s.SellOut("Instagram Reels") }, want: "is not available"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			draft(t, s)
			if tc.change != nil {
				if err := tc.change(s); err != nil {
					t.Fatal(err)
				}
			}
			c, err := s.Provision("GAM-2026-ELF-001", tc.expect)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || c.Status != adserver.StatusLive {
				t.Fatalf("%v, %v: want a live campaign", c, err)
			}
			if again, err := s.Provision(c.ID, adserver.Expect{}); err != nil || again.Status != adserver.StatusLive {
				t.Errorf("asked again: %v, %v", again, err)
			}
		})
	}
	if _, err := newServer(t).Provision("GAM-1", adserver.Expect{}); err == nil {
		t.Error("an unknown campaign is live")
	}
}
