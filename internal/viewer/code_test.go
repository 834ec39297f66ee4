// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
)

var update = flag.Bool("update", false, "write the golden files")

// codeFile holds the code of a session as a function, so that the compiler reads it.
const codeFile = "code_golden_test.go"

const codeHead = `// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/bqstream"
	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/record"
)

// showSession is what a page shows for the session of TestCode; that test compares the two.
func showSession(ctx context.Context) error {
`

func TestCode(t *testing.T) {
	names := viewer.CodeNames{Project: "my-project-123", Dataset: "agents", Location: "EU"}
	steps := viewer.Code(session(t, shop, asked(shop)), names)
	var b strings.Builder
	b.WriteString(codeHead)
	for i, s := range steps {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("\t// " + s.Title + ".\n")
		for line := range strings.Lines(s.Text) {
			b.WriteString(strings.TrimRight("\t"+line, "\t"))
		}
		b.WriteString("\n")
	}
	b.WriteString("\treturn nil\n}\n\nvar _ = showSession\n")
	if *update {
		if err := os.WriteFile(codeFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(codeFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-%s +code:\n%s", codeFile, diff)
	}

	if n := len(viewer.Code(session(t, shop, asked(shop)[:2]), viewer.CodeNames{})); n != 5 {
		t.Errorf("%d steps for a session that asked for nothing and no dataset, want 5", n)
	}
}

// What a record says cannot become code.
func TestCodeQuotes(t *testing.T) {
	hostile := record.Session{App: "a\"); panic(1) //", User: "b\n", ID: "`"}
	rows := asked(hostile)
	rows[2].Content = []byte(strings.ReplaceAll(string(rows[2].Content), `"name":"buy"`, `"name":"buy\n}; panic(2)"`))
	s := session(t, hostile, rows)
	s.Approvals = append(s.Approvals, inspect.Approval{Tool: "x\u2028\nfunc init() {}", ID: "\"\n"})
	for _, step := range viewer.Code(s, viewer.CodeNames{Config: "c\".yaml"}) {
		for _, bad := range []string{"a\"); panic(1)", "\nfunc init", "\n}; panic(2)", "\u2028", "c\".yaml\")"} {
			if strings.Contains(step.Text, bad) {
				t.Errorf("%s:\n%s", step.Title, step.Text)
			}
		}
	}
}
