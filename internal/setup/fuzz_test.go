// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// FuzzLoadedConfig checks that what a file gives is whole: it passes the check of a Config
// written in Go, its defaults are settled, and gate, rules and checkers are made of it
// without a panic and without surprise.
func FuzzLoadedConfig(f *testing.F) {
	files, err := filepath.Glob("../../config/testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "../../config/testdata/full.yaml", "../../contextgraph.example.yaml", "../../examples/adcp/contextgraph.yaml", "../../examples/agent/contextgraph.yaml") {
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
		"extract: [{name: a, tool: t, each: '$..x[?@.y > 1]', type: A, value: $.n, confidence: 0.1, attributes: {p: {path: $.p}}}]\nguard: {tools: {'t*': {}}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("c.yaml", data, []string{"ADS_TOKEN=abc"}, Checks()...)
		if err != nil {
			return
		}
		if err := c.Check(Checks()...); err != nil {
			t.Errorf("loaded, and then: %v", err)
		}
		full := c.WithDefaults()
		if err := full.Check(Checks()...); err != nil {
			t.Errorf("with its defaults: %v", err)
		}
		if diff := cmp.Diff(full, full.WithDefaults(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the defaults of the defaults (-once +twice):\n%s", diff)
		}
		if p, q := policyVersion(t, c.Guard), policyVersion(t, full.Guard); p != q || len(p) != 64 {
			t.Errorf("policies of versions %q and, with the defaults, %q", p, q)
		}
		if _, err := Extractor(c); err != nil {
			t.Errorf("rules: %v", err)
		}
		// Databases are given by code, which there is none of here.
		checkers, err := Checkers(c, Code{})
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
		if g := full.Guard; g.CheckAge > g.RequestLifetime || g.CheckTimeout > g.CheckDeadline {
			t.Errorf("guard %+v", g)
		}
	})
}

// nothing is the record of an empty session.
type nothing struct{}

func (nothing) Collect(context.Context, record.Session, record.Decision) (safety.Snapshot, error) {
	return safety.Snapshot{}, nil
}

// policyVersion returns the version of a policy: that of a check.
func policyVersion(t *testing.T, policy config.Guard) string {
	t.Helper()
	guard, err := safety.NewGuard(safety.GuardConfig{Ledger: new(store.Memory).Open().Ledger(), Evidence: nothing{}, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	r, err := guard.Check(t.Context(), record.Session{App: "a", User: "u", ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return r.PolicyVersion()
}
