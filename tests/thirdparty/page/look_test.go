// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Every panel in both themes, the pictures of which are kept.
func TestThemes(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	background := map[string]string{}
	for _, theme := range []string{"light", "dark"} {
		p.media("screen", theme, false)
		background[theme] = eval[string](p, `getComputedStyle(document.body).backgroundColor`)
		for _, id := range panels {
			p.view(id)
			eval[any](p, `__t.frame()`)
			p.picture(id + "-" + theme)
			p.holds(`__t.seen(document.getElementById("panel-` + id + `"))`)
		}
		p.view("graph")
		eval[bool](p, `(location.hash += "&why=0", true)`)
		p.wait(`document.querySelectorAll("#panel-graph .gn.on").length > 5`)
		eval[any](p, `__t.frame()`)
		p.picture("why-" + theme)
		eval[bool](p, `(location.hash = location.hash.replace("&why=0", ""), true)`)
	}
	if background["light"] == background["dark"] {
		t.Errorf("light and dark have the same background %s", background["light"])
	}
	// What the reader chooses stands over the system, and is remembered.
	p.click(".top-actions button", "Colours")
	p.holds(`document.documentElement.dataset.theme === "light"`)
	if now := eval[string](p, `getComputedStyle(document.body).backgroundColor`); now != background["light"] {
		t.Errorf("the light theme was chosen and the background is %s", now)
	}
	p.do(chromedp.Reload())
	p.wait(`document.documentElement.dataset.theme === "light"`)
}

// On a narrow screen nothing is cut off that cannot be scrolled to.
func TestNarrow(t *testing.T) {
	p := openDemo(t, "s=nike&v=approvals")
	for _, width := range []int64{1024, 640, 360} {
		p.size(width, 800)
		eval[any](p, `__t.frame()`)
		for _, id := range panels {
			eval[bool](p, fmt.Sprintf(`(location.hash = location.hash.replace(/v=\w+/, "v=%s"), true)`, id))
			p.wait(`document.body.dataset.view === ` + quote(id))
			eval[any](p, `__t.frame()`)
			if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("%s at %d px is %d px wide", id, width, wide)
			}
			p.picture(fmt.Sprintf("%s-%d", id, width))
		}
	}
}

func TestPrint(t *testing.T) {
	p := openDemo(t, "s=nike&v=approvals")
	p.media("print", "dark", false)
	p.shows("#panel-approvals", "provision_campaign", "available is now unavailable", "$52,000", "It did not run.")
	p.shows(".session-head", "sess-nike-summer", "Drift")
	p.shows("#cg-top", "journal contextgraph.db")
	p.holds(`!__t.seen(document.getElementById("cg-nav")) && __t.all("#cg-main .viewbar, #cg-main .btn, .top-actions").length === 0`)
	p.holds(`getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)"`)
	// Nothing is left in a box that scrolls.
	p.holds(`[...document.querySelectorAll("#cg-main, #cg-main *")].every((el) => !__t.seen(el) || el.scrollHeight <= el.clientHeight + 2 || getComputedStyle(el).overflowY === "visible" || ["INPUT", "SELECT"].includes(el.tagName) || el.closest(".sr-only, .chip, .clip, .bar, svg, .badge"))`)
	p.holds(`document.documentElement.scrollHeight > 800`)
	eval[any](p, `(window.opened = 0, window.addEventListener("beforeprint", () => setTimeout(() => 0)), window.addEventListener("beforeprint", () => { window.opened = document.querySelectorAll("#panel-approvals > * details:not([open])").length; }))`)
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")) + bytes.Count(pdf, []byte("/Type /Page ")); pages < 2 {
		t.Errorf("the approval is printed on %d pages, so not all of it is", pages)
	}
	p.holds(`window.opened === 0`)
	if dir := os.Getenv("CONTEXTGRAPH_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "approvals.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"graph", "thoughts", "timeline", "trajectory", "queries"} {
		eval[bool](p, fmt.Sprintf(`(location.hash = location.hash.replace(/v=\w+/, "v=%s"), true)`, id))
		p.wait(`document.body.dataset.view === ` + quote(id))
		if _, err := chromedp.Run(p.ctx, chromedp.PrintToPDF()); err != nil {
			t.Error(id, err)
		}
	}
}

