// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/entity"
)

// What is known to fail when an approval is asked is said to whoever is asked.
func TestFailsAreSaid(t *testing.T) {
	a := newBench(t, nil, item(reading(values{"price": usd("$40")}), inArgs(values{"price": usd("$50")}))).ask()
	if len(a.Fails) != 1 || !strings.Contains(a.Hint(""), `Will fail: "Product x: `) {
		t.Errorf("fails %q, hint %q", a.Fails, a.Hint(""))
	}
	if all := fmt.Sprint(a.Shown()["warnings"]); !strings.Contains(all, "cannot be approved as it is: Product x: ") {
		t.Errorf("warnings %q", all)
	}
}

// A value that could not be read fails the check, whatever the source says.
func TestUnreadableValue(t *testing.T) {
	b := newBench(t, nil, item(reading(values{"price": entity.Unreadable("call us"), "free": number(1)})))
	b.ask()
	said(t, b.check(), "extraction_failed: price could not be read: call us; look it up again, then ask again")
}

// A budget that sums everything cannot leave out a thing without a name.
func TestBudgetWithUnnamedThings(t *testing.T) {
	everything := fits
	everything.Everything = true
	b := newBench(t, within(everything), plan()...)
	b.record.snap.Unnamed = map[string]string{"Product": "it selects nothing"}
	b.ask()
	said(t, b.check(), "policy: ... a Product has no name that can be read, so its price is not in the sum: it selects nothing")
}

// Two names that a source may take for one are one thing that is needed twice.
func TestNeedsOfTwoSpellings(t *testing.T) {
	small := called("desk", reading(values{"free": number(64)}), inArgs(nil))
	large := called("DESK", reading(values{"free": number(64)}), inArgs(nil))
	b := newBench(t, having("free", along(atLeast, "$.n")), small, large)
	b.args = map[string]any{"lines": []any{map[string]any{"n": 8}, map[string]any{"n": 8}}}
	b.record.snap.Places = map[string][]string{small.Key: {"$['lines'][0]"}, large.Key: {"$['lines'][1]"}}
	b.ask()
	const twice = "policy: free has to be at least $.n, which cannot be evaluated: the action names it 2 times, and the needs may add up: have the call name it once, in one spelling"
	said(t, b.check(), twice, twice)
}
