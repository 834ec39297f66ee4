// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/source"
)

// What package config refuses never becomes a checker, whoever calls, nor does what only this
// package knows of.
func TestHTTPRefuses(t *testing.T) {
	for _, test := range []struct {
		want  string
		spoil func(*config.HTTP)
	}{
		{"URL: missing", func(c *config.HTTP) { c.URL = "" }},
		{"http or https", func(c *config.HTTP) { c.URL = "ftp://ads.example/x" }},
		{"no host", func(c *config.HTTP) { c.URL = "http:///{value}" }},
		{"http or https", func(c *config.HTTP) { c.URL = "/v1/{value}" }},
		{"is not a URL", func(c *config.HTTP) { c.URL = "http://ads.example/%zz" }},
		{"a password", func(c *config.HTTP) { c.URL = "http://u:p@ads.example/%zz" }},
		{"a password", func(c *config.HTTP) { c.URL = "http://u:p@ads.example/x" }},
		{"fragment", func(c *config.HTTP) { c.URL = "http://ads.example/x#{value}" }},
		{"fragment", func(c *config.HTTP) { c.URL = "http://ads.example/x#" }},
		{"brace", func(c *config.HTTP) { c.URL = "http://ads.example/{value" }},
		{"brace", func(c *config.HTTP) { c.URL = "http://ads.example/value}" }},
		{"segments", func(c *config.HTTP) { c.URL = "http://ads.example/a/../{value}" }},
		{"placeholder in its host", func(c *config.HTTP) { c.URL = "http://{value}.example/x" }},
		{"placeholder in its host", func(c *config.HTTP) { c.URL = "http://{value}" }},
		{"placeholder in its host", func(c *config.HTTP) { c.URL = "http://a{value}?x" }},
		{"{name}", func(c *config.HTTP) { c.URL = "http://ads.example/{name}" }},
		{"{}", func(c *config.HTTP) { c.URL = "http://ads.example/{}" }},
		{"{attributes.}", func(c *config.HTTP) { c.URL = "http://ads.example/{attributes.}" }},
		{"{attributes.A b}", func(c *config.HTTP) { c.URL = "http://ads.example/{attributes.A b}" }},
		{`"A b" is not the name of a header`, func(c *config.HTTP) { c.Headers = map[string]config.Secret{"A b": "x"} }},
		{`"" is not the name of a header`, func(c *config.HTTP) { c.Headers = map[string]config.Secret{"": "x"} }},
		{"control character", func(c *config.HTTP) { c.Headers = map[string]config.Secret{"A": "x\r\nB: y"} }},
		{"Host is set by the client", func(c *config.HTTP) { c.Headers = map[string]config.Secret{"host": "x"} }},
		{"Accept-Encoding is set by the client", func(c *config.HTTP) { c.Headers = map[string]config.Secret{"Accept-Encoding": "br"} }},
		{"are one header", func(c *config.HTTP) { c.Headers = map[string]config.Secret{"x-key": "1", "X-Key": "2"} }},
		{"no attribute is given", func(c *config.HTTP) { c.Attributes = nil }},
		{`Attributes["price"].Path`, func(c *config.HTTP) { c.Attributes["price"] = config.Answer{Path: "x"} }},
		{"AsOf", func(c *config.HTTP) { c.AsOf = "now" }},
		{"AsOf", func(c *config.HTTP) { c.AsOf = "$[" }},
		{"Version", func(c *config.HTTP) { c.Version = "ETag" }},
		{"Version", func(c *config.HTTP) { c.Version = "$[" }},
	} {
		cfg := placement("http://ads.example")
		test.spoil(&cfg)
		c, err := source.HTTP(cfg, nil, nil)
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want an error about %s", cfg.URL, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), ":p@") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if _, err := source.HTTP(config.HTTP{URL: "x", AsOf: "y"}, nil, nil); err == nil || strings.Count(err.Error(), "\n") != 3 {
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
		{"/a/{value}", thing("Product", "../../admin", fine), ""},
		{"/a/{value}", thing("Product", "x/../../admin", fine), ""},
		{"/a/{value}", thing("Product", "x/..", fine), ""},
		{"/a/{value}", thing("Product", "x/./y", fine), ""},
		{"/a/{value}", thing("Product", `x\..\admin`, fine), ""},
		{"/a/{value}", thing("Product", "..%2F..%2Fadmin", fine), ""},
		{"/a/{value}", thing("Product", "%2e%2e/admin", fine), ""},
		{"/a/{value}", thing("Product", "%252e%252e%252fadmin", fine), ""},
		{"/a/{value}", thing("Product", "..;jsessionid=1/admin", fine), ""},
		{"/a/{value}", thing("Product", "%25252525252525252e", fine), ""},
		{"/a/{value}", thing("Product", "v1..2/...", fine), "/a/v1..2%2F..."},
		{"/a/{value}", thing("Product", "100%", fine), "/a/100%25"},
		{"/a/{value}", thing("Product", "a;b", fine), "/a/a%3Bb"},
	} {
		var got string
		cfg := placement("")
		cfg.URL = "http://ads.example" + test.url
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = strings.TrimPrefix(r.URL.String(), "http://ads.example")
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"price": 1}`)), Request: r}, nil
		})}
		_, err := httpChecker(t, cfg, client).Check(t.Context(), test.thing)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s with %s %q: %q, %v; want %q", test.url, test.thing.Type, test.thing.Value, got, err, test.want)
		}
	}
	//lint:ignore SA1012 a nil context is the test
	if _, err := httpChecker(t, placement("http://ads.example"), nil).Check(nil, strava); err == nil {
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
		for _, asOf := range []string{"$.as_of", config.AsOfDateHeader} {
			cfg := placement("http://ads.example")
			cfg.AsOf, cfg.Version = asOf, "$..rev"
			client := replying(200, http.Header{"Date": {date}, "Etag": {etag}}, strings.NewReader(string(body)))
			s, err := httpChecker(t, cfg, client).Check(t.Context(), strava)
			for name, v := range s.Attributes {
				if want := cfg.Attributes[name].Type; v.Kind() != want {
					t.Fatalf("%s is a %s, want %s", name, v.Kind(), want)
				}
			}
			client = replying(200, http.Header{"Date": {date}, "Etag": {etag}}, strings.NewReader(string(body)))
			r := check(t, httpChecker(t, cfg, client))
			complete := err == nil && s.Version != "" && s.Attributes["price"].Equal(usd("$40,000")) && s.Attributes["availability"].Equal(entity.Bool(true))
			if r.IsSafeToApprove() && !complete {
				t.Fatalf("safe with %v, %v", s, err)
			}
		}
	})
}
