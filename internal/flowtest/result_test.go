// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flowtest

import "testing"

func TestWrongSafe(t *testing.T) {
	ran, waits, stopped := Call{State: "executed", Verdict: "safe"}, Call{State: "approved", Verdict: "safe"}, Call{State: "rejected", Verdict: "safe"}
	for _, tt := range []struct {
		name    string
		expect  lines
		call    Call
		effects int
		want    bool
	}{
		{"runs as expected", lines{"buy: executed safe"}, ran, 1, false},
		{"runs twice", lines{"executed safe"}, ran, 2, true},
		{"runs in the place of a no", lines{"rejected"}, ran, 1, true},
		{"runs in the place of nothing", lines{"none"}, ran, 1, true},
		{"the first of two people was told that it is safe", lines{"rejected"}, stopped, 0, false},
		{"a check is safe that should fail", lines{"pending check_failed"}, waits, 0, true},
		{"a call that nobody expects", lines{"refused", ""}, waits, 0, false},
	} {
		f := &Flow{spec: spec{Expect: tt.expect}}
		if got := f.WrongSafe(&Result{Calls: []Call{tt.call}, Effects: tt.effects}); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
