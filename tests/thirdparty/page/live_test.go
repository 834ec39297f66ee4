// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/adk-contextgraph/contextgraph/config"
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

func serve(t *testing.T, decide viewer.Decider, check viewer.Checker) *live {
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
	return &live{t: t, j: j, url: serveSource(t, viewer.Options{Source: inspect.NewJournal(j), Changes: j.LastSeq, Decide: decide, Check: check})}
}

// serveSource serves the page of a source and returns its address.
func serveSource(t *testing.T, o viewer.Options) string {
	t.Helper()
	queries, err := viewer.Queries(config.BigQuery{})
	if err != nil {
		t.Fatal(err)
	}
	o.Interval, o.Token, o.Queries, o.Version = 50*time.Millisecond, token, queries, "test"
	h, err := viewer.NewHandler(o)
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

// refuses records a yes that the gate does not take.
func (l *live) refuses(session, code string) {
	l.t.Helper()
	l.row(session, record.HITLConfirmationRequestCompleted, session+"4", "", m{"tool": "adk_request_confirmation", "result": m{"confirmed": true}},
		m{"adk": m{"call_id": "call", "confirmation_id": "confirmation-" + session, "approval_id": "approval-" + session, "confirmed": true, "accepted": false, "reason": code, "enforced": true, "approver": "bob"}})
	l.flush()
}

// rejected records the answer of a human: a no.
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
	l := serve(t, nil, nil)
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
	p.shows("#panel-approvals .decide", "This page is read only")
	p.holds(`document.querySelectorAll(".decide button").length === 0`)

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
