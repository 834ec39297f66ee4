// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// TestExportHasTheColumnsOfTheTable: those of the row contract, in their order.
func TestExportHasTheColumnsOfTheTable(t *testing.T) {
	demo(t)
	code, stdout, stderr := runCommand(t, "export", "sess-nike-summer", "chat-1", "sess-nike-summer", "--journal", "demo.db")
	if code != exitOK || strings.Count(stdout, "\n") != 55 {
		t.Fatalf("%d: %d rows: %s", code, strings.Count(stdout, "\n"), stderr)
	}
	var columns []string
	for _, c := range schema.Columns() {
		columns = append(columns, c.Name)
	}
	for line := range strings.Lines(stdout) {
		d := json.NewDecoder(strings.NewReader(line))
		var names []string
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name.(string))
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{"content", "attributes", "latency_ms"}, name.(string)) && strings.HasPrefix(string(v), `"{`) {
				t.Errorf("%s is JSON in a string: %s", name, v)
			}
		}
		if diff := cmp.Diff(columns, names); diff != "" {
			t.Fatalf("columns (-want +got):\n%s", diff)
		}
		if !strings.HasPrefix(line, `{"timestamp":"2026-03-0`) || !strings.Contains(line[:60], `Z","event_id"`) || line[len(`{"timestamp":"2026-03-05T12:00:50`)] != '.' {
			t.Errorf("a time: %.60s", line)
		}
	}
	if strings.Contains(stdout, `"content_parts":null`) || !strings.Contains(stdout, `"content_parts":[]`) || !strings.Contains(stdout, `"content":null`) {
		t.Error("no parts are an empty list, and no content is null")
	}
	if !strings.Contains(stdout, "<b>") {
		t.Error("characters of HTML are escaped")
	}
}

func TestExportFile(t *testing.T) {
	demo(t)
	if err := os.WriteFile("rows.ndjson", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := runCommand(t, "export", "chat-1", "--journal", "demo.db", "--file", "rows.ndjson"); code != exitOK || stdout != "" || !strings.Contains(stderr, "rows.ndjson: 2 rows of 1 session") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if text, err := os.ReadFile("rows.ndjson"); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%s, %v", text, err)
	}
	if code, _, _ := runCommand(t, "export", "nope", "--journal", "demo.db", "--file", "rows.ndjson"); code != exitNotFound {
		t.Errorf("%d", code)
	}
	err := writeAtomically("rows.ndjson", func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return errors.New("no")
	})
	if err == nil {
		t.Error("an error was lost")
	}
	if text, err := os.ReadFile("rows.ndjson"); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("what was there is lost: %s, %v", text, err)
	}
	left, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if strings.HasPrefix(f.Name(), ".rows") {
			t.Errorf("%s is left", f.Name())
		}
	}
	if code, stdout, stderr := runCommand(t, "export", "--all", "--since", "24h", "--journal", "demo.db"); code != exitOK || stdout != "" || !strings.Contains(stderr, "no such sessions") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

