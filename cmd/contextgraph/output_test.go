// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/record"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// TestUnwritten: what did not get to stdout is an error of each command, whoever wrote it.
func TestUnwritten(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"})
	for _, args := range []string{
		"--help", "--version", "sessions --help", "completion bash", "sessions", "trace s1", "export s1", "stats", "doctor",
		"init --dry-run --offline --project my-project --dataset agents",
	} {
		var errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), &app{stdout: fullDisk{}, stderr: &errs})
		if code != exitError || !strings.Contains(errs.String(), "the disk is full") {
			t.Errorf("contextgraph %s = %d: %s", args, code, errs.String())
		}
	}
}

// TestInterrupted: the code is that of a program that Ctrl-C ended, whatever was under way, and
// a standard input that says nothing is not waited for.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"})
	for _, args := range []string{"doctor", "sessions", "check s1", "sessions --from -", "import - --journal new.db"} {
		silent, end := io.Pipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("it was stopped"))
		var out, errs bytes.Buffer
		code := run(ctx, strings.Fields(args), &app{stdin: silent, stdout: &out, stderr: &errs})
		if code != exitInterrupted || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("contextgraph %s = %d: %s%s", args, code, out.String(), errs.String())
		}
		if err := end.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("new.db"); err == nil {
		t.Error("an import that read nothing made a journal")
	}
}

// TestExportReplacesFilesOnly: what is no file, such as a device, stays what it is.
func TestExportReplacesFilesOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"})
	if err := os.Mkdir("rows.ndjson", 0o700); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := in(t, nil, "export", "s1", "--file", "rows.ndjson")
	if info, err := os.Stat("rows.ndjson"); code != exitError || !strings.Contains(stderr, "no regular file") || err != nil || !info.IsDir() {
		t.Errorf("%d: %s, %v", code, stderr, err)
	}
	code, stdout, _ := in(t, nil, "export", "s1", "--file", "-")
	if _, err := os.Stat("-"); code != exitOK || strings.Count(stdout, "\n") != 1 || err == nil {
		t.Errorf("to stdout: %d: %s", code, stdout)
	}
}
