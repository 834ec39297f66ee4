// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Each alert and each failure is one finding, in its own words, and what says the same stands there once.
func TestFindings(t *testing.T) {
	of := func(reason, detail string) safety.Failure {
		return safety.Failure{EntityType: "Drug", Entity: "Amoxicillin 500", Reason: reason, Detail: detail}
	}
	about := func(f safety.Failure, attribute, read, need string) safety.Failure {
		f.Attribute, f.Read, f.Need = attribute, read, need
		return f
	}
	alert := func(attribute, before, after, need string) []safety.Alert {
		return []safety.Alert{{EntityType: "Drug", Entity: "Amoxicillin 500", Attribute: attribute, Before: before, After: after, Condition: need, Drift: "changed", Recommendation: "Plan anew."}}
	}
	for name, tt := range map[string]struct {
		alerts   []safety.Alert
		failures []safety.Failure
		want     []string
	}{
		"none":          {nil, nil, nil},
		"a stock":       {alert("stock", "80", "59", "at least 60"), nil, []string{"stock of Drug Amoxicillin 500: 80 → 59, 60 needed. Plan anew."}},
		"it is gone":    {alert("exists", "true", "false", ""), nil, []string{"Drug Amoxicillin 500: gone. Plan anew."}},
		"nobody saw it": {alert("exists", "not seen", "false", ""), nil, []string{"Drug Amoxicillin 500: not seen, and its source does not have it. Plan anew."}},
		"not available": {alert("availability", "not seen", "unavailable", ""), nil, []string{"availability of Drug Amoxicillin 500: unavailable. Plan anew."}},
		"too dear": {[]safety.Alert{{EntityType: "Budget", Entity: "nike", Attribute: "cost", Drift: safety.BudgetExceeded, Before: "$1", After: "$3", Recommendation: "Plan anew."}}, nil,
			[]string{"cost of the plan: $1 → $3, more than Budget nike. Plan anew."}},
		"too much":      {nil, []safety.Failure{about(of("condition_unmet", "x"), "stock", "59", "at least 500")}, []string{"Drug Amoxicillin 500: 59 in stock, 500 needed. Plan with what meets that, then ask again."}},
		"in all":        {nil, []safety.Failure{about(of("condition_unmet", "x"), "free", "3", "at least 8 in all")}, []string{"Drug Amoxicillin 500: 3 free, 8 needed in all. Plan with what meets that, then ask again."}},
		"too few":       {nil, []safety.Failure{about(of("condition_unmet", "x"), "free", "3", "at least 8")}, []string{"Drug Amoxicillin 500: 3 free, 8 needed. Plan with what meets that, then ask again."}},
		"not passed":    {nil, []safety.Failure{about(of("condition_unmet", "x"), "result", "failed", "exactly passed")}, []string{"result of Drug Amoxicillin 500: failed, passed needed. Plan with what meets that, then ask again."}},
		"one of":        {nil, []safety.Failure{about(of("condition_unmet", "x"), "result", "failed", "one of a, b")}, []string{"result of Drug Amoxicillin 500: failed, one of a, b needed. Plan with what meets that, then ask again."}},
		"at most":       {nil, []safety.Failure{about(of("condition_unmet", "x"), "price", "$9", "at most $8")}, []string{"price of Drug Amoxicillin 500: $9, at most $8 allowed. Plan with what meets that, then ask again."}},
		"both":          {nil, []safety.Failure{about(of("condition_unmet", "x"), "price", "$9", "at most $8 and at most $7")}, []string{"price of Drug Amoxicillin 500: $9, has to be at most $8 and at most $7. Plan with what meets that, then ask again."}},
		"invented":      {nil, []safety.Failure{of("nothing_seen", "a rule should have"), about(of("nothing_seen", "b"), "stock", "", ""), of("nothing_seen", "c")}, []string{"Drug Amoxicillin 500: not seen. Look it up, then ask again."}},
		"a part":        {nil, []safety.Failure{about(of("nothing_seen", "b"), "stock", "", "")}, []string{"stock of Drug Amoxicillin 500: not seen. Look it up, then ask again."}},
		"down":          {nil, []safety.Failure{of("source_down", "lookup db.internal")}, []string{"Drug Amoxicillin 500: its source is down. Try again later."}},
		"in its words":  {nil, []safety.Failure{of("type_mismatch", "price is a text")}, []string{"Drug Amoxicillin 500: price is a text. Whoever runs the agent has to correct that."}},
		"without words": {nil, []safety.Failure{{Reason: "incomplete_record"}}, []string{"incomplete record."}},
		"a remedy of its own": {nil, []safety.Failure{{EntityType: "Drug", Entity: "x", Reason: "no_checker", Detail: "no checker is registered for the type \"Drug\"", Remedy: "Write alternatives: true."}},
			[]string{"Drug x: no checker is registered for the type \"Drug\". Write alternatives: true."}},
	} {
		var got []string
		for _, f := range safety.Findings(tt.alerts, tt.failures) {
			got = append(got, f.Sentence())
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	lines := safety.Findings([]safety.Alert{{EntityType: "D", Entity: "x", Attribute: "stock", Before: "80", After: "60", ChangePercent: new(-25.0), Severity: 0.5}, {Before: "a", After: "b"}},
		[]safety.Failure{of("source_down", "lookup db"), of("type_mismatch", "price is a text"), {Reason: "store"}})
	for i, want := range []string{"stock of D x: 80 → 60 (-25%), severity 0.50", "a → b, severity 0.00", "Drug Amoxicillin 500: its source is down (lookup db)", "Drug Amoxicillin 500: price is a text", "the record could not be read"} {
		if got := lines[i].Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	alerts := alert("stock", "80", "59", "")
	alerts[0].Effect = config.EffectWarn
	got := safety.Findings(alerts, []safety.Failure{of("not_read", ""), of("timeout", "")})
	if got[0].Effect != "warn" || got[1].Effect != "fail" || !got[1].Hopeless || got[2].Hopeless {
		t.Errorf("%+v", got)
	}
}

// No reason is without words for people: either it has its own, or each of its failures has a detail.
func TestEachReasonHasAWay(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "finding.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		if lit, is := node.(*ast.BasicLit); is && lit.Kind == token.STRING && n >= 0 {
			reason := strings.Trim(lit.Value, `"`)
			if !strings.Contains(reason, " ") && strings.Contains(reason, "_") && !strings.Contains(reason, "`") && !strings.Contains(reason, "%") {
				n++
				f := safety.Findings(nil, []safety.Failure{{EntityType: "T", Entity: "v", Reason: reason, Detail: "the detail"}})[0]
				if !strings.HasPrefix(f.Text, "T v: ") || strings.Contains(f.Text, reason) {
					t.Errorf("%s: %q", reason, f.Text)
				}
			}
		}
		return true
	})
	if n < 20 {
		t.Errorf("%d reasons were found", n)
	}
}

// What no result showed is not seen, whatever the call says of it.
func TestSeen(t *testing.T) {
	e := seenAgo(0, "Drug", "x", values{"stock": number(59), "availability": entity.Bool(true)})
	e.Absent = []string{"recall"}
	got, at := safety.Seen(e)
	if d := cmp.Diff(map[string]string{"stock": "59", "availability": "available", "recall": "not there"}, got); d != "" || !at.Equal(e.LastSeen) {
		t.Error(d, at)
	}
	got, at = safety.Seen(claimed("Drug", "y", values{"exists": entity.Bool(true)}))
	if d := cmp.Diff(map[string]string{"exists": "not seen"}, got); d != "" || !at.IsZero() {
		t.Error(d, at)
	}
}

// A configuration names who may override.
func TestOverriders(t *testing.T) {
	g := config.Guard{Tools: map[string]config.ToolSettings{"buy": {Override: []string{"eva"}}}}
	if got := safety.Overriders(g, "buy"); len(got) != 1 || got[0] != "eva" {
		t.Errorf("%v", got)
	}
}
