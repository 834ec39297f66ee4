// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package googlesql_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

var (
	listed = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([a-z]+) \\|(.*)\\|$")
	named  = regexp.MustCompile("`(Test\\w+)`")
)

// docs/internal/statements.md lists every statement, and says of each what this package does with
// it. A statement in GQL is executed nowhere and has a twin that is. Tests that execute statements are
// there; TestVerify holds the rest of that column.
func TestStatementsAreListed(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/internal/statements.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	files, err := filepath.Glob("../warehouse/*_test.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	if err != nil || tests.Len() == 0 {
		t.Fatalf("no tests: %v", err)
	}
	executed := make(map[string]string)
	var names []string
	for _, line := range listed.FindAllStringSubmatch(string(doc), -1) {
		name, language := line[1], line[2]
		names = append(names, name)
		executed[name] = line[3]
		want := "analysed"
		if _, ok := notAnalysed[name]; ok {
			want = "parsed"
		}
		if language != want {
			t.Errorf("%s is said to be %s and is %s", name, language, want)
		}
		for _, test := range named.FindAllStringSubmatch(line[4], -1) {
			if line[3] != "emulator" || !strings.Contains(tests.String(), "func "+test[1]+"(") {
				t.Errorf("%s is said to be executed by %s, which tests/thirdparty/warehouse has not, or %s", name, test[1], line[3])
			}
		}
	}
	if diff := cmp.Diff(warehouse.StatementNames(), names); diff != "" {
		t.Errorf("statements (-files +docs/internal/statements.md):\n%s", diff)
	}
	for name, where := range executed {
		twin, gql := strings.CutSuffix(name, "_gql")
		switch {
		case !slices.Contains([]string{"emulator", "twin", "nowhere"}, where):
			t.Errorf("%s is said to be executed by %q", name, where)
		case gql != (where == "twin"):
			t.Errorf("%s is said to be executed by %q", name, where)
		case gql && executed[twin] != "emulator":
			t.Errorf("the twin of %s was not executed", name)
		}
	}
}
