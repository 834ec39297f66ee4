// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/setup"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// priced has a harness whose world is asked over HTTP.
func priced(t *testing.T, opts ...cgtest.Option) (h *cgtest.Harness, cfg contextgraph.Config, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		price, stock := h.Shop.Get()
		_ = json.NewEncoder(w).Encode(map[string]any{"price": price, "available": stock})
	}))
	t.Cleanup(server.Close)
	opts = append([]cgtest.Option{func(o *cgtest.Options) {
		o.Config.CheckFuncs = nil
		o.Config.Checkers = []config.Checker{{Type: "Product", HTTP: &config.HTTP{
			URL: server.URL + "/{value}",
			Attributes: map[string]config.Answer{
				"price":        {Path: "$.price", Type: entity.KindMoney, Currency: "USD"},
				"availability": {Path: "$.available", Type: entity.KindBool},
			},
		}}}
	}}, opts...)
	opts = append(opts, func(o *cgtest.Options) { cfg = o.Config.Config })
	h = cgtest.New(t, opts...)
	return h, cfg, asked
}

// reader opens the journal of h once more, as another process would.
func reader(t *testing.T, h *cgtest.Harness) *journal.Journal {
	t.Helper()
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: h.Path}, Logger: cgtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	return j
}

func recordedCheck(t *testing.T, cfg contextgraph.Config, j *journal.Journal, approval string) setup.RecordedCheck {
	t.Helper()
	got, err := setup.CheckRecorded(t.Context(), cfg, j, cgtest.Key(cgtest.SessionID), approval)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func failures(r safety.Report) []string {
	var out []string
	for _, f := range r.Failures() {
		out = append(out, f.Reason)
	}
	return out
}

func TestCheckRecorded(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*contextgraph.Config) // of the configuration that checks
		world   func(*cgtest.Harness)
		verdict safety.Verdict
		reasons []string
	}{
		{"unchanged", nil, nil, safety.Safe, nil},
		{"changed", nil, func(h *cgtest.Harness) { h.Shop.Set("$52,000", true) }, safety.Drift, nil},
		{"no answer that is understood", nil, func(h *cgtest.Harness) { h.Shop.Set("", true) }, safety.CheckFailed, []string{safety.ReasonTypeMismatch}},
		{"a database that is not here", func(c *contextgraph.Config) {
			c.Checkers = []config.Checker{{Type: "Product", SQL: &config.SQL{
				Database: "shop", Query: "SELECT price FROM t", Attributes: map[string]config.Column{"price": {Column: "price"}},
			}}}
		}, nil, safety.CheckFailed, []string{safety.ReasonNeedsAgent}},
		{"a tool that would be called again", func(c *contextgraph.Config) {
			c.Checkers = []config.Checker{{Type: "Product", Replay: &config.Replay{}}}
		}, func(h *cgtest.Harness) { h.Shop.Set("$52,000", true) }, safety.CheckFailed, []string{safety.ReasonNeedsAgent}},
		{"no checker", func(c *contextgraph.Config) { c.Checkers = nil }, nil, safety.CheckFailed, []string{safety.ReasonNeedsAgent}},
		{"another policy", func(c *contextgraph.Config) { c.Guard.CheckAge = time.Minute + time.Second }, nil,
			safety.CheckFailed, []string{safety.ReasonPolicyChanged}},
		{"other rules", func(c *contextgraph.Config) { c.Extract = slices.Clone(c.Extract); c.Extract[0].Confidence = 0.9 }, nil,
			safety.CheckFailed, []string{safety.ReasonRulesChanged}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, cfg, _ := priced(t)
			h.Ask(cgtest.SessionID)
			if test.world != nil {
				test.world(h)
			}
			if test.change != nil {
				test.change(&cfg)
			}
			j := reader(t, h)
			before := h.Approvals(cgtest.SessionID)
			got := recordedCheck(t, cfg, j, "")
			if got.Report.Verdict() != test.verdict || got.Approval == nil || got.Approval.ID != before[0].ID {
				t.Errorf("verdict %s\n%s", got.Report.Verdict(), got.Report.Summary())
			}
			for _, reason := range test.reasons {
				if !slices.Contains(failures(got.Report), reason) {
					t.Errorf("failures %q, want %s", failures(got.Report), reason)
				}
			}
			if d := cmp.Diff(before, h.Approvals(cgtest.SessionID), cmp.Comparer(func(a, b safety.Approval) bool {
				return a.State == b.State && a.UpdatedAt.Equal(b.UpdatedAt) && string(a.Report) == string(b.Report)
			})); d != "" {
				t.Errorf("the check changed the ledger:\n%s", d)
			}
		})
	}
}

