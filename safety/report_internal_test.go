// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"testing"
	"time"
)

// The verdict follows from the parts of a report alone: one part out of order is
// enough to deny, whatever the others say.
func TestVerdictIsDerived(t *testing.T) {
	sound := func() Report {
		return Report{
			session: Session{App: "a", User: "b", ID: "c"}, started: time.Unix(1, 0), checked: time.Unix(2, 0),
			total: 1, results: []EntityResult{{Outcome: EntityUnchanged}},
		}
	}
	if r := sound(); !r.IsSafeToApprove() || r.CheckFailed() {
		t.Fatalf("a sound report is not safe:\n%s", r.Summary())
	}
	for name, test := range map[string]struct {
		want  Verdict
		spoil func(*Report)
	}{
		"no app":                   {CheckFailed, func(r *Report) { r.session.App = "" }},
		"no user":                  {CheckFailed, func(r *Report) { r.session.User = "" }},
		"no session":               {CheckFailed, func(r *Report) { r.session.ID = "" }},
		"no start":                 {CheckFailed, func(r *Report) { r.started = time.Time{} }},
		"no end":                   {CheckFailed, func(r *Report) { r.checked = time.Time{} }},
		"no entities":              {CheckFailed, func(r *Report) { r.total, r.results = 0, nil }},
		"results of nothing":       {CheckFailed, func(r *Report) { r.total = 0 }},
		"a result is lost":         {CheckFailed, func(r *Report) { r.total = 2 }},
		"a result too many":        {CheckFailed, func(r *Report) { r.results = append(r.results, r.results[0]) }},
		"a failure":                {CheckFailed, func(r *Report) { r.failures = []Failure{{}} }},
		"a failed result":          {CheckFailed, func(r *Report) { r.results[0].Outcome = EntityFailed }},
		"an unknown result":        {CheckFailed, func(r *Report) { r.results[0].Outcome = 99 }},
		"a skipped result":         {CheckFailed, func(r *Report) { r.results[0].Outcome = EntitySkipped }},
		"alert with an odd effect": {Drift, func(r *Report) { r.alerts = []Alert{{Effect: 99}} }},
		"a warned result among failed": {CheckFailed, func(r *Report) {
			r.total, r.results = 2, []EntityResult{{Outcome: EntityWarned}, {}}
		}},
		"a changed result":  {Drift, func(r *Report) { r.results[0].Outcome = EntityChanged }},
		"an alert":          {Drift, func(r *Report) { r.alerts = []Alert{{}} }},
		"alert and failure": {Drift, func(r *Report) { r.alerts, r.failures = []Alert{{}}, []Failure{{}} }},
	} {
		r := sound()
		test.spoil(&r)
		if r.Verdict() != test.want || r.IsSafeToApprove() {
			t.Errorf("%s: verdict %s, safe %t; want %s", name, r.Verdict(), r.IsSafeToApprove(), test.want)
		}
	}
	for name, enrich := range map[string]func(*Report){
		"a warning":       func(r *Report) { r.alerts = []Alert{{Effect: Warn}} },
		"a warned result": func(r *Report) { r.results[0].Outcome = EntityWarned },
		"one skipped":     func(r *Report) { r.total, r.results = 2, append(r.results, EntityResult{Outcome: EntitySkipped}) },
	} {
		r := sound()
		enrich(&r)
		if !r.IsSafeToApprove() || r.CheckFailed() || r.StaleEntities() != 0 || len(r.Alerts()) != 0 {
			t.Errorf("%s: not safe:\n%s", name, r.Summary())
		}
	}
}

// What cannot happen to a policy that was validated still denies.
func TestUnknownValuesAreStrict(t *testing.T) {
	if got := nameOf(effectNames, Effect(9)); got != "block" {
		t.Errorf("an unknown effect is %q", got)
	}
	if (rulebook{}).rule("T", "a").Effect != Block {
		t.Error("an attribute without a rule warns")
	}
	var s sum
	if _, err := s.value(); err == nil {
		t.Error("an empty sum has a value")
	}
}

// People can override a report that is whole and fails only because sources are down.
func TestDown(t *testing.T) {
	failing := func() Report {
		return Report{
			session: Session{App: "a", User: "b", ID: "c"}, started: time.Unix(1, 0), checked: time.Unix(2, 0), total: 1,
			results: []EntityResult{{Outcome: EntityFailed}}, failures: []Failure{{EntityType: "T", Entity: "e", Reason: ReasonSourceDown}},
		}
	}
	if names, only := failing().down(); !only || len(names) != 1 {
		t.Errorf("%q, only these: %t", names, only)
	}
	for name, spoil := range map[string]func(*Report){
		"no session":       func(r *Report) { r.session.ID = "" },
		"no start":         func(r *Report) { r.started = time.Time{} },
		"no end":           func(r *Report) { r.checked = time.Time{} },
		"a result is lost": func(r *Report) { r.total = 2 },
		"no failure":       func(r *Report) { r.failures = nil },
		"a change":         func(r *Report) { r.alerts = []Alert{{}} },
		"another failure":  func(r *Report) { r.failures = append(r.failures, Failure{Reason: ReasonStore}) },
	} {
		r := failing()
		spoil(&r)
		if names, only := r.down(); only {
			t.Errorf("%s: %q and nothing else", name, names)
		}
	}
}
