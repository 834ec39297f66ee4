// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inEmptyFolder sets the working directory, for the journal, and returns the configuration.
func inEmptyFolder(t *testing.T) string {
	t.Helper()
	t.Setenv("GOOGLE_API_KEY", "")
	config, err := filepath.Abs("contextgraph.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	return config
}

func TestRun(t *testing.T) {
	config := inEmptyFolder(t)
	const want = `asked    order_drink? Rests on Drink "flat white": price $4.20. Requester: guest (not authenticated).
ran      order_drink
said     Here is your flat white.
verdict  safe: executed

asked    order_drink? Rests on Drink "flat white": price $4.20. Requester: guest (not authenticated).
said     The world has changed since the approval of order_drink was asked. flat white: $5, no longer $4.20.
verdict  drift: blocked

`
	for range 2 { // each run has sessions of its own in the same journal
		var out bytes.Buffer
		if err := run(t.Context(), config, &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRunReportsAJournalItCannotOpen(t *testing.T) {
	config := inEmptyFolder(t)
	if err := os.Mkdir("contextgraph.db", 0o700); err != nil { // a folder is no journal
		t.Fatal(err)
	}
	if err := run(t.Context(), config, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "contextgraph.db") {
		t.Errorf("err = %v, want one with the path", err)
	}
}

func TestNewModel(t *testing.T) {
	for key, want := range map[string]string{"": "scripted-barista", "a-key": "gemini-flash-latest"} {
		llm, err := newModel(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if llm.Name() != want {
			t.Errorf("with the key %q: %s, want %s", key, llm.Name(), want)
		}
	}
}

// README.md says that the program and its configuration are 90 lines.
func TestLines(t *testing.T) {
	lines := 0
	for _, name := range []string{"main.go", "contextgraph.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines > 90 {
		t.Errorf("main.go and contextgraph.yaml have %d lines", lines)
	}
}
