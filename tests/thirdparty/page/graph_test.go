// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// texts are the texts of each element of a selector, joined.
func (p *tab) texts(sel string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%s)].map((g) => [...g.querySelectorAll("text")].map((x) => x.textContent).join("|"))`, quote(sel)))
}

// node is the node of the graph with a text.
func node(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#panel-graph .gn")].find((g) => [...g.querySelectorAll("text")].some((x) => x.textContent === %s))`, quote(text))
}

// choose selects the node of the graph with a text.
func (p *tab) choose(text string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(%s.dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`, node(text)))
	p.wait(`!document.getElementById("cg-detail").hidden`)
}

// The graph and its details say what the last check found, by an icon, a text and a colour.
func TestGraphShowsDrift(t *testing.T) {
	for _, c := range []struct{ session, check, tone, asked string }{
		{"nike", "Changed since it was read", "warn", "Changed since it was read"}, {"tesla", "Check failed", "bad", "Check failed"}, {"elf", "Safe", "good", "Executed"},
	} {
		t.Run(c.session, func(t *testing.T) {
			p := openDemo(t, "s="+c.session+"&v=graph")
			for _, kind := range []struct{ class, text string }{{"k-check", c.check}, {"k-hitl", c.asked}} {
				p.holds(fmt.Sprintf(`document.querySelectorAll("#panel-graph .gn.%s").length > 0 && [...document.querySelectorAll("#panel-graph .gn.%[1]s")].slice(-1).every((g) => { const v = g.querySelector(".gn-verdict"); return [...v.querySelectorAll("text")].map((t) => t.textContent).join(" ") === %s && v.querySelector("path.gn-icon") && v.classList.contains("tone-%s") && g.getAttribute("aria-label").includes(%[2]s); })`, kind.class, quote(kind.text), c.tone))
			}
			eval[bool](p, `([...document.querySelectorAll("#panel-graph .gn.k-check")].at(-1).dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`)
			p.shows("#cg-detail .facts", "Verdict "+c.check)
			p.holds(`!__t.text("#cg-detail .facts").includes("Status")`)
			if c.tone != "good" {
				p.holds(`document.querySelectorAll("#cg-detail .detail-body .tone-good").length === 0`)
			}
			eval[bool](p, `(document.querySelector("#panel-graph .gn.k-hitl").dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`)
			p.shows("#cg-detail .facts", "Approval "+c.asked)
			p.holds(`!__t.text("#cg-detail .facts").includes("Status")`)
		})
	}
}

// A changed entity is marked, with the value then and now, on its node and in its details.
func TestGraphShowsChangedEntities(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	marked := func(name, text, tone string) string {
		return fmt.Sprintf(`(() => { const g = %s, f = g.querySelector(".gn-found"); return !!f && f.classList.contains("tone-%s") && !!f.querySelector(".gn-change") && !!f.querySelector("path.gn-icon") && f.querySelector("text").textContent === %s && g.getAttribute("aria-label").includes(%[3]s); })()`, node(name), tone, quote(text))
	}
	p.holds(marked("Strava Sponsored Routes", "$40,000 → $52,000", "warn"))
	p.holds(marked("Yahoo Homepage Takeover", "available → unavailable", "warn"))
	p.holds(marked("$200,000", "$200,000 → $212,000", "warn"))
	p.holds(`document.querySelectorAll("#panel-graph .gn-change").length === 3`)
	p.choose("Yahoo Homepage Takeover")
	p.shows("#cg-detail .then", "Seen Now", "availability available unavailable", "price $90,000 $90,000")
	eval[bool](p, `([...document.querySelectorAll("#panel-graph .gn.k-check")].at(-1).dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`)
	p.shows("#cg-detail", "What it found", "Product Strava Sponsored Routes price $40,000 → $52,000", "availability available → unavailable", "cost $200,000 → $212,000", "2 changed of 5 entities checked")
	p.holds(`__t.text("#cg-detail").indexOf("What it found") < __t.text("#cg-detail").indexOf("Content")`)

	p = openDemo(t, "s=tesla&v=graph")
	p.holds(marked("CNN Digital", "not checked", "bad"))
	p.choose("CNN Digital")
	p.shows("#cg-detail", "Check failed", "not read")
	p = openDemo(t, "s=elf&v=graph")
	p.holds(`document.querySelectorAll("#panel-graph .gn-entity").length > 0 && document.querySelectorAll("#panel-graph .gn-change").length === 0`)
}

// Nothing lies over what is selected: neither the details nor the map nor the tools.
func TestSelectionIsNeverCovered(t *testing.T) {
	const covered = `(async () => {
		const wrong = [];
		for (const id of [...document.querySelectorAll("#panel-graph [data-stop]")].map((e) => e.getAttribute("data-stop"))) {
			const g = () => document.querySelector("#panel-graph [data-stop='" + CSS.escape(id) + "']");
			g().dispatchEvent(new MouseEvent("click", {bubbles: true}));
			await __t.until(() => !document.getElementById("cg-detail").hidden && g().classList.contains("sel"), 5000);
			await __t.frame();
			await __t.frame();
			const r = g().querySelector(".gn-shape").getBoundingClientRect(), c = document.querySelector("#panel-graph .cv").getBoundingClientRect();
			const name = g().textContent.slice(0, 60);
			if (r.left < c.left || r.top < c.top || r.right > c.right || r.bottom > c.bottom) wrong.push(name + " is outside of the drawing");
			for (const sel of ["#cg-detail", "#panel-graph .cv-map", "#panel-graph .cv-tools"]) {
				const o = document.querySelector(sel).getBoundingClientRect();
				if (o.width > 0 && o.left < r.right && r.left < o.right && o.top < r.bottom && r.top < o.bottom) wrong.push(name + " lies under " + sel);
			}
		}
		return wrong;
	})`
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			p := openDemo(t, "s=nike&v=graph")
			p.size(size[0], size[1])
			eval[any](p, `__t.frame()`)
			for _, wrong := range eval[[]string](p, covered+"()") {
				t.Error(wrong)
			}
			p.picture(fmt.Sprintf("graph-selected-%d", size[0]))
		})
	}
}

// A step of the model says what it decided. The name of the model is in its name for a screen reader, and in the details.
func TestModelNodesSayWhatTheyDecided(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	var got []string
	for _, text := range p.texts("#panel-graph .gn.k-model") {
		got = append(got, strings.Split(text, "|")[0])
	}
	want := []string{"→ allocate_media_budget", "→ answer", "→ match_target_audience", "→ provision_campaign", "→ query_ad_inventory", "→ transfer_to_agent", "→ transfer_to_agent"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the model nodes say %q, want %q", got, want)
	}
	p.holds(`[...document.querySelectorAll("#panel-graph .gn.k-model")].every((g) => g.getAttribute("aria-label").includes("scripted-media-buyer"))`)
	p.choose("→ query_ad_inventory")
	p.shows("#cg-detail", "scripted-media-buyer", "Decided → query_ad_inventory")
	p.click("#panel-graph .seg button", "Aggregated")
	p.wait(`document.querySelector("#panel-graph .gn-count")`)
	p.holds(`[...document.querySelectorAll("#panel-graph .gn.k-model .gn-label")].some((x) => x.textContent === "→ query_ad_inventory +3")`)
}

// A session of 27 nodes is readable as a whole.
func TestGraphIsReadableAsAWhole(t *testing.T) {
	const measure = `(() => {
		const c = document.querySelector("#panel-graph .cv").getBoundingClientRect();
		const nodes = [...document.querySelectorAll("#panel-graph .gn")];
		const box = (e) => e.getBoundingClientRect();
		const inside = nodes.filter((g) => [...g.querySelectorAll(".gn-shape, text")].every((e) => { const r = box(e); return r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom; })).length;
		const texts = nodes.flatMap((g) => [...g.querySelectorAll("text")].map((e) => ({ g, e, r: box(e) })));
		const least = Math.min(...texts.map(({ e }) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a));
		const over = [];
		for (const a of texts) for (const b of texts) if (a.g !== b.g && a.r.left + 1 < b.r.right && b.r.left + 1 < a.r.right && a.r.top + 2 < b.r.bottom && b.r.top + 2 < a.r.bottom) over.push(a.e.textContent + " / " + b.e.textContent);
		return { Nodes: nodes.length, Inside: inside, Least: least, Over: over, Used: (Math.max(...nodes.map((g) => box(g).right)) - Math.min(...nodes.map((g) => box(g).left))) / c.width };
	})()`
	type measured struct {
		Nodes, Inside int
		Least, Used   float64
		Over          []string
	}
	p := openDemo(t, "s=nike&v=graph")
	p.size(1440, 900)
	eval[any](p, `__t.frame()`)
	// To the right it is shown as a whole down to 70 %.
	for press, least := range map[string]float64{"Expanded": 11, "Aggregated": 11, "→": 0.7 * 12} {
		p.click("#panel-graph .seg button", "↓")
		p.click("#panel-graph .seg button", "Expanded")
		eval[bool](p, fmt.Sprintf(`(__t.all("#panel-graph .seg button", %s)[0].click(), true)`, quote(press)))
		eval[any](p, `__t.frame()`)
		m := eval[measured](p, measure)
		t.Logf("%s: %d of %d nodes are in the window, the least text has %.1f px, the graph takes %.0f %% of the width", press, m.Inside, m.Nodes, m.Least, m.Used*100)
		if m.Inside < m.Nodes || m.Least < least || len(m.Over) > 0 {
			t.Errorf("%s: %+v", press, m)
		}
		p.picture("graph-1440-" + press)
	}
	// In a smaller window it is shown as a whole down to 70 %, and no column runs out of it.
	p = openDemo(t, "s=nike&v=graph")
	if m := eval[measured](p, measure); m.Inside < m.Nodes || m.Least < 0.7*12 || len(m.Over) > 0 {
		t.Errorf("1280 by 800: %+v", m)
	}
	p.picture("graph-1280")
}

// The steps follow each other downwards, or to the right, as the reader wants, and the arrow keys go with them.
func TestGraphTurns(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	const span = `(() => { const r = [...document.querySelectorAll("#panel-graph .gn .gn-shape")].map((g) => g.getBoundingClientRect()), k = (s) => Math.max(...r.map((x) => x[s])) - Math.min(...r.map((x) => x[s])); return [k("x"), k("y")]; })()`
	p.holds(`document.querySelector("#panel-graph .seg button[title='Top to bottom']").getAttribute("aria-pressed") === "true"`)
	p.click("#panel-graph .seg button", "→")
	p.holds(`document.querySelector("#panel-graph .seg button[title='Left to right']").getAttribute("aria-pressed") === "true"`)
	if at := eval[[]float64](p, span); at[0] < 1.5*at[1] {
		t.Errorf("left to right the nodes lie %.0f px apart across and %.0f px down", at[0], at[1])
	}
	eval[bool](p, `(document.querySelector("#panel-graph [data-stop][tabindex='0']").focus(), true)`)
	const focused = `document.activeElement.querySelector(".gn-shape").getBoundingClientRect().x`
	first := eval[float64](p, focused)
	p.key(kb.ArrowRight, kb.ArrowRight)
	if next := eval[float64](p, focused); next <= first {
		t.Errorf("the arrow to the right leads from %.0f to %.0f px", first, next)
	}
	// It stays so for the next session.
	p.click("#cg-nav a", "sess-elf-cosmetics")
	p.wait(`__t.text(".session-head").includes("sess-elf-cosmetics") && document.querySelector("#panel-graph .seg button[title='Left to right']")?.getAttribute("aria-pressed") === "true"`)
}

// Several edges of a kind between two nodes are one line with their number, and no line cuts across others.
func TestRepeatedEdgesAreOneLine(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	s := long(t, 202, 1)
	p := open(t, pageOf(t, s)+"#s=shop/ann/"+s.Session.ID+"&v=graph")
	p.click("#panel-graph .seg button", "Aggregated")
	p.wait(`document.querySelector("#panel-graph .ge-count")`)
	p.holds(`(() => { const all = [...document.querySelectorAll("#panel-graph .geg > title")].map((e) => e.textContent.replace(/ × \d+$/, "")); return all.length > 20 && new Set(all).size === all.length; })()`)
	p.holds(`[...document.querySelectorAll("#panel-graph .geg")].every((g) => { const n = / × (\d+)$/.exec(g.querySelector("title").textContent); return n ? g.querySelector(".ge-count").textContent === "×" + n[1] : !g.querySelector(".ge-count"); })`)
	p.holds(`[...document.querySelectorAll("#panel-graph .geg > title")].filter((e) => / × [89]$/.test(e.textContent)).length >= 12`)
	// Lines run along rows and lanes: between their round corners they are level or upright.
	p.holds(`[...document.querySelectorAll("#panel-graph .ge")].every((e) => { const d = e.getAttribute("d"); let at = null, ok = !d.includes("C"); for (const m of d.matchAll(/([MLQ])([\d.-]+) ([\d.-]+)(?: ([\d.-]+) ([\d.-]+))?/g)) { const to = m[1] === "Q" ? [+m[4], +m[5]] : [+m[2], +m[3]]; if (m[1] === "L" && Math.abs(to[0] - at[0]) > 0.3 && Math.abs(to[1] - at[1]) > 0.3) ok = false; at = to; } return ok; })`)
	p.picture("graph-aggregated")
}

// Types of entities have colours of their own while there are some, and letters of their own always.
func TestTypesAreToldApart(t *testing.T) {
	sessions := demoRecords(t)
	s := sessions[slices.IndexFunc(sessions, func(s *inspect.Session) bool { return s.Session.ID == "sess-nike-summer" })]
	s.Approvals, s.Rows, s.Thoughts = nil, s.Rows[:0], inspect.Thoughts{}
	for i := range s.Spans {
		s.Spans[i].Rows = nil
	}
	e := s.Entities[0]
	s.Entities = nil
	types := []string{"Product", "Price", "Project", "Budget", "Booking", "Task", "Team", "Order", "Invoice", "Customer", "Carrier"}
	for _, name := range types {
		e.Key, e.Type, e.Value = name, name, "a "+name
		s.Entities = append(s.Entities, e)
	}
	p := open(t, pageOf(t, s)+"#s=adcp/buyer-agent/"+s.Session.ID+"&v=graph")
	p.wait(`document.querySelectorAll("#panel-graph .gn-entity").length === 11`)
	const colours = `[...document.querySelectorAll("#panel-graph .gn-entity .gn-shape")].map((e) => getComputedStyle(e).stroke)`
	if got := eval[[]string](p, colours); len(slices.Compact(slices.Sorted(slices.Values(got)))) != 10 || got[0] != got[10] {
		t.Errorf("11 types have the colours %q, want ten different ones, and the first again", got)
	}
	for _, sel := range []string{"#panel-graph .gn-tag text", "#panel-graph .gv-legend .etag"} {
		tags := eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll(%s)].map((e) => e.textContent)`, quote(sel)))
		if len(tags) != 11 || len(slices.Compact(slices.Sorted(slices.Values(tags)))) != 11 {
			t.Errorf("%s: 11 types have the letters %q", sel, tags)
		}
	}
	p.key("?")
	p.shows("dialog", append(slices.Clone(types), "After 10 types the colours come again")...)
}
