// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = contextgraph.WithLogger(slog.New(slog.DiscardHandler))

func TestRun(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "")
	cfg := contextgraph.Config{}
	cfg.Journal.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	// USER_MESSAGE_RECEIVED, INVOCATION and AGENT at both ends, two model calls, one tool call, the agent's answer.
	want := fmt.Sprintf("A flat white costs $4.20.\nrecorded 12 rows in %s\n", cfg.Journal.Path)
	for range 2 { // each run is a session of its own in the same journal
		var out bytes.Buffer
		if err := run(t.Context(), cfg, &out, quiet); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("output %q, want %q", out.String(), want)
		}
	}
}

func TestRunReportsAJournalItCannotOpen(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "")
	cfg := contextgraph.Config{}
	cfg.Journal.Path = t.TempDir() // a folder is no journal
	if err := run(t.Context(), cfg, &bytes.Buffer{}, quiet); err == nil || !strings.Contains(err.Error(), cfg.Journal.Path) {
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

func TestGetPrice(t *testing.T) {
	for drink, want := range map[string]string{"Espresso": "$2.80", "flat white": "$4.20", "tea": ""} {
		got, err := getPrice(nil, priceArgs{drink})
		if got.Price != want || (err == nil) != (want != "") {
			t.Errorf("%s: %+v, %v; want %q", drink, got, err, want)
		}
	}
}
