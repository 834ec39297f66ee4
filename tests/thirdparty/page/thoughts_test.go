// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// What was observed is a short table, and what is empty says so.
func TestObservationsAreTables(t *testing.T) {
	sessions := demoRecords(t)
	s := sessions[slices.IndexFunc(sessions, func(s *inspect.Session) bool { return s.Session.ID == "sess-nike-summer" })]
	// More things than the table has rows, with more fields than it has columns, and one within another.
	for i := range s.Rows {
		r := &s.Rows[i]
		if text := string(r.Content); r.EventType == "TOOL_COMPLETED" && strings.Contains(text, "placements") && strings.Contains(text, "match") {
			var list []m
			for k := range 7 {
				list = append(list, m{"name": fmt.Sprint("Placement ", k), "price": 1000 * k, "same": "same", "owner": m{"id": k, "city": "Berlin"}, "tags": []string{"a", "b"}, "match": 0.5 + float64(k)/100})
			}
			r.Content = encode(m{"tool": "query_ad_inventory", "result": m{"category": "sportswear", "placements": list}})
		}
	}
	p := open(t, pageOf(t, s)+"#s=adcp/buyer-agent/"+s.Session.ID+"&v=thoughts")
	for _, shape := range []string{"Vertical", "Horizontal", "Clustered"} {
		p.click("#panel-thoughts .seg button", shape)
		p.wait(`__t.all("#panel-thoughts .seg button[aria-pressed=true]", ` + quote(shape) + `).length === 1`)
		seen := p.texts("#panel-thoughts .tn-seen")
		i := slices.IndexFunc(seen, func(x string) bool { return strings.Contains(x, "Placement 0") })
		if i < 0 {
			t.Fatalf("%s: no observation has the placements: %q", shape, seen)
		}
		for _, want := range []string{"category|sportswear", "name|", "price", "Placement 3", "3000", "+3 more rows"} {
			if !strings.Contains(seen[i], want) {
				t.Errorf("%s: the table does not show %q but %q", shape, want, seen[i])
			}
		}
		for _, not := range []string{"Placement 4", "Berlin", "same|same"} {
			if strings.Contains(seen[i], not) {
				t.Errorf("%s: the table shows %q: %q", shape, not, seen[i])
			}
		}
		if n := len(slices.DeleteFunc(slices.Clone(seen), func(x string) bool { return !strings.Contains(x, "Control went to ") })); n != 2 {
			t.Errorf("%s: %d observations say that nothing came back, want 2: %q", shape, n, seen)
		}
		for _, x := range append(seen, p.texts("#panel-thoughts .tn-call")...) {
			if strings.ContainsAny(x, "{}[]") {
				t.Errorf("%s: a card shows JSON: %q", shape, x)
			}
		}
		if calls := strings.Join(p.texts("#panel-thoughts .tn-call"), "\n"); !strings.Contains(calls, "query_ad_inventory|category: sportswear") {
			t.Errorf("%s: the calls do not show their arguments: %q", shape, calls)
		}
		p.picture("thoughts-" + strings.ToLower(shape))
	}
}

// Cards take the width that there is, at every width, and a text has as many lines as it needs, up to five.
func TestThoughtsUseTheWidth(t *testing.T) {
	p := openDemo(t, "s=nike&v=thoughts")
	for _, size := range [][2]int64{{1440, 900}, {1280, 800}, {1024, 768}, {390, 844}} {
		p.size(size[0], size[1])
		p.wait(`(() => { const c = document.querySelector("#panel-thoughts .cv").getBoundingClientRect(), b = [...document.querySelectorAll("#panel-thoughts .tn rect.tn-ring")].map((e) => e.getBoundingClientRect()); const left = Math.min(...b.map((r) => r.left)), right = Math.max(...b.map((r) => r.right)); return left >= c.left && right <= c.right && right - left > 0.87 * c.width; })()`)
		p.holds(`Math.min(...[...document.querySelectorAll("#panel-thoughts .tn text")].map((e) => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)) >= 11`)
		p.holds(`Math.max(...[...document.querySelectorAll("#panel-thoughts .tn-thought")].map((g) => g.querySelectorAll(".tn-text").length)) === 5`)
		// No text leaves its card, and no card lies on another.
		p.holds(`[...document.querySelectorAll("#panel-thoughts .tn")].every((g) => { const b = g.querySelector(".tn-ring").getBoundingClientRect(); return [...g.querySelectorAll("text")].every((x) => { const r = x.getBoundingClientRect(); return x.closest(".gn-pill") || (r.left >= b.left && r.right <= b.right && r.bottom <= b.bottom); }); })`)
		p.holds(`(() => { const b = [...document.querySelectorAll("#panel-thoughts .tn > rect.tn-box")].map((e) => e.getBoundingClientRect()); return b.every((a, i) => b.every((o, k) => k <= i || a.right <= o.left || o.right <= a.left || a.bottom <= o.top || o.bottom <= a.top)); })()`)
		p.picture(fmt.Sprintf("thoughts-%d-wide", size[0]))
	}
}

// The details leave the card in sight that was chosen.
func TestChosenThoughtStaysInSight(t *testing.T) {
	const lost = `(async () => {
		const wrong = [];
		for (const id of [...document.querySelectorAll("#panel-thoughts [data-stop]")].map((e) => e.getAttribute("data-stop"))) {
			const g = () => document.querySelector("#panel-thoughts [data-stop='" + CSS.escape(id) + "']");
			g().dispatchEvent(new MouseEvent("click", {bubbles: true}));
			await __t.until(() => !document.getElementById("cg-detail").hidden && g().classList.contains("sel"), 5000);
			for (let i = 0; i < 3; i++) await __t.frame();
			const r = g().querySelector(".tn-kind").getBoundingClientRect(), c = document.querySelector("#panel-thoughts .cv").getBoundingClientRect();
			if (r.left < c.left || r.top < c.top || r.right > c.right || r.bottom > c.bottom) wrong.push(id + " is outside of the drawing");
			for (const sel of ["#cg-detail", "#panel-thoughts .cv-map", "#panel-thoughts .cv-tools"]) {
				const o = document.querySelector(sel).getBoundingClientRect();
				if (o.width > 0 && o.left < r.right && r.left < o.right && o.top < r.bottom && r.top < o.bottom) wrong.push(id + " lies under " + sel);
			}
		}
		return wrong;
	})()`
	for _, size := range [][2]int64{{1440, 900}, {1024, 768}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			p := openDemo(t, "s=nike&v=thoughts")
			p.size(size[0], size[1])
			for _, shape := range []string{"Vertical", "Horizontal"} {
				eval[bool](p, fmt.Sprintf(`([...document.querySelectorAll("#panel-thoughts .seg button")].find((b) => b.textContent === %s).click(), true)`, quote(shape)))
				eval[any](p, `__t.frame()`)
				for _, wrong := range eval[[]string](p, lost) {
					t.Error(shape, wrong)
				}
				p.picture(fmt.Sprintf("thoughts-chosen-%s-%d", strings.ToLower(shape), size[0]))
			}
		})
	}
}