// That nobody here can ask is not forgiven, although the agent would forgive a source that
// is away: a check that is not complete is never safe.
func TestCheckRecordedForgivesNoMissingChecker(t *testing.T) {
	optional := func(o *cgtest.Options) {
		o.Config.Guard.Types = map[string]config.TypePolicy{"Campaign": {Optional: true}}
		o.Config.Extract = append(o.Config.Extract, config.Extract{Name: "also", Tool: "search", Each: "$.items[*]", Type: "Campaign", Value: "$.name"})
	}
	h, cfg, _ := priced(t, optional)
	h.Ask(cgtest.SessionID)
	if r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Safe {
		t.Fatalf("the agent forgives it: %s, %v\n%s", r.Verdict(), err, r.Summary())
	}
	got := recordedCheck(t, cfg, reader(t, h), "")
	if got.Report.Verdict() != safety.CheckFailed || !slices.Contains(failures(got.Report), safety.ReasonNeedsAgent) {
		t.Errorf("verdict %s\n%s", got.Report.Verdict(), got.Report.Summary())
	}
	if len(got.NeedsAgent) != 1 || got.NeedsAgent["Campaign"] == "" {
		t.Errorf("needs the agent: %v", got.NeedsAgent)
	}
}

// A request that is closed is checked all the same, and one that is open comes first.
func TestCheckRecordedChoosesTheRequest(t *testing.T) {
	h, cfg, asked := priced(t)
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, false)
	j := reader(t, h)
	before := asked.Load()
	got := recordedCheck(t, cfg, j, "")
	if got.Approval == nil || got.Approval.State != safety.StateRejected || got.Report.Verdict() != safety.Safe || asked.Load() == before {
		t.Errorf("a rejected request: %+v, %s", got.Approval, got.Report.Summary())
	}
	_, _ = h.Ask(cgtest.SessionID)
	if err := h.CG.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := recordedCheck(t, cfg, j, ""); got.Approval == nil || got.Approval.State != safety.StatePending {
		t.Errorf("an open request beside a closed one: %+v", got.Approval)
	}
	if got := recordedCheck(t, cfg, j, h.Approvals(cgtest.SessionID)[0].ID); got.Approval.State != safety.StateRejected {
		t.Errorf("the one that is named: %+v", got.Approval)
	}
	if _, err := setup.CheckRecorded(t.Context(), cfg, j, cgtest.Key(cgtest.SessionID), "unknown"); !errors.Is(err, safety.ErrNotFound) {
		t.Errorf("an unknown approval: %v", err)
	}
	if _, err := setup.CheckRecorded(t.Context(), cfg, j, cgtest.Key("another"), h.Approvals(cgtest.SessionID)[0].ID); !errors.Is(err, safety.ErrNotFound) {
		t.Errorf("an approval of another session: %v", err)
	}
}

// A session without requests is checked as a whole; one without rows is not safe.
func TestCheckRecordedWithoutRequest(t *testing.T) {
	h, cfg, _ := priced(t)
	got, err := setup.CheckRecorded(t.Context(), cfg, reader(t, h), cgtest.Key("nothing"), "")
	if err != nil || got.Approval != nil || got.Report.IsSafeToApprove() {
		t.Errorf("%v, %v\n%s", got.Approval, err, got.Report.Summary())
	}
}
