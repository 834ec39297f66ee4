// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package mistakes_test

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	contextgraph "github.com/adk-contextgraph/contextgraph"
)

var update = flag.Bool("update", false, "write docs/mistakes.md")

const document = "../../docs/mistakes.md"

// right is a configuration without a mistake. Each mistake replaces a part of it.
const right = `journal:
  path: contextgraph.db
guard:
  tools: {deploy_build: {}}
  drift:
    tests: {severity: 0.9}
  types:
    Build:
      max_age: 1m
extract:
  - name: builds
    tool: get_build
    type: Build
    value: $.name
    attributes:
      digest: {path: $.digest}
      tests: {path: $.tests}
  - name: deployments
    tool: deploy_build
    in: action
    type: Build
    value: $.name
checkers:
  - type: Build
    http:
      url: http://127.0.0.1:9/builds/{value}
      as_of: fetch
      attributes:
        digest: {path: $.digest}
        tests: {path: $.tests}
`

// mistakes are those that a configuration alone shows. Each replaces old by new in [right].
var mistakes = []struct{ name, old, new string }{
	{"A misspelt key", "severity: 0.9", "severty: 0.9"},
	{"A misspelt section", "checkers:", "checker:"},
	{"A key that is there twice", "    tool: get_build\n", "    tool: get_build\n    tool: get_builds\n"},
	{"A tab for indentation", "  path: contextgraph.db", "\tpath: contextgraph.db"},
	{"A name in the place of a mapping", "tools: {deploy_build: {}}", "tools: deploy_build"},
	{"A number in the place of a duration", "max_age: 1m", "max_age: 60"},
	{"An unknown unit of a duration", "max_age: 1m", "max_age: 1 minute"},
	{"A severity above 1", "severity: 0.9", "severity: 90"},
	{"An unknown word", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  mode: enforced"},
	{"An unknown requirement", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  require: all"},
	{"Observing a guarded tool", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  mode: observe"},
	{"An invisible character in the name of a tool", "tools: {deploy_build: {}}", `tools: {"deploy_build\u200B": {}}`},
	{"A space after the name of a tool", "tools: {deploy_build: {}}", `tools: {"deploy_build ": {}}`},
	{"A pattern that is not closed", "tools: {deploy_build: {}}", `tools: {"deploy_[build": {}}`},
	{"A path that is no JSONPath", "value: $.name\n    attributes", "value: name\n    attributes"},
	{"A rule without a tool", "    tool: get_build\n", ""},
	{"A rule without a value", "    value: $.name\n    attributes", "    attributes"},
	{"An unknown place", "in: action", "in: arguments"},
	{"Two rules of one name", "name: deployments", "name: builds"},
	{"A type of value that does not exist", "tests: {path: $.tests}\n  - name", "tests: {path: $.tests, type: string}\n  - name"},
	{"A checker without a source", "    http:\n      url: http://127.0.0.1:9/builds/{value}\n      as_of: fetch\n      attributes:\n        digest: {path: $.digest}\n        tests: {path: $.tests}\n", ""},
	{"A checker with a misspelt source", "    http:\n", "    htpp:\n"},
	{"A URL without a scheme", "url: http://127.0.0.1:9/", "url: 127.0.0.1:9/"},
	{"A URL with an unknown placeholder", "{value}", "{name}"},
	{"A checker for a misspelt type", "checkers:\n  - type: Build", "checkers:\n  - type: Biuld"},
	{"A rule for a type that no checker knows", "tool: get_build\n    type: Build", "tool: get_build\n    type: Release"},
	{"A policy for a misspelt type", "types:\n    Build:", "types:\n    Buidl:"},
	{"A policy for a misspelt attribute", "drift:\n    tests:", "drift:\n    test:"},
	{"A listed type that no rule finds", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  require: listed\n  listed: [Bulid]"},
	{"An attribute that the checker does not answer", "        digest: {path: $.digest}\n        tests: {path: $.tests}\n", "        digest: {path: $.digest}\n"},
	{"An attribute of two types", "        tests: {path: $.tests}\n", "        tests: {path: $.tests, type: boolean}\n"},
	{"A condition on an attribute that no rule reads", "max_age: 1m", "drift: {tets: {equals: passed}}"},
	{"Alternatives without a rule over the action", "    in: action\n", "    alternatives: true\n"},
	{"A rule over events that are not recorded", "    tool: get_build\n", "    event: BUILD_READ\n"},
	{"A condition in the general policy", "severity: 0.9", "equals: passed"},
	{"A tolerance for every change", "severity: 0.9", "tolerance: {percent: -5}"},
	{"A budget without a limit", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  budgets:\n    - tool: deploy_build\n      cost: {type: Build, attribute: price}"},
	{"A budget over a misspelt attribute", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  budgets:\n    - tool: deploy_build\n      cost: {type: Build, attribute: tets}\n      limit: {type: Build, attribute: tests}"},
	{"A budget over a type that no rule finds", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  budgets:\n    - tool: deploy_build\n      cost: {type: Build, attribute: tests}\n      limit: {type: Quota, attribute: left}"},
	{"Two currencies for one attribute", "      tests: {path: $.tests}\n  - name", "      tests: {path: $.tests, type: money, currency: EUR}\n  - name"},
	{"A currency on one side alone", "      tests: {path: $.tests}\n  - name", "      tests: {path: $.tests, type: money}\n  - name"},
	{"A misspelt argument in a condition", "max_age: 1m", "drift: {tests: {equals: $.expectd}}"},
	{"A time of the last change as the age of an answer", "as_of: fetch", "as_of: $.updated_at"},
	{"A query with an argument without braces", "    http:\n      url: http://127.0.0.1:9/builds/{value}\n      as_of: fetch\n      attributes:\n        digest: {path: $.digest}\n        tests: {path: $.tests}\n",
		"    sql:\n      database: builds\n      query: SELECT digest, tests FROM builds WHERE name = ?\n      args: [\"value\"]\n      attributes:\n        digest: {column: digest}\n        tests: {column: tests}\n"},
	{"A lifetime shorter than a check", "tools: {deploy_build: {}}", "tools: {deploy_build: {}}\n  request_lifetime: 10s\n  check_age: 30s"},
}

// second has the other half of some mistakes: what stands in its place, and the mistake.
var second = map[string][2]string{
	"Two currencies for one attribute":   {"        tests: {path: $.tests}\n", "        tests: {path: $.tests, type: money, currency: USD}\n"},
	"A currency on one side alone":       {"        tests: {path: $.tests}\n", "        tests: {path: $.tests, type: money, currency: EUR}\n"},
	"A misspelt argument in a condition": {"    in: action\n", "    in: action\n    attributes:\n      tests: {path: $.expected}\n"},
}

var unstable = regexp.MustCompile(`time=\S+ `)

// said returns the errors of a configuration, or the warnings at its start.
func said(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("contextgraph.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cg, err := contextgraph.FromFile("contextgraph.yaml", contextgraph.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	if err != nil {
		return strings.TrimSpace(err.Error())
	}
	cg.PluginConfig()
	if err := cg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(unstable.ReplaceAllString(log.String(), ""))
}

func TestRightConfiguration(t *testing.T) {
	if got := said(t, right); got != "" {
		t.Errorf("a right configuration starts with:\n%s", got)
	}
}

func TestMistakes(t *testing.T) {
	path, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Mistakes and their messages\n\nThis page is generated by `go test ./tests/mistakes -update`. It is the list to search for a message.\n\n")
	fmt.Fprintf(&b, "The mistakes in this configuration are made one at a time:\n\n```yaml\n%s```\n", right)
	for _, m := range mistakes {
		if strings.Count(right, m.old) != 1 {
			t.Errorf("%s: %q stands %d times in the right configuration", m.name, m.old, strings.Count(right, m.old))
			continue
		}
		more := second[m.name]
		if more[0] != "" && strings.Count(right, more[0]) != 1 {
			t.Errorf("%s: %q stands %d times in the right configuration", m.name, more[0], strings.Count(right, more[0]))
		}
		got := said(t, strings.Replace(strings.Replace(right, m.old, m.new, 1), more[0], more[1], 1))
		if got == "" {
			t.Errorf("%s: nothing is said", m.name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n", m.name)
		if m.new == "" {
			fmt.Fprintf(&b, "Left out:\n\n```yaml\n%s\n```\n", strings.TrimRight(m.old, "\n"))
		} else {
			fmt.Fprintf(&b, "```yaml\n%s\n```\n", strings.TrimRight(strings.TrimRight(m.new, "\n")+"\n"+more[1], "\n"))
		}
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", got)
	}
	b.WriteString("\n# Mistakes in programs\n\nThe agent searches for a product and calls the tool buy. These messages come when it runs, in the log or as the result\nthat the model is told.\n")
	b.WriteString(ofPrograms(t))
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("docs/mistakes.md differs; go test ./tests/mistakes -update writes it (-want +got):\n%s", d)
	}
}
