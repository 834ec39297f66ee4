// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowfile"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/internal/viewertest"
	"github.com/adk-contextgraph/contextgraph/page"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// earlier is the version of the files. The demo wrote the journal, and the command export the rows.
const earlier = "09ed1b5"

// demo has the three sessions of the demo, with the state in which it left each.
var demo = map[string]struct {
	rows     int
	state    safety.ApprovalState
	verdict  string
	entities int
}{
	"sess-elf-cosmetics": {54, safety.StateExecuted, "safe", 7},
	"sess-nike-summer":   {49, safety.StateBlocked, "drift", 5},
	"sess-tesla-q1":      {45, safety.StatePending, "check_failed", 3},
}

// open returns the content of a file of the earlier version, unpacked.
func open(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", earlier, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// rowsOf reads the exported rows.
func rowsOf(t *testing.T, data []byte) []record.Event {
	t.Helper()
	got, err := rowfile.Read(t.Context(), bytes.NewReader(data), "rows.ndjson", rowfile.Options{})
	if err != nil || got.Skipped != 0 || len(got.Unknown) != 0 || got.Unnamed != 0 {
		t.Fatalf("%d lines skipped, members unknown: %v, %d rows without an id, error %v", got.Skipped, got.Unknown, got.Unnamed, err)
	}
	return got.Rows
}

// exported writes the rows of j as the command export does.
func exported(t *testing.T, j *journal.Journal) string {
	t.Helper()
	var b strings.Builder
	w := rowfile.NewWriter(&b)
	sessions, err := j.Sessions(t.Context(), journal.SessionsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		rows, err := j.Events(t.Context(), s.Session)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if err := w.Write(&rows[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lines returns the lines of a text as a set.
func lines(text string) map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(text) {
		set[line] = true
	}
	return set
}

func TestJournal(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	text := strings.ReplaceAll(string(open(t, "contextgraph.yaml")), "http://127.0.0.1:8080", server.URL)
	cfg, err := config.Parse("contextgraph.yaml", []byte(text), nil, setup.Checks()...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Journal.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	if err := os.WriteFile(cfg.Journal.Path, open(t, "contextgraph.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	cg, err := contextgraph.Open(t.Context(), cfg, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cg.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if d := cmp.Diff(lines(string(open(t, "rows.ndjson.gz"))), lines(exported(t, cgtest.JournalOf(t, cg)))); d != "" {
		t.Errorf("the rows differ from those that the earlier version exported (-want +got):\n%s", d)
	}
	for id, want := range demo {
		t.Run(id, func(t *testing.T) {
			s := record.Session{App: "adcp", User: "buyer-agent", ID: id}
			as, err := cg.Approvals(t.Context(), s)
			if err != nil || len(as) != 1 {
				t.Fatalf("%d approvals, error %v", len(as), err)
			}
			if a := as[0]; a.State != want.state || a.Verdict != want.verdict || len(a.Entities) != want.entities {
				t.Errorf("the approval is %s, %q, with %d entities, want %+v", a.State, a.Verdict, len(a.Entities), want)
			}
			why, err := cg.Why(t.Context(), s)
			if err != nil || len(why) < want.entities {
				t.Errorf("%d reasons, want one for each of %d entities, error %v", len(why), want.entities, err)
			}
			// The approval of the earlier version cannot say what the model had read.
			report, err := cg.Check(t.Context(), s)
			if err != nil || report.IsSafeToApprove() {
				t.Errorf("the check says %s, error %v", report.Verdict(), err)
			}
		})
	}
	var html bytes.Buffer
	if err := page.Write(t.Context(), cfg.Journal.Path, &html); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(viewertest.Data(t, html.String()), []byte("sess-nike-summer")) {
		t.Errorf("the page of %d bytes lacks the session", html.Len())
	}
}

func TestRows(t *testing.T) {
	data := open(t, "rows.ndjson.gz")
	rows := rowsOf(t, data)
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(t.TempDir(), "j.db"), OnFull: config.Block}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := j.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lines(string(data)), lines(exported(t, j))); d != "" {
		t.Errorf("imported and exported, the rows differ (-want +got):\n%s", d)
	}
	for id, want := range demo {
		n := 0
		for i := range rows {
			if rows[i].SessionID == id {
				n++
			}
		}
		if n != want.rows {
			t.Errorf("%s has %d rows, want %d", id, n, want.rows)
		}
	}
}

// A key that is gone, and a word that changed, is an error that says what to do. With that done,
// the file holds.
func TestConfiguration(t *testing.T) {
	text := string(open(t, "contextgraph.example.yaml"))
	_, err := config.Parse("contextgraph.example.yaml", []byte(text), nil, setup.Checks()...)
	if err == nil {
		t.Fatal("the file of the earlier version is accepted")
	}
	const want = `contextgraph.example.yaml:29:3: journal.queue_rows: the key is gone; remove it: journal.queue_bytes bounds the events that wait
contextgraph.example.yaml:61:5: record.artifacts.queue_bytes: the key is gone; remove it: parts of 256MiB wait at most
contextgraph.example.yaml:100:12: guard.require: "evaluated" is now called "everything"; write everything`
	if d := cmp.Diff(want, strings.TrimSpace(err.Error())); d != "" {
		t.Errorf("the errors differ (-want +got):\n%s", d)
	}
	var kept []string
	for line := range strings.Lines(text) {
		key := strings.TrimSpace(line)
		if strings.HasPrefix(key, "queue_rows:") || strings.HasPrefix(key, "queue_bytes:") && len(kept) > 50 {
			continue
		}
		kept = append(kept, strings.Replace(line, "require: evaluated", "require: everything", 1))
	}
	if _, err := config.Parse("contextgraph.example.yaml", []byte(strings.Join(kept, "")), nil, setup.Checks()...); err != nil {
		t.Errorf("with the remedies applied: %v", err)
	}
}
