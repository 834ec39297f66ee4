// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload_test

import (
	"net/url"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
)

func TestFileURL(t *testing.T) {
	for _, tt := range []struct{ path, want string }{
		{"/var/lib/agent", "file:///var/lib/agent"},
		{"/with space/100%/a#b?c", "file:///with%20space/100%25/a%23b%3Fc"},
		{"/ünï", "file:///%C3%BCn%C3%AF"},
		{`/back\slash`, "file:///back%5Cslash"},
		{"/", "file://"},
		{`D:\Data\Ann B\parts`, "file:///D:/Data/Ann%20B/parts"},
		{"C:/parts", "file:///C:/parts"},
		{`\\host\share\parts`, "file://host/share/parts"},
	} {
		got := offload.FileURL(tt.path)
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.path, got, tt.want)
		}
		if u, err := url.Parse(got); err != nil || u.Scheme != "file" || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%s: %+v, %v", got, u, err)
		}
	}
}
