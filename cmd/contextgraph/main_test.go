// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/api/option"

	"github.com/adk-contextgraph/contextgraph/internal/writefake"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
)

// in runs the command line, against server unless it is nil.
func in(t *testing.T, server *httptest.Server, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return writing(t, server, nil, args...)
}

// writing is in with a server of the Storage Write API; nil for one that takes every row.
func writing(t *testing.T, server *httptest.Server, rows *writefake.Server, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	if server != nil {
		a.client = []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())}
		if rows == nil {
			var err error
			if rows, err = writefake.Start(writefake.Options{}); err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
		}
		a.write = rows.ClientOptions()
	}
	code = run(t.Context(), args, a)
	return code, out.String(), errs.String()
}

// said is how a command line ends, and what it says. Nothing is on stdout if it was wrong.
type said struct {
	args string
	code int
	want string
}

// hold runs command lines.
func hold(t *testing.T, run func(args ...string) (code int, stdout, stderr string), list []said) {
	t.Helper()
	for _, line := range list {
		code, stdout, stderr := run(strings.Fields(line.args)...)
		if code != line.code || !strings.Contains(stdout+stderr, line.want) || code != exitOK && code != exitChanged && stdout != "" || strings.Contains(stderr, "goroutine") {
			t.Errorf("contextgraph %s = %d, want %d and %q\n%s%s", line.args, code, line.code, line.want, stdout, stderr)
		}
	}
}

// nothing is a BigQuery that has nothing and takes everything.
func nothing(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 404, "message": "Not found"}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	hold(t, func(args ...string) (int, string, string) { return in(t, nil, args...) }, []said{
		{"", exitOK, "contextgraph init --dry-run"},
		{"init --help", exitOK, "--dry-run"},
		{"init now", exitUsage, `takes no argument, got "now"`},
		{"init --frobnicate", exitUsage, "unknown flag: --frobnicate"},
		{"init --timeout soon", exitUsage, "--timeout"},
		{"init --timeout 0s --project my-project --dataset agents", exitUsage, "it must be positive"},
		{"init", exitUsage, "no dataset is named: use --project and --dataset"},
		{"init --offline --project my-project --dataset agents", exitUsage, "--offline goes with --dry-run"},
		{"init --project my-project --dataset a`b", exitUsage, "dataset: \"a`b\" cannot be used"},
		{"init --config missing.yaml", exitError, "contextgraph: configuration: open missing.yaml"},
		{"help check", exitOK, "check compares the entities"},
		{"help chekc", exitUsage, `there is no command "chekc"; did you mean "check"?`},
		{"chekc --all", exitUsage, `there is no command "chekc"; did you mean "check"?`},
		{"--all", exitUsage, "unknown flag: --all"},
		{"rewind s-1", exitUsage, "contextgraph rewind takes SESSION and CHECKPOINT, got 1 arguments"},
		{"completion fihs", exitUsage, `there is no command "fihs"; did you mean "fish"?`},
		{"completion bash now", exitUsage, `takes no argument, got "now"`},
		{"completion fish", exitOK, "complete -c contextgraph"},
	})
}

// What --dry-run --offline prints is all that a dataset needs, without credentials.
func TestDryRunOffline(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := in(t, nil, "init", "--dry-run", "--offline", "--project", "my-project", "--dataset", "agents", "--location", "EU")
	if code != exitOK || stderr != "" {
		t.Fatalf("%d: %s", code, stderr)
	}
	statements, err := warehouse.Definitions(config.BigQuery{Project: "my-project", Dataset: "agents", Location: "EU"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if !strings.Contains(stdout, s.SQL+";\n") {
			t.Errorf("%s %s is not printed", s.Kind, s.Name)
		}
	}
}

func TestDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := in(t, nothing(t), "init", "--dry-run", "--project", "my-project", "--dataset", "agents", "--no-graph")
	if code != exitOK || stderr != "" || strings.Count(stdout, "CREATE TABLE IF NOT EXISTS") != 3 || strings.Contains(stdout, "PROPERTY GRAPH") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}

	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[2JNo.", http.StatusForbidden) }))
	t.Cleanup(refusing.Close)
	code, stdout, stderr = in(t, refusing, "init", "--dry-run", "--project", "my-project", "--dataset", "agents")
	if code != exitOK || !strings.Contains(stdout, "CREATE SCHEMA IF NOT EXISTS") || !strings.Contains(stderr, "could not be looked at") || strings.Contains(stderr, "\x1b") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

// Flags override the file.
func TestInitReadsTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := "bigquery:\n  project: my-project\n  dataset: agents\n  view_prefix: theirs\n"
	for _, name := range []string{"contextgraph.yaml", "other.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "--dry-run", "--offline"}, {"init", "--dry-run", "--offline", "--config", "other.yaml"}} {
		if code, stdout, stderr := in(t, nil, args...); code != exitOK || !strings.Contains(stdout, "`my-project.agents.theirs_llm_request`") {
			t.Errorf("%v: %d: %s", args, code, stderr)
		}
	}
	code, stdout, stderr := in(t, nil, "init", "--dry-run", "--offline", "--dataset", "others", "--view-prefix", "ours")
	if code != exitOK || !strings.Contains(stdout, "`my-project.others.ours_llm_request`") {
		t.Errorf("with flags: %d: %s", code, stderr)
	}
}

func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := in(t, nothing(t), "init", "--project", "my-project", "--dataset", "agents", "--no-graph")
	// This server forgets what it was given, so that the labels find no table.
	if code != exitError || !strings.Contains(stderr, "labels of agent_events") {
		t.Errorf("%d: %s", code, stderr)
	}
	for _, want := range []string{"created   dataset my-project.agents\n", "created   table   agent_events\n", "created   view    v_llm_request\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	if code, _, stderr := in(t, nothing(t), "init", "--no-dataset", "--project", "my-project", "--dataset", "agents"); code != exitError || !strings.Contains(stderr, "does not exist") {
		t.Errorf("without a dataset: %d: %s", code, stderr)
	}
}
