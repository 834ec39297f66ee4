// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// Each step is that of a process which opens the journal with rules, by its own clock.
func TestRules(t *testing.T) {
	now := testTime
	j := openJournal(t, func(c *journal.Config) { c.Now = func() time.Time { return now } })
	other := reopen(t, journal.Config{Journal: config.Journal{Path: j.Path()}})
	wantRules := func(digest, want string) {
		t.Helper()
		for _, j := range []*journal.Journal{j, other} {
			if got, found, err := j.Rules(t.Context(), digest); err != nil || string(got) != want || found != (want != "") {
				t.Errorf("the rules %q are %q, %t, %v, want %q", digest, got, found, err, want)
			}
		}
	}
	wantRules("", "")
	for _, step := range []struct {
		digest, rules string
		clock         time.Duration
	}{
		{"a", `["a"]`, 0},
		{"b", `["b"]`, time.Hour},
		{"c", `["c"]`, time.Minute}, // a clock that is behind
		{"a", `["a"]`, time.Minute}, // once more
		{"b", `["b"]`, 2 * time.Hour},
	} {
		now = testTime.Add(step.clock)
		if err := j.SetRules(t.Context(), step.digest, []byte(step.rules)); err != nil {
			t.Fatal(err)
		}
		wantRules("", step.rules)
		wantRules(step.digest, step.rules)
	}
	wantRules("a", `["a"]`)
	wantRules("c", `["c"]`)
	wantRules("absent", "")
	conn := connect(t, j.Path())
	if n := selectInt(t, conn, "SELECT count(*) FROM rules"); n != 3 {
		t.Errorf("%d rules are stored, want 3", n)
	}
	if at := selectInt(t, conn, "SELECT at FROM rules WHERE digest = 'b'"); at != now.UnixMicro() {
		t.Errorf("the newest are of %d, want %d", at, now.UnixMicro())
	}
	if err := j.SetRules(t.Context(), "", []byte(`[]`)); err == nil {
		t.Error("rules without a digest were taken")
	}
}

// Nobody has to wait for the file when the rules are the newest already.
func TestSameRulesWriteNothing(t *testing.T) {
	j := openImpatient(t, journal.Config{})
	if err := j.SetRules(t.Context(), "a", []byte(`["a"]`)); err != nil {
		t.Fatal(err)
	}
	defer lockFile(t, j.Path())()
	if err := j.SetRules(t.Context(), "a", []byte(`["a"]`)); err != nil {
		t.Errorf("the same rules: %v", err)
	}
	if err := j.SetRules(t.Context(), "b", []byte(`["b"]`)); err == nil {
		t.Error("other rules were stored in a locked file")
	}
}
