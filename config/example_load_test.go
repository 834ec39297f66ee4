// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
)

// The example loads and is the default; with its samples taken in it loads too.
func TestExampleLoads(t *testing.T) {
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse("contextgraph.example.yaml", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(config.Default().WithDefaults(), got.WithDefaults()); diff != "" {
		t.Errorf("the example is not the default (-default +example):\n%s", diff)
	}
	// Two samples need another choice for a key that is set above them.
	text := strings.NewReplacer("store: contextgraph.db.artifacts", "store: gs://bucket/prefix", "require: everything", "require: listed").Replace(sampled(string(data)))
	got, err = config.Parse("contextgraph.example.yaml", []byte(text), []string{"ADS_TOKEN=abc"})
	if err != nil {
		t.Fatalf("with its samples taken in: %v", err)
	}
	if len(got.Extract) != 5 || len(got.Checkers) != 3 || len(got.Guard.Budgets) != 1 || got.BigQuery.Dataset == "" {
		t.Errorf("%+v", got)
	}
}

// Each variable that the document names is known.
func TestDocumentedVariables(t *testing.T) {
	for _, p := range readSource(t).parts() {
		for _, k := range p.keys {
			if v := k.variable(); v != "" {
				if _, err := config.Parse("c.yaml", nil, []string{v + "="}); err == nil || !strings.Contains(err.Error(), "is set but empty") {
					t.Errorf("%s: %v", v, err)
				}
			}
		}
	}
}
