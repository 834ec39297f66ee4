// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stop says where the focus is: what it is on, in which part of the page, and what is wrong there.
const stop = `(() => {
	const el = document.activeElement;
	if (!el || el === document.body || el === document.documentElement) return ["", "", "", ""];
	const region = el.closest("dialog") ? "dialog" : el.closest("#cg-top") ? "top" : el.closest("#cg-nav") ? "nav" : el.closest("#cg-detail") ? "detail" : el.closest(".panel") ? "panel" : el.closest("[role=tablist]") ? "tabs" : el.closest("#cg-main") ? "main" : "page";
	const r = el.getBoundingClientRect(), s = getComputedStyle(el);
	let wrong = "";
	if (!el.closest("[data-stop]") && (s.outlineStyle === "none" || parseFloat(s.outlineWidth) === 0) && s.boxShadow === "none") wrong = "has no mark of the focus";
	if (r.width === 0 || r.bottom <= 0 || r.right <= 0 || r.top >= innerHeight || r.left >= innerWidth) wrong = "is out of sight";
	if (!(el.textContent.trim() || el.getAttribute("aria-label") || el.getAttribute("title") || (el.labels && el.labels.length) || el.placeholder)) wrong = "has no name";
	const seen = window.seenStops || (window.seenStops = new Set());
	const again = seen.has(el) ? "again" : "";
	seen.add(el);
	return [region, (el.localName + "#" + el.id + "." + (el.getAttribute("class") || "") + " " + (el.getAttribute("aria-label") || el.textContent).trim().slice(0, 40)), wrong, again];
})()`

// round goes through the page with Tab until it is where it began, and returns the stops.
func (p *tab) round(held chromedp.Modifier) (regions, stops []string) {
	p.t.Helper()
	eval[bool](p, `(document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute("tabindex"), window.seenStops = null, true)`)
	for range 400 {
		p.press('\t', held)
		at := eval[[]string](p, stop)
		if at[0] == "" && len(stops) == 0 {
			continue // backwards, the window itself comes first
		}
		if at[0] == "" || at[3] != "" {
			return regions, stops
		}
		if at[2] != "" {
			p.t.Errorf("the focus is on %q in %s, which %s", at[1], at[0], at[2])
		}
		regions, stops = append(regions, at[0]), append(stops, at[1])
	}
	p.t.Errorf("400 times Tab and not back at the beginning; the last stops are %q", stops[len(stops)-10:])
	return regions, stops
}

// Tab reaches every part of the page with every panel open, in both directions, and leaves it again.
func TestTabOrder(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	for i, id := range panels {
		p.key(fmt.Sprint(i + 1))
		p.wait(`document.body.dataset.view === ` + quote(id))
		regions, stops := p.round(0)
		for _, want := range []string{"page", "top", "nav", "tabs", "panel"} {
			if !slices.Contains(regions, want) {
				t.Errorf("%s: Tab does not reach %s: %q", id, want, slices.Compact(regions))
			}
		}
		if !strings.Contains(stops[0], "Skip to the session") {
			t.Errorf("%s: the first stop is %q", id, stops[0])
		}
		if n := len(slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r != "tabs" })); n != 1 {
			t.Errorf("%s: the tabs are %d stops, want one", id, n)
		}
		back, _ := p.round(chromedp.ModifierShift)
		if len(back) < len(regions)-2 || len(back) > len(regions)+2 {
			t.Errorf("%s: %d stops forward and %d back", id, len(regions), len(back))
		}
	}
}

// tabTo presses Tab until the focus is where a selector says.
func (p *tab) tabTo(sel string) {
	p.t.Helper()
	for range 200 {
		if eval[bool](p, `document.activeElement.matches(`+quote(sel)+`)`) {
			return
		}
		p.press('\t', 0)
	}
	p.t.Fatalf("Tab does not reach %s", sel)
}

