// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const card = "#panel-approvals .card"

// A session in which somebody was asked opens on the card; an address with a view wins.
func TestOpensOnTheCard(t *testing.T) {
	p := openDemo(t, "s=nike")
	p.wait(`document.body.dataset.view === "approvals" && document.querySelector("#panel-approvals .card")`)
	p.holds(`document.querySelector("[role=tab]").id === "tab-approvals" && !location.hash.includes("v=")`)
	// What the reader chooses stays, also in the next session; without a choice the next one opens on its own.
	p.click("#cg-nav a", "sess-elf-cosmetics")
	p.wait(`__t.text(".session-head").includes("sess-elf-cosmetics") && document.body.dataset.view === "approvals"`)
	p.view("graph")
	p.click("#cg-nav a", "sess-nike-summer")
	p.wait(`__t.text(".session-head").includes("sess-nike-summer") && document.body.dataset.view === "graph"`)
	p = openDemo(t, "s=nike&v=timeline")
	p.holds(`document.body.dataset.view === "timeline"`)
}

// What was asked, what each entity was and is, and what came of it, for all three ends of the demo.
func TestCard(t *testing.T) {
	p := openDemo(t, "s=nike")
	p.shows(card+" .card-head", "The agent wanted to run provision_campaign once, with", "Changed since it was read", "asked", "by root_agent")
	p.shows(card+" .v-changed", "Product Yahoo Homepage Takeover availability", "available is now unavailable", "Product Strava Sponsored Routes price", "$40,000 is now $52,000 +30 %", "seen", "price $90,000 unchanged")
	// The worst change comes first, and is larger than what has not changed.
	p.holds(`document.querySelector(".v-line").textContent.includes("Yahoo") && parseFloat(getComputedStyle(document.querySelector(".v-vals")).fontSize) > 1.3 * parseFloat(getComputedStyle(document.querySelector(".v-row .v-val")).fontSize)`)
	p.shows(card+" .v-quiet", "ESPN Video Pre-roll", "availability available", "price $70,000", "unchanged", "Athletes 18-35")
	p.holds(`[...document.querySelectorAll(".v-row")].every((r) => r.querySelector("time").title.includes("UTC"))`)
	p.shows(card+" .whys", "shown by", "query_ad_inventory", "allocate_media_budget", "media_planner")
	p.holds(`document.querySelectorAll("#panel-approvals .whys > li").length === 3`)
	p.shows(card, "nike-running", "It did not run.", "Athletes 18-35")
	p.shows(card+" .rail-people", "0 of 1", "For buyer-agent", "not authenticated")
	// The order of what a person has to know.
	p.holds(`(() => { const t = document.querySelector("#panel-approvals .card").innerText; const at = ["The agent wanted to run provision_campaign once", "Seen → now", "Why: where it was learned", "What the agent passes to provision_campaign", "Checks", "History in the ledger", "Fingerprint, digest and ids"].map((x) => t.indexOf(x)); return at.every((x, i) => x >= 0 && (i === 0 || x > at[i - 1])); })()`)
	p.holds(`!document.querySelector(".ap-ids").open && __t.all("#panel-approvals .json .j-leaf").length > 5`)
	p.holds(`!/Status\s+OK/.test(document.querySelector("#panel-approvals").innerText)`)
	p.click(card+" .checks summary", "when it was answered")
	p.shows(card+" .checks", "before anybody was asked", "when it was answered", "2 of 5 changed", "Fingerprint", "0.95 critical", "ask for approval of the new plan")
	p.click(card + " .ap-ids summary")
	p.shows(card+" .ap-ids", "Fingerprint of what was seen", "Digest of the arguments", "Policy version", "Confirmation")
	p.click(card+" .whys button", "query_ad_inventory")
	p.wait(`location.hash.includes("span=")`)
	p.shows("#cg-detail", "query_ad_inventory")

	p = openDemo(t, "s=tesla")
	p.shows(card, "Check failed", "It did not run: its check failed.", "That does not mean that anything has changed", "The request stays open", "503 Service Unavailable",
		"its source is down", "Product CNN Digital", "It has not run.", "This page is a file and can only be read")
	p.holds(`document.querySelector("#panel-approvals .countdown").textContent.startsWith("expires in")`)
	p.shows("#tab-approvals", "1 open")

	p = openDemo(t, "s=elf")
	p.shows(card, "Executed", "0 of 7 changed", "unchanged", "right before the call", "GAM-2026-ELF-001", "History in the ledger")
	p.shows(card+" .passed", "asked", "said yes, and it counted", "Checked right before the call: nothing has changed", "ran without an error")
	p.holds(`__t.all("#panel-approvals .checks > li").length === 3 && __t.all("#panel-approvals .checks summary .tone-good").length === 3`)
	p.holds(`document.querySelectorAll("#panel-approvals .decide button").length === 0`)
}

