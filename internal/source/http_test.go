// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/source"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// placement is a configuration for answers like {"price": 40000, "available": true}.
func placement(base string) config.HTTP {
	return config.HTTP{
		URL: base + "/v1/placements/{value}",
		Attributes: map[string]config.Answer{
			"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
			"availability": {Path: "$.available", Type: entity.KindBool},
		},
	}
}

func now() time.Time { return epoch }

func httpChecker(t *testing.T, cfg config.HTTP, client *http.Client) safety.Checker {
	t.Helper()
	c, err := source.HTTP(cfg, client, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve starts a server and gives a client that leaves no connection open.
func serve(t *testing.T, h http.HandlerFunc) (string, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

func TestHTTPChecker(t *testing.T) {
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.EscapedPath() != "/v1/placements/Strava%20Sponsored%20Routes" || r.Header.Get("Authorization") != "Bearer x" ||
			r.Header.Get("Accept") != "application/json" || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s %s with %v", r.Method, r.URL.EscapedPath(), r.Header)
		}
		w.Header().Set("ETag", `"v7"`)
		w.Header().Set("Date", "Mon, 19 Jan 2026 11:00:11 GMT")
		io.WriteString(w, `{"price": 52000.50, "available": true, "as_of": "2026-01-19T11:00:12Z", "rev": 8, "note": null, "unit": "price", "tags": ["a", "a", {"a": "a"}], "a": "unit"}`)
	})
	for _, test := range []struct {
		asOf, version string
		wantAsOf      time.Time
		wantVersion   string
	}{
		{"", "", epoch, ""},
		{config.AsOfFetch, "", epoch, ""},
		{config.AsOfDateHeader, config.VersionETag, epoch.Add(-2 * time.Second), `"v7"`},
		{"$.as_of", "$.rev", epoch.Add(-time.Second), "8"},
	} {
		cfg := placement(url)
		cfg.AsOf, cfg.Version, cfg.Headers = test.asOf, test.version, map[string]config.Secret{"Authorization": "Bearer x"}
		cfg.Attributes["note"] = config.Answer{Path: "$.note", Type: entity.KindText}
		cfg.Attributes["gone"] = config.Answer{Path: "$.gone", Type: entity.KindText}
		got, err := httpChecker(t, cfg, client).Check(t.Context(), strava)
		if err != nil {
			t.Fatal(err)
		}
		want := safety.State{
			Attributes: values{"price": usd("$52,000.50"), "availability": entity.Bool(true)}, AsOf: test.wantAsOf, Version: test.wantVersion,
			Missing: map[string]string{"gone": "$.gone", "note": "$.note"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("as of %q, version %q (-want +got):\n%s", test.asOf, test.version, diff)
		}
	}
}

// A set is what a path selects. That its list is there and empty is not that it is missing.
func TestHTTPReadsSets(t *testing.T) {
	items := func(body string) (safety.State, error) {
		cfg := placement("http://ads.example")
		cfg.Attributes = map[string]config.Answer{"items": {Path: "$.items[*].id", Type: entity.KindSet}}
		return httpChecker(t, cfg, replying(200, nil, strings.NewReader(body))).Check(t.Context(), strava)
	}
	for body, want := range map[string]entity.Value{
		`{"items": [{"id": "Desk"}, {"id": 17}]}`: entity.Set("17", "Desk"),
		`{"items": []}`:   entity.Set(),
		`{"items": null}`: entity.Set(),
	} {
		if got, err := items(body); err != nil || got.Attributes["items"] != want || got.Missing != nil {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
	if got, err := items(`{}`); err != nil || len(got.Attributes) > 0 || got.Missing["items"] != "$.items[*].id" {
		t.Errorf("no list: %v, %v", got, err)
	}
	for _, body := range []string{`{"items": "none"}`, `{"items": [{"name": "Desk"}]}`, `{"items": [{"id": null}]}`} {
		got, err := items(body)
		if named, is := errors.AsType[*safety.AnswerError](err); !is || named.Reason != safety.ReasonTypeMismatch || len(got.Attributes) > 0 {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

// A checker has a copy of its configuration, and the clock of the machine unless it gets another.
func TestHTTPAlone(t *testing.T) {
	cfg := placement("http://ads.example")
	cfg.Headers = map[string]config.Secret{"Authorization": "Bearer x"}
	before := time.Now()
	c, err := source.HTTP(cfg, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if got := r.Header.Get("Authorization"); got != "Bearer x" {
			t.Errorf("Authorization %q", got)
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"price": 1, "available": true}`)), Request: r}, nil
	})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	delete(cfg.Attributes, "price")
	delete(cfg.Headers, "Authorization")
	got, err := c.Check(t.Context(), strava)
	if err != nil || got.AsOf.Before(before) || len(got.Attributes) != 2 {
		t.Errorf("%+v, error %v", got, err)
	}
}

// roundTrip answers without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func replying(status int, header http.Header, body io.Reader) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: header, Body: io.NopCloser(body), Request: r,
		}, nil
	})}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestHTTPCheckerRefusesAnswers(t *testing.T) {
	const good = `{"price": 40000, "available": true}`
	for name, test := range map[string]struct {
		status int
		header http.Header
		body   string
		change func(*config.HTTP)
		want   string // in the error
		reason string // of a failure, if not empty
	}{
		"created":             {status: 201, body: good, want: "201"},
		"no content":          {status: 204, want: "204"},
		"partial":             {status: 206, body: good, want: "206"},
		"not modified":        {status: 304, want: "304"},
		"redirect":            {status: 302, header: http.Header{"Location": {"http://elsewhere.example/"}}, body: good, want: "302"},
		"not found":           {status: 404, body: good, want: "404"},
		"server error":        {status: 500, body: good, want: "500"},
		"unavailable":         {status: 503, body: good, want: "503"},
		"too long":            {status: 200, body: good + strings.Repeat(" ", 1<<20), want: "longer than 1048576"},
		"too long by one":     {status: 200, body: good + strings.Repeat(" ", 1<<20-len(good)+1), want: "longer than"},
		"nothing":             {status: 200, want: "EOF"},
		"no JSON":             {status: 200, body: `<html>`, want: "invalid character", reason: safety.ReasonError},
		"half JSON":           {status: 200, body: `{"price": 40000`, want: "unexpected EOF"},
		"two values":          {status: 200, body: good + good, want: "after the value"},
		"garbage behind":      {status: 200, body: good + "x", want: "after the value"},
		"not UTF-8":           {status: 200, body: "{\"price\": 40000, \"available\": true, \"x\": \"\xff\"}", want: "UTF-8"},
		"a name twice":        {status: 200, body: `{"available": false, "price": 40000, "available": true}`, want: "twice"},
		"a name twice, deep":  {status: 200, body: `{"price": 40000, "available": true, "x": [1, {"a": {}, "b": [], "a": 1}]}`, want: "twice"},
		"a name twice, huge":  {status: 200, body: `{"x": 1e999, "price": 40000, "available": false, "available": true}`, want: "twice"},
		"text for a boolean":  {status: 200, body: `{"price": 40000, "available": "true"}`, want: "availability at $.available", reason: safety.ReasonTypeMismatch},
		"number for boolean":  {status: 200, body: `{"price": 40000, "available": 1}`, want: "availability at $.available"},
		"object for money":    {status: 200, body: `{"price": {"amount": 1}, "available": true}`, want: "price at $.price"},
		"boolean for money":   {status: 200, body: `{"price": true, "available": true}`, want: "price at $.price"},
		"null for money":      {status: 200, body: `{"price": null, "available": true}`, want: "price", reason: safety.ReasonMissingAttribute},
		"two prices":          {status: 200, body: `{"price": [1, 2], "available": true}`, change: path("$.price[*]"), want: "2 values", reason: safety.ReasonTypeMismatch},
		"no time":             {status: 200, body: good, change: asOf("$.as_of"), want: "as-of at $.as_of: nothing there", reason: safety.ReasonNoAsOf},
		"null for a time":     {status: 200, body: `{"as_of": null}`, change: asOf("$.as_of"), want: "as-of at $.as_of: nothing there"},
		"number for a time":   {status: 200, body: `{"as_of": 1768820413}`, change: asOf("$.as_of"), want: "as-of at $.as_of"},
		"time without zone":   {status: 200, body: `{"as_of": "2026-01-19T11:00:12"}`, change: asOf("$.as_of"), want: "as-of at $.as_of"},
		"two times":           {status: 200, body: `{"as_of": ["2026-01-19T11:00:12Z", "2026-01-19T11:00:12Z"]}`, change: asOf("$.as_of[*]"), want: "2 values"},
		"no date":             {status: 200, body: good, change: asOf(config.AsOfDateHeader), want: "Date header"},
		"bad date":            {status: 200, header: http.Header{"Date": {"today"}}, body: good, change: asOf(config.AsOfDateHeader), want: "Date header"},
		"no etag":             {status: 200, body: good, change: version(config.VersionETag), want: "version at etag: nothing there", reason: safety.ReasonMissingAttribute},
		"no version":          {status: 200, body: good, change: version("$.rev"), want: "version at $.rev", reason: safety.ReasonMissingAttribute},
		"object for version":  {status: 200, body: `{"rev": {}}`, change: version("$.rev"), want: "version at $.rev"},
		"empty version":       {status: 200, body: `{"rev": ""}`, change: version("$.rev"), want: "nothing there"},
		"two versions":        {status: 200, body: `{"rev": [1, 2]}`, change: version("$.rev[*]"), want: "2 values"},
		"too deep to decode":  {status: 200, body: strings.Repeat("[", 20000) + strings.Repeat("]", 20000), want: "depth"},
		"a transport error":   {want: "no route"},
		"a connection broken": {status: 200, want: "connection reset"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := placement("http://ads.example")
			client := replying(test.status, test.header, strings.NewReader(test.body))
			switch name {
			case "a transport error":
				client.Transport = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
			case "a connection broken":
				client = replying(200, nil, brokenBody{})
			}
			if test.change != nil {
				test.change(&cfg)
			}
			r := check(t, httpChecker(t, cfg, client))
			if r.Verdict() != safety.CheckFailed || !strings.Contains(r.Summary(), test.want) {
				t.Errorf("want a failure about %q\n%s", test.want, r.Summary())
			}
			if test.reason != "" {
				wantFailure(t, r, test.reason)
			}
		})
	}
}

func path(p string) func(*config.HTTP) {
	return func(c *config.HTTP) {
		c.Attributes["price"] = config.Answer{Path: p, Type: entity.KindMoney, Currency: "USD"}
	}
}
func asOf(s string) func(*config.HTTP)    { return func(c *config.HTTP) { c.AsOf = s } }
func version(s string) func(*config.HTTP) { return func(c *config.HTTP) { c.Version = s } }

// What is wrong with one attribute does not hide what is known of the other.
func TestHTTPCheckerKeepsDrift(t *testing.T) {
	cfg := placement("http://ads.example")
	client := replying(200, nil, strings.NewReader(`{"price": "??", "available": false}`))
	r := check(t, httpChecker(t, cfg, client))
	if a := r.Alerts(); r.Verdict() != safety.Drift || len(a) != 1 || a[0].Drift != safety.Unavailable {
		t.Errorf("alerts %v, want that it is not available\n%s", a, r.Summary())
	}
	wantFailure(t, r, safety.ReasonTypeMismatch)
}

// An answer of the greatest size is an answer.
func TestHTTPCheckerMaxBody(t *testing.T) {
	const body = `{"price": 40000, "available": true}`
	client := replying(200, nil, strings.NewReader(body+strings.Repeat(" ", 1<<20-len(body))))
	if _, err := httpChecker(t, placement("http://ads.example"), client).Check(t.Context(), strava); err != nil {
		t.Error(err)
	}
}

// A redirect is not followed, whatever the client would do.
func TestHTTPCheckerDoesNotFollow(t *testing.T) {
	followed := false
	url, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/other") {
			followed = true
		}
		http.Redirect(w, r, "/other", http.StatusFound)
	})
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	cfg := placement(url)
	if _, err := httpChecker(t, cfg, client).Check(t.Context(), strava); err == nil || followed || !strings.Contains(err.Error(), "302") {
		t.Errorf("followed %t, error %v", followed, err)
	}
	if client.CheckRedirect(nil, nil) != nil {
		t.Error("the caller's client was changed")
	}
}

func TestHTTPCheckerEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	url, client := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	cfg := placement(url)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(0, cancel)
	if _, err := httpChecker(t, cfg, client).Check(ctx, strava); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// Errors are shown and stored: they must not hold what a query may.
func TestHTTPCheckerHidesTheQuery(t *testing.T) {
	cfg := placement("http://ads.example")
	cfg.URL += "?key=s3cret"
	for name, client := range map[string]*http.Client{
		"status":    replying(500, nil, strings.NewReader("s3cret")),
		"body":      replying(200, nil, strings.NewReader(`{"s3cret"`)),
		"transport": {Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })},
	} {
		if _, err := httpChecker(t, cfg, client).Check(t.Context(), strava); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// An answer that a cache had is as old as the cache says.
func TestHTTPCheckerAge(t *testing.T) {
	for name, test := range map[string]struct {
		age  []string
		asOf string
		want string // the reason of the failed check, "" for safe
	}{
		"none":                   {nil, "", ""},
		"young":                  {[]string{"30"}, "", ""},
		"old":                    {[]string{"31"}, "", safety.ReasonStaleAnswer},
		"very old":               {[]string{"2147483647"}, "", safety.ReasonStaleAnswer},
		"no number":              {[]string{"old"}, "", safety.ReasonNoAsOf},
		"negative":               {[]string{"-1"}, "", safety.ReasonNoAsOf},
		"beyond any age":         {[]string{"9223372036854775807"}, "", safety.ReasonNoAsOf},
		"two":                    {[]string{"1", "2"}, "", safety.ReasonNoAsOf},
		"old, but the body says": {[]string{"600"}, "$.as_of", ""},
	} {
		header := http.Header{"Age": test.age}
		cfg := placement("http://world.test")
		cfg.AsOf = test.asOf
		client := replying(http.StatusOK, header, strings.NewReader(`{"price": 40000, "available": true, "as_of": "2026-01-19T11:00:13Z"}`))
		r := check(t, httpChecker(t, cfg, client))
		if test.want == "" {
			if !r.IsSafeToApprove() {
				t.Errorf("%s: %s", name, r.Summary())
			}
			continue
		}
		if f := r.Failures(); len(f) == 0 || f[0].Reason != test.want {
			t.Errorf("%s: want %s\n%s", name, test.want, r.Summary())
		}
	}
}
