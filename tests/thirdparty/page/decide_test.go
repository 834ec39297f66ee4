// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/answer"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

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

// An answer is sent from the card. A refusal stands beside the buttons, and the card
// shows a success only when the record has it.
func TestDecide(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	d := &decider{then: func() error { return errors.New("the agent is <b>away</b>") }}
	l := serve(t, d, nil)
	l.asks("first")
	p := open(t, l.url+"#s=shop/ann/first")
	const decide = "#panel-approvals .decide"
	p.shows("#cg-top", "approvals can be answered here")
	p.click(decide+" button", "Yes")
	p.wait(`document.activeElement.id === "cg-token"`)
	p.shows(decide, "Yes, run it once", "the gate decides, not this page", "Back")

	p.expect("401")
	p.key("wrong", kb.Enter)
	p.shows(decide, "The token is wrong")
	p.holds(`document.querySelector(".decide button[type=submit]").disabled === false`)

	p.expect("502")
	p.click("#cg-token")
	p.press('a', chromedp.ModifierCtrl)
	p.key(token, kb.Enter)
	p.shows(decide, "The agent is <b>away</b>")
	p.holds(`!document.querySelector(".decide b") && document.getElementById("cg-token").type === "password"`)

	// Sent is not taken: until the record has it, nothing is green.
	d.mu.Lock()
	d.then = func() error { return nil }
	d.mu.Unlock()
	p.key(kb.Enter)
	p.shows(decide, "Your yes was sent", "the record has no word of it yet")
	p.shows("#panel-approvals .passed", "Your yes was sent")
	p.holds(`document.querySelectorAll("#panel-approvals .card .tone-good, #panel-approvals .card .good, #panel-approvals .passed .tone-good").length === 0 && document.querySelectorAll(".decide button").length === 0 && __t.text(".session-head").includes("Pending")`)
	p.picture("card-sent")

	// The gate refuses it by name, and the request stays open.
	l.refuses("first", "check_failed")
	p.shows(decide, "The last yes did not count: check failed", "It could not be shown that the world has not changed")
	p.holds(`!__t.text("#panel-approvals").includes("was sent")`)

	// A no with a reason, with the token in memory.
	d.mu.Lock()
	d.then = func() error { l.rejected("first"); return nil }
	d.mu.Unlock()
	p.click(decide+" button", "No, with a reason")
	p.wait(`document.activeElement.localName === "textarea"`)
	p.shows(decide, "A no is final")
	p.key("too dear")
	p.holds(`!document.getElementById("cg-token")`)
	p.click(decide+" button", "No, do not run it")
	p.wait(`__t.text(".session-head").includes("Rejected") && document.querySelectorAll(".decide button").length === 0`)
	p.shows("#panel-approvals .passed", "bob said no", "It does not run")

	// A wish, which has words.
	l.asks("second")
	p.click("#cg-nav a", "Buy it for second")
	p.wait(`__t.text(".session-head").includes("Buy it for second")`)
	p.click(decide+" button", "Change this")
	p.wait(`document.activeElement.localName === "textarea"`)
	p.click(decide+" button", "Send the wish")
	p.holds(`document.activeElement.matches("textarea:invalid")`)
	p.key("a cheaper one")
	d.mu.Lock()
	d.then = func() error { return nil }
	d.mu.Unlock()
	p.click(decide+" button", "Send the wish")
	p.shows(decide, "Your no was sent")

	// Who was too late reads why: the request was answered elsewhere after it was shown.
	l.asks("third")
	p.click("#cg-nav a", "Buy it for third")
	p.wait(`__t.text(".session-head").includes("Buy it for third") && document.querySelector(".decide-buttons button")`)
	eval[bool](p, `(() => { const real = window.fetch; window.fetch = (u, o) => String(u).startsWith("api/session") ? new Promise(() => 0) : real(u, o); return true; })()`)
	l.rejected("third")
	p.expect("409")
	p.click(decide+" button", "Yes")
	p.click(decide+" button", "Yes, run it once")
	p.shows(decide, "Rejected by bob")

	at := func(id string) record.Session { return record.Session{App: "shop", User: "ann", ID: id} }
	want := []answer.Decision{
		{Session: at("first"), ApprovalID: "approval-first", ConfirmationID: "confirmation-first", Confirmed: true},
		{Session: at("first"), ApprovalID: "approval-first", ConfirmationID: "confirmation-first", Confirmed: true},
		{Session: at("first"), ApprovalID: "approval-first", ConfirmationID: "confirmation-first", Reason: "too dear"},
		{Session: at("second"), ApprovalID: "approval-second", ConfirmationID: "confirmation-second", Change: "a cheaper one"},
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	p.noToken()
}

// noToken checks that the token is nowhere that outlives the page.
func (p *tab) noToken() {
	p.t.Helper()
	p.holds(`!JSON.stringify({ ...localStorage, ...sessionStorage }).includes(` + quote(token) + `) && !location.href.includes(` + quote(token) + `) && !document.documentElement.outerHTML.includes(` + quote(token) + `)`)
	if strings.Contains(eval[string](p, `document.cookie`), token) {
		p.t.Error("the token is in a cookie")
	}
}

// The token may come with the address, and leaves it at once.
func TestTokenInTheAddress(t *testing.T) {
	for name, c := range map[string]struct{ at, then string }{
		"alone":          {"#token=" + token, "#v=inbox"},
		"with a session": {"#s=adcp/buyer-agent/sess-nike-summer&token=" + token + "&v=graph", "#s=adcp/buyer-agent/sess-nike-summer&v=graph"},
	} {
		t.Run(name, func(t *testing.T) {
			d, url := servePast(t)
			p := open(t, url+c.at)
			p.wait(`location.hash === ` + quote(c.then))
			p.noToken()
			p.holds(`history.length <= 2`)
			// A link that is followed in the page that is open.
			eval[bool](p, `(location.hash = "#s=adcp/buyer-agent/sess-nike-summer&v=approvals&token=`+token+`", true)`)
			p.wait(`location.hash === "#s=adcp/buyer-agent/sess-nike-summer&v=approvals" && document.querySelector(".decide-buttons button")`)
			p.click("#panel-approvals .decide button", "Yes")
			p.holds(`!document.getElementById("cg-token")`)
			p.click("#panel-approvals .decide button", "Yes, run it once")
			p.wait(`__t.text(".session-head").includes("Changed since it was read")`)
			p.noToken()
			d.mu.Lock()
			defer d.mu.Unlock()
			if len(d.sent) != 1 || !d.sent[0].Confirmed {
				t.Errorf("sent %+v", d.sent)
			}
		})
	}
}

// What the reader writes outlives what happens in the session meanwhile.
func TestWordsAreKept(t *testing.T) {
	d := &decider{then: func() error { return nil }}
	l := serve(t, d, nil)
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	l.asks("first")
	p := open(t, l.url+"#s=shop/ann/first&token="+token)
	p.click("#panel-approvals .decide button", "No, with a reason")
	p.wait(`document.activeElement.localName === "textarea"`)
	p.key("because it")
	l.refuses("first", "more_approvers")
	p.shows("#panel-approvals .passed", "more people have to approve")
	p.holds(`document.activeElement.localName === "textarea" && document.activeElement.value === "because it"`)
	p.key(" rains", kb.Escape)
	p.holds(`document.activeElement.dataset.choice === "no" && !document.querySelector(".decide textarea")`)
}

// Check now says what is true at this moment, and permits nothing.
func TestCheckNow(t *testing.T) {
	d, url := servePast(t)
	d.needs, d.slow = map[string]string{"Targeting": "needs_agent"}, make(chan struct{})
	p := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer")
	p.shows(card+" .rail-check", "Check now", "permits nothing")
	p.holds(`document.querySelectorAll(".v-line").length === 0`)
	p.click(card + " .check-now")
	p.shows(card+" .rail-check", "Checking…")
	close(d.slow)
	p.shows(card+" .v-changed", "available is now unavailable", "$40,000 is now $52,000 +30 %")
	p.shows(card+" .rail-check", "Changed since it was read", "checked just now", "After a yes now it can never run", "Targeting: only the agent can check it", "Check again")
	p.holds(`document.activeElement.classList.contains("check-now") && __t.text(".session-head").includes("Pending") && document.querySelectorAll(".decide-buttons button").length === 3`)
	p.shows("#cg-announce", "Changed since it was read. The world changed since it was read")
	// A yes cannot work: it is not the first choice, and says why, also where it is confirmed.
	p.wait(`__t.text(".decide").includes("after a yes now it can never run")`)
	p.holds(`document.querySelectorAll(".decide-buttons .primary").length === 0 && !__t.text(".decide").includes("→")`)
	p.click(card+" .decide button", "Yes")
	p.shows(card+" .decision", "after a yes now it can never run", "Yes all the same")
	// It is the same where somebody else opens the page.
	again := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer")
	again.shows(card+" .v-changed", "$40,000 is now $52,000 +30 %")
	again.shows(card+" .checks", "on demand")

	p.click("#cg-nav a", "sess-elf-cosmetics")
	p.wait(`__t.text(".session-head").includes("sess-elf-cosmetics")`)
	p.click(card + " .check-now")
	p.shows(card+" .rail-check", "Nothing has changed", "nothing changed")
	d.set(func() { d.answered["sess-elf-cosmetics"] = true })
	p.wait(`__t.text(".session-head").includes("Executed")`)
	p.holds(`__t.all(".check-now").length === 0`)
}

// A check that cannot be made says why.
func TestCheckNowFails(t *testing.T) {
	d, url := servePast(t)
	p := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer")
	p.wait(`document.querySelector("#panel-approvals .check-now")`)
	// The request ends while the page still shows it.
	eval[bool](p, `(() => { const real = window.fetch; window.fetch = (u, o) => String(u).startsWith("api/session") ? new Promise(() => 0) : real(u, o); return true; })()`)
	d.set(func() { d.answered["sess-nike-summer"] = true })
	p.expect("409")
	p.click(card + " .check-now")
	p.shows(card+" .rail-check", "It could not be checked: the request has ended, so there is nothing to check")
}

// How a request stands is the last of its steps, for each end.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		status inspect.Status
		edit   func(*inspect.Approval)
		want   string
		good   int
	}{
		{inspect.StatusPending, func(a *inspect.Approval) {}, "Waits for a yes or a no", 0},
		{inspect.StatusPending, func(a *inspect.Approval) { a.Approvers, a.Consents = 3, []string{"eva"} }, "Waits for 2 more people", 0},
		{inspect.StatusPending, func(a *inspect.Approval) { a.Approvers, a.Consents = 2, []string{"eva"} }, "Waits for 1 more person", 0},
		{inspect.StatusSafe, func(a *inspect.Approval) {}, "Approved, and not run yet", 0},
		{inspect.StatusDrift, func(a *inspect.Approval) {}, "can never run", 0},
		{inspect.StatusRejected, func(a *inspect.Approval) {}, "It does not run", 0},
		{inspect.StatusExpired, func(a *inspect.Approval) {}, "Expired", 0},
		{inspect.StatusInDoubt, func(a *inspect.Approval) { a.Execution = &inspect.Execution{Start: a.RequestedAt} }, "In doubt", 0},
		{inspect.StatusFailed, func(a *inspect.Approval) {
			a.Execution = &inspect.Execution{Start: a.RequestedAt, End: a.RequestedAt, Status: "ERROR"}
			a.Progress = append(a.Progress, inspect.Progress{At: a.RequestedAt, Step: "ended", Status: inspect.StatusFailed, Text: "buy returned an error."})
		}, "buy returned an error.", 0},
		{inspect.StatusExecuted, func(a *inspect.Approval) {
			a.Execution = &inspect.Execution{Start: a.RequestedAt, End: a.RequestedAt, Status: "OK"}
			a.Progress = append(a.Progress, inspect.Progress{At: a.RequestedAt, Step: "ended", Status: inspect.StatusExecuted, Text: "buy ran without an error."})
		}, "buy ran without an error.", 1},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := demoRecords(t)[0]
			a := &s.Approvals[0]
			a.Status, a.Answers, a.Checks, a.Execution, a.Progress = c.status, nil, nil, nil, []inspect.Progress{{At: a.RequestedAt, Step: "asked", Status: inspect.StatusPending, Text: "clerk asked."}}
			c.edit(a)
			p := open(t, pageOf(t, s)+"#s="+s.Session.App+"/"+s.Session.User+"/"+s.Session.ID)
			p.shows(card+" .passed li:last-child", c.want)
			p.holds(fmt.Sprintf(`document.querySelectorAll("#panel-approvals .passed .tone-good").length === %d`, c.good))
		})
	}
}
