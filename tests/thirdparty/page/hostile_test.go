// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// corpus are texts that do harm where a page takes them for anything but text.
var corpus = []string{
	`<script>window.__xss=1;alert(1)</script>`,
	`</script><script>window.__xss=2</script>`,
	`<img src=x onerror="window.__xss=3">`,
	`"><img src=x onerror=window.__xss=4>`,
	`' onmouseover='window.__xss=5' autofocus onfocus='window.__xss=5' x='`,
	`" onmouseover="window.__xss=6" autofocus onfocus="window.__xss=6" style="animation:x" x="`,
	`javascript:window.__xss=7//`,
	"java\tscript:window.__xss=8",
	`data:text/html,<script>parent.__xss=9</script>`,
	`<svg/onload=window.__xss=10><animate onbegin=window.__xss=10 attributeName=x dur=1s>`,
	`<svg><script href="data:,window.__xss=11"/></svg><svg><foreignObject><iframe srcdoc="<script>parent.__xss=11</script>"></iframe></foreignObject></svg>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.__xss=12&gt;">`,
	`<iframe src="javascript:parent.__xss=13"></iframe><object data="javascript:__xss=13"></object><embed src="//evil.example/x">`,
	`<a href="javascript:window.__xss=14" target=_blank>here</a><base href="https://evil.example/">`,
	`<form action="https://evil.example/"><input name=getElementById><button formaction="javascript:window.__xss=15">x</form>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example/"><link rel=stylesheet href=//evil.example/x.css><style>@import '//evil.example/y.css'</style>`,
	`${window.__xss=16}{{constructor.constructor('window.__xss=16')()}}<%= 16 %>#{16}` + "`${__xss=16}`",
	`]]>--><!--<![CDATA[*/</style></title></textarea></noscript></template>`,
	`url(//evil.example/z.png);background:url('//evil.example/w.png')`,
	`#s=a/b/c&v=graph&why=0&span=x"><script>window.__xss=17</script>`,
	"line\u2028separator\u2029paragraph\u0085next\u000bvertical\u0000null\u0007bell\u001bescape\u007f",
	"right\u202eto left\u2066isolate\u2069 \u200bzero\u200d width\ufeff \ufffd \U000e0041tag",
	"Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e a\u0300\u0301\u0302 \U0001F468\u200d\U0001F469\u200d\U0001F467 ﷽",
	"__proto__", "constructor", "hasOwnProperty", "toString", "__defineGetter__",
	`{"__proto__":{"polluted":1}}`,
	strings.Repeat("<b>long</b> ", 300),
	strings.Repeat("x", 4000),
	"", " ", "%00%0d%0aSet-Cookie: x=1%2f..%2f", "/../../", "a/b#c&d=e?f",
}

// poison replaces every text that a value holds by one of the corpus, and keys of its maps too.
// What makes the record what it is, stays: kinds, classes, states, keys that link.
type poison struct{ n int }

func (p *poison) next() string {
	p.n++
	return corpus[p.n%len(corpus)]
}

// kept are the fields that are links within the record or that decide how a thing is drawn.
var kept = map[string]bool{
	"Key": true, "Parent": true, "Span": true, "From": true, "To": true, "ID": true, "Entity": true, "Edge": true, "CriticalPath": true,
	"Kind": true, "Class": true, "Status": true, "Stage": true, "Verdict": true, "EventType": true, "Outcome": true, "Link": true, "Origin": true,
}

func (p *poison) fill(v reflect.Value, field string, spare map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.fill(v.Elem(), field, spare)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			of := p
			switch name := v.Type().Field(i).Name; name {
			case "Requester", "Consents", "Change", "Override":
				of = &poison{n: p.n} // the other fields get the texts that they had without them
				fallthrough
			default:
				of.fill(v.Field(i), name, spare)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			if v.Len() > 0 {
				v.SetBytes(p.json())
			}
			return
		}
		for i := range v.Len() {
			p.fill(v.Index(i), field, spare)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && v.CanSet() {
			m, of := reflect.MakeMap(v.Type()), p
			if field == "Conditions" {
				of = &poison{n: p.n} // the other fields get the texts that they had without them
			}
			for range 4 {
				m.SetMapIndex(reflect.ValueOf(of.next()), reflect.ValueOf(of.next()))
			}
			m.SetMapIndex(reflect.ValueOf("__proto__"), reflect.ValueOf("polluted"))
			v.Set(m)
		}
	case reflect.String:
		if v.CanSet() && !spare[field] {
			v.SetString(p.next())
		}
	}
}

