// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"strings"
	"testing"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// A run of the session that is under way in another process has no end on record yet.
func TestRunUnderWayInAnotherProcessIsAGap(t *testing.T) {
	var cfg cgtest.Config
	var report safety.Report
	var h *cgtest.Harness
	h = cgtest.New(t, cgtest.OnFile, func(o *cgtest.Options) {
		search := o.Search
		o.Search = func(ctx agent.Context, a cgtest.SearchArgs) (map[string]any, error) {
			if err := h.CG.Flush(ctx); err != nil {
				return nil, err
			}
			other, err := cfg.Open(ctx) // what is not of this instance is not known to live
			if err != nil {
				return nil, err
			}
			if report, err = other.Check(ctx, cgtest.Key(cgtest.SessionID)); err != nil {
				return nil, err
			}
			if err := other.Close(ctx); err != nil {
				return nil, err
			}
			return search(ctx, a)
		}
		cfg = o.Config
	})
	h.Ask(cgtest.SessionID)
	found := false
	for _, f := range report.Failures() {
		found = found || f.Reason == safety.ReasonIncompleteRecord && strings.Contains(f.Detail, "has no INVOCATION_COMPLETED on record: if another process is at work on it, wait for its end and answer again; else start a new session")
	}
	if !found || report.IsSafeToApprove() {
		t.Errorf("the other instance says\n%s", report.Summary())
	}
	r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || r.CheckFailed() {
		t.Errorf("this instance says %v\n%s", err, r.Summary())
	}
}
