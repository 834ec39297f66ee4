// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
)

// Each step is that of a process which opens the journal with rules, by its own clock.
func TestRulesByClocksThatDiffer(t *testing.T) {
	now := testTime
	j := openJournal(t, func(c *journal.Config) { c.Now = func() time.Time { return now } })
	for _, step := range []struct {
		digest string
		clock  time.Duration
	}{{"a", 0}, {"b", time.Hour}, {"c", time.Minute}, {"a", time.Minute}, {"b", 2 * time.Hour}} {
		now = testTime.Add(step.clock)
		if err := j.SetRules(t.Context(), step.digest, []byte(step.digest)); err != nil {
			t.Fatal(err)
		}
		if got, _, err := j.Rules(t.Context(), ""); err != nil || string(got) != step.digest {
			t.Errorf("the newest rules are %q, %v, want %q", got, err, step.digest)
		}
	}
	conn := connect(t, j.Path())
	if n := selectInt(t, conn, "SELECT count(*) FROM rules"); n != 3 {
		t.Errorf("%d rules are stored, want 3", n)
	}
	if at := selectInt(t, conn, "SELECT at FROM rules WHERE digest = 'b'"); at != now.UnixMicro() {
		t.Errorf("the newest are of %d, want %d", at, now.UnixMicro())
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
