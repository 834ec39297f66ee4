// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// state is something that a reader can have in front of them.
type state struct {
	name string
	page func(*testing.T, size) *tab
	do   func(*tab) // leads to the state; nil if the page opens in it
}

// states are checked by TestAccessibility. A new view or state is one more line here.
var states = []state{
	{"graph", demo("s=nike&v=graph"), nil},
	{"thoughts", demo("s=nike&v=thoughts"), nil},
	{"timeline", demo("s=nike&v=timeline"), nil},
	{"trajectory", demo("s=nike&v=trajectory"), nil},
	{"approvals, drift", demo("s=nike&v=approvals"), nil},
	{"approvals, check failed", demo("s=tesla&v=approvals"), nil},
	{"approvals, executed", demo("s=elf&v=approvals"), nil},
	{"approvals, all open", demo("s=nike&v=approvals"), unfold("#panel-approvals")},
	{"queries", demo("s=nike&v=queries"), nil},
	{"graph with a way", demo("s=nike&v=graph&why=0"), func(p *tab) { p.wait(`document.querySelector("#panel-graph .gv-whylist")`) }},
	{"graph as a table", demo("s=nike&v=graph"), func(p *tab) { p.click("#panel-graph .gv-bar > button", "As table") }},
	{"thoughts, collapsed", demo("s=nike&v=thoughts"), func(p *tab) { p.click("#panel-thoughts .gv-bar button", "Collapse turns") }},
	{"trajectory, errors", demo("s=nike&v=trajectory"), func(p *tab) { p.click("#panel-trajectory .chip.filter", "Errors only") }},
	{"trajectory, payloads", demo("s=nike&v=trajectory"), unfold("#panel-trajectory")},
	{"details of an entity", demo("s=nike&v=timeline"), func(p *tab) {
		details("#panel-timeline .tl-row", "query_ad_inventory")(p)
		p.click("#cg-detail .reflink.entity")
		p.wait(`location.hash.includes("entity=")`)
	}},
	{"details of a step", demo("s=nike&v=timeline"), details("#panel-timeline .tl-row", "query_ad_inventory")},
	{"details of a row", demo("s=nike&v=trajectory"), details("#panel-trajectory .step-name", "")},
	{"sessions", demo("s=nike&v=queries"), sessionList},
	{"sessions, filtered", demo("s=nike&v=queries"), func(p *tab) { sessionList(p); p.click("#cg-nav .chip.filter", "Changed since it was read") }},
	{"no session found", demo("s=nike&v=queries"), func(p *tab) { sessionList(p); p.key("/", "nobody"); p.shows("#cg-nav", "No session matches") }},
	{"help", demo("s=nike&v=graph"), func(p *tab) { p.key("?"); p.wait(`document.querySelector("dialog[open]")`) }},
	{"no such session", demo("s=nike&v=graph"), func(p *tab) {
		eval[bool](p, `(location.hash = "#s=a/b/c&v=graph", true)`)
		p.shows("#panel-graph", "No such session here")
	}},
	{"approvals, to answer", waiting, nil},
	{"a decision", waiting, func(p *tab) {
		p.click("#panel-approvals .decide button", "Yes")
		p.wait(`document.activeElement.id === "cg-token"`)
	}},
	{"a decision, with words", waiting, func(p *tab) {
		p.click("#panel-approvals .decide button", "No, with a reason")
		p.wait(`document.activeElement.localName === "textarea"`)
	}},
	{"a decision, refused", waiting, func(p *tab) {
		p.expect("401")
		p.click("#panel-approvals .decide button", "Yes")
		p.wait(`document.activeElement.id === "cg-token"`)
		p.key("wrong", kb.Enter)
		p.shows("#panel-approvals .decide", "The token is wrong")
	}},
	{"approvals, checked now", asked, func(p *tab) {
		p.click(card + " .check-now")
		p.wait(`document.querySelectorAll(".v-line").length >= 2`)
	}},
	{"inbox", asked, func(p *tab) {
		p.key("i")
		p.wait(`document.querySelectorAll("#panel-inbox .in-item").length === 3`)
	}},
}

// demo is the page of the demo, see demoAt.
func demo(at string) func(*testing.T, size) *tab {
	return func(t *testing.T, s size) *tab {
		p := openIn(t, s, demoAt(t, at))
		p.wait(`document.querySelector(".session-head .chip")`)
		return p
	}
}

// waiting is a page that is served, with a request that can be answered on it.
func waiting(t *testing.T, s size) *tab {
	l := serve(t, &decider{}, nil)
	l.asks("first")
	p := openIn(t, s, l.url+"#s=shop/ann/first&v=approvals")
	p.wait(`document.querySelector("#panel-approvals .decide button")`)
	return p
}

