// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package tutorial_test follows README.md and docs/tutorial.md: it writes the files, applies the changes, runs the
// commands and compares their output.
package tutorial_test

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the outputs into the tutorial")

// patched applies a change to a file: sections between lines of "@@", each with lines that are kept
// (a space first), added (+) or removed (-). A section has at least one line to find its place by.
func patched(t *testing.T, text, change string) string {
	t.Helper()
	for section := range strings.SplitSeq(change, "@@\n") {
		var before, after strings.Builder
		for line := range strings.Lines(section) {
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		if strings.Count(text, before.String()) != 1 {
			t.Fatalf("the lines to change stand %d times in the file:\n%s", strings.Count(text, before.String()), before.String())
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text
}

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

func TestTutorial(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	build := exec.Command("go", "build", "-ldflags=-w", "-o", r.bin, "./cmd/contextgraph")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/contextgraph: %v\n%s", err, out)
	}
	text := r.read(tutorial)
	var commands, output string
	for _, b := range blocks(t, text) {
		switch b.kind {
		case "go", "yaml":
			r.write(r.dir, b.arg, b.body)
		case "diff":
			r.write(r.dir, b.arg, patched(t, r.read(r.dir, b.arg), b.body))
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