func TestReducedMotion(t *testing.T) {
	p := openDemo(t, "s=nike&v=thoughts")
	const moving = `[...document.querySelectorAll("*")].filter((el) => { const s = getComputedStyle(el); return [...s.transitionDuration.split(","), ...s.animationDuration.split(",")].some((d) => parseFloat(d) > 0.001); }).length`
	for _, id := range panels {
		p.media("screen", "light", false)
		p.view(id)
		p.media("screen", "light", true)
		if n := eval[int](p, moving); n != 0 {
			t.Errorf("%s: %d elements move although the reader asked for less", id, n)
		}
	}
	p.media("screen", "light", false)
	p.view("thoughts")
	if eval[int](p, moving) == 0 {
		t.Error("nothing moves without that either: the test sees nothing")
	}
}

// colourless are the kinds of steps, entities and states whose mark must not be its colour alone.
func TestColourIsNeverAlone(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	p.holds(`[...document.querySelectorAll("#panel-graph .gn:not(.gn-entity)")].every((g) => g.querySelector("path.gn-icon") && g.querySelector("text"))`)
	p.holds(`[...document.querySelectorAll("#panel-graph .gn-entity")].every((g) => g.querySelector(".gn-type").textContent)`)
	p.holds(`new Set([...document.querySelectorAll("#panel-graph .gn:not(.gn-entity)")].map((g) => g.querySelector("path.gn-icon").getAttribute("d"))).size === new Set([...document.querySelectorAll("#panel-graph .gn:not(.gn-entity)")].map((g) => [...g.classList].find((c) => c.startsWith("k-")))).size`)
	p.holds(`[...document.querySelectorAll(".chip")].every((c) => c.querySelector("svg path") && c.textContent.trim())`)
	p.view("timeline")
	p.holds(`[...document.querySelectorAll("#panel-timeline .tl-row .tl-bad")].every((b) => b.closest(".tl-row").querySelector(".icon") && b.closest(".tl-row").getAttribute("aria-label").includes("error"))`)
	p.holds(`[...document.querySelectorAll("#panel-timeline .tl-row .tl-crit")].every((b) => b.closest(".tl-row").getAttribute("aria-label").includes("critical path"))`)
	p.view("approvals")
	p.holds(`[...document.querySelectorAll("#panel-approvals .v-line, #panel-approvals .passed li")].every((e) => e.querySelector("svg path") && e.textContent.trim())`)
	p.click("#panel-approvals .checks summary")
	p.holds(`document.querySelectorAll("#panel-approvals .sev-text").length === 3 && [...document.querySelectorAll("#panel-approvals .sev-text")].every((e) => /critical|high|medium|low/.test(e.textContent))`)
}

// violation is what axe finds wrong.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

// accessible runs axe over all of the page.
func (p *tab) accessible(where string) {
	p.t.Helper()
	// The rule joins the lines of a node in a drawing without a space, and takes what is cut to fit for
	// another word: what can be read of a node is compared below.
	const run = `axe.configure({rules: [{id: "label-content-name-mismatch", selector: ":not([data-stop])"}]}), axe.run(document, {resultTypes: ["violations"], runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}, rules: {"label-content-name-mismatch": {enabled: true}}}).then((r) => JSON.stringify(r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => ({HTML: n.html, FailureSummary: n.failureSummary}))}))))`
	var found []violation
	if err := json.Unmarshal([]byte(eval[string](p, run)), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		var b strings.Builder
		for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
			fmt.Fprintf(&b, "\n  %s\n    %s", clip(n.HTML), strings.ReplaceAll(n.FailureSummary, "\n", "\n    "))
		}
		p.t.Errorf("%s: %s (%s), %s: %d times%s", where, v.ID, v.Impact, v.Help, len(v.Nodes), b.String())
	}
	p.named(where)
}

