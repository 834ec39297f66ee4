// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// checkedOf is what check prints of a report.
func checkedOf(t *testing.T, r safety.Report) *checked {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c, err := inspect.NewChecked(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &checked{Checked: c, report: text}
}

// Whatever the state of the request, a check that is not safe never ends with 0; and one
// that can lead to nothing any more never says that it could be approved. The scripts of
// tests/thirdparty/cli have what is safe and what drifted.
func TestCheckEnds(t *testing.T) {
	for _, test := range []struct {
		state  safety.ApprovalState
		status inspect.Status
		code   int
		says   inspect.Status
	}{
		{safety.StatePending, inspect.StatusPending, exitCheckFailed, inspect.StatusCheckFailed},
		{safety.StatePending, inspect.StatusCheckFailed, exitCheckFailed, inspect.StatusCheckFailed},
		{safety.StateApproved, inspect.StatusSafe, exitCheckFailed, inspect.StatusCheckFailed},
		{safety.StatePending, inspect.StatusExpired, exitOver, inspect.StatusExpired},
		{safety.StateApproved, inspect.StatusExpired, exitOver, inspect.StatusExpired},
		{safety.StatePermitted, inspect.StatusSafe, exitOver, inspect.StatusSafe},
		{safety.StateExpired, inspect.StatusExpired, exitOver, inspect.StatusExpired},
		{safety.StateRejected, inspect.StatusRejected, exitOver, inspect.StatusRejected},
		{safety.StateExecuting, inspect.StatusInDoubt, exitOver, inspect.StatusInDoubt},
		{safety.StateExecuted, inspect.StatusExecuted, exitOver, inspect.StatusExecuted},
		{safety.StateFailed, inspect.StatusFailed, exitOver, inspect.StatusFailed},
		{safety.StateBlocked, inspect.StatusDrift, exitChanged, inspect.StatusDrift},
		// Only observed: the ledger was never told that it ran.
		{safety.StatePending, inspect.StatusExecuted, exitOver, inspect.StatusExecuted},
	} {
		r := checkedOf(t, safety.Report{}) // which denies
		r.request = &inspect.Approval{State: string(test.state), Status: test.status, Explanation: "explained"}
		if code := r.exitCode(); code != test.code {
			t.Errorf("%s, %s: ends with %d, want %d", test.state, test.status, code, test.code)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Verdict    string         `json:"verdict"`
			Safe       bool           `json:"safe_to_approve"`
			Status     inspect.Status `json:"status"`
			Approvable bool           `json:"approvable"`
			ExitCode   int            `json:"exit_code"`
			Says       string         `json:"explanation"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got.Verdict != "check_failed" || got.Safe || got.ExitCode != test.code || got.Approvable != (test.code == exitCheckFailed) || got.Says == "" {
			t.Errorf("%s, %s: %s", test.state, test.status, text)
		}
		if got.Status != test.says && test.state != safety.StatePermitted {
			t.Errorf("%s, %s: says %s, want %s", test.state, test.status, got.Status, test.says)
		}
		tab := (&app{noColor: true, now: time.Now}).newTable()
		if r.table(tab); strings.Contains(tab.String(), "✓ unchanged") || strings.Contains(tab.String(), "entities changed") {
			t.Errorf("%s, %s: says that nothing changed:\n%s", test.state, test.status, tab)
		}
	}
	none := checked{}
	if none.exitCode() != exitCheckFailed {
		t.Error("a check of nothing")
	}
}
