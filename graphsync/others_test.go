// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// A call of a tool that a check can call again shows the names in its result as a set.
func TestSets(t *testing.T) {
	named := func(tool, name string) config.Extract {
		return config.Extract{Name: name, Tool: tool, Type: "Thing", Value: "$.name"}
	}
	list := config.Extract{Name: "list", Tool: "list", Each: "$.things[*]", Type: "Thing", Value: "$.name"}
	changed := func(r config.Extract, change func(*config.Extract)) config.Extract {
		change(&r)
		return r
	}
	things := func(names ...string) m {
		out := []any{}
		for _, n := range names {
			out = append(out, m{"name": n})
		}
		return m{"things": out}
	}
	long := strings.Repeat("x", 300)
	for name, test := range map[string]struct {
		rules []config.Extract
		call  string
		args  m
		shown m
		want  map[string]string // sets by their names
	}{
		"some":                    {[]config.Extract{list}, "c=list", m{}, things("b", "a", "b"), map[string]string{"list": "[a, b]"}},
		"none":                    {[]config.Extract{list}, "c=list", m{"of": "x", "n": 2, "s": "2"}, things(), map[string]string{`list(n: 2, of: x, s: "2")`: "[]"}},
		"alternatives":            {[]config.Extract{changed(list, func(r *config.Extract) { r.Alternatives = config.AlternativesTrue })}, "c=list", m{}, things("a"), nil},
		"alternatives that count": {[]config.Extract{changed(list, func(r *config.Extract) { r.Alternatives, r.Others = config.AlternativesTrue, config.OthersCount })}, "c=list", m{}, things("a"), map[string]string{"list": "[a]"}},
		"others are ignored":      {[]config.Extract{changed(list, func(r *config.Extract) { r.Others = config.OthersIgnore })}, "c=list", m{}, things("a"), nil},
		"in the arguments":        {[]config.Extract{{Name: "stock", Tool: "stock", Type: "Thing", ValueArgs: "$.name"}}, "c=stock", m{"name": "a"}, m{}, nil},
		"one by its name":         {[]config.Extract{named("get", "one")}, "c=get", m{"name": "A"}, m{"name": "a"}, nil},
		"one by another word":     {[]config.Extract{named("get", "one")}, "c=get", m{"name": "best"}, m{"name": "a"}, map[string]string{"get(name: best)": "[a]"}},
		"two rules": {[]config.Extract{list, changed(list, func(r *config.Extract) { r.Name, r.Each = "more", "$.more[*]" })}, "c=list", m{}, things("a"),
			map[string]string{`list by rule "list"`: "[a]", `list by rule "more"`: "[]"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t}
			r.turn("1", "R")
			r.tool("T0", "P", "c0=list", m{}, things("nobody registered it"))
			r.ready("T1", test.call, test.args, test.shown)
			seen, ss := r.seen(test.rules)
			got := make(map[string]string)
			for _, e := range seen {
				if of, isSet := entity.ElementOf(e.Type); isSet {
					got[e.Value] = e.Attributes[entity.Names].String()
					if of != "Thing" {
						t.Errorf("the set is of %q", of)
					}
				}
			}
			if test.want == nil {
				test.want = make(map[string]string)
			}
			diff(t, "sets", test.want, got)
			for set := range got {
				if sources, err := ss.Sources(t.Context(), testSession, seen[set]); err != nil || len(sources) != 1 || sources[0].Call.Node != r.key("T1") {
					t.Errorf("%s: %v, %v", set, sources, err)
				}
			}
		})
	}
	// Names of sets are short, plain and different.
	r := &recorder{t: t}
	r.turn("1", "R")
	for i, q := range []string{long + "a", long + "b", "a\u200bb", "ab"} {
		r.ready(fmt.Sprint("T", i), fmt.Sprintf("c%d=list", i), m{"q": q}, things())
	}
	seen, _ := r.seen([]config.Extract{list})
	if len(seen) != 4 {
		t.Errorf("%d sets of four calls", len(seen))
	}
	for _, e := range seen {
		if err := e.Seen[0].Validate(); err != nil || len(e.Value) > 300 {
			t.Errorf("%q: %v", e.Value, err)
		}
	}
	// So many names that nobody could read them are compared all the same.
	var many []string
	for i := range 9000 {
		many = append(many, fmt.Sprint("thing ", i))
	}
	r = &recorder{t: t}
	r.turn("1", "R")
	r.ready("T1", "c=list", m{}, things(many...))
	seen, _ = r.seen([]config.Extract{list})
	if got := seen["list"].Attributes[entity.Names].String(); !strings.HasPrefix(got, "[9000 names: ") {
		t.Errorf("%.100s", got)
	}
	types := compile(t, []config.Extract{list, changed(named("get", "one"), func(r *config.Extract) { r.Type, r.Others = "One", config.OthersIgnore })}).SetTypes()
	if !slices.Equal(types, []string{"all Thing"}) {
		t.Errorf("%q", types)
	}
}

