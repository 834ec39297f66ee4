// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package tutorial_test follows README.md and docs/tutorial.md: it writes the files, applies the changes, runs the
// commands and compares their output.
package tutorial_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the outputs into the tutorial")

var unstable = []struct {
	pattern *regexp.Regexp
	stable  string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?`), "TIME"},
	{regexp.MustCompile(`(?m)\bnow$|\b\d+[smhd] ago\b|(?m)^now\b`), "AGO"},
	{regexp.MustCompile(`\d+(\.\d+)?(ns|µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\d+(\.\d+)? (KB|kB|KiB|MiB|bytes)`), "SIZE"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// stable replaces whatever differs from run to run.
func stable(output string) string {
	for _, u := range unstable {
		output = u.pattern.ReplaceAllString(output, u.stable)
	}
	return strings.TrimSpace(output)
}

func followTutorial(t *testing.T, r *reader) {
	text := read(t, tutorial)
	var commands, output string
	for _, b := range blocks(t, text) {
		switch b.kind {
		case "go", "yaml", "diff":
			r.writeBlock(b)
		case "sh":
			if b.arg == "" {
				commands, output = b.body, r.run(b.body)
			}
		case "output":
			if commands == "" {
				t.Fatalf("an output without a command:\n%s", b.body)
			}
			if *update && stable(b.body) != stable(output) {
				text = strings.Replace(text, "```output\n"+b.body+"```", "```output\n"+strings.TrimRight(output, "\n")+"\n```", 1)
			} else if d := cmp.Diff(stable(b.body), stable(output)); d != "" {
				t.Errorf("%s prints something else; go test ./tests/tutorial -update writes it (-tutorial +got):\n%s", strings.TrimSpace(commands), d)
			}
			commands = ""
		default:
			t.Errorf("a block of an unknown kind %q", b.kind)
		}
	}
	if *update {
		if err := os.WriteFile(tutorial, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writeBlock makes the file that a block shows or changes.
func (r *reader) writeBlock(b block) {
	r.t.Helper()
	switch b.kind {
	case "go", "yaml":
		r.write(b.arg, b.body)
	case "diff":
		r.write(b.arg, patched(r.t, read(r.t, r.dir, b.arg), b.body))
	}
}
