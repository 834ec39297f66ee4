// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// checked records a check of the request of a session.
func (l *live) checked(session, stage, verdict string, failures ...m) {
	l.t.Helper()
	l.row(session, record.WorldChangeCheck, session+"5", session+"2", m{"id": "check-" + session, "verdict": verdict, "failures": failures},
		m{"adk": m{"call_id": "call", "confirmation_id": "confirmation-" + session, "approval_id": "approval-" + session, "stage": stage, "verdict": verdict, "enforced": true}})
	l.flush()
}

// executing is a journal whose ledger has the call of the session "doubt" as begun.
type executing struct{ inspect.Source }

func (x executing) Record(ctx context.Context, s record.Session) (inspect.Record, error) {
	r, err := x.Source.Record(ctx, s)
	if err == nil && s.ID == "doubt" {
		r.Approvals = []safety.Approval{{
			ID: "approval-doubt", Session: s, ConfirmationID: "confirmation-doubt", CallID: "call", Tool: "buy", State: safety.StateExecuting, UpdatedAt: time.Now(),
		}}
	}
	return r, err
}

// A call in doubt is resolved on its card, with the words of a person. A check that failed because a source is down is
// overridden there, where the configuration names people with that right.
func TestResolveAndOverride(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	d := &decider{then: func() error { return nil }}
	l := serve(t, nil, nil)
	l.url = serveSource(t, viewer.Options{Source: executing{inspect.NewJournal(l.j)}, Changes: l.j.LastSeq, Decide: d, Overriders: func(string) []string { return []string{"eva", "tom"} }})
	l.asks("doubt")
	l.checked("doubt", "execution", "safe")
	l.asks("down")
	l.refuses("down", "check_failed")
	l.checked("down", "answer", "check_failed", m{"entity_type": "Product", "entity": "it", "reason": "source_down"})
	l.asks("drifted")
	l.refuses("drifted", "check_failed")
	l.checked("drifted", "answer", "check_failed", m{"entity_type": "Product", "entity": "it", "reason": "missing_entity"})
	const decide = "#panel-approvals .decide"

	p := open(t, l.url+"#token="+token+"&s=shop/ann/doubt&v=approvals")
	p.shows("#panel-approvals", "In doubt", "say what came of it")
	p.click(decide+" button", "Record that it took effect")
	p.wait(`document.activeElement.localName === "textarea"`)
	p.shows(decide, "How do you know?", "Nothing runs because of it")
	p.click(decide+" button[type=submit]", "Record that it took effect")
	p.holds(`document.activeElement.matches("textarea:invalid")`)
	p.key("the shop has the order")
	p.click(decide+" button[type=submit]", "Record that it took effect")
	p.shows(decide, "Your finding was sent")

	p = open(t, l.url+"#token="+token+"&s=shop/ann/down&v=approvals")
	p.click(decide+" button", "Override")
	p.shows(decide, "It takes two of the people with that right", "They are eva, tom.")
	p.key("by phone")
	p.click(decide+" button[type=submit]", "Override the check")
	p.shows(decide, "Your override was sent")

	p = open(t, l.url+"#token="+token+"&s=shop/ann/drifted&v=approvals")
	p.shows(decide, "Yes", "Change this")
	p.holds(`!__t.text(".decide").includes("Override")`)

	at := func(id string) record.Session { return record.Session{App: "shop", User: "ann", ID: id} }
	want := []answer.Decision{
		{Session: at("doubt"), ApprovalID: "approval-doubt", ConfirmationID: "confirmation-doubt", Resolve: "happened", Reason: "the shop has the order"},
		{Session: at("down"), ApprovalID: "approval-down", ConfirmationID: "confirmation-down", Confirmed: true, Override: "by phone"},
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