// What others a check knows nothing of is counted, for a tool that nobody registered.
func TestUnrepeated(t *testing.T) {
	r := &recorder{t: t}
	r.turn("1", "R")
	r.tool("T0", "P", "c0=query_ad_inventory", m{}, placements("Reels"))
	r.ready("T1", "c1=query_ad_inventory", m{}, placements("Reels"))
	if n := graphsync.Fold(compile(t, adRules()), r.rows).Counts().Rule("placements").Unrepeated; n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// An attribute that may be missing, and is, replaces readings of its own tool alone.
func TestAbsent(t *testing.T) {
	rule := func(tool string) config.Extract {
		return config.Extract{Name: tool, Tool: tool, Type: "Thing", Value: "$.name", Attributes: map[string]config.Attribute{
			"note": {Path: "$.note", Optional: true}, "price": {Path: "$.price", Type: entity.KindNumber, Optional: true},
		}}
	}
	with, without := m{"name": "a", "note": "n", "price": 1}, m{"name": "a", "price": 1}
	for name, test := range map[string]struct {
		calls  []string
		shown  []m
		absent []string
		note   string
	}{
		"there":                             {[]string{"one"}, []m{with}, nil, "n"},
		"not there":                         {[]string{"one"}, []m{without}, []string{"note"}, ""},
		"then not there":                    {[]string{"one", "one"}, []m{with, without}, []string{"note"}, ""},
		"then there":                        {[]string{"one", "one"}, []m{without, with}, nil, "n"},
		"of another tool":                   {[]string{"one", "two"}, []m{with, without}, nil, "n"},
		"of another tool before":            {[]string{"two", "one"}, []m{without, with}, nil, "n"},
		"nothing of it is there in a thing": {[]string{"one"}, []m{{"name": "a"}}, []string{"note", "price"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{t: t}
			r.turn("1", "R")
			for i, tool := range test.calls {
				r.ready(fmt.Sprint("T", i), fmt.Sprintf("c%d=%s", i, tool), m{"name": "a"}, test.shown[i])
			}
			seen, _ := r.seen([]config.Extract{rule("one"), rule("two")})
			e := seen["a"]
			if !slices.Equal(e.Absent, test.absent) || e.Attributes["note"].String() != test.note {
				t.Errorf("absent %q, note %q, want %q, %q", e.Absent, e.Attributes["note"], test.absent, test.note)
			}
		})
	}
	// Of one thing that a result has twice, one place may have it.
	r := &recorder{t: t}
	r.turn("1", "R")
	r.ready("T", "c=one", m{}, m{"things": []any{without, with}})
	twice := rule("one")
	twice.Each = "$.things[*]"
	seen, _ := r.seen([]config.Extract{twice})
	if e := seen["a"]; e.Absent != nil || e.Attributes["note"].String() != "n" {
		t.Errorf("absent %q in %v", e.Absent, e.Attributes)
	}
}
