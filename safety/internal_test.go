// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The verdict follows from the parts of a report alone: one part out of order is
// enough to deny, whatever the others say.
func TestVerdictIsDerived(t *testing.T) {
	sound := func() Report {
		return Report{
			session: record.Session{App: "a", User: "b", ID: "c"}, started: time.Unix(1, 0), checked: time.Unix(2, 0),
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
		"an unknown result":        {CheckFailed, func(r *Report) { r.results[0].Outcome = "odd" }},
		"a skipped result":         {CheckFailed, func(r *Report) { r.results[0].Outcome = EntitySkipped }},
		"alert with an odd effect": {Drift, func(r *Report) { r.alerts = []Alert{{Effect: "odd"}} }},
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
		"a warning":       func(r *Report) { r.alerts = []Alert{{Effect: config.EffectWarn}} },
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

// What cannot happen to a policy that was checked still denies.
func TestUnknownValuesAreStrict(t *testing.T) {
	for name, g := range map[string]config.Guard{
		"zero": {},
		"odd":  {Require: "x", Types: map[string]config.TypePolicy{"T": {Unseen: "x"}}, Drift: map[string]config.Drift{"*": {Effect: "x", Direction: "x"}}},
	} {
		b, err := compile(g)
		if err != nil {
			t.Fatal(err)
		}
		if name == "zero" {
			b = rulebook{}
		}
		r := b.rule("T", "a")
		if !(Alert{Effect: r.Effect}).blocks() || r.covers(entity.Bool(true), entity.Bool(false)) {
			t.Errorf("%s: an attribute may change", name)
		}
		if !b.requires(entity.Canonical{}, false) || b.settings("t").Approvers != 1 || b.Types["T"].Unseen == config.UnseenAllow || b.Types["T"].Optional {
			t.Errorf("%s: the policy is not the strictest", name)
		}
	}
	if b := (rulebook{}); b.minConfidence("T") != 1 || b.maxAge("T") != 0 || b.lasts(nil) != 0 {
		t.Error("the zero policy believes something")
	}
	if _, err := compile(config.Guard{Budgets: []config.Budget{{Severity: new(math.NaN())}}}); err == nil {
		t.Error("a policy without a digest is made")
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
			session: record.Session{App: "a", User: "b", ID: "c"}, started: time.Unix(1, 0), checked: time.Unix(2, 0), total: 1,
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

func canonicalOf(typ, value string, attributes map[string]entity.Value) entity.Canonical {
	return entity.Canonical{Key: entity.Entity{Type: typ, Value: value}.Identity(), Type: typ, Value: value, Attributes: attributes}
}

func TestDifference(t *testing.T) {
	type attributes = map[string]entity.Value
	text, asked := entity.Text, time.Date(2026, 1, 19, 10, 0, 0, 0, time.UTC)
	keep := func(args []byte) []byte { return args }
	for _, tt := range []struct {
		name     string
		was, now Approval
		redact   func([]byte) []byte
		want     Difference
	}{
		{"nothing", Approval{RequestedAt: asked}, Approval{}, keep, Difference{Since: asked}},
		{
			"things", Approval{Entities: []entity.Canonical{
				canonicalOf("B", "same", attributes{"x": text("1")}), canonicalOf("A", "gone", attributes{"x": text("1")}),
				canonicalOf("A", "other", attributes{"availability": entity.Bool(true), "left": text("l"), "same": text("s")}),
			}},
			Approval{Entities: []entity.Canonical{
				canonicalOf("A", "new", attributes{"y": text("2\n3")}), canonicalOf("A", "bare", nil),
				canonicalOf("A", "other", attributes{"availability": entity.Bool(false), "added": text("a"), "same": text("s")}),
				canonicalOf("B", "same", attributes{"x": text("1")}),
			}}, keep,
			Difference{Entities: []EntityDifference{
				{Type: "A", Value: "bare", Change: "added"},
				{Type: "A", Value: "gone", Change: "removed"},
				{Type: "A", Value: "new", Change: "added", Attributes: []ValueDifference{{Name: "y", Now: "2 3"}}},
				{Type: "A", Value: "other", Change: "changed", Attributes: []ValueDifference{
					{Name: "added", Now: "a"}, {Name: "availability", Was: "available", Now: "unavailable"}, {Name: "left", Was: "l"},
				}},
			}},
		},
		{
			"arguments", Approval{ArgsDigest: "a", Args: []byte(`{"a":1,"b":[1,{"c":"x"}],"d":{},"e":"","same":2}`)},
			Approval{ArgsDigest: "b", Args: []byte(`{"a":2,"b":[1,{"c":"y"},3],"e":[],"f":null,"same":2}`)}, keep,
			Difference{Args: []byte(`{"a":1,"b":[1,{"c":"x"}],"d":{},"e":"","same":2}`), Arguments: []ValueDifference{
				{Name: "a", Was: "1", Now: "2"}, {Name: "b[1].c", Was: `"x"`, Now: `"y"`}, {Name: "b[2]", Now: "3"}, {Name: "d", Was: "{}"},
				{Name: "e", Was: `""`, Now: "[]"}, {Name: "f", Now: "null"},
			}},
		},
		{
			"secrets", Approval{ArgsDigest: "a", Args: []byte(`{"key":"k1","n":1}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"key":"k2","n":2}`)},
			func(args []byte) []byte {
				return bytes.ReplaceAll(bytes.ReplaceAll(args, []byte("k1"), []byte("***")), []byte("k2"), []byte("***"))
			},
			Difference{Args: []byte(`{"key":"***","n":1}`), Arguments: []ValueDifference{{Name: "key", Was: `"***"`, Now: `"***"`}, {Name: "n", Was: "1", Now: "2"}}},
		},
		{
			"what has another shape without secrets", Approval{ArgsDigest: "a", Args: []byte(`{"n":[1]}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"n":[2]}`)},
			func([]byte) []byte { return []byte(`{"n":"***"}`) },
			Difference{Args: []byte(`{"n":"***"}`), Arguments: []ValueDifference{{Name: "n[0]", Was: "(hidden)", Now: "(hidden)"}}},
		},
		{
			"arguments that nobody may show", Approval{ArgsDigest: "a", Args: []byte(`{"n":1}`)}, Approval{ArgsDigest: "b", Args: []byte(`{"n":2,"m":3}`)}, nil,
			Difference{Arguments: []ValueDifference{{Name: "m", Now: "(hidden)"}, {Name: "n", Was: "(hidden)", Now: "(hidden)"}}},
		},
		{"the digest says that nothing differs", Approval{ArgsDigest: "a", Args: []byte(`{"n":1}`)}, Approval{ArgsDigest: "a", Args: []byte(`{"n":2}`)}, keep, Difference{}},
		{"no JSON", Approval{ArgsDigest: "a", Args: []byte(`{`)}, Approval{ArgsDigest: "b", Args: []byte(`3`)}, keep, Difference{Arguments: []ValueDifference{{Now: "3"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 3 {
				if diff := cmp.Diff(tt.want, difference(tt.was, tt.now, tt.redact)); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// However much differs, 50 values are listed, and texts are short.
func TestDifferenceIsBounded(t *testing.T) {
	var was, now []entity.Canonical
	for i := range 40 {
		a, b := map[string]entity.Value{}, map[string]entity.Value{}
		for j := range 3 {
			a[fmt.Sprint("n", j)], b[fmt.Sprint("n", j)] = entity.Text("1"), entity.Text(strings.Repeat("x", 300))
		}
		was, now = append(was, canonicalOf("T", fmt.Sprintf("%02d", i), a)), append(now, canonicalOf("T", fmt.Sprintf("%02d", i), b))
	}
	now = append(now, canonicalOf("T", "99", nil))
	d := difference(
		Approval{Entities: was, ArgsDigest: "a", Args: []byte(`{"x":1}`)}, Approval{Entities: now, ArgsDigest: "b", Args: []byte(`{"x":2}`)}, nil)
	listed := len(d.Arguments)
	for _, e := range d.Entities {
		listed += len(e.Attributes)
	}
	if listed != 50 || d.Omitted != 120+1+1-50 || len(d.Entities) != 17 || len(d.Entities[16].Attributes) != 2 {
		t.Errorf("%d values of %d entities are listed, %d omitted", listed, len(d.Entities), d.Omitted)
	}
	if n := len(d.Entities[0].Attributes[0].Now); n != 200 {
		t.Errorf("a value of %d bytes", n)
	}
	// Things without attributes take their room too.
	var bare []entity.Canonical
	for i := range 60 {
		bare = append(bare, canonicalOf("T", fmt.Sprintf("%02d", i), nil))
	}
	if d := difference(Approval{}, Approval{Entities: bare}, nil); len(d.Entities) != 50 || d.Omitted != 10 {
		t.Errorf("%d entities are listed, %d omitted", len(d.Entities), d.Omitted)
	}
}
