// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/source"
)

func TestNewHTTPCheckerRefuses(t *testing.T) {
	for _, test := range []struct {
		want  string
		spoil func(*source.HTTPConfig)
	}{
		{"host", func(c *source.HTTPConfig) { c.URL = "" }},
		{"host", func(c *source.HTTPConfig) { c.URL = "ftp://ads.example/x" }},
		{"host", func(c *source.HTTPConfig) { c.URL = "http:///x" }},
		{"host", func(c *source.HTTPConfig) { c.URL = "/v1/{value}" }},
		{"URL", func(c *source.HTTPConfig) { c.URL = "http://ads.example/%zz" }},
		{"URL", func(c *source.HTTPConfig) { c.URL = "http://u:p@ads.example/%zz" }},
		{"credentials", func(c *source.HTTPConfig) { c.URL = "http://u:p@ads.example/x" }},
		{"fragment", func(c *source.HTTPConfig) { c.URL = "http://ads.example/x#{value}" }},
		{"fragment", func(c *source.HTTPConfig) { c.URL = "http://ads.example/x#" }},
		{"braces", func(c *source.HTTPConfig) { c.URL = "http://ads.example/{value" }},
		{"braces", func(c *source.HTTPConfig) { c.URL = "http://ads.example/value}" }},
		{"segments", func(c *source.HTTPConfig) { c.URL = "http://ads.example/a/../{value}" }},
		{"host must not", func(c *source.HTTPConfig) { c.URL = "http://{value}.example/x" }},
		{"host must not", func(c *source.HTTPConfig) { c.URL = "http://{value}" }},
		{"host must not", func(c *source.HTTPConfig) { c.URL = "http://a{value}?x" }},
		{"{name}", func(c *source.HTTPConfig) { c.URL = "http://ads.example/{name}" }},
		{"{}", func(c *source.HTTPConfig) { c.URL = "http://ads.example/{}" }},
		{"{attributes.}", func(c *source.HTTPConfig) { c.URL = "http://ads.example/{attributes.}" }},
		{"{attributes.A b}", func(c *source.HTTPConfig) { c.URL = "http://ads.example/{attributes.A b}" }},
		{`header "A b"`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"A b": "x"} }},
		{`header ""`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"": "x"} }},
		{`header "A"`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"A": "x\r\nB: y"} }},
		{`header "host": the client sets it`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"host": "x"} }},
		{`header "Accept-Encoding"`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"Accept-Encoding": "br"} }},
		{`headers "X-Key" and "x-key" are one`, func(c *source.HTTPConfig) { c.Headers = map[string]string{"x-key": "1", "X-Key": "2"} }},
		{"Attributes is empty", func(c *source.HTTPConfig) { c.Attributes = nil }},
		{`attribute "price": Kind`, func(c *source.HTTPConfig) { c.Attributes["price"] = source.HTTPAttribute{Path: "$.x"} }},
		{`attribute "price"`, func(c *source.HTTPConfig) {
			c.Attributes["price"] = source.HTTPAttribute{Path: "x", Kind: entity.KindText}
		}},
		{"AsOf", func(c *source.HTTPConfig) { c.AsOf = "now" }},
		{"Version", func(c *source.HTTPConfig) { c.Version = "ETag" }},
		{"MaxBody", func(c *source.HTTPConfig) { c.MaxBody = -1 }},
	} {
		cfg := placement("http://ads.example")
		test.spoil(&cfg)
		c, err := source.NewHTTPChecker(cfg)
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want an error about %s", cfg.URL, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), ":p@") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if _, err := source.NewHTTPChecker(source.HTTPConfig{URL: "x", AsOf: "y"}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not every error is named: %v", err)
	}
}

