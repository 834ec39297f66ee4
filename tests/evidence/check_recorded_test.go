// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// priced has a harness whose world is asked over HTTP, and its configuration.
func priced(t *testing.T, opts ...cgtest.Option) (h *cgtest.Harness, cfg contextgraph.Config) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		price, stock := h.Shop.Get()
		_ = json.NewEncoder(w).Encode(map[string]any{"price": price, "available": stock})
	}))
	t.Cleanup(server.Close)
	overHTTP := func(o *cgtest.Options) {
		o.Config.CheckFuncs = nil
		o.Config.Checkers = []config.Checker{{Type: "Product", HTTP: &config.HTTP{
			URL: server.URL + "/{value}",
			Attributes: map[string]config.Answer{
				"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
				"availability": {Path: "$.available", Type: entity.KindBool},
			},
		}}}
	}
	keep := func(o *cgtest.Options) { cfg = o.Config.Config }
	h = cgtest.New(t, append(append([]cgtest.Option{overHTTP, cgtest.Reads}, opts...), keep)...)
	return h, cfg
}

// recordedCheck checks a request by what the journal has, as another process would.
func recordedCheck(h *cgtest.Harness, cfg contextgraph.Config, session, approval string) (setup.RecordedCheck, error) {
	h.T.Helper()
	if err := h.CG.Flush(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
	return setup.CheckRecorded(h.T.Context(), cfg, h.Store(), cgtest.Key(session), approval)
}

// wantVerdict expects a verdict, with a failure for the reason if there is one.
func wantVerdict(t *testing.T, r safety.Report, want safety.Verdict, reason string) {
	t.Helper()
	failed := func(f safety.Failure) bool { return f.Reason == reason }
	if r.Verdict() != want || reason != "" && !slices.ContainsFunc(r.Failures(), failed) {
		t.Errorf("want %s %s, not\n%s", want, reason, r.Summary())
	}
}

func TestCheckRecorded(t *testing.T) {
	rises := func(h *cgtest.Harness) { h.Shop.Set("$52,000", true) }
	for _, test := range []struct {
		name    string
		change  func(*contextgraph.Config) // of the configuration that checks
		world   func(*cgtest.Harness)
		verdict safety.Verdict
		reason  string
	}{
		{"unchanged", nil, nil, safety.Safe, ""},
		{"changed", nil, rises, safety.Drift, ""},
		{"no answer that is understood", nil, func(h *cgtest.Harness) { h.Shop.Set("", true) }, safety.CheckFailed, safety.ReasonTypeMismatch},
		{"a database that is not here", func(c *contextgraph.Config) {
			c.Checkers = []config.Checker{{Type: "Product", SQL: &config.SQL{
				Database: "shop", Query: "SELECT price FROM t", Attributes: map[string]config.Column{"price": {Column: "price"}},
			}}}
		}, nil, safety.CheckFailed, safety.ReasonNeedsAgent},
		{"a tool that would be called again", func(c *contextgraph.Config) {
			c.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{}}}
		}, rises, safety.CheckFailed, safety.ReasonNeedsAgent},
		{"no checker", func(c *contextgraph.Config) { c.Checkers = nil }, nil, safety.CheckFailed, safety.ReasonNeedsAgent},
		{"another policy", func(c *contextgraph.Config) { c.Guard.CheckAge = time.Minute + time.Second }, nil,
			safety.CheckFailed, safety.ReasonPolicyChanged},
		{"other rules", func(c *contextgraph.Config) { c.Extract = slices.Clone(c.Extract); c.Extract[0].Confidence = 0.9 }, nil,
			safety.CheckFailed, safety.ReasonRulesChanged},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, cfg := priced(t)
			h.Ask(cgtest.SessionID)
			if test.world != nil {
				test.world(h)
			}
			if test.change != nil {
				test.change(&cfg)
			}
			before := h.Approvals(cgtest.SessionID)
			got, err := recordedCheck(h, cfg, cgtest.SessionID, "")
			if err != nil || got.Approval == nil || got.Approval.ID != before[0].ID {
				t.Fatalf("approval %+v, %v", got.Approval, err)
			}
			wantVerdict(t, got.Report, test.verdict, test.reason)
			if diff := cmp.Diff(before, h.Approvals(cgtest.SessionID), cmp.AllowUnexported(entity.Value{})); diff != "" {
				t.Errorf("the check changed the ledger (-before +after):\n%s", diff)
			}
		})
	}
}

// That nobody here can ask is not forgiven, although the agent would forgive a source that
// is away: a check that is not complete is never safe.
func TestCheckRecordedForgivesNoMissingChecker(t *testing.T) {
	h, cfg := priced(t, func(o *cgtest.Options) {
		o.Config.Guard.Types = map[string]config.TypePolicy{"Campaign": {Optional: true}}
		o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "also", Tool: "search", Each: "$.items[*]", Type: "Campaign", Value: "$.name"})
	})
	h.Ask(cgtest.SessionID)
	r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, r, safety.Safe, "")
	got, err := recordedCheck(h, cfg, cgtest.SessionID, "")
	if err != nil || len(got.NeedsAgent) != 1 || got.NeedsAgent["Campaign"] == "" {
		t.Errorf("needs the agent: %v, %v", got.NeedsAgent, err)
	}
	wantVerdict(t, got.Report, safety.CheckFailed, safety.ReasonNeedsAgent)
}

// A request that is closed is checked all the same, and one that is open comes first. A session
// without requests is checked as a whole; one without rows is not safe.
func TestCheckRecordedChoosesTheRequest(t *testing.T) {
	h, cfg := priced(t)
	check := func(session, approval string, state safety.ApprovalState) {
		t.Helper()
		got, err := recordedCheck(h, cfg, session, approval)
		if err != nil || got.Approval == nil || got.Approval.State != state {
			t.Errorf("approval %+v, %v; want one that is %s", got.Approval, err, state)
		}
		wantVerdict(t, got.Report, safety.Safe, "")
	}
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, false)
	check(cgtest.SessionID, "", safety.StateRejected)
	h.Ask(cgtest.SessionID)
	check(cgtest.SessionID, "", safety.StatePending)
	rejected := h.Approvals(cgtest.SessionID)[0].ID
	check(cgtest.SessionID, rejected, safety.StateRejected)
	for session, approval := range map[string]string{cgtest.SessionID: "unknown", "another": rejected} {
		if _, err := recordedCheck(h, cfg, session, approval); !errors.Is(err, safety.ErrNotFound) {
			t.Errorf("approval %s of session %s: %v", approval, session, err)
		}
	}
	got, err := recordedCheck(h, cfg, "nothing", "")
	if err != nil || got.Approval != nil {
		t.Errorf("approval %+v, %v", got.Approval, err)
	}
	wantVerdict(t, got.Report, safety.CheckFailed, "")
}
