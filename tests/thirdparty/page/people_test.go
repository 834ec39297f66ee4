// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// The page names who asked and who approved, and is loud about a call that people let run.
func TestPeople(t *testing.T) {
	s := demoRecords(t)[0]
	a := &s.Approvals[0]
	a.Requester = &inspect.Requester{Name: "bob"}
	a.Approvers, a.Consents, a.Overridden, a.Change = 2, []string{"eva", "tom"}, true, "at most $30,000"
	a.Answers = []inspect.Answer{{At: a.RequestedAt, Confirmed: true, Accepted: true, Approver: "tom", Authenticated: true, Override: "I was there", Row: -1}}
	a.History = []safety.Step{{To: safety.StateExecuted, At: a.RequestedAt, Actor: "run", Override: true}}
	p := open(t, pageOf(t, s)+"#v=approvals")
	p.wait(`document.querySelector("#panel-approvals .card")`)
	p.shows("#panel-approvals .card", "overridden: its check failed", "bob", "not authenticated", "2 of 2: eva, tom", "at most $30,000",
		"overrides", "I was there", "authenticated")
	a.Requester.Authenticated, a.Overridden, a.Consents, a.Approvers = true, false, nil, 0
	p = open(t, pageOf(t, s)+"#v=approvals")
	p.wait(`document.querySelector("#panel-approvals .card")`)
	p.shows("#panel-approvals .card", "bob")
	p.holds(`!__t.text("#panel-approvals .card-head").includes("overridden") && !__t.text("#panel-approvals").includes("may be whoever approves")`)
}
