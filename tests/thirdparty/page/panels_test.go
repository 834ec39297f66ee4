// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// panels are the panels in the order of their tabs.
var panels = []string{"approvals", "graph", "thoughts", "timeline", "trajectory", "queries"}

func TestFace(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	p.shows("#cg-top", "3 sessions of journal contextgraph.db", "written", "read only", "all of its sessions")
	p.shows("#cg-nav", "sess-elf-cosmetics", "sess-nike-summer", "sess-tesla-q1", "Changed since it was read", "Check failed", "Executed", "buyer-agent", "2 turns", "tok", "3 sessions")
	p.shows(".session-head", "sess-nike-summer", "Changed since it was read", "media_planner, root_agent", "Turns 2", "Tokens", "Waited for people", "Rows with an error 1")
	p.holds(`__t.all("[role=tab]").length === 6 && [...document.querySelectorAll("[role=tab]")].every((t) => document.getElementById(t.getAttribute("aria-controls")))`)
	p.holds(`document.title.includes("contextgraph") && document.querySelector("#cg-nav a[aria-current=true]").dataset.key.endsWith("sess-nike-summer")`)
}

func TestSessionsAreSearchedAndFiltered(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	sessions := func(want ...string) {
		t.Helper()
		p.wait(fmt.Sprintf(`__t.all("#cg-nav .sessions .s-id").map((e) => e.textContent).sort().join() === %s`, quote(strings.Join(want, ","))))
	}
	p.key("/")
	p.holds(`document.activeElement.id === "cg-search"`)
	p.key("tesla")
	sessions("sess-tesla-q1")
	p.shows("#cg-nav", "1 session found")
	p.key(kb.Enter)
	p.wait(`location.hash.includes("sess-tesla-q1")`)
	p.shows(".session-head", "Check failed")
	p.press('a', chromedp.ModifierCtrl)
	p.key("nobody here")
	sessions()
	p.shows("#cg-nav", "No session matches")
	p.press('a', chromedp.ModifierCtrl)
	p.key(kb.Delete)
	sessions("sess-elf-cosmetics", "sess-nike-summer", "sess-tesla-q1")

	p.click("#cg-nav .chip.filter", "Changed since it was read")
	sessions("sess-nike-summer")
	p.click("#cg-nav .chip.filter", "Executed")
	sessions("sess-elf-cosmetics", "sess-nike-summer")
	p.holds(`__t.all("#cg-nav .chip.filter[aria-pressed=true]").length === 2`)
	p.click("#cg-nav .chip.filter", "Changed since it was read")
	sessions("sess-elf-cosmetics")
	p.click("#cg-nav .sessions a")
	p.wait(`location.hash.includes("sess-elf-cosmetics")`)
	p.shows(".session-head", "Executed")
}

