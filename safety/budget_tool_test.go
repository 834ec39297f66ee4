// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// A rule of other tools is not for this one; without a request every rule is.
func TestBudgetTool(t *testing.T) {
	for tool, want := range map[string]bool{"": true, "provision_campaign": true, "provision_*": true, "pause_*": false, "provision": false} {
		rule := fits
		rule.Tool = tool
		b := newBench(t, within(rule), plan()...)
		r := b.check()
		wantFailure(t, r, safety.ReasonPolicy)
		if f := r.Failures()[0]; !strings.Contains(f.Detail, "there is no request whose arguments could name a Product") {
			t.Errorf("%s", f)
		}
		b.ask()
		b.world.put(find(t, b, "Hulu"), "price", usd("$80,000"))
		b.world.put(find(t, b, "Strava"), "price", usd("$52,000"))
		found := slices.ContainsFunc(b.check().Alerts(), func(a safety.Alert) bool { return a.Drift == safety.BudgetExceeded })
		if found != want {
			t.Errorf("rule of %q: found %t, want %t", tool, found, want)
		}
	}
	rule := fits
	rule.Everything = true
	wantDrift(t, newBench(t, within(rule), plan()...).check(), safety.BudgetExceeded)
}
