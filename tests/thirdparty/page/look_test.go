// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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
	p.shows(".session-head", "sess-nike-summer", "Changed since it was read")
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
