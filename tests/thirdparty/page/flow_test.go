// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"google.golang.org/adk/v2/agent"

	"github.com/adk-contextgraph/contextgraph/flow"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/adktest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// lookAt makes the views of what was recorded of a session.
func lookAt(t *testing.T, h *cgtest.Harness) *inspect.Session {
	t.Helper()
	s, err := inspect.New(inspect.Record{Session: cgtest.Key(cgtest.SessionID), Rows: h.Rows(cgtest.SessionID)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shopping is a graph that reads twice, and waits for a person before it buys.
func shopping(t *testing.T, h *cgtest.Harness) agent.Agent {
	t.Helper()
	valued := func(v any) func(agent.Context, any) (any, error) {
		return func(agent.Context, any) (any, error) { return v, nil }
	}
	g := flow.New("shopping")
	g.Node("query", flow.FuncNode(valued(map[string]any{"query": "routes"})))
	g.Node("read", flow.ToolNode(h.Tools[0]))
	g.Node("widen the search", flow.FuncNode(valued(map[string]any{"query": "all routes"})))
	g.Node("order", flow.FuncNode(valued(cgtest.SameArgs(0))))
	g.Node("buy", flow.ToolNode(h.Tools[1]))
	g.Node("book", flow.FuncNode(valued("booked")))
	g.Node("give up", flow.FuncNode(valued("none")))
	g.Edge(flow.Start, "query")
	g.Edge("query", "read")
	g.Edge("read", "widen the search", flow.When("nothing fits", func(s flow.State) bool { return s.Visits("read") < 2 }))
	g.Edge("read", "give up", flow.When("still nothing fits", func(flow.State) bool { return false }))
	g.Edge("read", "order")
	g.Edge("widen the search", "read")
	g.Edge("order", "buy")
	g.Edge("buy", "query", flow.RefusedFor("drift"))
	g.Edge("buy", "give up", flow.Refused)
	g.Edge("buy", "book")
	root, err := g.Agent()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// The view of a flow draws its run: lines that were taken are strong, and a node says what the run waits for. A
// session without a flow has no such tab.
func TestFlow(t *testing.T) {
	h := cgtest.New(t)
	h.Say("hello")
	p := open(t, pageOf(t, lookAt(t, h))+"#s=shop/alice/s1&v=graph")
	p.wait(`document.getElementById("tab-graph").getAttribute("aria-selected") === "true"`)
	p.holds(`!__t.seen(document.getElementById("tab-flow"))`)

	h.Serve(shopping(t, h))
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("buy a route"))
	h.Serve(shopping(t, h))
	adktest.Run(t, h.Runner, cgtest.User, cgtest.SessionID, adktest.UserText("and?"))
	address := pageOf(t, lookAt(t, h)) + "#s=shop/alice/s1&v="
	p = open(t, address+"graph")
	p.wait(`__t.seen(document.getElementById("tab-flow"))`)
	p.click("#tab-flow")
	p.wait(`document.querySelectorAll("#panel-flow .fl-node[data-stop]").length === 7`)
	p.shows("#panel-flow .fl-state", "Waits for a person", "buy: buy with item")
	line := func(title string) string {
		return `[...document.querySelectorAll("#panel-flow .fl-edge")].find((e) => e.textContent === ` + quote(title) + `)`
	}
	strong := func(title string) string { return `parseFloat(getComputedStyle(` + line(title) + `).strokeWidth)` }
	p.holds(`document.querySelectorAll("#panel-flow .fl-taken").length === 6 && document.querySelectorAll("#panel-flow .fl-edge").length === 10`)
	p.holds(strong("read to widen the search, nothing fits, taken") + ` > ` + strong("buy to give up, refused, not taken") + ` * 2`)
	p.holds(`[...document.querySelectorAll("#panel-flow .fl-label")].some((e) => e.textContent === "refused for drift")`)
	p.holds(`document.querySelector('#panel-flow [data-stop="read"] .fl-sub').textContent === "2 visits"`)
	p.holds(`document.querySelector('#panel-flow [data-stop="buy"]').classList.contains("fl-at") && document.querySelector('#panel-flow [data-stop="book"] .fl-sub').textContent === "not reached"`)
	p.picture("flow-light")
	p.media("screen", "dark", true)
	p.picture("flow-dark")

	// By keys, along the lines; a node opens its last step.
	eval[bool](p, `(document.querySelector('#panel-flow [data-stop="query"]').focus(), true)`)
	p.key(kb.ArrowDown)
	p.wait(`document.activeElement.getAttribute("data-stop") === "read"`)
	p.key(kb.Enter)
	p.wait(`!document.getElementById("cg-detail").hidden`)
	p.holds(`document.querySelector('#panel-flow [data-stop="read"]').classList.contains("sel")`)

	// On a phone it opens at the node that waits.
	p = openIn(t, narrow, address+"flow")
	p.wait(`document.querySelectorAll("#panel-flow .fl-node[data-stop]").length === 7`)
	p.holds(`document.documentElement.scrollWidth <= 390`)
	p.holds(`(() => { const r = document.querySelector('#panel-flow [data-stop="buy"]').getBoundingClientRect(); return r.left >= 0 && r.right <= 390 && r.bottom <= innerHeight; })()`)
	p.picture("flow-light-phone")
	p.media("screen", "dark", true)
	p.picture("flow-dark-phone")
}
