// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/writefake"
	"github.com/adk-contextgraph/contextgraph/record"
)

// recorded makes a journal with sessions in the current directory.
func recorded(t *testing.T, sessions ...record.Session) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sessions {
		j.Append(record.Event{
			Timestamp: time.Now().UnixMicro() + int64(i), EventID: strings.Repeat("0", 31) + string(rune('a'+i)), EventType: record.UserMessageReceived,
			AppName: s.App, UserID: s.User, SessionID: s.ID, TraceID: "t", SpanID: "root", Attributes: []byte(`{}`), Status: record.StatusOK,
			RunID: "r", RunSeq: int64(i + 1),
		})
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// taking is a BigQuery that takes every table and job.
func taking(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]any{
			"location":     "EU", // of the dataset
			"jobReference": map[string]any{"jobId": "job", "projectId": "my-project"}, "status": map[string]any{"state": "DONE"},
			"configuration": map[string]any{"query": map[string]any{}}, "statistics": map[string]any{"query": map[string]any{"totalBytesBilled": "10"}},
		})
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// refusing is a Storage Write API that takes rows but those of a user, if one is named.
func refusing(t *testing.T, user string) *writefake.Server {
	t.Helper()
	server, err := writefake.Start(writefake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Refuse(func(r writefake.Row) string {
		if user != "" && strings.Contains(r.User, user) {
			return "refused"
		}
		return ""
	})
	return server
}

func TestSyncUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	hold(t, func(args ...string) (int, string, string) { return in(t, taking(t), args...) }, []said{
		{"sync --help", exitOK, "contextgraph sync --all --from dataset --since 7d"},
		{"sync --project my-project --dataset agents", exitUsage, "give either --session or --all"},
		{"sync --all --session s1 --project my-project --dataset agents", exitUsage, "give either --session or --all"},
		{"sync --all --from file --project my-project --dataset agents", exitUsage, "--from is journal or dataset"},
		{"sync --all --since soon --project my-project --dataset agents", exitUsage, "7d"},
		{"sync --all --since -1d --project my-project --dataset agents", exitUsage, "7d"},
		{"sync --session s1", exitUsage, "no dataset is named"},
		{"sync --session s1 --project my-project --dataset agents", exitError, "--from dataset"},
	})
}

func TestSyncFromTheJournal(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop", User: "alice", ID: "s1"}, record.Session{App: "shop", User: "bob", ID: "s1"}, record.Session{App: "shop", User: "bob", ID: "s2"})
	dataset := []string{"--project", "my-project", "--dataset", "agents"}
	for _, test := range []struct {
		args, refuse string
		code         int
		want         []string // in stdout and stderr
	}{
		{"sync --session s2", "", exitOK, []string{"1/1 s2 of bob in shop: 1 steps, 0 edges, 0 entities, 0 checks", "1 sessions, ", " bytes sent"}},
		{"sync --session s1", "", exitUsage, []string{`2 sessions have the id "s1"`, `--app "shop" --user "alice"`, `--app "shop" --user "bob"`}},
		{"sync --session s1 --user alice", "", exitOK, []string{"1/1 s1 of alice in shop"}},
		{"sync --session s3", "", exitError, []string{`no rows of session "s3"`, "--from dataset"}},
		{"sync --all", "", exitOK, []string{"3/3 ", "3 sessions, "}},
		{"sync --all --app other", "", exitOK, []string{"no session has rows within 7d in the journal"}},
		{"sync --all", "alice", exitError, []string{"s1 of alice in shop: bigquery: graph of session s1", "refused", "2 sessions", "1 of 3 sessions failed"}},
	} {
		code, stdout, stderr := writing(t, taking(t), refusing(t, test.refuse), append(strings.Fields(test.args), dataset...)...)
		if code != test.code {
			t.Errorf("contextgraph %s = %d\n%s%s", test.args, code, stdout, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("contextgraph %s does not say %q:\n%s%s", test.args, want, stdout, stderr)
			}
		}
	}
}

// What a terminal would obey in the names of a session is not printed.
func TestSyncPrintsNamesInOneLine(t *testing.T) {
	t.Chdir(t.TempDir())
	recorded(t, record.Session{App: "shop\x1b[2J", User: "bob\r\nann", ID: "s\x1b]0;x\a1"})
	for _, refuse := range []string{"", "bob"} {
		_, stdout, stderr := writing(t, taking(t), refusing(t, refuse), "sync", "--all", "--project", "my-project", "--dataset", "agents")
		if text := stdout + stderr; !strings.Contains(text, "1/1 s ]0;x 1 of bob ann in shop: ") || strings.ContainsAny(text, "\x1b\a\r") {
			t.Errorf("a session is printed as %q", text)
		}
	}
}