func TestGraph(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	p.shows("#panel-graph .gv-legend", "User 2", "Agent 4", "Tool 7", "Human in the loop 1", "Budget 1", "Product 3", "Targeting 1", "informs", "resumes", "contains", "evaluated", "named")
	p.holds(`document.querySelectorAll("#panel-graph .gn:not(.gn-entity) circle.gn-shape").length === 23 && document.querySelectorAll("#panel-graph .gn-entity rect.gn-shape").length === 5`)
	p.holds(`document.querySelectorAll("#panel-graph .ge-evaluated").length > 0`)
	// The call names three products before it asks and after the answer. Two of them had changed: its
	// refusal shows them.
	p.holds(`document.querySelectorAll("#panel-graph .geg.ge-k-named").length === 4`)
	// A line of what was seen is dashed; the others are not.
	p.holds(`getComputedStyle(document.querySelector(".ge-evaluated")).strokeDasharray !== "none" && getComputedStyle(document.querySelector(".ge-informs")).strokeDasharray === "none"`)
	colours := eval[[]string](p, `["k-user", "k-agent", "k-tool", "k-hitl"].map((k) => getComputedStyle(document.querySelector("#panel-graph .gn." + k + " .gn-shape")).stroke)`)
	seen := map[string]bool{}
	for _, c := range colours {
		seen[c] = true
	}
	if len(seen) != 4 {
		t.Errorf("kinds of steps have the colours %q, want four different ones", colours)
	}

	p.click("#panel-graph .cv-tools button", "Fit")
	p.click(`#panel-graph .gn-entity`, "Strava Sponsored Routes")
	p.wait(`!document.getElementById("cg-detail").hidden && location.hash.includes("entity=")`)
	p.shows("#cg-detail", "Strava Sponsored Routes", "Product", "Latest values seen", "$52,000", "Confidence", "Approvals that rest on it", "provision_campaign", "Seen")
	// To a step that saw it, and from there back.
	p.click("#cg-detail .refs .reflink", "query_ad_inventory")
	p.wait(`location.hash.includes("span=")`)
	p.shows("#cg-detail", "query_ad_inventory", "media_planner", "Evaluated here", "Strava Sponsored Routes", "Linked to", "Content")
	p.holds(`document.querySelector("#panel-graph .gn.sel").textContent.includes("query_ad_inventory")`)
	p.click("#cg-detail .reflink.entity", "Strava Sponsored Routes")
	p.wait(`location.hash.includes("entity=") && __t.text("#cg-detail h2") === "Strava Sponsored Routes"`)
	// An edge, and both of its ends.
	p.click("#cg-detail .refs .reflink", "query_ad_inventory")
	p.click("#cg-detail .rel.linkbtn", "informs")
	p.wait(`location.hash.includes("edge=")`)
	p.shows("#cg-detail", "Informs", "From", "To", "query_ad_inventory")
	p.holds(`document.querySelectorAll("#panel-graph .geg.sel").length === 1`)
	p.key(kb.Escape)
	p.wait(`document.getElementById("cg-detail").hidden && !location.hash.includes("edge=")`)

	p.click("#panel-graph .gv-legend button", "Model")
	p.wait(`document.querySelectorAll("#panel-graph .gn.k-model").length === 0`)
	p.click("#panel-graph .gv-legend button", "Model")
	p.wait(`document.querySelectorAll("#panel-graph .gn.k-model").length === 7`)

	p.click("#panel-graph .seg button", "Aggregated")
	p.wait(`document.querySelectorAll("#panel-graph .gn:not(.gn-entity)").length < 23 && document.querySelector("#panel-graph .gn-count")`)
	p.click("#panel-graph .seg button", "Expanded")
	p.wait(`document.querySelectorAll("#panel-graph .gn:not(.gn-entity)").length === 23`)
	p.click("#panel-graph .gv-bar > button", "As table")
	p.shows("#panel-graph .gv-tablebox", "query_ad_inventory", "Strava Sponsored Routes")
}

// Why leads from the request back to each of the five things it rests on.
func TestWhy(t *testing.T) {
	p := openDemo(t, "s=nike&v=approvals")
	p.click("#panel-approvals button", "Show the paths in the graph")
	p.wait(`document.body.dataset.view === "graph" && location.hash.includes("why=0")`)
	p.shows("#panel-graph .gv-side", "Why provision_campaign", "5 entities", "Strava Sponsored Routes", "Athletes 18-35", "$200,000", "hop")
	p.holds(`document.querySelectorAll("#panel-graph .gn-entity.on").length === 5 && document.querySelectorAll("#panel-graph .gn.k-hitl.on").length === 1`)
	p.holds(`document.querySelectorAll("#panel-graph .gn:not(.on)").length > 0 && document.querySelectorAll("#panel-graph .geg.on").length > 4`)
	all := eval[int](p, `document.querySelectorAll("#panel-graph .gn.on").length`)
	p.click("#panel-graph .gv-whylist button", "Athletes 18-35")
	p.wait(fmt.Sprintf(`document.querySelectorAll("#panel-graph .gn-entity.on").length === 1 && document.querySelectorAll("#panel-graph .gn.on").length < %d`, all))
	p.click("#panel-graph .gv-side button", "Show all paths")
	p.wait(`document.querySelectorAll("#panel-graph .gn-entity.on").length === 5`)
	p.key(kb.Escape, kb.Escape)
	p.wait(`!location.hash.includes("why=") && document.querySelectorAll("#panel-graph .gn.on").length === 0`)
}

