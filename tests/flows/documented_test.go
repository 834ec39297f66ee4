// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
)

// plan is a whole configuration that a page prints, and the flows that it names.
type plan struct{ config, calls, text string }

// printed is what a plan says about a flow: shop and expectation of its file.
type printed struct {
	Use    string    `yaml:"use"`
	Config any       `yaml:"config"`
	Expect yaml.Node `yaml:"expect"`
	Tools  map[string]struct {
		Result any `yaml:"result"`
		Cases  []struct{ Args, Result any }
	} `yaml:"tools"`
}

var (
	planRow  = regexp.MustCompile("(?m)^\\| .* \\| (.*) \\| .*\\| `((?:attacks|honest)/[^`]+)` \\|$")
	flowName = regexp.MustCompile("`((?:attacks|honest)/[^`]+)`")
	reason   = regexp.MustCompile("`([a-z]+_[a-z_]+|policy|error)`")
	ends     = map[string]string{"runs": "executed safe", "rejected": "rejected", "blocked": "blocked drift", "check fails": "pending check_failed"}
)

// TestWhatCounts holds docs/what-counts.md against the flows that it names: each exists, each plan is
// the shop of its flows, and each row says how its flow ends.
func TestWhatCounts(t *testing.T) {
	page := read(t, "../../docs/what-counts.md")
	for _, m := range flowName.FindAllStringSubmatch(page, -1) {
		read(t, m[1]+".yaml")
	}
	rest, given, _ := strings.Cut(page, "\n## Given up\n")
	givenUp(t, given)
	rules, plans, _ := strings.Cut(rest, "\n## Three plans\n")
	for _, section := range strings.Split(rules, "\n### ")[1:] {
		if !strings.Contains(section, "\nFlows: `") {
			t.Errorf("no flow shows %q", strings.SplitN(section, "\n", 2)[0])
		}
	}
	sections := strings.Split(plans, "\n### ")[1:]
	if len(sections) != 3 {
		t.Errorf("%d plans, want 3", len(sections))
	}
	for _, text := range sections {
		p := plan{fence(t, text, "yaml"), fence(t, text, "text"), text}
		rows := planRow.FindAllStringSubmatch(text, -1)
		if want := strings.Count(text, "\n| ") - 1; len(rows) != want || want < 4 {
			t.Errorf("%d rows name a flow, want %d", len(rows), want)
		}
		for _, row := range rows {
			f := p.flow(t, row[2])
			wants := strings.Split(row[1], "; then ")
			if got := strings.Split(strings.Trim(expected(f.Expect), "[]"), ", "); len(got) != len(wants) {
				t.Errorf("%s: %d calls, want %d", row[2], len(got), len(wants))
			}
			for _, want := range wants {
				kind, reasons, _ := strings.Cut(want, ": ")
				for _, m := range append([][]string{{"", ends[kind]}}, reason.FindAllStringSubmatch(reasons, -1)...) {
					if !strings.Contains(expected(f.Expect), m[1]) || ends[kind] == "" {
						t.Errorf("%s: the page says %q, the flow %q", row[2], want, expected(f.Expect))
					}
				}
			}
		}
	}
}

// givenUp holds the last part of the page against the flows that end otherwise than they should, and stay so.
func givenUp(t *testing.T, text string) {
	t.Helper()
	var want, got []string
	for _, m := range flowName.FindAllStringSubmatch(text, -1) {
		want = append(want, m[1]+".yaml")
	}
	paths, err := flowtest.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := flowtest.Load(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if f.GivenUp != "" {
			got = append(got, filepath.ToSlash(path))
		}
	}
	if slices.Sort(want); !slices.Equal(want, got) {
		t.Errorf("the page gives up %q, the flows %q", want, got)
	}
}

// TestFirstConfiguration holds the first configuration of docs/checkers.md against its flows.
func TestFirstConfiguration(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "../../docs/checkers.md"), "\n## HTTP, from the configuration\n")
	text, _, _ = strings.Cut(text, "\n## ")
	plan{config: fence(t, text, "yaml")}.flow(t, "honest/what_counts/placements")
}

// flow reads a flow, and reports where its shop is not the plan.
func (p plan) flow(t *testing.T, name string) (f printed) {
	t.Helper()
	unmarshal(t, read(t, name+".yaml"), &f)
	var shop printed
	var cfg any
	unmarshal(t, read(t, "shops/"+f.Use+".yaml"), &shop)
	if unmarshal(t, p.config, &cfg); !reflect.DeepEqual(cfg, shop.Config) {
		t.Errorf("shops/%s.yaml has another configuration than the page prints:\n%s", f.Use, p.config)
	}
	parsed, err := config.Parse(f.Use, []byte(p.config), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	if w := setup.Advice(parsed.WithDefaults(), nil); len(w) > 0 {
		t.Errorf("%s warns: %q", f.Use, w)
	}
	for line := range strings.Lines(p.calls) {
		call, result, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		tool, args, _ := strings.Cut(call, " ")
		if !ok {
			continue
		}
		found := reflect.DeepEqual(fromJSON(t, result), asJSON(t, shop.Tools[tool].Result))
		for _, c := range shop.Tools[tool].Cases {
			found = found || reflect.DeepEqual(fromJSON(t, args), asJSON(t, c.Args)) && reflect.DeepEqual(fromJSON(t, result), asJSON(t, c.Result))
		}
		if !found {
			t.Errorf("shops/%s.yaml has no tool that answers so: %s", f.Use, line)
		}
	}
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// fence returns the one block of a language.
func fence(t *testing.T, text, language string) string {
	t.Helper()
	_, block, ok := strings.Cut(text, "\n```"+language+"\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !ok || !closed {
		t.Fatalf("no block of %s in %q", language, text)
	}
	return block
}

func unmarshal(t *testing.T, text string, to any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), to); err != nil {
		t.Fatal(err)
	}
}

func fromJSON(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return fromJSON(t, string(data))
}

// expected returns an expectation, of one call or of several.
func expected(n yaml.Node) string {
	lines := []string{n.Value}
	for i, c := range n.Content {
		lines = append(lines[:i], c.Value)
	}
	return strings.Join(lines, ", ")
}
