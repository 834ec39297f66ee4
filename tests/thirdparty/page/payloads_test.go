// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
	"github.com/adk-contextgraph/contextgraph/record"
)

// What the page makes of its data is what package inspect says.
func TestPageHasWhatInspectSays(t *testing.T) {
	sessions := append(demoRecords(t), long(t, 102, 3))
	script, err := os.ReadFile("../../../internal/viewer/assets/js/data.js")
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, pageOf(t, sessions...))
	text := eval[string](p, `(async () => {
		`+string(script)+`
		const d = await inflated(document.getElementById("cg-data").textContent);
		return JSON.stringify(d.sessions.map((x) => ({ ...filled(x), gists: undefined })));
	})()`)
	var got, want any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(sessions)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The file of 10,000 spans opens from a disk, and shows the payload of its last row.
func Test10000Spans(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	s := long(t, 10_000, 200)
	path := filepath.Join(t.TempDir(), "long.html")
	if err := writePage(path, viewer.Document{Source: "a test", Generated: time.Now(), Complete: true, Sessions: []*inspect.Session{s}}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p := open(t, fileURL(t, path)+"#s=shop/ann/"+s.Session.ID+"&v=graph")
	p.wait(`document.querySelectorAll("#panel-graph .gn").length > 10`)
	t.Logf("%d spans and %d rows open in %v", len(s.Spans), len(s.Rows), time.Since(start).Round(time.Millisecond))
	p.picture("spans-10000")
	last := len(s.Rows) - 3 // the last result of a tool
	eval[bool](p, fmt.Sprintf(`(location.hash = "#s=shop/ann/%s&v=trajectory&row=%d", true)`, s.Session.ID, last))
	p.shows("#cg-detail", fmt.Sprintf("Row %s", fmt.Sprint(last+1)), "Content", "found")
	p.view("thoughts")
	p.wait(`document.querySelectorAll("#panel-thoughts .tn").length > 5`)
	p.view("timeline")
	p.wait(`document.querySelectorAll("#panel-timeline .tl-row").length > 10`)
}

// requests is how often the page asked for payloads.
const requests = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/api/payloads")).length`

// A served page asks for the payload of a step when somebody opens it, and for all of them for a search.
func TestPayloadsOnDemand(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	l := serve(t, nil, nil)
	l.row("long", record.UserMessageReceived, "user", "", m{"text_summary": "Look things up"}, nil)
	for i := range 300 {
		span, name := fmt.Sprint("model", i), fmt.Sprint("look_up_", i)
		l.row("long", record.LLMRequest, span, "user", m{"prompt": []m{{"role": "user", "content": fmt.Sprint("question ", i)}}}, m{"model": "a-model"})
		l.row("long", record.LLMResponse, span, "user", m{"response": "call: " + name}, m{"function_calls": []m{{"id": fmt.Sprint("call", i), "name": name, "args": m{"needle": i}}}})
	}
	l.flush()
	p := open(t, l.url)
	p.wait(`__t.all("#cg-nav .sessions a").length === 1`)
	p.click("#cg-nav .sessions a")
	p.view("graph")
	p.shows("#panel-graph", "→ look_up_")
	p.view("thoughts")
	p.wait(`document.querySelectorAll("#panel-thoughts .tn").length > 5`)
	p.holds(requests + ` === 0`)

	row := func(i int) {
		t.Helper()
		eval[bool](p, fmt.Sprintf(`(location.hash = location.hash.replace(/&row=\d+/, "") + "&row=%d", true)`, i))
	}
	row(402)
	p.shows("#cg-detail", "Row 403", "look_up_200", "function_calls")
	p.holds(requests + ` === 1`)
	row(401)
	p.shows("#cg-detail", "Row 402", "question 200")
	row(402)
	p.shows("#cg-detail", "Row 403", "look_up_200")
	p.holds(requests + ` === 2`)
	p.key(kb.Escape)

	// The steps that are made ask together.
	p.view("trajectory")
	p.shows("#panel-trajectory .step", "Look things up")
	p.wait(`document.querySelectorAll("#panel-trajectory .step-body [role=status]").length === 0`)
	p.holds(requests + ` <= 4`)
	p.shows("#panel-trajectory", "question 0", "calls look_up_0")

	eval[bool](p, `(() => { const i = document.querySelector("#panel-trajectory input[type=search]"); i.value = "question 299"; i.dispatchEvent(new Event("input")); return true; })()`)
	p.wait(`document.querySelectorAll("#panel-trajectory .step").length === 1`)
	p.shows("#panel-trajectory", "1 of 601 rows", "question 299")
	before := eval[int](p, requests)

	// What is there stays there when the session grows.
	l.row("long", record.LLMRequest, "last", "user", m{"prompt": []m{{"role": "user", "content": "question 299 again"}}}, m{"model": "a-model"})
	l.flush()
	p.wait(`document.querySelectorAll("#panel-trajectory .step").length === 2`)
	p.shows("#panel-trajectory", "2 of 602 rows", "question 299 again")
	p.holds(fmt.Sprintf(`%s === %d`, requests, before+1))
}

// A page that cannot be read says why.
func TestPageThatCannotBeRead(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	b, err := os.ReadFile(suite.demo)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.html")
	// The data ends in the middle, as after a copy that left something out.
	before, rest, _ := strings.Cut(string(b), `id="cg-data">`)
	data, after, _ := strings.Cut(rest, "</script>")
	if err := os.WriteFile(damaged, []byte(before+`id="cg-data">`+data[:len(data)/2]+"</script>"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, address, before, want string }{
		{"an old browser", fileURL(t, suite.demo), "delete window.DecompressionStream", "this browser cannot decompress it"},
		{"a damaged file", fileURL(t, damaged), "", "The file may be cut off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newTab(t, wide)
			t.Cleanup(p.check)
			p.expect("cannot")
			call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: tc.before})
			p.navigate(tc.address)
			p.shows("#cg-main", "This page cannot be shown", tc.want)
		})
	}
}

// A payload that cannot be read is named, and the rest of the page stays.
func TestPayloadsThatCannotBeRead(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	l := serve(t, nil, nil)
	l.asks("first")
	p := open(t, l.url)
	p.wait(`__t.all("#cg-nav .sessions a").length === 1`)
	p.click("#cg-nav .sessions a")
	p.wait(`location.hash.includes("first") && document.querySelector(".session-head .chip")`)
	eval[bool](p, `(() => { const real = window.fetch; window.fetch = (u, o) => String(u).startsWith("api/payloads") ? Promise.reject(new Error("the network is away")) : real(u, o); return true; })()`)
	eval[bool](p, `(location.hash += "&row=1", true)`)
	p.shows("#cg-detail", "The payload could not be read: the network is away", "Row 2")
	p.view("trajectory")
	p.shows("#panel-trajectory", "The payload could not be read: the network is away", "Tool starting")
}