// json makes a payload of bad texts, as keys and as values, in the shapes that the views read.
func (p *poison) json() []byte {
	m := map[string]any{}
	for range 6 {
		m[p.next()] = p.next()
	}
	args := map[string]any{"__proto__": map[string]any{"polluted": 1, "isAdmin": true}, "constructor": map[string]any{"prototype": map[string]any{"polluted": 1}}, p.next(): []any{p.next(), map[string]any{p.next(): p.next()}}}
	for k, v := range map[string]any{
		"tool": p.next(), "args": args, "result": args, "response": p.next(), "text_summary": p.next(), "system_prompt": p.next(),
		"prompt": []any{map[string]any{"role": p.next(), "content": p.next()}}, "usage": map[string]any{"total": p.next(), "prompt": p.next()},
		"model": p.next(), "function_calls": []any{map[string]any{"name": p.next(), "args": args}}, "response_text": p.next(), "finish_reason": p.next(),
		"from_agent": p.next(), "to_agent": p.next(), "state_delta": args, "adk": map[string]any{"approval_id": p.next(), "verdict": p.next()}, "total_ms": p.next(), "__proto__": args,
	} {
		m[k] = v
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// demoRecords reads the sessions of the demo, in the order of its page.
func demoRecords(t *testing.T) []*inspect.Session {
	t.Helper()
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: suite.journal}})
	if err != nil {
		t.Fatal(err)
	}
	d := viewer.Document{Generated: time.Now()}
	err = d.Newest(t.Context(), inspect.NewJournal(j), viewer.Choice{})
	if err := errors.Join(err, j.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	return d.Sessions
}

// Every text of a record is text on the page, whatever it says.
func TestHostileTexts(t *testing.T) {
	// With several beginnings every field has many of the texts in turn.
	for start := range 3 {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			sessions := demoRecords(t)
			x := &poison{n: start * 12}
			for i, s := range sessions {
				x.fill(reflect.ValueOf(s).Elem(), "", kept)
				s.Session.ID = fmt.Sprint(x.next(), " ", i)
				s.Session.App, s.Session.User = x.next(), x.next()
				for j := range s.Approvals {
					a := &s.Approvals[j]
					a.ID, a.Kind = x.next(), "confirmation"
					a.Warnings = append(a.Warnings, corpus...)
					a.Checks[len(a.Checks)-1].Warnings = []safety.Alert{{Entity: x.next(), Drift: x.next(), Condition: corpus[0], Before: x.next(), After: x.next(), Recommendation: x.next()}}
				}
				for j := range s.Entities {
					s.Entities[j].Type = x.next()
				}
				s.Problems = append(s.Problems, inspect.Problem{Kind: x.next(), Detail: x.next(), Rows: []int{0}, Count: 1})
			}
			p := open(t, pageOf(t, sessions...))
			p.key("i")
			p.wait(`document.querySelector("#panel-inbox .in-item")`) // one of them waits for a person
			for i := start; i <= start; i++ {                         // each of the three ends of the demo once
				eval[bool](p, fmt.Sprintf(`(document.querySelectorAll("#cg-nav .sessions a")[%d].click(), true)`, i))
				p.wait(fmt.Sprintf(`document.querySelectorAll("#cg-nav .sessions a")[%d].getAttribute("aria-current") === "true" && !document.querySelector(".panel:not([hidden]) .spinner")`, i))
				p.everything(t, sessions)
			}
		})
	}
}

