// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

const (
	root     = "../.."
	tutorial = root + "/docs/tutorial.md"
	readme   = root + "/README.md"
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

// reader is a folder in which somebody follows a document.
type reader struct {
	t   *testing.T
	dir string
	bin string // a folder of the path
	env []string
}

// newReader makes a module that uses this repository, as README.md and the tutorial say it, without a network.
func newReader(t *testing.T) *reader {
	t.Helper()
	if testing.Short() || testsize.Race {
		t.Skip("runs programs, into which the race detector does not look")
	}
	r := &reader{t: t, dir: t.TempDir(), bin: t.TempDir()}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// Nobody debugs the programs: without the tables for that they are linked in half of the time.
	r.env = append(os.Environ(), "GOFLAGS=-mod=mod -ldflags=-w", "GOWORK=off", "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r.write(r.bin, "go", fmt.Sprintf(goCommand, compiler, r.bin))
	r.write(r.dir, "go.mod", strings.Replace(r.read(root, "go.mod"), "module "+module, "module example.com/deploy", 1))
	r.write(r.dir, "go.sum", r.read(root, "go.sum"))
	edit := lineOf(t, r.read(readme), "go mod edit")
	if got := lineOf(t, r.read(tutorial), "go mod edit"); got != edit {
		t.Errorf("the tutorial says %q, and README.md %q", got, edit)
	}
	r.run(strings.Replace(edit, "=../contextgraph", "="+repository, 1))
	return r
}

const module = "github.com/adk-contextgraph/contextgraph"

// goCommand stands in for the command go: "go run ." builds a program once, and runs it again as long as its files are
// the same.
const goCommand = `#!/bin/sh
go=%q bin=%q
if [ "$1 $2" != "run ." ]; then exec "$go" "$@"; fi
shift 2
program=$bin/program-$(cat *.go | cksum | tr ' ' -)
[ -x "$program" ] || "$go" build -o "$program" . || exit
exec "$program" "$@"
`

// lineOf returns the one line of text that begins with prefix.
func lineOf(t *testing.T, text, prefix string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n"+prefix)
	if !ok || strings.Contains(rest, "\n"+prefix) {
		t.Fatalf("no line, or more than one, begins with %q", prefix)
	}
	rest, _, _ = strings.Cut(rest, "\n")
	return prefix + rest
}

func (r *reader) read(path ...string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *reader) write(dir, name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
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
