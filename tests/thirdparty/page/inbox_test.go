// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// The inbox comes first while somebody waits, counts, is led by keys, and follows what happens.
func TestInbox(t *testing.T) {
	d, url := servePast(t)
	p := open(t, url)
	const inbox = "#panel-inbox"
	p.wait(`document.body.dataset.view === "inbox" && document.querySelectorAll("#panel-inbox .in-item").length === 3`)
	p.shows(inbox, "3 requests wait for people", "once, with account", "Plan a campaign of $200,000 for Nike", "by root_agent", "expires in", "Not checked", "0 of 1 approved")
	p.shows("#cg-top .inbox-link", "3")
	p.holds(`document.title.startsWith("(3) ") && decodeURIComponent(document.querySelector("link[rel=icon]").href).includes(">3<")`)
	p.holds(`__t.all(".session-head, [role=tab]").length === 0`)

	// A check in place: what has changed leaves the requests that a yes can let run.
	const nike = `[...document.querySelectorAll("#panel-inbox .in-item")].findIndex((i) => i.textContent.includes("Nike"))`
	eval[bool](p, `([...document.querySelectorAll("#panel-inbox .in-item")][`+nike+`].querySelector("button").click(), true)`)
	p.wait(`document.querySelector("#panel-inbox .in-rest") && ` + nike + ` === 2`)
	p.shows(inbox, "2 requests wait for people", "1 request that no yes can let run")
	p.shows("#cg-top .inbox-link", "2")
	p.click("#panel-inbox .in-rest > summary")
	p.shows(inbox, "available → unavailable", "checked just now")
	p.picture("inbox")
	p.media("screen", "dark", true)
	p.picture("inbox-dark")

	// Keys go through the requests, and open one.
	at := func(n int) string {
		return `[...document.querySelectorAll("#panel-inbox .in-open")].indexOf(document.activeElement) === ` + fmt.Sprint(n)
	}
	for _, move := range []struct {
		key  string
		want int
	}{{"j", 0}, {"j", 1}, {kb.ArrowDown, 2}, {"j", 2}, {"k", 1}, {kb.ArrowUp, 0}, {"k", 0}, {"j", 1}, {"j", 2}} {
		p.key(move.key)
		p.holds(at(move.want))
	}
	p.key(kb.Enter)
	p.wait(`document.body.dataset.view === "approvals" && __t.text(".session-head").includes("sess-nike-summer")`)
	p.shows(card, "once, with account")
	p.holds(`document.title.startsWith("(2) Plan a campaign of $200,000")`)

	// What is answered leaves it, wherever the reader is.
	d.set(func() { d.answered["sess-nike-summer"] = true })
	p.wait(`document.title.startsWith("(2) ")`)
	p.key("i")
	p.wait(`document.body.dataset.view === "inbox" && document.querySelectorAll("#panel-inbox .in-item").length === 2`)
	p.holds(`!__t.text("#panel-inbox").includes("Nike")`)
	d.set(func() { d.answered["sess-elf-cosmetics"], d.answered["sess-tesla-q1"] = true, true })
	p.wait(`document.querySelectorAll("#panel-inbox .in-item").length === 1`) // a check that failed leaves it open
	p.shows(inbox, "1 request waits for a person", "Check failed")
	eval[bool](p, `(history.back(), true)`)
	p.wait(`document.body.dataset.view === "approvals" && __t.text(".session-head").includes("sess-nike-summer")`)
}

// In a file the inbox is what it was, and an empty one says so.
func TestInboxOfAFile(t *testing.T) {
	p := open(t, fileURL(t, suite.demo))
	p.wait(`document.querySelectorAll("#panel-inbox .in-item").length === 1`)
	p.shows("#panel-inbox", "1 request waits for a person", "when this file was written", "Plan a campaign of $100,000 for Tesla", "Check failed")
	p.holds(`document.querySelectorAll("#panel-inbox .in-item button").length === 0`)
	p.click("#panel-inbox .in-item", "provision_campaign")
	p.wait(`document.body.dataset.view === "approvals" && __t.text(".session-head").includes("sess-tesla-q1")`)

	p = open(t, editedDemo(t, func(data m) { data["inbox"] = []any{} }))
	p.wait(`document.querySelector(".session-head .chip")`)
	p.holds(`document.body.dataset.view === "approvals" && !document.title.startsWith("(") && document.querySelector("link[rel=icon]").href.includes("circle")`)
	p.key("i")
	p.shows("#panel-inbox", "Nobody is waiting for you")

	// A live one says what will come.
	l := serve(t, nil, nil)
	p = open(t, l.url+"#v=inbox")
	p.shows("#panel-inbox", "Nobody is waiting for you", "by itself")
	p.holds(`!document.title.startsWith("(")`)
}

// Every text of a request in the inbox is text.
func TestHostileInbox(t *testing.T) {
	at := editedDemo(t, func(data m) {
		var items []any
		for i, s := range corpus {
			items = append(items, m{
				"session": m{"app": s, "user": s, "id": s}, "title": s, "approval_id": s, "confirmation_id": s, "tool": s, "action": s, "kind": []string{"confirmation", s}[i%2], "agent": s, "status": "pending",
				"enforced": i%3 == 0, "requested_at": "2026-01-01T00:00:00Z", "expires_at": s, "known": []string{"drift", "", s}[i%3], "known_at": s, "findings": []map[string]any{{"text": s, "effect": s, "reason": s}}, "can": []string{s}, "hopeless": []string{"", s}[i%2], "approvers": 2, "consents": []string{s}, "warnings": []string{s},
			})
		}
		data["inbox"] = items
	})
	p := open(t, at)
	p.wait(`document.querySelectorAll("#panel-inbox .in-item").length === ` + fmt.Sprint(len(corpus)))
	eval[bool](p, `(document.querySelector(".in-rest").open = true)`)
	p.shows("#panel-inbox", "<script>window.__xss=1;alert(1)</script>")
	p.key("j", "j")
	p.size(390, 844)
	p.holds(`document.documentElement.scrollWidth <= 390`)
}