// everything opens every panel and all that can be opened in it, and the details of all that has any.
func (p *tab) everything(t *testing.T, sessions []*inspect.Session) {
	t.Helper()
	for _, id := range panels {
		eval[bool](p, `(document.getElementById("tab-`+id+`").click(), true)`)
		p.wait(`document.body.dataset.view === ` + quote(id))
		// Twice: what is opened may hold what can be opened.
		for range 2 {
			eval[any](p, `(document.querySelectorAll("#cg-main details:not([open])").forEach((d) => { d.open = true; }), document.querySelectorAll("#cg-main .linkbtn").forEach((b) => /^Show all/.test(b.textContent) && b.click()), __t.frame())`)
		}
		if text := eval[string](p, `__t.text("#panel-`+id+`")`); strings.Contains(text, "could not be drawn") || text == "" {
			t.Errorf("%s was not drawn: %s", id, clip(text))
		}
	}
	eval[bool](p, `(document.getElementById("tab-thoughts").click(), [...document.querySelectorAll("#panel-thoughts button")].forEach((b) => b.click()), true)`)
	eval[bool](p, `(document.getElementById("tab-queries").click(), [...document.querySelectorAll("#panel-queries .q-list button")].forEach((b) => b.click()), true)`)
	eval[bool](p, `(document.getElementById("tab-graph").click(), [...document.querySelectorAll("#panel-graph .gv-bar button, #panel-graph .gv-legend button")].forEach((b) => b.click()), true)`)
	eval[bool](p, `(document.getElementById("tab-trajectory").click(), true)`)
	all, err := json.Marshal(sessions)
	if err != nil {
		t.Fatal(err)
	}
	refs := eval[int](p, `(async () => {
		const s = JSON.parse(`+quote(string(all))+`).find((s) => location.hash.includes("s=" + [s.session.app, s.session.user, s.session.id].map(encodeURIComponent).join("/") + "&"));
		if (!s) return -1;
		const refs = [...s.spans.map((x) => ["span", x.key]), ...s.entities.map((x) => ["entity", x.key]), ...s.approvals.map((_, i) => ["approval", String(i)]), ...s.rows.slice(0, 60).map((_, i) => ["row", String(i)])];
		const base = location.hash.replace(/&(span|entity|approval|row|edge)=[^&]*/g, "");
		for (const [type, key] of refs) {
			location.hash = base + "&" + type + "=" + encodeURIComponent(key);
			await __t.until(() => !document.getElementById("cg-detail").hidden, 2000);
			document.querySelectorAll("#cg-detail details:not([open])").forEach((d) => { d.open = true; });
		}
		for (const b of document.querySelectorAll("#cg-detail .rel.linkbtn")) { b.click(); break; }
		document.dispatchEvent(new KeyboardEvent("keydown", { key: "?" }));
		document.querySelector("dialog")?.close();
		return refs.length;
	})()`)
	if refs < 40 {
		t.Errorf("%d things with details, want more", refs)
	}
	// The handlers of what only seems to be an element would run now.
	eval[any](p, `(document.querySelectorAll("*").forEach((el) => { if (el.closest("#cg-main, #cg-nav, #cg-detail")) { el.dispatchEvent(new MouseEvent("mouseover", { bubbles: true })); el.dispatchEvent(new Event("load")); el.dispatchEvent(new Event("error")); } }), __t.frame())`)
}

// The search does not run what is searched for either, and an address is only an address.
func TestHostileAddress(t *testing.T) {
	p := openDemo(t, "s=nike&v=graph")
	for _, s := range corpus[:20] {
		eval[bool](p, `(location.hash = "#s=" + [1, 2, 3].map(() => encodeURIComponent(`+quote(s)+`)).join("/") + "&v=" + `+quote(s)+` + "&edge=" + `+quote(s)+`, true)`)
		p.wait(`__t.text("#panel-graph").includes("No such session here")`)
		eval[bool](p, `(location.hash = "#s=adcp/buyer-agent/sess-nike-summer&v=graph&entity=" + encodeURIComponent(`+quote(s)+`), true)`)
		p.wait(`__t.text("#cg-detail").includes("Not in this session")`)
		eval[bool](p, `(() => { const i = document.getElementById("cg-search"); i.value = `+quote(s)+`; i.dispatchEvent(new Event("input")); return true; })()`)
		p.wait(`__t.text("#cg-nav").includes("No session matches")`)
		if found := append(p.complaints(), p.foreign()...); len(found) > 0 {
			t.Fatalf("with %q: %q", s, found)
		}
	}
}

// What the checks of every test look for, they find.
func TestChecksFindHarm(t *testing.T) {
	for name, c := range map[string]struct{ js, want string }{
		"element":   {`document.getElementById("cg-main").insertAdjacentHTML("beforeend", "<img src='data:,'>")`, "made a <img>"},
		"request":   {`fetch("https://contextgraph.invalid/").catch(() => 0)`, "policy was broken"},
		"console":   {`console.error("broken")`, "console.error"},
		"exception": {`setTimeout(() => { throw new Error("broken"); })`, "an exception"},
		"script":    {`window.__xss = 1`, "a script of a record ran"},
		"handler":   {`document.body.setAttribute("onclick", "1")`, "a handler in markup"},
		"address":   {`document.querySelector("a").setAttribute("href", "java\nscript:1")`, "an address"},
		"prototype": {`Object.prototype.polluted = 1`, "the prototype"},
		"dialog":    {`alert(1)`, "called alert"},
		"inline":    {`(() => { const s = document.createElement("script"); s.textContent = "window.ran = 1"; document.head.append(s); })()`, "more than 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openDemo(t, "s=nike&v=queries")
			eval[any](p, "("+c.js+", __t.frame())")
			p.wait(`__t.frame().then(() => true)`)
			found := strings.Join(append(p.complaints(), p.foreign()...), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
			eval[any](p, `delete Object.prototype.polluted`)
			p.do(chromedp.Reload())
			p.mu.Lock()
			p.problems = nil
			p.mu.Unlock()
		})
	}
}
