// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package evidence_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/adk/v2/model"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/rowtest"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestCheckSummary(t *testing.T) {
	h := cgtest.New(t)
	h.Ask(cgtest.SessionID)
	report, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	want := "World Change Report - Session: s1\n  Entities checked : 1\n  Stale entities   : 0\n  Safe to approve  : true\n  Requester        : alice (not authenticated)\n"
	if got := report.Summary(); got != want {
		t.Errorf("Summary() =\n%s\nwant\n%s", got, want)
	}
	checks := rowtest.Of(h.Rows(cgtest.SessionID), record.WorldChangeCheck)
	if len(checks) != 1 || rowtest.Field(t, checks[0].Content, "verdict") != "safe" {
		t.Errorf("%d verdicts are recorded, want the one that is safe", len(checks))
	}
	// A check that belongs to no run does not make the record incomplete.
	report, err = h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil || !report.IsSafeToApprove() {
		t.Errorf("second check: %v, %v", report.Summary(), err)
	}
	// Nothing is known of a session that never was.
	report, err = h.CG.Check(t.Context(), cgtest.Key("no such session"))
	if err != nil || report.IsSafeToApprove() || !report.CheckFailed() {
		t.Errorf("check of an unknown session: %v, %v", report.Summary(), err)
	}
}

// A run that ended with an error is complete: what it found can carry an approval.
func TestApprovalAfterARunThatFailed(t *testing.T) {
	failed := false
	h := cgtest.New(t, func(o *cgtest.Options) {
		o.Answer = func(req *model.LLMRequest) (*model.LLMResponse, error) {
			if last := adktest.LastResponse(req); last != nil && last.Name == "search" && !failed {
				failed = true
				return nil, errors.New("model offline")
			}
			return cgtest.Shopper(req)
		}
	})
	if _, err := adktest.TryRun(t.Context(), h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("what is there?")); err == nil {
		t.Fatal("the first run did not fail")
	}
	id, _ := h.Ask(cgtest.SessionID)
	h.Answer(cgtest.SessionID, id, true)
	h.WantBought(1)
	rows := h.Rows(cgtest.SessionID)
	if gaps := cgtest.Gaps(t, h.Journal(), cgtest.Key(cgtest.SessionID)); len(gaps) > 0 {
		t.Errorf("gaps = %q; want none", gaps)
	}
	cgtest.CheckTree(t, rows)
	if n := len(rowtest.Of(rows, record.InvocationError)); n != 1 {
		t.Errorf("%d INVOCATION_ERROR rows, want 1", n)
	}
	g, err := h.CG.Graph(t.Context(), cgtest.Key(cgtest.SessionID))
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{record.InvocationError, record.AgentError} {
		i := slices.IndexFunc(g.Nodes(), func(n graphsync.TechNode) bool { return slices.Contains(n.EventTypes, typ) })
		if i < 0 {
			t.Errorf("no node has %s", typ)
			continue
		}
		n := g.Nodes()[i]
		want := graphsync.KindInvocation
		if typ == record.AgentError {
			want = graphsync.KindAgent
		}
		if n.Kind != want || n.Status != record.StatusError || n.ErrorMessage != "model offline" || len(n.EventTypes) < 2 {
			t.Errorf("%s: node %+v, want the %s of its start, failed", typ, n, want)
		}
	}
}

// What Graph and Why return is the caller's business: no check goes by what becomes of it.
func TestReturnedGraphIsNoEvidence(t *testing.T) {
	price := "$40,000"
	h := cgtest.New(t, cgtest.WithChecker(func(context.Context, entity.Canonical) (safety.State, error) {
		return safety.State{AsOf: time.Now(), Attributes: map[string]entity.Value{
			"price": cgtest.Money(t, price), "availability": entity.Bool(true),
		}}, nil
	}))
	h.Ask(cgtest.SessionID)
	for range 2 { // read as a whole, and followed
		reasons, err := h.CG.Why(t.Context(), cgtest.Key(cgtest.SessionID))
		if err != nil || len(reasons) == 0 {
			t.Fatal(reasons, err)
		}
		for _, r := range reasons {
			r.Entity.Attributes["price"] = cgtest.Money(t, "$52,000")
			for _, e := range r.Entity.Seen {
				e.Attributes["price"] = cgtest.Money(t, "$52,000")
			}
		}
		g, err := h.CG.Graph(t.Context(), cgtest.Key(cgtest.SessionID))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range g.Entities() {
			e.Attributes["price"] = cgtest.Money(t, "$52,000")
		}
		for _, known := range g.Sightings() {
			known[0].Entity.Attributes["price"] = cgtest.Money(t, "$52,000")
		}
	}
	id := h.Approvals(cgtest.SessionID)[0].ConfirmationID
	h.Answer(cgtest.SessionID, id, false) // so that the check goes by the session
	price = "$52,000"
	if r, err := h.CG.Check(t.Context(), cgtest.Key(cgtest.SessionID)); err != nil || r.Verdict() != safety.Drift {
		t.Errorf("error %v\n%s", err, r.Summary())
	}
}
