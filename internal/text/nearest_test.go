// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/text"
)

func TestNearest(t *testing.T) {
	long := strings.Repeat("a", 63)
	known := []string{"enforce", "observe", "provision_campaign", "provision_campaigns", "get", "id", long}
	for s, want := range map[string]string{
		"enforce": "enforce", "enforced": "enforce", "enofrce": "enforce", "obseve": "observe",
		"provison_campain": "provision_campaign", "": "", "x": "", "on": "", "entirely": "",
		"egt": "get", "gte": "get", "xy": "", "provision_canpXXXXns": "",
		"provision_campaignz": "provision_campaign", // as near as the next one, and before it
		long + "b":            long, long + "bc": "",
	} {
		if got := text.Nearest(s, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", s, got, want)
		}
	}
}
