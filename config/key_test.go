// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
)

// A check names a value by its path. The error has the place of the value in the file, or of what is
// around it; where there is no file, it has the name in Go. Of the problems of one value, and of
// those below it, the first counts.
func TestProblems(t *testing.T) {
	const file = `journal:
  retention: {max_age: 2h}
guard:
  types:
    Cluster:
      drift: {free: {at_least: 8, severity: 0.1}, "*": {severity: 1}}
  budgets:
    - cost: {type: A, attribute: b}
      limit: {type: A}
      everything: true
extract:
  - {name: a, tool: t, type: A, value: {args: $.id}}
checkers:
  - type: A
    http: {url: "http://x/{value}", headers: {X-A: b}, attributes: {p: {path: $.p}}}
record: {tags: {"a].b\"[": c}}
`
	check := func(*config.Config) (out []config.Problem) {
		for _, path := range []string{
			"journal.retention.max_age", "journal.path", "guard.budgets[0].limit.type", "extract[0].value.args", "checkers[0].http.url",
			"checkers[0].http.headers.X-A", config.Entry("record.tags", `a].b"[`), "checkers[0].sql",
			"guard.types.Cluster.drift.free.severity", "guard.types.Cluster.drift.free", "guard.types.Cluster.drift.free.at_least",
			config.Entry("guard.types.Cluster.drift", "*") + ".severity", "journal.path", "journal.path.below",
		} {
			out = append(out, config.Problem{Path: path, Text: "bad", Remedy: "mend it"})
		}
		return out
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
		`c.yaml:6:67: guard.types.Cluster.drift["*"].severity: bad; mend it`,
		"c.yaml:9:21: guard.budgets[0].limit.type: bad; mend it",
		"c.yaml:12:47: extract[0].value.args: bad; mend it",
		"c.yaml:14:5: checkers[0].sql: bad; mend it",
		"c.yaml:15:17: checkers[0].http.url: bad; mend it",
		"c.yaml:15:52: checkers[0].http.headers.X-A: bad; mend it",
		`c.yaml:16:28: record.tags["a].b\"["]: bad; mend it`,
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
		`Config.Record.Tags["a].b\"["]: bad; mend it`,
		"Config.Checkers[0].SQL: bad; mend it",
		`Config.Guard.Types["Cluster"].Drift["free"].Severity: bad; mend it`,
		`Config.Guard.Types["Cluster"].Drift["free"]: bad; mend it`,
		`Config.Guard.Types["Cluster"].Drift["*"].Severity: bad; mend it`,
	}
	if diff := cmp.Diff(want, strings.Split(cfg.Check(check).Error(), "\n")); diff != "" {
		t.Errorf("in Go (-want +got):\n%s", diff)
	}
}
