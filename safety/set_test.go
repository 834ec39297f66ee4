// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// setOf is the set that a call showed.
func setOf(call string, names ...string) entity.Canonical {
	return seenAgo(0, entity.SetOf("Incident"), call, values{entity.Names: entity.Set(names...)})
}

// What a look-up showed is a thing of its own: its names are compared in any order.
func TestSets(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*safety.GuardConfig)
		was, now []string
		want     []string
	}{
		"as it was":            {nil, []string{"INC-1", "INC-2"}, []string{"INC-2", "INC-1"}, nil},
		"none, as it was":      {nil, nil, nil, nil},
		"one comes":            {nil, nil, []string{"INC-1"}, []string{"... -> INC-1 came: Look at what is new or gone in incidents (INC-1 came). If ..."}},
		"one comes, one goes":  {nil, []string{"INC-1"}, []string{"INC-2"}, []string{"... -> INC-2 came; INC-1 went: Look at what is new or gone ..."}},
		"the type is listed":   {listed("Incident", "Version"), nil, []string{"INC-1"}, []string{"... -> INC-1 came: ..."}},
		"others are listed":    {listed("Version"), nil, []string{"INC-1"}, nil},
		"only the named count": {func(cfg *safety.GuardConfig) { cfg.Policy.Require = config.RequireNamed }, nil, []string{"INC-1"}, []string{"no_entities: ..."}},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf("incidents", test.was...)
			b := newBench(t, test.change, set, seenAgo(0, "Version", "v1", values{"result": entity.Text("passed")}), seenAgo(0, "Incident", "INC-0", values{"result": entity.Text("passed")}))
			b.world.put(set, entity.Names, entity.Set(test.now...))
			b.ask()
			said(t, b.check(), test.want...)
		})
	}
}

func listed(types ...string) func(*safety.GuardConfig) {
	return func(cfg *safety.GuardConfig) { cfg.Policy.Require, cfg.Policy.Listed = config.RequireListed, types }
}

// A hint names sets last, and what they hold.
func TestHintOfSets(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g"}
	got := complete(setOf("incidents"), setOf("pages(n: 1)", many...), seenAgo(0, "Version", "v1", values{"result": entity.Text("passed")})).Hint("deploy")
	want := `deploy. Rests on Version v1: passed, Incident in incidents: none, Incident in "pages(n: 1)": only a, b, c, d, e, and 2 more.`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An attribute that may be missing, and was, is read as not there.
func TestAbsent(t *testing.T) {
	absent := seenAgo(0, "Medicine", "x", values{"price": usd("$4")})
	absent.Absent = []string{"availability", "warning"}
	for name, test := range map[string]struct {
		now  values
		want []string
	}{
		"still not there":        {values{}, nil},
		"there":                  {values{"warning": entity.Text("recalled")}, []string{"not there -> recalled: Read Medicine x again, ..."}},
		"there, and unavailable": {values{"availability": entity.Bool(false)}, []string{"not seen -> unavailable: ..."}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, absent)
			for attribute, v := range test.now {
				b.world.put(absent, attribute, v)
			}
			a := b.ask()
			said(t, b.check(), test.want...)
			if got := a.Shown()["entities"].([]any)[0].(map[string]any)["attributes"].(map[string]any)["warning"]; got != "not there" {
				t.Errorf("the card says %v", got)
			}
		})
	}
	other := absent
	other.Absent = []string{"warning"}
	if one, two := safety.Fingerprint([]entity.Canonical{absent}), safety.Fingerprint([]entity.Canonical{other}); one == two {
		t.Error("what was not there is no part of the fingerprint")
	}
}
