// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// FuzzLoadedConfig checks that what a file gives is whole: it passes the check of a Config
// written in Go, its defaults are settled, and gate, rules and checkers are made of it
// without a panic and without surprise.
func FuzzLoadedConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/config/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "testdata/config/full.yaml", "contextgraph.example.yaml", "examples/adcp/contextgraph.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range []string{
		"guard: {check_timeout: 20s}", "guard: {check_deadline: 1ms}", "guard: {request_lifetime: 5s, check_age: 5s}",
		"guard: {min_confidence: 0, types: {A: {optional: true, min_confidence: 1, drift: {'*': {severity: 0}}}}}",
		"guard: {drift: {price: {effect: warn, optional: true, direction: rise, tolerance: {percent: 100, absolute: 1e9}}}}",
		"guard: {budgets: [{cost: {type: A, attribute: price}, limit: {type: A}}], require: listed, listed: [A, B]}",
		"checkers: [{type: A, http: {url: 'https://x.example/{value}', attributes: {price: {path: $.p, type: money, currency: USD}}}}]",
		"checkers: [{type: A, sql: {database: d, query: 'SELECT 1', args: ['{value}'], attributes: {price: {column: p, type: number}}}}]",
		"extract: [{name: a, tool: t, each: '$..x[?@.y > 1]', type: A, value: $.n, confidence: 0.1, attributes: {p: {path: $.p}}}]\nguard: {tools: ['t*']}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig("c.yaml", data, []string{"ADS_TOKEN=abc"})
		if err != nil {
			return
		}
		if err := c.validate(); err != nil {
			t.Errorf("loaded, and then: %v", err)
		}
		full := c.withDefaults()
		if err := full.validate(); err != nil {
			t.Errorf("with its defaults: %v", err)
		}
		if diff := cmp.Diff(full, full.withDefaults(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the defaults of the defaults (-once +twice):\n%s", diff)
		}
		p, err := c.policy()
		if err != nil || p.Validate() != nil || len(p.Version()) != 64 {
			t.Errorf("policy of version %q, %v, %v", p.Version(), err, p.Validate())
		}
		if q, err := full.policy(); err != nil || q.Version() != p.Version() {
			t.Errorf("with its defaults the policy is another: %v", err)
		}
		rules, err := c.rules()
		if err != nil {
			t.Errorf("rules: %v", err)
		}
		if _, err := graphsync.Compile(rules); err != nil {
			t.Errorf("rules: %v", err)
		}
		// Databases are given by code, which there is none of here.
		checkers, err := c.checkers()
		for typ, checker := range checkers {
			if checker == nil || typ == "" {
				t.Errorf("checker %v of type %q", checker, typ)
			}
		}
		for _, cc := range c.Checkers {
			if cc.HTTP == nil {
				return
			}
		}
		if err != nil {
			t.Errorf("checkers: %v", err)
		}
		if p.MaxAge > p.RequestLifetime || p.Timeout > p.Deadline || p.Require > safety.RequireListed {
			t.Errorf("policy %+v", p)
		}
	})
}