// What it costs stands against the budget, what was not chosen is named, and arguments that are long
// are cut until somebody asks.
func TestCardCosts(t *testing.T) {
	var lines []any
	for i := range 30 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	at := editedDemo(t, func(data m) {
		a := approvalIn(t, data, "sess-nike-summer")
		a["costs"] = []m{
			{"budget_type": "Budget", "budget": "nike-running", "limit": "$200,000", "seen": "$200,000", "now": "$212,000", "exceeded": true},
			{"budget_type": "Budget", "budget": "all of Nike", "limit": "$1,000,000", "seen": "$212,000", "now": "", "exceeded": false},
		}
		a["not_chosen"] = m{"total": 3, "entities": []m{{"type": "Product", "value": "Hulu Mid-roll", "seen": m{"price": "$55,000"}, "seen_at": a["requested_at"]}}}
		a["args"] = m{"lines": lines}
	})
	p := open(t, at+"#s=adcp/buyer-agent/sess-nike-summer")
	p.shows(card+" .c-costs", "$212,000 of $200,000 (Budget nike-running): $12,000 over", "$200,000 is now $212,000", "$212,000 of $1,000,000 (Budget all of Nike): $788,000 left", "its present cost is not known")
	p.holds(`document.querySelectorAll(".c-over").length === 1 && Math.abs(document.querySelector(".c-over").offsetWidth / document.querySelector(".c-bar").offsetWidth - 12 / 212) < 0.01`)
	p.shows(card, "Not chosen, and not checked3", "Hulu Mid-roll", "price $55,000", "and 2 more")
	p.holds(`document.querySelector(".card-more .json").classList.contains("bounded")`)
	p.click(card+" .linkbtn", "Show all 32 lines")
	p.holds(`!document.querySelector(".card-more .json").classList.contains("bounded")`)
	p.shows(card, "line 29")
}

// On a laptop nobody scrolls to decide.
func TestCardFitsTheScreen(t *testing.T) {
	for _, theme := range []string{"light", "dark"} {
		d, url := servePast(t)
		p := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer&token="+token)
		p.size(1440, 900)
		p.media("screen", theme, true)
		p.wait(`document.querySelector("#panel-approvals .decide-buttons button")`)
		p.picture("card-asked-" + theme)
		p.click(card+" .check-now", "Check now")
		p.wait(`document.querySelectorAll("#panel-approvals .v-line").length >= 2`)
		const inSight = `(el) => { const r = el.getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight; }`
		p.holds(`[...document.querySelectorAll(".card-head h2, .v-line, .decide-buttons button, .check-now")].every(` + inSight + `)`)
		p.picture("card-checked-" + theme)
		p.click(card+" .decide button", "Yes")
		p.picture("card-yes-" + theme)
		p.holds(`[...document.querySelectorAll(".card-head h2, .decide button")].every(` + inSight + `)`)
		d.set(func() { d.answered["sess-nike-summer"] = true })
		p.wait(`__t.text(".session-head").includes("Changed since it was read")`)
		p.picture("card-drift-" + theme)
	}
}

// An entity that nobody has checked says so.
func TestCardNotChecked(t *testing.T) {
	_, url := servePast(t)
	p := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer")
	p.shows(card, "Seen → nownot checked", "price $40,000", "Waits for a yes or a no", "Whoever uses the agent as ")
	p.holds(`__t.all("#panel-approvals .v-row .v-state").length === 5 && __t.all("#panel-approvals .v-row .v-state").every((e) => e.textContent === "not checked")`)
}