// All that is asked of a reader is done without a pointer.
func TestKeyboardOnly(t *testing.T) {
	p := openDemo(t, "s=elf&v=graph")
	// A session, by its place in the order of stops and by keys.
	p.tabTo("#cg-nav .sessions a")
	for !eval[bool](p, `document.activeElement.textContent.includes("sess-nike-summer")`) {
		p.press('\t', 0)
	}
	p.key(kb.Enter)
	p.wait(`__t.text(".session-head").includes("sess-nike-summer")`)
	p.key("j")
	p.wait(`__t.text(".session-head").includes("sess-elf-cosmetics")`)
	p.key("k")
	p.wait(`__t.text(".session-head").includes("sess-nike-summer")`)

	// The skip link, the tabs, and through them.
	p.tabTo("[role=tab]")
	for _, id := range append(slices.Clone(panels[2:]), "approvals", "graph") {
		p.key(kb.ArrowRight)
		p.wait(`document.body.dataset.view === ` + quote(id) + ` && document.activeElement.id === "tab-` + id + `"`)
	}
	p.key(kb.End)
	p.wait(`document.body.dataset.view === "queries"`)
	p.key(kb.Home)
	p.wait(`document.body.dataset.view === "approvals"`)
	p.key("2")
	p.wait(`document.body.dataset.view === "graph"`)

	// The graph is one stop; arrows follow its edges, Enter selects, Esc lets go.
	p.tabTo("#panel-graph [data-stop]")
	seen := map[string]bool{}
	for range 12 {
		seen[eval[string](p, `document.activeElement.getAttribute("data-stop")`)] = true
		p.holds(`document.activeElement.getBoundingClientRect().left >= 300 && document.activeElement.getBoundingClientRect().right <= innerWidth + 5`)
		p.key(kb.ArrowDown)
	}
	if len(seen) < 6 {
		t.Errorf("the arrow keys reach %d nodes", len(seen))
	}
	p.key(kb.Home, kb.Enter)
	p.wait(`!document.getElementById("cg-detail").hidden && document.activeElement.hasAttribute("data-stop")`)
	p.key("e")
	p.wait(`location.hash.includes("edge=")`)
	p.tabTo("#cg-detail .reflink")
	p.key(kb.Enter)
	p.wait(`location.hash.includes("span=")`)
	p.key(kb.Escape)
	p.wait(`document.getElementById("cg-detail").hidden`)
	if lost := p.walk(); len(lost) > 0 {
		t.Errorf("the arrow keys do not reach %q", lost)
	}

	p.key("3")
	p.tabTo("#panel-thoughts [data-stop]")
	p.key(kb.ArrowDown, kb.ArrowDown, kb.Enter)
	p.wait(`!document.getElementById("cg-detail").hidden && document.querySelector("#panel-thoughts .tn.sel")`)
	p.key("x")
	p.key(kb.Escape)
	p.wait(`document.getElementById("cg-detail").hidden`)

	p.key("4")
	p.tabTo("#panel-timeline [data-row]")
	p.key(kb.ArrowDown, kb.ArrowDown, kb.ArrowLeft, kb.ArrowRight, kb.Enter)
	p.wait(`!document.getElementById("cg-detail").hidden && document.querySelector("#panel-timeline .tl-row.sel")`)
	p.key(kb.Escape)
	p.wait(`document.getElementById("cg-detail").hidden`)

	p.key("5")
	p.tabTo("#panel-trajectory .step-name")
	const at = `[...document.querySelectorAll("#panel-trajectory .step-name")].indexOf(document.activeElement)`
	for _, move := range []struct {
		key   string
		want  int
		width int64
	}{{kb.ArrowDown, 1, 1280}, {kb.ArrowDown, 2, 1280}, {kb.ArrowUp, 1, 1280}, {kb.End, 51, 1280}, {kb.ArrowDown, 51, 1280}, {kb.ArrowUp, 50, 500}, {kb.ArrowUp, 49, 500}, {kb.ArrowUp, 48, 500}, {kb.Home, 0, 1280}, {kb.ArrowUp, 0, 1280}} {
		p.size(move.width, 800)
		eval[any](p, `__t.frame()`)
		p.key(move.key)
		if got := eval[int](p, at); got != move.want {
			t.Errorf("after %q the focus is on step %d of the trajectory, want %d", move.key, got, move.want)
		}
		p.holds(`document.activeElement.getBoundingClientRect().top >= document.querySelector("#panel-trajectory .toolbar").getBoundingClientRect().bottom && document.activeElement.getBoundingClientRect().bottom <= innerHeight`)
	}
	p.key(kb.Enter)
	p.wait(`location.hash.includes("row=")`)
	p.tabTo("#cg-detail .detail-head .iconbtn[title^=Close]")
	p.key(kb.Enter)
	p.wait(`document.getElementById("cg-detail").hidden`)

	p.key("1")
	p.tabTo("#panel-approvals .checks summary")
	p.key(" ")
	p.wait(`document.querySelector("#panel-approvals .checks details").open`)
	p.key("6")
	p.tabTo("#panel-queries .q-list li:nth-child(2) button")
	p.key(kb.Enter)

	// Help holds the focus while it is open, and gives it back.
	p.key("?")
	p.wait(`document.querySelector("dialog[open]")`)
	for range 5 {
		p.press('\t', 0)
		if at := eval[[]string](p, stop); at[0] != "dialog" && at[0] != "" {
			t.Errorf("the focus leaves the dialog for %q", at)
		}
	}
	p.key(kb.Escape)
	p.wait(`!document.querySelector("dialog")`)
}

// walk goes by arrow keys from every node that it has reached to others, and returns those nodes of
// the graph that it never reaches.
func (p *tab) walk() []string {
	p.t.Helper()
	const here = `document.activeElement.getAttribute("data-stop")`
	eval[bool](p, `(document.querySelector("#panel-graph [data-stop][tabindex='0']").focus(), true)`)
	p.key(kb.Home)
	first := eval[string](p, here)
	reached, queue := map[string]bool{first: true}, []string{first}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, keys := range []string{kb.ArrowDown + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight, kb.ArrowUp + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight, kb.ArrowLeft, kb.ArrowRight} {
			eval[bool](p, `(document.querySelector("#panel-graph [data-stop='" + CSS.escape(`+quote(queue[0])+`) + "']").focus(), true)`)
			for _, k := range keys {
				p.press(k, 0)
				if at := eval[string](p, here); !reached[at] {
					reached[at] = true
					queue = append(queue, at)
				}
			}
		}
	}
	var lost []string
	for _, id := range eval[[]string](p, `[...document.querySelectorAll("#panel-graph [data-stop]")].map((e) => e.getAttribute("data-stop"))`) {
		if !reached[id] {
			lost = append(lost, id)
		}
	}
	return lost
}
