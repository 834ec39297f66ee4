// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/config"
)

// A policy for names that nothing gives is a mistake, unless code may give them.
func TestUnusedWarnings(t *testing.T) {
	severity := 0.9
	drift := func(name string) map[string]config.Drift { return map[string]config.Drift{name: {Severity: &severity}} }
	rule := config.Extract{
		Name: "builds", Tool: "get_build", In: config.InResult, Type: "Build", Value: "$.name",
		Attributes: map[string]config.Attribute{"tests": {Path: "$.tests"}},
	}
	for _, test := range []struct {
		name  string
		guard config.Guard
		coded []string
		want  string // "" for no warning of a policy
	}{
		{"attribute of a rule", config.Guard{Drift: drift("tests")}, []string{"Build"}, ""},
		{"attribute of the default policy", config.Guard{Drift: drift("price")}, []string{"Build"}, ""},
		{"misspelt", config.Guard{Drift: drift("test")}, []string{"Build"}, `guard.drift.test: no rule finds the attribute "test": this has no effect unless a tool declares one; did you mean "tests"? Else add`},
		{"that code may answer", config.Guard{Drift: drift("signature")}, []string{"Build"}, ""},
		{"that nothing answers", config.Guard{Drift: drift("signature")}, nil, `guard.drift.signature: no rule finds the attribute "signature"`},
		{"type that code checks", config.Guard{Types: map[string]config.TypePolicy{"Release": {}}}, []string{"Build", "Release"}, ""},
		{"type that nothing has", config.Guard{Types: map[string]config.TypePolicy{"Release": {}}}, []string{"Build"}, `guard.types.Release: no rule finds the type "Release"`},
		{"misspelt for a type that code checks", config.Guard{Types: map[string]config.TypePolicy{"Build": {Drift: drift("test")}}}, []string{"Build"}, `guard.types.Build.drift.test: no rule finds the attribute "test"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := advised(config.Config{Guard: test.guard, Extract: []config.Extract{rule}}, test.coded...)
			if test.want == "" && strings.Contains("\n"+got, "\nguard.") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
