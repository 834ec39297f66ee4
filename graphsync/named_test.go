// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/theory/jsonpath"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// places selects what an action rests on and returns where it names things.
func places(t *testing.T, args string, rules ...config.Extract) map[string][]string {
	t.Helper()
	r := &recorder{t: t, run: "r1"}
	r.find("c1", "d1", item("x", 1))
	for i := range rules {
		rules[i].Name, rules[i].Tool, rules[i].In, rules[i].Type = fmt.Sprint("r", i), "deploy", config.InAction, "Cluster"
	}
	sel := selectOf(t, rules, record.Decision{Node: "n", Tool: "deploy", Args: args}, r.rows...)
	named := 0
	for _, e := range sel.Entities {
		if len(sel.Places[e.Key]) > 0 {
			named++
		}
	}
	if named != len(sel.Places) {
		t.Errorf("%d things have a place, and %d are selected", len(sel.Places), named)
	}
	return sel.Places
}

// TestPlaces says where the arguments of an action name things: at each node that a rule
// found one in.
func TestPlaces(t *testing.T) {
	jobs := config.Extract{Each: "$.jobs[*]", Value: "$.cluster"}
	root := config.Extract{Value: "$.main"}
	money := config.Extract{Each: "$.jobs[*]", Value: "$.cluster", ValueType: entity.KindMoney, Currency: "USD"}
	for _, test := range []struct {
		name  string
		args  string
		rules []config.Extract
		want  map[string][]string // by the identity of the thing
	}{
		{"nothing", `{"jobs":[]}`, []config.Extract{jobs}, map[string][]string{}},
		{"each once", `{"jobs":[{"cluster":"a"},{"cluster":"b"}]}`, []config.Extract{jobs}, map[string][]string{"Cluster:text:a": {"$['jobs'][0]"}, "Cluster:text:b": {"$['jobs'][1]"}}},
		{"one twice", `{"jobs":[{"cluster":"a"},{"cluster":"b"},{"cluster":"a"}]}`, []config.Extract{jobs}, map[string][]string{"Cluster:text:a": {"$['jobs'][0]", "$['jobs'][2]"}, "Cluster:text:b": {"$['jobs'][1]"}}},
		{"by two rules, at two nodes", `{"main":"a","jobs":[{"cluster":"a"}]}`, []config.Extract{jobs, root}, map[string][]string{"Cluster:text:a": {"$", "$['jobs'][0]"}}},
		{"by two rules, at one node", `{"jobs":[{"cluster":"a"}]}`, []config.Extract{jobs, jobs}, map[string][]string{"Cluster:text:a": {"$['jobs'][0]"}}},
		{"one amount, written twice", `{"jobs":[{"cluster":"$50,000"},{"cluster":50000}]}`, []config.Extract{money}, map[string][]string{"Cluster:money:50000:USD": {"$['jobs'][0]", "$['jobs'][1]"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, places(t, test.args, test.rules...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A place leads back to its node, whatever its name.
func TestPlacesLeadBack(t *testing.T) {
	for _, name := range []string{"a", "", "a b", "'", `"`, `\`, "é", "\u2028", "\n", "$", "['x']", "~0/", "😀", "\u0001"} {
		args, err := json.Marshal(map[string]any{name: map[string]any{"cluster": "a", "cpus": 8}})
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range places(t, string(args), config.Extract{Each: "$.*", Value: "$.cluster"}) {
			path, err := jsonpath.Parse(list[0])
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			var doc any
			if err := json.Unmarshal(args, &doc); err != nil {
				t.Fatal(err)
			}
			if nodes := path.Select(doc); len(nodes) != 1 || !cmp.Equal(nodes[0], doc.(map[string]any)[name]) {
				t.Errorf("%q: %s selects %v", name, list[0], nodes)
			}
		}
	}
}
