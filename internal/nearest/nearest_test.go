// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package nearest_test

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/nearest"
)

func TestWord(t *testing.T) {
	known := []string{"enforce", "observe", "provision_campaign"}
	for s, want := range map[string]string{
		"enforce": "enforce", "enforced": "enforce", "enofrce": "enforce", "obseve": "observe",
		"provison_campain": "provision_campaign", "": "", "x": "", "on": "", "entirely": "",
		strings.Repeat("enforce", 20): "",
	} {
		if got := nearest.Word(s, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", s, got, want)
		}
	}
}