// Of what only the action names the page says so, and leads to the call that names it.
func TestWhyOfWhatTheActionNames(t *testing.T) {
	sessions := demoRecords(t)
	i := slices.IndexFunc(sessions, func(s *inspect.Session) bool { return s.Session.ID == "sess-nike-summer" })
	s := sessions[i]
	w := &s.Approvals[0].Why[slices.IndexFunc(s.Approvals[0].Why, func(w inspect.Why) bool { return w.Value == "Strava Sponsored Routes" })]
	w.Origin, w.Note, w.Hops, w.Path = "action", "named by the action; no result shows it", 0, w.Path[len(w.Path)-1:]
	e := &s.Entities[slices.IndexFunc(s.Entities, func(e inspect.Entity) bool { return e.Key == w.Entity })]
	e.Evaluated = slices.DeleteFunc(e.Evaluated, func(x inspect.Sighting) bool { return x.Link != "named" })

	p := open(t, pageOf(t, s)+"#s=sess-nike-summer&v=approvals")
	p.shows("#panel-approvals .whys", "Strava Sponsored Routes", w.Note)
	p.holds(`[...document.querySelectorAll("#panel-approvals .whys > li")].filter((li) => li.textContent.includes("named by the action alone")).map((li) => li.textContent.includes("Strava") && !li.querySelector(".why-from button")).join() === "true"`)
	p.click("#panel-approvals button", "Show the paths in the graph")
	p.wait(`document.body.dataset.view === "graph" && location.hash.includes("why=0")`)
	p.shows("#panel-graph .gv-side", w.Note)
	p.click("#panel-graph .gv-whylist button", "Strava Sponsored Routes")
	p.wait(`document.querySelectorAll("#panel-graph .gn-entity.on").length === 1`)
	p.holds(`document.querySelectorAll("#panel-graph .geg.on").length === 1 && document.querySelectorAll("#panel-graph .geg.on.ge-k-named").length === 1`)
	p.shows("#cg-detail", "only named")
}

func TestThoughts(t *testing.T) {
	p := openDemo(t, "s=nike&v=thoughts")
	const v = "#panel-thoughts"
	for _, kind := range []string{"incident", "thought", "call", "seen", "action"} {
		p.holds(`document.querySelectorAll("#panel-thoughts .tn-` + kind + `").length > 0`)
	}
	place := `[...document.querySelectorAll("#panel-thoughts .tn rect.tn-ring")].map((r) => r.getAttribute("x") + " " + r.getAttribute("y")).join()`
	shapes := map[string]bool{eval[string](p, place): true}
	for _, shape := range []string{"Horizontal", "Clustered", "Vertical"} {
		p.click(v+" .seg button", shape)
		p.wait(`__t.all("#panel-thoughts .seg button[aria-pressed=true]", ` + quote(shape) + `).length === 1`)
		shapes[eval[string](p, place)] = true
	}
	if len(shapes) != 3 {
		t.Errorf("%d different placements for three layouts", len(shapes))
	}
	count := `document.querySelectorAll("#panel-thoughts .tn").length`
	all := eval[int](p, count)
	p.click(v+" .gv-bar button", "Backbone only")
	p.wait(`document.querySelectorAll("#panel-thoughts .tn-call").length === 0`)
	p.click(v+" .gv-bar button", "Collapse turns")
	p.wait(count + ` === 2`)
	p.shows(v+" .tn", "TURN 1", "TURN 2")
	p.click(v+" .gv-bar button", "Expand all")
	p.wait(fmt.Sprintf(`%s === %d`, count, all))

	steps := eval[int](p, `Number(document.querySelector("#panel-thoughts input[type=range]").max)`)
	if steps != all {
		t.Errorf("%d steps to play for %d thoughts", steps, all)
	}
	p.click(v+" .tv-player button", "To the beginning")
	p.shows(v+" .tv-step", fmt.Sprintf("Step 1 of %d", steps), "Incident")
	p.holds(fmt.Sprintf(`document.querySelectorAll("#panel-thoughts .tn.later").length === %d`, all-1))
	p.click(v+" .tv-player button", "One step on")
	p.shows(v+" .tv-step", "Step 2 of")
	p.holds(fmt.Sprintf(`document.querySelectorAll("#panel-thoughts .tn.later").length === %d && document.querySelectorAll("#panel-thoughts .tn.now").length === 1`, all-2))
	p.click(v+" .tv-player button", "Play")
	p.wait(`__t.text("#panel-thoughts .tv-step").includes("Step 4 of")`)
	p.click(v+" .tv-player button", "Pause")
	p.click(v+" .tv-player button", "Show all")
	p.wait(`document.querySelectorAll("#panel-thoughts .tn.later").length === 0`)

	p.click(v+" .cv-tools button", "Fit")
	p.click(v + " .tn-incident")
	p.wait(`location.hash.includes("span=") || location.hash.includes("row=")`)
	p.wait(`document.querySelector("#panel-thoughts .tn.sel.tn-incident")`)
	zoom := eval[string](p, `__t.text("#panel-thoughts .cv-percent")`)
	p.click(v+" .cv-tools button", "Zoom in")
	p.wait(`__t.text("#panel-thoughts .cv-percent") !== ` + quote(zoom))
}

