// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func newDemo(t *testing.T) *demo {
	t.Helper()
	d, err := openDemo(t.Context(), filepath.Join(t.TempDir(), journalName), configYAML, newAgents, false)
	t.Cleanup(func() {
		if err := d.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A rejected plan is not provisioned, and needs no check to be refused.
func TestRejectedUnderGuard(t *testing.T) {
	d := newDemo(t)
	first, err := d.buyer.brief(t.Context(), "s", elf)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.asks) != 1 {
		t.Fatalf("asks %v, said %q", first.asks, first.text)
	}
	second, err := d.buyer.answer(t.Context(), "s", first.asks[0], false)
	if err != nil {
		t.Fatal(err)
	}
	if live := d.liveCampaign(elf.Account); live != "" || !strings.Contains(second.text, "was not provisioned") {
		t.Errorf("live %q, said %q", live, second.text)
	}
}
