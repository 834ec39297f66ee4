// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// actionRules find what the arguments of the demo's action name, and of an earlier call.
const actionRules = `journal: {path: demo.db}
extract:
  - {name: lines, tool: provision_campaign, in: action, each: "$.lines[*]", type: Product, value: $.placement,
     attributes: {price: {path: $.spend, type: money, currency: USD}}}
  - {name: account, tool: provision_campaign, in: action, type: Account, value: $.account}
  - {name: planned, tool: allocate_media_budget, in: args, type: Plan, value: $.budget}
`

// What the action names is led back to the result that showed it, and what no result showed
// is said to be so, whether a journal is read or the rows themselves. The rest of the session is the
// same too.
func TestWhyOfWhatAnActionNames(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsFile(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("contextgraph.yaml", []byte(actionRules), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runCommand(t, "import", rows); code != exitOK {
		t.Fatalf("import: %d: %s", code, stderr)
	}
	recorded := ""
	for _, from := range []string{"journal", rows} {
		code, stdout, stderr := runCommand(t, "why", "sess-nike-summer", "--from", from)
		if code != exitOK {
			t.Fatalf("%s: %d: %s", from, code, stderr)
		}
		golden(t, dir, "why-action.txt", stdout)
		if _, trace, _ := runCommand(t, "trace", "sess-nike-summer", "--from", from, "--output", "json"); from == "journal" {
			recorded = trace
		} else if diff := cmp.Diff(recorded, trace); diff != "" || trace == "" {
			t.Errorf("trace (-journal +rows):\n%s", diff)
		}
	}
	_, stdout, _ := runCommand(t, "why", "sess-nike-summer", "--entity", "nike-running", "--output", "json")
	for _, want := range []string{`"origin": "action"`, `"note": "named by the action; no result in the 20 steps before the request shows it"`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the JSON lacks %s:\n%s", want, stdout)
		}
	}
}