// asked is the demo while people are asked, see servePast.
func asked(t *testing.T, s size) *tab {
	_, url := servePast(t)
	p := openIn(t, s, url+"#s=adcp/buyer-agent/sess-nike-summer")
	p.wait(`document.querySelector("#panel-approvals .decide button")`)
	return p
}

// unfold opens all that is folded in an element.
func unfold(sel string) func(*tab) {
	return func(p *tab) {
		eval[bool](p, `(document.querySelectorAll(`+quote(sel+" details")+`).forEach((d) => { d.open = true; }), true)`)
	}
}

// details opens the details of an element.
func details(sel, text string) func(*tab) {
	return func(p *tab) {
		p.click(sel, text)
		p.wait(`!document.getElementById("cg-detail").hidden`)
	}
}

// sessionList opens the list of sessions, which lies over the session where it is narrow.
func sessionList(p *tab) {
	if !eval[bool](p, `__t.seen(document.querySelector("#cg-nav .sessions a"))`) {
		p.click("#cg-top button", "Sessions")
	}
	p.wait(`__t.seen(document.querySelector("#cg-nav .sessions a"))`)
}

// The page keeps to WCAG 2.2 AA as far as axe sees, in each state: light, dark and narrow.
func TestAccessibility(t *testing.T) {
	for _, s := range states {
		for name, in := range map[string]size{"wide": wide, "narrow": narrow} {
			t.Run(s.name+" "+name, func(t *testing.T) {
				p := s.page(t, in)
				if s.do != nil {
					s.do(p)
				}
				p.withAxe()
				p.accessible("light")
				p.picture("axe-" + s.name + "-" + name)
				if in == wide {
					p.media("screen", "dark", true) // still, so that no colour is on its way to another
					eval[any](p, `__t.frame()`)
					p.accessible("dark")
				}
			})
		}
	}
}

// violation is what axe finds wrong.
type violation struct {
	ID, Impact, Help string
	Standard         bool // against WCAG; else against what axe calls best practice
	Nodes            []struct {
		Target         []string
		HTML           string
		FailureSummary string
	}
}

// axe runs axe over all of the page.
const axe = `(async () => {
	// The rule joins the lines of a node in a drawing without a space, and takes what is cut to fit for
	// another word: named compares what can be read of a node.
	axe.configure({rules: [{id: "label-content-name-mismatch", selector: ":not([data-stop])"}]});
	const standard = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
	const r = await axe.run(document, {
		resultTypes: ["violations"], runOnly: {type: "tag", values: [...standard, "best-practice"]},
		rules: {"label-content-name-mismatch": {enabled: true}, "target-size": {enabled: true}},
	});
	return JSON.stringify(r.violations.map((v) => ({
		ID: v.id, Impact: v.impact, Help: v.help, Standard: v.tags.some((tag) => standard.includes(tag)),
		Nodes: v.nodes.map((n) => ({Target: n.target.flat(), HTML: n.html, FailureSummary: n.failureSummary})),
	})));
})()`

// accessible fails the test for what axe finds against WCAG, and reports what is no best practice.
func (p *tab) accessible(where string) {
	p.t.Helper()
	var found []violation
	if err := json.Unmarshal([]byte(eval[string](p, axe)), &found); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range found {
		report := p.t.Logf
		if v.Standard {
			report = p.t.Errorf
		}
		var b strings.Builder
		for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
			fmt.Fprintf(&b, "\n  %s\n    %s\n    %s", n.Target, clip(n.HTML), strings.ReplaceAll(n.FailureSummary, "\n", "\n    "))
		}
		report("%s: %s (%s), %s: %d times%s", where, v.ID, v.Impact, v.Help, len(v.Nodes), b.String())
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

// withAxe loads axe. The policy of the page binds the page, and not the one who debugs it.
func (p *tab) withAxe() {
	p.t.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		p.t.Fatal(err)
	}
	eval[bool](p, string(source)+"\ntrue")
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
	found := eval[string](p, `(() => {
		const d = document.createElement("dialog");
		for (const text of ["", "first", "second"]) {
			const b = document.createElement("button");
			b.textContent = text;
			if (text === "second") b.setAttribute("aria-label", "other");
			Object.assign(b.style, { width: "12px", height: "12px", padding: "0" });
			d.append(b);
		}
		document.body.append(d);
		d.showModal();
		return (`+axe+`).finally(() => d.remove());
	})()`)
	for _, id := range []string{"button-name", "target-size", "label-content-name-mismatch"} {
		if !strings.Contains(found, `"ID":`+quote(id)) {
			t.Errorf("axe does not find %s in a page with such a fault, but %s", id, clip(found))
		}
	}
}
