// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
)

// A check names a value by a pointer to it. The error has the path and the place of the value in
// the file, and its Go name where there is no file.
func TestKeys(t *testing.T) {
	const file = `journal:
  retention: {max_age: 2h}
guard:
  types:
    Cluster:
      drift: {free: {at_least: 8, severity: 0.1}}
  budgets:
    - cost: {type: A, attribute: b}
      limit: {type: A}
      everything: true
extract:
  - {name: a, tool: t, type: A, value: {args: $.id}}
checkers:
  - type: A
    http: {url: "http://x/", headers: {X-A: b}, attributes: {p: {path: $.p}}}
`
	check := func(k config.Key, c *config.Config) {
		for _, at := range []config.Key{
			k.Of(&c.Journal.Retention.MaxAge), k.Of(&c.Journal).Of(&c.Journal.Path), k.Of(&c.Guard.Budgets).Index(0).Of(&c.Guard.Budgets[0].Limit.Type),
			k.Of(&c.Extract).Index(0).Of(&c.Extract[0].ValueArgs), k.Of(&c.Checkers).Index(0).Of(&c.Checkers[0].HTTP.URL),
			k.Of(&c.Checkers).Index(0).Of(&c.Checkers[0].HTTP.Headers).Entry("X-A", nil), k.Of(&c.Checkers).Index(0).Of(&c.Checkers[0].SQL),
		} {
			at.Wrong("bad", "mend it")
			at.Wrong("worse", "a second report does not count")
			if !at.Failed() || at.Sound() {
				t.Errorf("%v did not fail", at)
			}
		}
		cluster := c.Guard.Types["Cluster"]
		free := cluster.Drift["free"]
		types := k.Of(&c.Guard.Types)
		at := types.Entry("Cluster", &cluster).Of(&cluster.Drift).Entry("free", &free)
		if !types.Sound() {
			t.Error("guard.types failed")
		}
		at.Of(&free.Severity).Wrong("bad", "mend it")
		if types.Failed() || types.Sound() || at.Of(&free.AtLeast).Failed() {
			t.Error("what failed below a value is no failure of its own, and the value is not sound")
		}
		at.Wrong("bad", "mend it")
		at.Of(&free.AtLeast).Wrong("bad", "it follows from the failure around it, and does not count")
	}
	cfg, err := config.Parse("c.yaml", []byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.Parse("c.yaml", []byte(file), nil, check)
	want := []string{
		"c.yaml:1:1: journal.path: bad; mend it",
		"c.yaml:2:24: journal.retention.max_age: bad; mend it",
		"c.yaml:6:15: guard.types.Cluster.drift.free: bad; mend it",
		"c.yaml:6:45: guard.types.Cluster.drift.free.severity: bad; mend it",
		"c.yaml:9:21: guard.budgets[0].limit.type: bad; mend it",
		"c.yaml:12:47: extract[0].value.args: bad; mend it",
		"c.yaml:14:5: checkers[0].sql: bad; mend it",
		"c.yaml:15:17: checkers[0].http.url: bad; mend it",
		"c.yaml:15:45: checkers[0].http.headers.X-A: bad; mend it",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("in a file (-want +got):\n%s", diff)
	}
	want = []string{
		"contextgraph: configuration:",
		"Config.Journal.Retention.MaxAge: bad; mend it",
		"Config.Journal.Path: bad; mend it",
		"Config.Guard.Budgets[0].Limit.Type: bad; mend it",
		"Config.Extract[0].ValueArgs: bad; mend it",
		"Config.Checkers[0].HTTP.URL: bad; mend it",
		`Config.Checkers[0].HTTP.Headers["X-A"]: bad; mend it`,
		"Config.Checkers[0].SQL: bad; mend it",
		`Config.Guard.Types["Cluster"].Drift["free"].Severity: bad; mend it`,
		`Config.Guard.Types["Cluster"].Drift["free"]: bad; mend it`,
	}
	if diff := cmp.Diff(want, strings.Split(cfg.Check(check).Error(), "\n")); diff != "" {
		t.Errorf("in Go (-want +got):\n%s", diff)
	}
}

// A key of nothing is a mistake of the check.
func TestKeyOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var c config.Config
	_ = c.Check(func(k config.Key, _ *config.Config) { k.Of(new(string)) })
}