func TestHTTPCheckerURL(t *testing.T) {
	for _, test := range []struct {
		url   string
		thing entity.Canonical
		want  string // "" for an error
	}{
		{"/p/{value}", thing("Product", "A/B?c=d#e%20f ü", fine), "/p/A%2FB%3Fc=d%23e%2520f%20%C3%BC"},
		{"/p?q={value}&t={type}", thing("Product", "a b&c=d+e#f", fine), "/p?q=a+b%26c%3Dd%2Be%23f&t=Product"},
		{"?q={value}", thing("Product", "x", fine), "?q=x"},
		{"/{type}/x{value}y", thing("Product", "..", fine), "/Product/x..y"},
		{"/a/{attributes.account}/b", thing("Budget", "$1", values{"account": entity.Text("acme/1")}), "/a/acme%2F1/b"},
		{"/a/{attributes.account}/b", thing("Budget", "$1", values{"account": number(12)}), "/a/12/b"},
		{"/a/{attributes.account}/b", thing("Budget", "$1", nil), ""},
		{"/a/{value}", thing("Product", "", fine), ""},
		{"/a/{value}", thing("Product", ".", fine), ""},
		{"/a/{value}", thing("Product", "..", fine), ""},
		{"/a/{value}/b", thing("Product", "..", fine), ""},
		{"/a/{value}{type}", thing(".", ".", fine), ""},
		{"/a?b={value}", thing("Product", "../..", fine), "/a?b=..%2F.."},
	} {
		var got string
		cfg := placement("")
		cfg.URL = "http://ads.example" + test.url
		cfg.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = strings.TrimPrefix(r.URL.String(), "http://ads.example")
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"price": 1}`)), Request: r}, nil
		})}
		_, err := httpChecker(t, cfg).Check(t.Context(), test.thing)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s with %s %q: %q, %v; want %q", test.url, test.thing.Type, test.thing.Value, got, err, test.want)
		}
	}
	cfg := placement("http://ads.example")
	if _, err := httpChecker(t, cfg).Check(nil, strava); err == nil { //nolint:staticcheck // a nil context is the test
		t.Error("asked without a context")
	}
}

// FuzzHTTPAnswer checks that no answer makes the checker panic, that what it
// understands has the configured kinds, and that only a complete and equal answer is
// safe.
func FuzzHTTPAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"price": 40000, "available": true, "as_of": "2026-01-19T11:00:12Z", "rev": 1}`, `{"price": "$40,000", "available": false}`, `[]`, `null`, `{"price": 1e999}`,
		`{"price": 40000, "price": 1}`, "{\"\xff\": 1}", `{"a": [{"a": {}}]}`, `"x"`, ``, `{"price": 40000, "available": true, "as_of": "2026-01-19T11:00:12Z", "rev": null}`,
	} {
		f.Add([]byte(seed), "Mon, 19 Jan 2026 11:00:11 GMT", `"v"`)
	}
	f.Fuzz(func(t *testing.T, body []byte, date, etag string) {
		for _, asOf := range []string{"$.as_of", source.AsOfDateHeader} {
			cfg := placement("http://ads.example")
			cfg.AsOf, cfg.Version = asOf, "$..rev"
			cfg.Client = replying(200, http.Header{"Date": {date}, "Etag": {etag}}, strings.NewReader(string(body)))
			c := httpChecker(t, cfg)
			s, err := c.Check(t.Context(), strava)
			for name, v := range s.Attributes {
				if want := cfg.Attributes[name].Kind; v.Kind() != want {
					t.Fatalf("%s is a %s, want %s", name, v.Kind(), want)
				}
			}
			cfg.Client = replying(200, http.Header{"Date": {date}, "Etag": {etag}}, strings.NewReader(string(body)))
			r := check(t, httpChecker(t, cfg))
			complete := err == nil && s.Version != "" && s.Attributes["price"].Equal(usd("$40,000")) && s.Attributes["availability"].Equal(entity.Bool(true))
			if r.IsSafeToApprove() && !complete {
				t.Fatalf("safe with %v, %v", s, err)
			}
		}
	})
}
