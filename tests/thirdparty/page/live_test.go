// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
)

// live is a journal and the page that shows it.
type live struct {
	t   *testing.T
	j   *journal.Journal
	url string
	n   int64
}

func serve(t *testing.T, decide viewer.Decider) *live {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: filepath.Join(t.TempDir(), "live.db")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &live{t: t, j: j, url: serveJournal(t, j, decide)}
}

// serveJournal serves the page of a journal and returns its address.
func serveJournal(t *testing.T, j *journal.Journal, decide viewer.Decider) string {
	t.Helper()
	queries, err := viewer.Queries(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := viewer.NewHandler(viewer.Options{Source: inspect.NewJournal(j), Changes: j.LastSeq, Interval: 50 * time.Millisecond, Decide: decide, Token: token, Queries: queries, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections() // the streams of pages that are still open
		server.Close()
	})
	return server.URL + "/"
}

type m = map[string]any

// row records one row of a session.
func (l *live) row(session, kind, span, parent string, content, attributes m) {
	l.t.Helper()
	l.n++
	e := record.Event{
		RunSeq: l.n, RunID: "run", Timestamp: time.Now().UnixMicro(), EventID: fmt.Sprintf("%032d", l.n), EventType: kind, Agent: "clerk",
		AppName: "shop", UserID: "ann", SessionID: session, InvocationID: "inv", TraceID: "trace", SpanID: span, ParentSpanID: parent,
		Content: encode(content), Attributes: encode(attributes), Status: record.StatusOK,
	}
	if !l.j.Append(e) {
		l.t.Fatal("the row was not taken")
	}
}

func (l *live) flush() {
	l.t.Helper()
	if err := l.j.Flush(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

func encode(v m) []byte {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// asks records a session that waits for a human.
func (l *live) asks(session string) {
	l.t.Helper()
	keys := m{"pause_kind": "hitl_confirmation", "call_id": "call", "confirmation_id": "confirmation-" + session, "approval_id": "approval-" + session, "enforced": true}
	l.row(session, record.UserMessageReceived, session+"1", "", m{"text_summary": "Buy it for " + session}, nil)
	l.row(session, record.ToolStarting, session+"2", session+"1", m{"tool": "buy", "args": m{"what": "it"}}, m{"adk": m{"call_id": "call"}})
	l.row(session, record.HITLConfirmationRequest, session+"3", session+"2", m{"tool": "adk_request_confirmation", "args": m{
		"originalFunctionCall": m{"id": "call", "name": "buy", "args": m{"what": "it"}},
		"toolConfirmation":     m{"hint": "May it be bought?", "payload": m{"contextgraph": m{"tool": "buy", "expires_at": time.Now().Add(time.Hour)}}},
	}}, m{"adk": keys})
	l.flush()
}

// answered records the answer of a human: a no.
func (l *live) rejected(session string) {
	l.t.Helper()
	l.row(session, record.HITLConfirmationRequestCompleted, session+"4", "", m{"tool": "adk_request_confirmation", "result": m{"confirmed": false}},
		m{"adk": m{"call_id": "call", "confirmation_id": "confirmation-" + session, "approval_id": "approval-" + session, "confirmed": false, "accepted": false, "reason": "rejected", "enforced": true, "approver": "bob"}})
	l.flush()
}

// What agents do appears by itself, and leaves the reader where they are.
func TestLive(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	l := serve(t, nil)
	p := open(t, l.url)
	p.shows("#cg-top", "journal live.db", "Live", "read only")
	p.shows("#cg-main", "No session yet")
	l.asks("first")
	p.wait(`__t.all("#cg-nav .sessions a").length === 1`)
	p.shows("#cg-nav", "Buy it for first", "Pending")
	p.click("#cg-nav .sessions a")
	p.wait(`location.hash.includes("first") && document.querySelector(".session-head .chip")`)
	p.view("approvals")
	p.shows("#panel-approvals", "buy", "Pending", "Nobody has answered yet", "expires in")
	p.holds(`document.querySelectorAll(".decide").length === 0`)

	p.key("/", "second")
	l.asks("second")
	p.wait(`__t.text("#cg-nav .sessions").includes("Buy it for second")`)
	p.holds(`document.activeElement.id === "cg-search" && document.activeElement.value === "second"`)
	p.shows(".session-head", "Buy it for first")
	l.rejected("first")
	p.wait(`__t.text(".session-head").includes("Rejected")`)
	p.shows("#panel-approvals", "Rejected", "bob")
	p.holds(`document.body.dataset.view === "approvals" && location.hash.includes("first")`)
	p.key(kb.Escape)

	// Filters and search ask the server.
	eval[bool](p, `(() => { const i = document.getElementById("cg-search"); i.value = ""; i.dispatchEvent(new Event("input")); return true; })()`)
	p.wait(`__t.all("#cg-nav .sessions a").length === 2`)
	p.click("#cg-nav .filter-box summary")
	p.click("#cg-nav .chip.filter", "Rejected")
	p.wait(`__t.all("#cg-nav .sessions a").length === 1 && __t.text("#cg-nav .sessions").includes("first")`)
}

// decider is one without an agent behind it.
type decider struct {
	mu   sync.Mutex
	got  []answer.Decision
	then func() error
}

const token = "0123456789abcdef"

func (d *decider) Send(_ context.Context, x answer.Decision) (<-chan error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, x)
	end := make(chan error, 1)
	end <- d.then()
	return end, nil
}

func TestDecide(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	d := &decider{then: func() error { return errors.New("the agent is <b>away</b>") }}
	l := serve(t, d)
	l.asks("first")
	p := open(t, l.url+"#s=shop/ann/first&v=approvals")
	p.shows("#cg-top", "approvals can be answered here")
	p.click("#panel-approvals .decide button", "Approve")
	p.wait(`document.activeElement.id === "cg-token"`)
	p.shows("dialog", "Approve buy", "the gate decides, not this page", "Fingerprint")

	p.expect("401")
	p.key("wrong", kb.Enter)
	p.shows("dialog", "the token is wrong")
	p.holds(`document.querySelector("dialog[open] button[type=submit]").disabled === false`)

	p.expect("502")
	p.click("#cg-token")
	p.press('a', chromedp.ModifierCtrl)
	p.key(token, kb.Enter)
	p.shows("dialog", "the agent is <b>away</b>")
	p.holds(`!document.querySelector("dialog b") && document.getElementById("cg-token").type === "password"`)

	d.mu.Lock()
	d.then = func() error { l.rejected("first"); return nil }
	d.mu.Unlock()
	p.key(kb.Escape)
	p.wait(`!document.querySelector("dialog")`)
	p.click("#panel-approvals .decide button", "Reject")
	p.shows("dialog", "A rejection is final")
	p.click("#cg-token")
	p.press('a', chromedp.ModifierCtrl)
	p.key(token, kb.Enter)
	p.shows("dialog", "The answer was sent.")
	p.key(kb.Escape)
	p.wait(`__t.text(".session-head").includes("Rejected") && document.querySelectorAll(".decide").length === 0`)

	session := record.Session{App: "shop", User: "ann", ID: "first"}
	want := []answer.Decision{{Session: session, ApprovalID: "approval-first", ConfirmationID: "confirmation-first", Confirmed: true}, {Session: session, ApprovalID: "approval-first", ConfirmationID: "confirmation-first"}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	// The token is nowhere that outlives the page.
	p.holds(`!JSON.stringify({ ...localStorage, ...sessionStorage }).includes(` + quote(token) + `) && !location.href.includes(` + quote(token) + `)`)
	if strings.Contains(eval[string](p, `document.cookie`), token) {
		t.Error("the token is in a cookie")
	}
}
