// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs are those of all documents. To link a program takes seconds, so they are linked into one: each becomes a
// package, and the first argument says which one runs.
type programs struct {
	dir string // a module, with a folder for each program
	bin string // what is in the path of a reader
}

// goCommand stands in for the command go. Without an executable file, "go run ." keeps the program in a folder that has
// its checksum for a name. With one, it runs that program of it.
const goCommand = `#!/bin/sh
[ "$1 $2" = "run ." ] || exit
shift 2
name=p$(cat *.go | cksum | tr ' ' _)
if [ -x "%[1]s/documents" ]; then exec "%[1]s/documents" "$name" "$@"; fi
mkdir -p "%[2]s/$name"
cp *.go "%[2]s/$name"
`

func (p programs) newReader(t *testing.T) *reader {
	return &reader{t: t, dir: t.TempDir(), bin: p.bin}
}

// collect goes through the documents and keeps each program that they run.
func (p programs) collect(t *testing.T) {
	t.Helper()
	write(t, fmt.Sprintf(goCommand, p.bin, p.dir), p.bin, "go")
	r := p.newReader(t)
	writeReadme(r)
	r.run("go run .")
	r = p.newReader(t)
	for _, b := range blocks(t, read(t, tutorial)) {
		if b.kind != "sh" {
			r.writeBlock(b)
		} else if strings.Contains(b.body, "go run .") {
			// The program does not run here, so grep finds nothing and fails. The commands behind it have to run.
			_, _ = r.try("set +e\n" + b.body)
		}
	}
}

// build puts the programs and contextgraph into the path. Their module uses this repository as the documents say it, but
// without a network.
func (p programs) build(t *testing.T) {
	t.Helper()
	const module = "github.com/adk-contextgraph/contextgraph"
	write(t, strings.Replace(read(t, root, "go.mod"), "module "+module, "module example.com/documents", 1), p.dir, "go.mod")
	write(t, read(t, root, "go.sum"), p.dir, "go.sum")
	folders, err := filepath.Glob(filepath.Join(p.dir, "p*"))
	if err != nil {
		t.Fatal(err)
	}
	var imports, cases strings.Builder
	for _, folder := range folders {
		name := filepath.Base(folder)
		fmt.Fprintf(&imports, "import %q\n", "example.com/documents/"+name)
		fmt.Fprintf(&cases, "case %q:\n%s.Main()\n", name, name)
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := strings.Replace(read(t, file), "package main\n", "package "+name+"\n", 1)
			write(t, strings.Replace(text, "\nfunc main() {\n", "\nfunc Main() {\n", 1), file)
		}
	}
	write(t, fmt.Sprintf(mainOfAll, &imports, &cases), p.dir, "main.go")
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	edit := lineOf(t, read(t, readme), "go mod edit")
	if got := lineOf(t, read(t, tutorial), "go mod edit"); got != edit {
		t.Errorf("the tutorial says %q, and README.md %q", got, edit)
	}
	// Nobody debugs the programs: without the tables for that they are linked in half of the time.
	build := fmt.Sprintf("%s && go build -ldflags=-w -o %q . %s/cmd/contextgraph", strings.Replace(edit, "=../contextgraph", "="+repository, 1), p.bin, module)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", build)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
}

const mainOfAll = `package main

import "os"
%s
func main() {
	name := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	switch name {
	%s
	default:
		panic("no such program: " + name)
	}
}
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
