// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// previous opens what the demo recorded before the record said what models had read, and
// returns the configuration that it had then. Its checkers ask world.
func previous(t *testing.T, world string) contextgraph.Config {
	t.Helper()
	dir := filepath.Join("..", "..", "internal", "journal", "testdata")
	text, err := os.ReadFile(filepath.Join(dir, "demo_v6.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("demo_v6.yaml", []byte(strings.ReplaceAll(string(text), "http://127.0.0.1:8080", world)), nil, setup.Checks()...)
	if err != nil {
		t.Fatalf("the configuration of the previous release: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "demo_v6.db"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Journal.Path = filepath.Join(t.TempDir(), "contextgraph.db")
	if err := os.WriteFile(cfg.Journal.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// What an earlier release recorded can be read. What it left to be approved has to be asked for
// again: nothing says what the model that asked had read.
func TestRecordOfThePreviousRelease(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "closed", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	cfg := previous(t, server.URL)
	cg, err := contextgraph.Open(t.Context(), cfg, contextgraph.WithLogger(cgtest.Quiet()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cg.Close(t.Context()); err != nil {
			t.Log(err)
		}
	})

	sessions, err := cgtest.JournalOf(t, cg).Sessions(t.Context(), journal.SessionsQuery{})
	if err != nil || len(sessions) != 4 {
		t.Fatalf("%d sessions, error %v", len(sessions), err)
	}
	for _, s := range sessions {
		as, err := cg.Approvals(t.Context(), s.Session)
		if err != nil || len(as) != 1 || len(as[0].Entities) == 0 {
			t.Errorf("%s: %d approvals, error %v", s.Session.ID, len(as), err)
		}
		why, err := cg.Why(t.Context(), s.Session)
		if err != nil || !slices.ContainsFunc(why, func(r graphsync.Reason) bool { return len(r.Path) > 0 }) {
			t.Errorf("%s: %d reasons, error %v", s.Session.ID, len(why), err)
		}
	}

	pending := record.Session{App: "adcp", User: "buyer-agent", ID: "sess-pending"}
	wantAskAgain := func(t *testing.T, r safety.Report, err error) {
		t.Helper()
		if err != nil || r.Verdict() != safety.CheckFailed || r.IsSafeToApprove() {
			t.Errorf("error %v\n%s", err, r.Summary())
		}
		if !slices.ContainsFunc(r.Failures(), func(f safety.Failure) bool {
			return f.Reason == safety.ReasonPolicyChanged && strings.Contains(f.Detail, "ask again")
		}) {
			t.Errorf("no failure says to ask again:\n%s", r.Summary())
		}
	}
	t.Run("checked", func(t *testing.T) {
		r, err := cg.Check(t.Context(), pending)
		wantAskAgain(t, r, err)
	})
	t.Run("checked from the record", func(t *testing.T) {
		got, err := setup.CheckRecorded(t.Context(), cfg, cgtest.JournalOf(t, cg), pending, "")
		wantAskAgain(t, got.Report, err)
		if got.Approval == nil || got.Approval.State != safety.StatePending {
			t.Errorf("approval %+v", got.Approval)
		}
	})
	t.Run("answered", func(t *testing.T) {
		before := pendingApproval(t, cg, pending)
		r, err := runner.New(runner.Config{
			AppName: pending.App, Agent: cgtest.RootAgent(t, adktest.Script(adktest.Text("Not bought."))), SessionService: session.InMemoryService(),
			PluginConfig: cg.PluginConfig(), AutoCreateSession: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		adktest.Run(t, r, pending.User, pending.ID, adktest.Answer(before.ConfirmationID, true))
		if err := cg.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := cgtest.JournalOf(t, cg).Events(t.Context(), pending)
		if err != nil {
			t.Fatal(err)
		}
		checks, answers := rowtest.Of(rows, record.WorldChangeCheck), rowtest.Of(rows, record.HITLConfirmationRequestCompleted)
		if len(checks) == 0 || len(answers) != 1 || rowtest.Field(t, answers[0].Attributes, "adk", "accepted") != false ||
			rowtest.Field(t, answers[0].Attributes, "adk", "reason") != safety.CodeCheckFailed {
			t.Fatalf("%d checks, answers %v", len(checks), answers)
		}
		last := string(checks[len(checks)-1].Content)
		if !strings.Contains(last, `"reason":"policy_changed"`) || !strings.Contains(last, "ask again") {
			t.Errorf("the check of the answer says %s", last)
		}
		if a := pendingApproval(t, cg, pending); a.Approver != "" {
			t.Errorf("approval %+v", a)
		}
	})
}

// pendingApproval returns the one approval of a session, which nobody has approved.
func pendingApproval(t *testing.T, cg *contextgraph.Instance, s record.Session) safety.Approval {
	t.Helper()
	as, err := cg.Approvals(t.Context(), s)
	if err != nil || len(as) != 1 || as[0].State != safety.StatePending {
		t.Fatalf("approvals %+v, error %v", as, err)
	}
	return as[0]
}
