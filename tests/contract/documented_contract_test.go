// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/schema/contract"
	"github.com/adk-contextgraph/contextgraph/record"
)

// docs/row-contract.md must list the deviations that the shapes know, and name every
// event type.
func TestContractIsWrittenDown(t *testing.T) {
	doc, err := os.ReadFile("../../docs/row-contract.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(doc), "## Deviations from the Python plugin")
	if !ok {
		t.Fatal("docs/row-contract.md has no list of deviations")
	}
	var written []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([a-z0-9_]+)`:").FindAllStringSubmatch(list, -1) {
		written = append(written, m[1])
	}
	shapes, err := contract.LoadShapes()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, d := range shapes.Deviations {
		known = append(known, d.ID)
	}
	slices.Sort(written)
	slices.Sort(known)
	if diff := cmp.Diff(known, written); diff != "" {
		t.Errorf("deviations (-shapes.json +docs/row-contract.md):\n%s", diff)
	}
	for _, typ := range record.EventTypes() {
		if !strings.Contains(string(doc), typ) {
			t.Errorf("docs/row-contract.md does not mention %s", typ)
		}
	}
}
