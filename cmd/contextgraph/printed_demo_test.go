// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

var update = flag.Bool("update", false, "write the golden files")

// demoNow is the time at which tests look at the rows of internal/verify/rows.ndjson: when what
// was asked for there has expired.
var demoNow = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// rowsFile is internal/verify/rows.ndjson, from any directory.
func rowsFile(t *testing.T) string {
	t.Helper()
	name, err := filepath.Abs(filepath.Join("..", "..", "internal", "verify", "rows.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// runCommand runs a command at demoNow.
func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return askWith(t, &app{}, args...)
}

// askWith runs a command of an app that is set up in part.
func askWith(t *testing.T, a *app, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a.stdout, a.stderr, a.now = &out, &errs, func() time.Time { return demoNow }
	code = run(t.Context(), args, a)
	return code, out.String(), errs.String()
}

// nike is the session of internal/verify/rows.ndjson whose request was blocked.
var nike = record.Session{App: "adcp", User: "buyer-agent", ID: "sess-nike-summer"}

// The ids of its request.
const (
	nikeApproval     = "e43c5bd854ffcbba14f1790f4a02761f"
	nikeConfirmation = "adk-f783f2ad-258f-4fc2-9da6-16ab659be1f7"
)

// demoFile is what the first call of demo made.
var demoFile []byte

// demo puts demo.db into an empty current directory: the rows of internal/verify/rows.ndjson, and
// the request of nike in the ledger.
func demo(t *testing.T) {
	t.Helper()
	rows := rowsFile(t)
	t.Chdir(t.TempDir())
	if demoFile == nil {
		makeDemo(t, rows)
		var err error
		if demoFile, err = os.ReadFile("demo.db"); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile("demo.db", demoFile, 0o600); err != nil {
		t.Fatal(err)
	}
}

func makeDemo(t *testing.T, rows string) {
	t.Helper()
	if code, _, stderr := runCommand(t, "import", rows, "--journal", "demo.db"); code != exitOK {
		t.Fatalf("import: %d: %s", code, stderr)
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: "demo.db"}})
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Date(2026, 3, 5, 12, 0, 50, 0, time.UTC)
	err = j.Ledger().Create(t.Context(), safety.Approval{
		ID: nikeApproval, Session: nike, ConfirmationID: nikeConfirmation, CallID: "call", Tool: "provision_campaign", Agent: "root_agent",
		RunID: "run", Requester: "buyer-agent", RequestedAt: asked, ExpiresAt: asked.Add(7 * 24 * time.Hour), State: safety.StatePending,
		Args: []byte(`{"account":"nike-running"}`), ArgsDigest: "digest", Fingerprint: "fingerprint", PolicyVersion: "policy",
	})
	if err == nil {
		_, err = j.Ledger().Transition(t.Context(), safety.Transition{
			ID: nikeApproval, From: []safety.ApprovalState{safety.StatePending}, To: safety.StateBlocked, At: asked.Add(time.Minute),
			Actor: "bob", Note: "the price\x1b[2J changed", Set: safety.Update{Verdict: "drift"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// golden compares text with a file of testdata/golden.
func golden(t *testing.T, dir, name, got string) {
	t.Helper()
	path := filepath.Join(dir, "testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: make it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	demo(t)
	for name, args := range map[string]string{
		"sessions":             "sessions",
		"sessions-page":        "sessions --limit 1",
		"sessions-drift":       "sessions --status drift",
		"trace":                "trace sess-nike-summer",
		"trace-turn-ascii":     "trace sess-nike-summer --turn 2 --ascii",
		"trace-depth":          "trace sess-nike-summer --depth 3",
		"trace-args":           "trace sess-nike --turn 1 --args",
		"sessions-utc":         "sessions --utc",
		"approvals-card-utc":   "approvals e43c --utc",
		"trace-errors":         "trace chat-1 --errors",
		"why":                  "why sess-nike-summer",
		"why-entity":           "why sess-nike-summer --entity yahoo",
		"approvals":            "approvals",
		"approvals-session":    "approvals sess-nike-summer",
		"approvals-card":       "approvals " + nikeApproval,
		"approvals-card-other": "approvals sess-tesla-q1 --approval 855a0b19a1c48f184c668b725e7a905d",
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append(strings.Fields(args), "--journal", "demo.db")...)
			if code != exitOK {
				t.Fatalf("%d: %s", code, stderr)
			}
			golden(t, dir, name+".txt", stdout+"-- stderr --\n"+stderr)
			if i := strings.IndexFunc(stdout+stderr, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e }); i >= 0 {
				t.Errorf("a terminal would obey character %d", i)
			}
		})
	}
}

// TestColors: colours are beside the text and only for a terminal that wants them.
func TestColors(t *testing.T) {
	demo(t)
	terminal := func(io.Writer) bool { return true }
	_, plainText, _ := runCommand(t, "sessions", "--journal", "demo.db")
	for _, test := range []struct {
		name, env string
		args      []string
		terminal  func(io.Writer) bool
		colored   bool
	}{
		{"terminal", "", nil, terminal, true},
		{"no terminal", "", nil, nil, false},
		{"NO_COLOR", "1", nil, terminal, false},
		{"--no-color", "", []string{"--no-color"}, terminal, false},
	} {
		t.Setenv("NO_COLOR", test.env)
		t.Setenv("TERM", "xterm")
		_, stdout, _ := askWith(t, &app{terminal: test.terminal}, append(test.args, "sessions", "--journal", "demo.db")...)
		if got := strings.Contains(stdout, "\x1b["); got != test.colored {
			t.Errorf("%s: coloured %v:\n%q", test.name, got, stdout)
		}
		if !test.colored && stdout != plainText {
			t.Errorf("%s: %s", test.name, cmp.Diff(plainText, stdout))
		}
		if test.colored && !strings.Contains(stdout, "\x1b[31m≠ changed since it was read\x1b[0m") {
			t.Errorf("%s: no red drift in %q", test.name, stdout)
		}
	}
	t.Setenv("NO_COLOR", "")
	if _, stdout, _ := askWith(t, &app{terminal: terminal}, "approvals", nikeApproval, "--journal", "demo.db"); !strings.Contains(stdout, "\x1b[31m→ $52,000\x1b[0m") || strings.Contains(stdout, "\x1b[31m→ $70,000") {
		t.Errorf("what changed is not the only red value:\n%q", stdout)
	}
	if _, stdout, _ := askWith(t, &app{terminal: terminal}, "sessions", "--journal", "demo.db", "--output", "json"); strings.Contains(stdout, "\x1b[") {
		t.Error("JSON has colours")
	}
}

// TestApprovalsOrder: the newest is first.
func TestApprovalsOrder(t *testing.T) {
	demo(t)
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: "demo.db"}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 5, 13, 0, 0, 0, time.UTC)
	err = j.Ledger().Create(t.Context(), safety.Approval{
		ID: "later", Session: nike, CallID: "other", Tool: "cancel_campaign", RunID: "run", RequestedAt: at, ExpiresAt: at.Add(time.Hour), State: safety.StatePending,
	})
	if err := errors.Join(err, j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"approvals", "approvals sess-nike-summer", "approvals --status drift,expired"} {
		code, stdout, stderr := runCommand(t, append(strings.Fields(args), "--journal", "demo.db")...)
		if later, first := strings.Index(stdout, "cancel_"), strings.Index(stdout, nikeApproval[:8]); code != exitOK || later < 0 || first < later {
			t.Errorf("%s: %d: %s%s", args, code, stdout, stderr)
		}
	}
	if _, stdout, stderr := runCommand(t, "approvals", "sess-nike-summer", "--limit", "1", "--journal", "demo.db"); strings.Contains(stdout, nikeApproval[:8]) || !strings.Contains(stderr, "1 more are not listed") {
		t.Errorf("%s%s", stdout, stderr)
	}
}
