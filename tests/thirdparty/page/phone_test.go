// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import "testing"

// touches are targets that a thumb has to find.
const touches = `[...document.querySelectorAll(".decide button, .check-now")].filter(__t.seen).every((b) => b.getBoundingClientRect().height >= 44)`

// On a phone a person decides in two taps, and everything can be reached.
func TestPhone(t *testing.T) {
	d, url := servePast(t)
	p := open(t, url+"#token="+token)
	p.size(390, 844)
	const narrow = `document.documentElement.scrollWidth <= 390 && [...document.querySelectorAll(".panel")].filter(__t.seen).every((e) => e.scrollWidth <= e.clientWidth)`
	p.wait(`document.querySelectorAll("#panel-inbox .in-item").length === 3`)
	eval[bool](p, `([...document.querySelectorAll("#panel-inbox .in-item")].find((i) => i.textContent.includes("Nike")).querySelector("button").click(), true)`)
	p.wait(`document.querySelector("#panel-inbox .in-rest")`)
	p.click("#panel-inbox .in-rest > summary")
	p.picture("phone-inbox")
	p.holds(narrow)
	p.click("#panel-inbox .in-rest .in-open")
	p.wait(`document.body.dataset.view === "approvals" && __t.text(".session-head").includes("Nike")`)
	eval[any](p, `__t.frame()`)
	p.picture("phone-card")
	for _, small := range eval[[]string](p, `__t.all("#panel-approvals button, #panel-approvals summary, .session-head button, [role=tab], #cg-top button, #cg-top a").filter((b) => b.getBoundingClientRect().height < 23.9 || b.getBoundingClientRect().width < 23.9).map((b) => b.outerHTML)`) {
		t.Errorf("smaller than 24 pixels: %s", clip(small))
	}
	p.holds(narrow)
	// What will happen, what has changed, and the buttons: without scrolling.
	const inSight = `(el) => { const r = el.getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight; }`
	p.holds(`[...document.querySelectorAll(".card-head h2, .v-line, .decide-buttons button")].every(` + inSight + `)`)
	p.holds(touches)

	// The facts are behind a button, and the head goes while one reads.
	p.holds(`__t.all(".session-head .facts").length === 0 && document.querySelector(".session-head").offsetHeight <= 48`)
	p.click(".session-head .head-more")
	p.shows(".session-head .facts", "Started", "buyer-agent")
	p.click(".session-head .head-more")
	eval[bool](p, `(document.querySelector("#panel-approvals").scrollTo(0, 600), true)`)
	p.wait(`__t.all(".session-head").length === 0`)
	p.holds(`[...document.querySelectorAll(".decide-buttons button")].every(` + inSight + `)`)
	p.picture("phone-card-scrolled")
	eval[bool](p, `(document.querySelector("#panel-approvals").scrollTo(0, 0), true)`)
	p.wait(`__t.all(".session-head").length === 1`)

	// The tabs show that there are more, and the open one is in sight.
	p.holds(`document.querySelector(".tabs").classList.contains("more-right") && getComputedStyle(document.querySelector(".viewbar"), "::after").content.includes("›")`)
	p.key("6")
	p.wait(`document.body.dataset.view === "queries" && document.querySelector(".tabs").classList.contains("more-left")`)
	p.holds(`(() => { const r = document.getElementById("tab-queries").getBoundingClientRect(); return r.left >= 0 && r.right <= 390; })()`)
	p.key("1")
	p.wait(`document.body.dataset.view === "approvals"`)

	// Two taps.
	p.click(card+" .decide button", "Yes")
	p.holds(touches)
	p.picture("phone-card-yes")
	p.holds(`(` + inSight + `)(document.querySelector(".decide button[type=submit]"))`)
	p.click(card+" .decide button", "Yes all the same")
	p.wait(`__t.text(".card-state").includes("Changed since it was read")`)
	p.shows(card+" .passed", "can never run")
	p.picture("phone-card-drift")
	p.holds(narrow)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sent) != 1 {
		t.Errorf("%d answers for two taps, want one", len(d.sent))
	}
}

// What has the focus is not behind the bar with the buttons.
func TestFocusIsNotObscured(t *testing.T) {
	_, url := servePast(t)
	p := open(t, url+"#s=adcp/buyer-agent/sess-nike-summer&v=approvals&token="+token)
	p.size(390, 844)
	p.wait(`document.querySelector(".decide-buttons button")`)
	eval[bool](p, `(document.getElementById("tab-approvals").focus(), true)`)
	for range 60 {
		p.press('\t', 0)
		if eval[bool](p, `!document.activeElement.closest("#panel-approvals")`) {
			break
		}
		p.holds(`(() => { const el = document.activeElement; if (el.closest(".decide") || el.id === "panel-approvals") return true; const r = el.getBoundingClientRect(), bar = document.querySelector(".decide").getBoundingClientRect(); return r.bottom <= bar.top + 2; })()`)
	}
}