// Of several requests the open one is large, and the others are lines that open.
func TestSeveralRequests(t *testing.T) {
	s := demoRecords(t)[0]
	first := s.Approvals[0]
	first.ConfirmationID, first.ID, first.Status, first.Action = "earlier", "earlier", inspect.StatusRejected, "an earlier plan runs once."
	open1 := s.Approvals[0]
	open1.Status, open1.Action = inspect.StatusPending, "the open plan runs once."
	last := s.Approvals[0]
	last.ConfirmationID, last.ID, last.Status, last.Action = "later", "later", inspect.StatusExpired, "a later plan runs once."
	s.Approvals = []inspect.Approval{first, open1, last}
	at := pageOf(t, s) + "#s=" + s.Session.App + "/" + s.Session.User + "/" + s.Session.ID
	p := open(t, at)
	p.shows(card+" h2", "the open plan runs once.")
	p.holds(`document.querySelectorAll("#panel-approvals .card").length === 1`)
	p.holds(`__t.all("#panel-approvals .card-line summary").map((e) => e.querySelector(".clip").textContent).join() === "a later plan runs once.,an earlier plan runs once."`)
	p.click("#panel-approvals .card-line summary", "an earlier plan")
	p.wait(`document.querySelectorAll("#panel-approvals .card").length === 2`)
	p.shows("#panel-approvals .card-line[open]", "It does not run", "an earlier plan runs once.")
	// An address names one of them by its number, or by its id.
	p = open(t, at+"&approval=0")
	p.shows(card+" h2", "an earlier plan runs once.")
	p = open(t, at+"&request=later")
	p.shows(card+" h2", "a later plan runs once.")
	p.holds(`location.hash.includes("approval=2") && !location.hash.includes("request=")`)
}

// A request for an input or a credential says where it is answered.
func TestOtherKinds(t *testing.T) {
	for kind, action := range map[string]string{
		"input":      "The agent asks for an input: answer it where the agent is used.",
		"credential": "The agent asks for a credential: answer it where the agent is used.",
	} {
		s := demoRecords(t)[0]
		a := &s.Approvals[0]
		*a = inspect.Approval{ID: a.ID, Session: a.Session, ConfirmationID: a.ConfirmationID, Kind: kind, Agent: "clerk", Span: a.Span, Status: inspect.StatusPending, Hint: "Which account?", Action: action, RequestedAt: a.RequestedAt, Explanation: "It waits for a human."}
		p := open(t, pageOf(t, s)+"#s="+s.Session.App+"/"+s.Session.User+"/"+s.Session.ID)
		p.shows(card, "The agent asks for", kind, "Answer it where the agent is used", "Which account?")
		p.holds(`document.querySelectorAll("#panel-approvals .decide button, #panel-approvals .check-now").length === __t.all(".x").length + document.querySelectorAll("#panel-approvals [hidden] .check-now").length`)
	}
}

// Each refusal of the gate stands on the card by its name and in words.
func TestRefusals(t *testing.T) {
	codes := []string{safety.CodeUnknownRequest, safety.CodeNotPending, safety.CodeRejected, safety.CodeExpired, safety.CodeAlreadyUsed, safety.CodeBlocked, safety.CodeDrift, safety.CodeCheckFailed,
		safety.CodeNotAuthorized, safety.CodeOtherAnswer, safety.CodeArgsChanged, safety.CodeOtherCall, safety.CodeChange}
	l := serve(t, nil, nil)
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	l.asks("first")
	p := open(t, l.url+"#s=shop/ann/first")
	for _, code := range codes {
		l.refuses("first", code)
		p.shows(card+" .passed", "said yes, and it did not count: ")
		p.wait(`__t.all("#panel-approvals .passed .badge").some((b) => b.textContent === ` + quote(badgeOf(code)) + `)`)
		// The words say more than the name.
		p.holds(`(() => { const b = __t.all("#panel-approvals .passed .badge").find((b) => b.textContent === ` + quote(badgeOf(code)) + `); return b.parentElement.firstChild.textContent.replace(/.*not count: /, "").length > 12; })()`)
	}
	p.holds(`document.querySelectorAll("#panel-approvals .passed .tone-good").length === 0`)
}

// badgeOf is what a badge says of a code of the gate.
func badgeOf(code string) string {
	if w, ok := inspect.Words["status"][code]; ok {
		return strings.ToLower(w.Name)
	}
	return strings.ReplaceAll(code, "_", " ")
}

// Times are told from now, with the exact one behind them.
func TestRelativeTimes(t *testing.T) {
	s := demoRecords(t)[0]
	s.Start = time.Now().Add(-3*time.Minute - 20*time.Second)
	s.Approvals[0].RequestedAt = time.Now().Add(-26*time.Hour - time.Minute)
	p := open(t, pageOf(t, s)+"#s="+s.Session.App+"/"+s.Session.User+"/"+s.Session.ID)
	p.click("#cg-top button[title=Sessions]")
	p.shows("#cg-nav .sessions", "3 min ago")
	p.shows(".session-head", "Started 3 min ago")
	p.shows(card+" .card-state", "asked 26 h ago")
	p.holds(`document.querySelector(".card-state time[data-ago]").title === ` + quote(s.Approvals[0].RequestedAt.UTC().Format("2006-01-02 15:04:05")+" UTC"))
	p.shows(card+" .rail-people", s.Approvals[0].RequestedAt.UTC().Format("2006-01-02 15:04:05"))
}
