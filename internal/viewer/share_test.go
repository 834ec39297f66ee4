// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "testing"

func TestShare(t *testing.T) {
	for _, tc := range []struct{ name, data, want string }{
		{"nothing", `{}`, "[]\n{}"},
		{"a long text that comes twice", `["aaaaaaaaaaaaaaaa",{"aaaaaaaaaaaaaaaa":1}]`, `["aaaaaaaaaaaaaaaa"]` + "\n" + `["~0",{"~0":1}]`},
		{"short ones, and one that comes once", `["a","a","bbbbbbbbbbbbbbbb"]`, "[]\n" + `["a","a","bbbbbbbbbbbbbbbb"]`},
		{"what looks like a place", `["~7","x"]`, `["~7"]` + "\n" + `["~0","x"]`},
		{"signs in a text", `["\"~7","\\","a\\\"b"]`, "[]\n" + `["\"~7","\\","a\\\"b"]`},
	} {
		if got := string(share([]byte(tc.data))); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