func TestTimeline(t *testing.T) {
	p := openDemo(t, "s=nike&v=timeline")
	const v = "#panel-timeline"
	p.shows(v, "23 spans", "critical path", "error", "Turn 1", "Turn 2", "query_ad_inventory", "provision_campaign", "media_planner")
	p.holds(`document.querySelectorAll("#panel-timeline .tl-row .tl-crit").length > 2 && document.querySelectorAll("#panel-timeline .tl-row .tl-bad").length === 1`)
	p.holds(`[...document.querySelectorAll("#panel-timeline .tl-row")].some((r) => /error .*changed/.test(r.getAttribute("aria-label")))`)
	rows := `document.querySelectorAll("#panel-timeline .tl-row").length`
	all := eval[int](p, rows)
	p.click(v+" .gv-bar button", "Collapse turns")
	p.wait(rows + ` === 2`)
	p.shows(v, "1 error")
	p.click(v+" .gv-bar button", "Expand all")
	p.wait(fmt.Sprintf(`%s === %d`, rows, all))
	p.click(v+" .tl-row .tl-text", "query_ad_inventory")
	p.wait(`location.hash.includes("span=") && document.querySelector("#panel-timeline .tl-row.sel")`)
	p.shows("#cg-detail", "query_ad_inventory", "Duration")
	wide := `document.querySelector("#panel-timeline .tl-sheet").offsetWidth`
	before := eval[float64](p, wide)
	p.click(v+" .gv-bar button", "Zoom in")
	p.wait(fmt.Sprintf(`%s > %f`, wide, before))

	// What is dragged over on the axis fills the window, up to the room for the idle times.
	p.click(v+" .gv-bar button", "Fit")
	box := eval[[]float64](p, `(() => { const r = document.querySelector("#panel-timeline .tl-axis").getBoundingClientRect(); return [r.left, r.width, r.top + r.height / 2]; })()`)
	mouse := func(kind input.DispatchMouseEventType, share float64) {
		call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: box[0] + share*box[1], Y: box[2], Button: input.MouseButtonLeft, ClickCount: 1})
	}
	mouse(input.DispatchMouseEventTypeMousePressed, 0.1)
	mouse(input.DispatchMouseEventTypeMouseMoved, 0.3)
	p.holds(`Math.abs(document.querySelector("#panel-timeline .tl-brush").offsetWidth - 0.2 * document.querySelector("#panel-timeline .tl-axis").offsetWidth) < 3`)
	mouse(input.DispatchMouseEventTypeMouseReleased, 0.3)
	p.wait(fmt.Sprintf(`document.querySelector("#panel-timeline .tl-axis").offsetWidth > %f`, 3*box[1]))
	p.holds(`(() => { const s = document.querySelector("#panel-timeline .tl-scroll"), share = s.scrollLeft / document.querySelector("#panel-timeline .tl-axis").offsetWidth; return share > 0.08 && share < 0.13 && !document.querySelector("#panel-timeline .tl-brush"); })()`)
}

func TestTrajectory(t *testing.T) {
	p := openDemo(t, "s=nike&v=trajectory")
	const v = "#panel-trajectory"
	p.shows(v+" .toolbar", "52 rows")
	p.shows(v+" .steps", "A message without text: it answers a request.")
	p.click(v+" .chip.filter", "Errors only")
	p.shows(v+" .toolbar", "1 of 52 rows")
	p.shows(v+" .steps", "The world has changed", "Error")
	p.click(v+" .chip.filter", "Errors only")
	p.click(v+" .chip.filter", "People")
	p.shows(v+" .toolbar", "2 of 52 rows")
	p.shows(v+" .steps", "provision_campaign")
	p.click(v+" .chip.filter", "People")
	p.click(v + " input[type=search]")
	p.key("11400000")
	p.wait(`/^[1-9]\d* of 52 rows/.test(__t.text("#panel-trajectory .toolbar [role=status]"))`)
	p.holds(`document.querySelectorAll("#panel-trajectory mark").length > 0`)
	p.press('a', chromedp.ModifierCtrl)
	p.key(kb.Delete)
	p.wait(`__t.text("#panel-trajectory .toolbar [role=status]") === "52 rows"`)
	// The full payload is the row, key by key.
	p.click(v+" .step .fold summary", "Full payload")
	p.wait(`document.querySelector("#panel-trajectory details.fold[open] .json")`)
	p.shows(v+" details.fold[open]", "Content", "Attributes")
	p.click(v+" .step-name", "Tool")
	p.wait(`location.hash.includes("row=") && !document.getElementById("cg-detail").hidden`)
	p.shows("#cg-detail", "Content", "Identity", "Event", "Span")
	p.holds(`document.querySelectorAll("#panel-trajectory .step.selected").length === 1`)
	order := eval[bool](p, `(() => { const n = [...document.querySelectorAll("#panel-trajectory .step-no")].map((e) => Number(e.textContent.slice(1))); return n.length === 52 && n.every((v, i) => v === i + 1); })()`)
	if !order {
		t.Error("the rows are not in the order of recording")
	}
}

