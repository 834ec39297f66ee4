// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServeAnswersTo(t *testing.T) {
	for _, test := range []struct {
		f    serveFlags
		want []string // nil for an error that says the text
		text string
	}{
		{serveFlags{addr: "127.0.0.1:8787"}, []string{"127.0.0.1", "localhost"}, ""},
		{serveFlags{addr: "localhost:0"}, []string{"localhost"}, ""},
		{serveFlags{addr: "[::1]:0"}, []string{"::1"}, ""},
		{serveFlags{addr: "127.8.8.8:80"}, []string{"127.8.8.8"}, ""},
		{serveFlags{addr: "192.0.2.7:80"}, nil, "--allow-remote"},
		{serveFlags{addr: "ads.example.com:80"}, nil, "--allow-remote"},
		{serveFlags{addr: "192.0.2.7:80", remote: true}, []string{"192.0.2.7"}, ""},
		{serveFlags{addr: ":80", remote: true}, nil, "--host"},
		{serveFlags{addr: "[::]:80", remote: true}, nil, "--host"},
		{serveFlags{addr: ":80", remote: true, hosts: []string{"me"}}, []string{"me"}, ""},
		{serveFlags{addr: "192.0.2.7:80", remote: true, decisions: true}, nil, "loopback"},
		{serveFlags{addr: "127.0.0.1:80", hosts: []string{"me"}}, nil, "--host"},
		{serveFlags{addr: "8787"}, nil, "with a port"},
	} {
		got, err := test.f.hostNames()
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%+v: %v, %v", test.f, got, err)
			}
			continue
		}
		for _, name := range test.want {
			if err != nil || !slices.Contains(got, name) {
				t.Errorf("%+v: %q, %v", test.f, got, err)
			}
		}
		if slices.Contains(got, "") || slices.Contains(got, "0.0.0.0") {
			t.Errorf("%+v: answers to %q", test.f, got)
		}
	}
}

func TestServeHeaders(t *testing.T) {
	f := agentFlags{headers: []string{"Authorization: Bearer a:b", "X-Tenant:shop", "x-tenant: two"}}
	got, err := f.endpoint("")
	want := http.Header{"Authorization": {"Bearer a:b"}, "X-Tenant": {"shop", "two"}}
	if d := cmp.Diff(want, got.Header); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	for _, bad := range []string{"secret", ": secret", "A: secret\r\nB: c"} {
		f.headers = []string{bad}
		if _, err := f.endpoint(""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