// named checks that what can be read of each node of a drawing is in its name, for those who speak to the page.
func (p *tab) named(where string) {
	p.t.Helper()
	for _, text := range eval[[]string](p, `[...document.querySelectorAll("[data-stop][aria-label]")].filter(__t.seen).flatMap((g) => [...g.querySelectorAll("text")].filter((x) => !x.closest(".gn-pill, .gn-order")).map((x) => x.textContent.replace(/…$/, "")).flatMap((x) => x.split(" · ")).filter((x) => !g.getAttribute("aria-label").toLowerCase().includes(x.toLowerCase())).map((x) => x + ": " + g.getAttribute("aria-label")))`) {
		p.t.Errorf("%s: what a node says is not in its name: %s", where, text)
	}
}

// withAxe gives the page axe. The policy of the page binds the page, and not the one who debugs it.
func (p *tab) withAxe() {
	p.t.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		p.t.Fatal(err)
	}
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: string(source)})
	p.do(chromedp.Reload())
	p.wait(`window.axe && document.querySelector(".session-head .chip")`)
}

func TestAccessibility(t *testing.T) {
	for _, name := range []string{"nike", "tesla"} {
		for _, theme := range []string{"light", "dark"} {
			t.Run(name+" "+theme, func(t *testing.T) {
				p := openDemo(t, "s="+name+"&v=graph")
				p.withAxe()
				p.media("screen", theme, true)
				eval[any](p, `__t.frame()`)
				for _, id := range panels {
					p.view(id)
					p.accessible(id)
				}
				// What opens beside and above the panels.
				p.view("approvals")
				eval[bool](p, `(document.querySelectorAll("#panel-approvals details").forEach((d) => { d.open = true; }), true)`)
				p.accessible("approvals, all open")
				p.click("#panel-approvals button", "Show the paths in the graph")
				p.click("#panel-graph .gv-whylist button")
				p.wait(`!document.getElementById("cg-detail").hidden`)
				p.accessible("why, with the details of an entity")
				p.click("#panel-graph .gv-bar > button", "As table")
				p.accessible("the graph as a table")
				p.click("#cg-detail .refs .reflink")
				p.wait(`location.hash.includes("span=")`)
				p.accessible("the details of a step")
				p.view("thoughts")
				p.click("#panel-thoughts .gv-bar button", "Collapse turns")
				p.accessible("thoughts, collapsed")
				p.view("trajectory")
				p.click("#panel-trajectory .chip.filter", "Errors only")
				p.click("#panel-trajectory .step .fold summary", "Full payload")
				p.accessible("a payload")
				p.click("#panel-trajectory .step-name")
				p.wait(`location.hash.includes("row=")`)
				p.accessible("the details of a row")
				p.key("?")
				p.wait(`document.querySelector("dialog[open]")`)
				p.accessible("help")
			})
		}
	}
}

// What is vendored is what was published.
func TestVendored(t *testing.T) {
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("testdata/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x  axe.min.js\n", sha256.Sum256(source)); string(sums) != want {
		t.Errorf("SHA256SUMS has %q, and the file is %q", sums, want)
	}
}

// A page with a fault has it found.
func TestAxeSeesFaults(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	p.withAxe()
	found := eval[[]string](p, `(() => { const b = document.createElement("button"); document.body.append(b); return axe.run(document, {runOnly: ["wcag2a"]}).then((r) => { b.remove(); return r.violations.map((v) => v.id); }); })()`)
	if !slices.Contains(found, "button-name") {
		t.Errorf("axe found %q in a page with a button without a name", found)
	}
}
