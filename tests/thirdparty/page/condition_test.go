// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import "testing"

// A condition stands beside the value that has to meet it, and in the alert of one that does not.
func TestConditions(t *testing.T) {
	sessions := demoRecords(t)
	for _, s := range sessions {
		for i := range s.Approvals {
			a := &s.Approvals[i]
			for n := range a.Entities {
				a.Entities[n].Conditions = map[string]string{"price": "at most $45,000", "free": "at least 8"}
			}
			for n := range a.Checks {
				for m := range a.Checks[n].Alerts {
					a.Checks[n].Alerts[m].Condition = "one of a, b"
				}
			}
		}
	}
	p := open(t, pageOf(t, sessions...)+"#s=adcp/buyer-agent/sess-nike-summer")
	p.wait(`document.querySelector("#panel-approvals .v-line")`)
	p.shows("#panel-approvals", "at most $45,000 needed", "at least 8 needed")
	p.holds(`[...document.querySelectorAll("#panel-approvals .v-line")].some((r) => r.innerText.includes("$52,000") && r.innerText.includes("at most $45,000 needed"))`)
	p.click("#panel-approvals .checks li:last-child summary")
	p.shows("#panel-approvals .checks", "one of a, b needed")
}