func TestImportIsAllOrNothing(t *testing.T) {
	good, err := os.ReadFile(rowsFile(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mixed.ndjson", append(good, "{\"timestamp\":\"never\"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runCommand(t, "import", "mixed.ndjson", "--journal", "new.db")
	if code != exitError || stdout != "" || !strings.Contains(stderr, "mixed.ndjson:91: column") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat("new.db"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal was made: %v", err)
	}
	for _, want := range []imported{{Rows: 90, Stored: 90, Skipped: 1}, {Rows: 90, Duplicates: 90, Skipped: 1}} {
		code, stdout, stderr := runCommand(t, "import", "mixed.ndjson", "--journal", "new.db", "--skip-bad", "--output", "json")
		var got imported
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK || !strings.Contains(stderr, "left out: mixed.ndjson:91: column") {
			t.Fatalf("%d: %s%s%v", code, stdout, stderr, err)
		}
		if got.Rows != want.Rows || got.Stored != want.Stored || got.Duplicates != want.Duplicates || got.Skipped != want.Skipped || len(got.Sessions) != 3 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestProgress: on a terminal's stderr only.
func TestProgress(t *testing.T) {
	rows := rowsFile(t)
	t.Chdir(t.TempDir())
	for _, terminal := range []bool{true, false} {
		_, stdout, stderr := askWith(t, &app{terminal: func(io.Writer) bool { return terminal }}, "import", rows, "--journal", "p.db", "--output", "json")
		if strings.Contains(stderr, "sessions: 3 of 3\n") != terminal || strings.Contains(stdout, "sessions: ") {
			t.Errorf("terminal %v: %q", terminal, stderr)
		}
	}
}

// TestImportStoresTheRules: who reads the journal finds entities by the rules of the import, without the
// configuration. An import without rules leaves those that the journal has.
func TestImportStoresTheRules(t *testing.T) {
	rows := rowsFile(t)
	t.Chdir(t.TempDir())
	rules := "extract:\n  - {name: budgets, tool: allocate_media_budget, type: Budget, value: $.budget, value_type: money}\n"
	if err := os.WriteFile("rules.yaml", []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	declared, all := []string{"Product", "Targeting"}, []string{"Budget", "Product", "Targeting"}
	for _, step := range []struct {
		journal string
		config  []string
		want    []string
	}{
		{"plain.db", nil, declared},
		{"rules.db", []string{"--config", "rules.yaml"}, all},
		{"rules.db", nil, all},
	} {
		code, stdout, stderr := runCommand(t, append([]string{"import", rows, "--output", "json", "--journal", step.journal}, step.config...)...)
		var report imported
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK {
			t.Fatalf("%d: %s%s%v", code, stdout, stderr, err)
		}
		code, stdout, stderr = runCommand(t, "trace", nike.ID, "--journal", step.journal, "--output", "json")
		var got struct {
			Entities []struct {
				Type string `json:"type"`
			} `json:"entities"`
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
			t.Fatalf("%d: %s%s%v", code, stdout, stderr, err)
		}
		var types []string
		for _, e := range got.Entities {
			types = append(types, e.Type)
		}
		slices.Sort(types)
		if diff := cmp.Diff(step.want, slices.Compact(types)); diff != "" {
			t.Errorf("%s, imported with %q (-want +got):\n%s", step.journal, step.config, diff)
		}
		for _, s := range report.Sessions {
			if s.Session == nike && s.Entities != len(got.Entities) {
				t.Errorf("%s: import says %d entities, trace %d", step.journal, s.Entities, len(got.Entities))
			}
		}
	}
}

func TestStats(t *testing.T) {
	demo(t)
	code, stdout, stderr := runCommand(t, "stats", "--journal", "demo.db", "--output", "json")
	var got recordStats
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
		t.Fatalf("%d: %s%s%v", code, stdout, stderr, err)
	}
	if got.Rows != 90 || got.Sessions != 3 || got.Approvals["drift"] != 1 || got.Approvals["expired"] != 1 || got.Verdicts["drift"] != 1 ||
		got.Files["demo.db"] == 0 || got.Destination != nil || len(got.Incomplete) != 1 || got.Incomplete[0].Session.ID != "chat-1" || got.WaitedMS != 604_800_790 || got.LongestMS != 604_800_000 {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile("warehouse.yaml", []byte("journal:\n  path: demo.db\nbigquery:\n  project: my-project\n  dataset: agents\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = runCommand(t, "stats", "--config", "warehouse.yaml")
	if code != exitOK {
		t.Fatalf("%d: %s", code, stderr)
	}
	for _, want := range []string{"rows          90, 2 of them errors", "90 rows to bigquery:my-project.agents.agent_events", "dead letters", "≠ changed since it was read", "1 session lacks something", "chat-1: turn e-1"} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	if code, stdout, stderr := runCommand(t, "stats", "--from", rowsFileFrom(t, "demo.db"), "--since", "1h"); code != exitOK || !strings.Contains(stdout, "sessions") || strings.Contains(stdout, "file demo.db") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

func TestDirectoryIsNoFileOfRows(t *testing.T) {
	if _, err := (&app{}).readRows(t.Context(), t.TempDir(), rowfile.Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("%v", err)
	}
}
