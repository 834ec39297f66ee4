// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A program that streams nothing does not link, nor compile, a BigQuery client.
func TestNoBigQueryClient(t *testing.T) {
	client := func(path string) bool {
		return strings.HasPrefix(path, "cloud.google.com/go/bigquery") || strings.HasPrefix(path, "github.com/apache/arrow")
	}
	deps := func(packages ...string) []string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, packages...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, out)
		}
		return strings.Fields(string(out))
	}
	if !slices.ContainsFunc(deps("./warehouse/bigquery"), client) {
		t.Error("the client of package bigquery is not found where it is")
	}
	for _, path := range deps(".", "./warehouse", "./examples/agent", "./examples/adcp") {
		if client(path) {
			t.Errorf("%s is linked without a dataset", path)
		}
	}
}