func TestQueries(t *testing.T) {
	p := openDemo(t, "s=nike&v=queries")
	const v = "#panel-queries"
	p.shows(v, "Extract business entities with a model", "Create the property graph", "Why: what an approval rests on", "Rebuild the trace of a session", "Approvals and where they stand", "GQL", "SQLite")
	p.holds(`document.querySelectorAll("#panel-queries .c-key").length > 3`)
	// The code of the session comes first. Long lines run out of their box until somebody wraps them.
	p.holds(`__t.all("#panel-queries .q-list button")[0].textContent.startsWith("Go, for this session") && __t.text("#panel-queries .q-card").includes("sess-nike-summer")`)
	p.click(v+" .q-list button", "Extract business entities with a model")
	const runsOut = `(() => { const c = document.querySelector("#panel-queries .code"); return c.scrollWidth > c.clientWidth; })()`
	p.wait(runsOut)
	p.click(v + " .q-wrap input")
	p.wait("!" + runsOut)
	p.click(v+" .q-list button", "Why: what an approval rests on")
	p.shows(v+" .q-card", "MATCH", "GQL")
	// What is copied is the whole statement; a page from a disk may have to do it the old way.
	eval[bool](p, `(() => { window.copied = []; document.addEventListener("copy", () => { const a = document.activeElement; window.copied.push(a && a.value !== undefined ? a.value : String(getSelection())); });
		const w = navigator.clipboard && navigator.clipboard.writeText; if (w) navigator.clipboard.writeText = async (s) => { window.copied.push(s); }; return true; })()`)
	p.click(v + " .q-card header button")
	p.wait(`window.copied.length === 1`)
	p.holds(`window.copied[0] === document.querySelector("#panel-queries .q-card code").textContent && window.copied[0].includes("MATCH")`)
	p.shows("#cg-announce", "Copied statement")
	// Without the clipboard of the browser.
	eval[bool](p, `(() => { navigator.clipboard.writeText = async () => { throw new Error("denied"); }; return true; })()`)
	p.click(v+" .q-list button", "Rebuild the trace of a session")
	p.click(v + " .q-card header button")
	p.wait(`window.copied.length === 2 && window.copied[1] === document.querySelector("#panel-queries .q-card code").textContent`)

	p.click(v+" .q-list button", "Go, for this session")
	p.shows(v+" .q-card", "record.Session{App: \"adcp\", User: \"buyer-agent\", ID: \"sess-nike-summer\"}", "Open the instance", "Extract the entities", "Trace the session", "Explain the decision", "Check whether the world has changed", "provision_campaign")
	p.click("#cg-nav a", "sess-elf-cosmetics")
	p.shows(v+" .q-card", "ID: \"sess-elf-cosmetics\"")
	p.click(v + " input[type=search]")
	p.key("drifts")
	p.wait(`__t.all("#panel-queries .q-list button").length === 2`)
}

func TestDeepLinks(t *testing.T) {
	p := openDemo(t, "s=nike&v=timeline")
	p.click("#panel-timeline .tl-row .tl-text", "query_ad_inventory")
	p.wait(`location.hash.includes("span=")`)
	link := eval[string](p, `location.hash`)
	p.view("approvals")
	p.click("#cg-nav a", "sess-tesla-q1")
	p.wait(`__t.text(".session-head").includes("sess-tesla-q1")`)
	for _, at := range []string{`document.body.dataset.view === "approvals" && __t.text(".session-head").includes("sess-nike-summer")`, `document.body.dataset.view === "timeline" && location.hash === ` + quote(link), `!location.hash.includes("span=") && document.getElementById("cg-detail").hidden`} {
		eval[bool](p, `(history.back(), true)`)
		p.wait(at)
	}

	again := openDemo(t, strings.TrimPrefix(link, "#"))
	again.wait(`document.body.dataset.view === "timeline" && document.querySelector("#panel-timeline .tl-row.sel")`)
	again.shows("#cg-detail", "query_ad_inventory")

	lost := open(t, fileURL(t, suite.demo)+"#s=adcp/buyer-agent/none&v=graph")
	lost.shows("#panel-graph", "No such session here", "none", "contextgraph view")
	odd := openDemo(t, "s=nike&v=nothing&span=%E0%A4%A&why=99&row=-5")
	odd.shows("#cg-detail", "Not in this session")
}
