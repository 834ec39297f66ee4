// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package tutorial_test follows docs/tutorial.md: it writes the files, applies the changes, runs the
// commands and compares their output.
package tutorial_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

var update = flag.Bool("update", false, "write the outputs into the tutorial")

const (
	root     = "../.."
	tutorial = root + "/docs/tutorial.md"
)

// block is a fenced block of the tutorial: ```kind arg.
type block struct {
	kind, arg, body string
}

// blocks returns the fenced blocks of text in their order.
func blocks(t *testing.T, text string) (list []block) {
	t.Helper()
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 0 {
			continue
		}
		info, body, _ := strings.Cut(part, "\n")
		kind, arg, _ := strings.Cut(info, " ")
		list = append(list, block{kind, arg, body + "\n"})
	}
	return list
}

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

// reader is a folder in which somebody follows the tutorial.
type reader struct {
	t   *testing.T
	dir string
	env []string
}

// newReader makes a module that uses this repository, and puts the command into the path. That is what
// the blocks of "sh set-up" say, without a network.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, dir: t.TempDir()}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(r.read(filepath.Join(root, "go.mod")), "module github.com/adk-contextgraph/contextgraph", "module example.com/deploy", 1)
	mod += fmt.Sprintf("\nrequire github.com/adk-contextgraph/contextgraph v0.0.0\nreplace github.com/adk-contextgraph/contextgraph => %q\n", repository)
	r.write("go.mod", mod)
	r.write("go.sum", r.read(filepath.Join(root, "go.sum")))
	bin := t.TempDir()
	r.env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	build := exec.Command("go", "build", "-o", bin, "./cmd/contextgraph")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/contextgraph: %v\n%s", err, out)
	}
	return r
}

func (r *reader) read(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// run returns what the commands print, without their log.
func (r *reader) run(commands string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = r.dir, r.env
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s%s", strings.TrimSpace(commands), err, out, log.String())
	}
	return string(out)
}

func TestTutorial(t *testing.T) {
	if testing.Short() || testsize.Race {
		t.Skip("runs programs, into which the race detector does not look")
	}
	r := newReader(t)
	text := r.read(tutorial)
	var commands, output string
	for _, b := range blocks(t, text) {
		switch b.kind {
		case "go", "yaml":
			r.write(b.arg, b.body)
		case "diff":
			r.write(b.arg, patched(t, r.read(filepath.Join(r.dir, b.arg)), b.body))
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
