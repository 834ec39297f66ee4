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

	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
)

const (
	root     = "../.."
	tutorial = root + "/docs/tutorial.md"
	readme   = root + "/README.md"
)

// TestDocuments builds all programs of the documents and follows the documents with them.
func TestDocuments(t *testing.T) {
	if testing.Short() || testsize.Race {
		t.Skip("runs programs, into which the race detector does not look")
	}
	p := programs{dir: t.TempDir(), bin: t.TempDir()}
	p.collect(t)
	p.build(t)
	t.Run("README", func(t *testing.T) { followReadme(t, p.newReader(t)) })
	t.Run("tutorial", func(t *testing.T) { followTutorial(t, p.newReader(t)) })
}

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

// reader is a folder in which somebody follows a document.
type reader struct {
	t   *testing.T
	dir string
	bin string // comes first in the path
}

// run returns what the commands print, without their log.
func (r *reader) run(commands string) string {
	r.t.Helper()
	out, err := r.try(commands)
	if err != nil {
		r.t.Fatalf("%s: %v", strings.TrimSpace(commands), err)
	}
	return out
}

func (r *reader) try(commands string) (output string, err error) {
	cmd := exec.CommandContext(r.t.Context(), "sh", "-e", "-c", commands)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%s%s", err, out, log.String())
	}
	return string(out), err
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	write(r.t, text, r.dir, name)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
