// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// waitLimit bounds everything that is waited for in the page, and testLimit the whole of a test. They
// are far above what a busy machine takes.
const (
	waitLimit = time.Minute
	testLimit = 6 * time.Minute
)

// prelude runs in the page before its own scripts.
//
//go:embed testdata/prelude.js
var prelude string

// tab is a page that a test has open. What goes wrong in it without being asked about, fails
// the test: requests that leave the page, refusals of its policy, errors, dialogs.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu       sync.Mutex
	expected []string // parts of complaints that the test brings about
	problems []string
}

// size is the size of a window.
type size struct{ w, h int64 }

// The windows of a desk and of a telephone.
var wide, narrow = size{1280, 800}, size{390, 844}

// newTab makes an empty tab without a past.
func newTab(t *testing.T, s size) *tab {
	t.Helper()
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	own, done := chromedp.NewContext(suite.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(done)
	if err := chromedp.Do(own); err != nil {
		t.Fatal("open a tab:", err)
	}
	ctx, cancel := context.WithTimeout(own, testLimit)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: prelude})
	p.size(s.w, s.h)
	p.media("screen", "light", false)
	return p
}

// navigate goes to an address.
func (p *tab) navigate(address string) {
	p.t.Helper()
	p.origin, _, _ = strings.Cut(address, "#")
	if strings.HasPrefix(address, "http") {
		p.origin = strings.Join(strings.SplitN(address, "/", 4)[:3], "/") + "/"
	}
	p.do(chromedp.Navigate(address))
}

// open opens the page at an address. A fault there fails the test.
func open(t *testing.T, address string) *tab {
	t.Helper()
	return openIn(t, wide, address)
}

// openIn is open in a window of that size.
func openIn(t *testing.T, s size, address string) *tab {
	t.Helper()
	p := newTab(t, s)
	t.Cleanup(p.check)
	p.navigate(address)
	p.wait(`document.querySelector("#cg-main .tabs")`)
	return p
}

// openDemo opens the page of the demo at a place, see demoAt.
func openDemo(t *testing.T, at string) *tab {
	t.Helper()
	p := open(t, demoAt(t, at))
	p.wait(`document.querySelector(".session-head .chip")`)
	return p
}

// demoAt is the address of a place in the page of the demo: what is behind the #, such as "s=nike&v=graph", where
// a session may be named by a part of its id.
func demoAt(t *testing.T, at string) string {
	t.Helper()
	for name, id := range demoSessions {
		at = strings.Replace(at, "s="+name, "s=adcp/buyer-agent/"+id, 1)
	}
	return fileURL(t, suite.demo) + "#" + at
}

// demoSessions are the sessions of the demo by their brands.
var demoSessions = map[string]string{"elf": "sess-elf-cosmetics", "nike": "sess-nike-summer", "tesla": "sess-tesla-q1"}

// leavesPage begins the complaint about a request to another host.
const leavesPage = "a request leaves the page: "

// hear takes note of what must not happen.
func (p *tab) hear(ev any) {
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; !strings.HasPrefix(u, p.origin) && !strings.HasPrefix(u, "data:") {
			p.complain(leavesPage + u)
		}
	case *network.EventWebSocketCreated:
		p.complain("a web socket: " + ev.URL)
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if x := ev.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.complain("an exception: " + text)
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" || ev.Type == "assert" {
			var b strings.Builder
			for _, a := range ev.Args {
				fmt.Fprintf(&b, " %s%s", a.Value, a.Description)
			}
			p.complain("console." + string(ev.Type) + ":" + b.String())
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			p.complain("the browser says: " + ev.Entry.Text + " " + ev.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		p.complain("a dialog: " + ev.Message)
		go chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
	case *page.EventFrameNavigated:
		if u := ev.Frame.URL; !strings.HasPrefix(u, p.origin) && u != "about:blank" {
			p.complain("the page goes to " + u)
		}
	}
}

func (p *tab) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, text)
}

// expect says that a complaint with this text is what the test is about.
func (p *tab) expect(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, part)
}

// complaints returns what happened and was not expected.
func (p *tab) complaints() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
next:
	for _, c := range p.problems {
		for _, e := range p.expected {
			if strings.Contains(c, e) {
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}

// check fails the test for what happened in its page.
func (p *tab) check() {
	for _, c := range append(p.complaints(), p.foreign()...) {
		p.t.Error(c)
	}
	if p.t.Failed() && os.Getenv("CONTEXTGRAPH_SCREENSHOTS") != "" {
		p.picture("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
	}
}

// foreign returns what the page holds that it must not.
func (p *tab) foreign() []string { return eval[[]string](p, `__t.foreign()`) }

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func call[P, R any](p *tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// eval returns what an expression is; it may be a promise.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", clip(js), err)
	}
	return v
}

// wait waits until an expression is true.
func (p *tab) wait(js string) {
	p.t.Helper()
	if !eval[bool](p, fmt.Sprintf(`__t.until(() => (%s), %d)`, js, waitLimit.Milliseconds())) {
		if os.Getenv("CONTEXTGRAPH_SCREENSHOTS") != "" {
			p.picture("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
		}
		p.t.Fatalf("after %v still not true: %s\ncomplaints: %q", waitLimit, js, p.complaints())
	}
}

// holds checks that an expression is true now.
func (p *tab) holds(js string) {
	p.t.Helper()
	if !eval[bool](p, "!!("+js+")") {
		p.t.Errorf("not true: %s", js)
	}
}

// shows waits until what can be read in the elements of a selector has all of the texts.
func (p *tab) shows(sel string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !eval[bool](p, fmt.Sprintf(`__t.until(() => __t.text(%s).includes(__t.plain(%s)), 5000)`, quote(sel), quote(text))) {
			p.t.Errorf("%s does not show %q but %q", sel, text, eval[string](p, fmt.Sprintf(`__t.text(%s).slice(0, 3000)`, quote(sel))))
		}
	}
}

// click presses the first element of a selector that can be seen, and that has the text if one is given.
func (p *tab) click(sel string, text ...string) {
	p.t.Helper()
	js := fmt.Sprintf(`__t.steady(%s, %s).then((at) => window.pointed = at)`, quote(sel), quote(strings.Join(text, "")))
	p.wait(js)
	at := eval[[]float64](p, `window.pointed`)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// key presses keys, one after the other, as a keyboard does: a page that takes the key for
// itself gets no character.
func (p *tab) key(keys ...string) {
	p.t.Helper()
	for _, r := range strings.Join(keys, "") {
		p.press(r, 0)
	}
}

// press presses a key with others held.
func (p *tab) press(r rune, held chromedp.Modifier) {
	p.t.Helper()
	k := kb.Keys[r]
	if k == nil {
		p.t.Fatalf("no key for %q", r)
	}
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: k.Key, Code: k.Code, Modifiers: int64(held), NativeVirtualKeyCode: k.Native, WindowsVirtualKeyCode: k.Windows}
	if k.Shift {
		down.Modifiers |= int64(chromedp.ModifierShift)
	}
	up := down
	up.Type = input.DispatchKeyEventTypeKeyUp
	if held&chromedp.ModifierCtrl == 0 {
		down.Text = k.Text
	} else if r == 'a' {
		down.Commands = []string{"selectAll"}
	}
	call(p, input.DispatchKeyEvent, down)
	call(p, input.DispatchKeyEvent, up)
}

// view opens a panel by its tab and waits until it is there.
func (p *tab) view(id string) {
	p.t.Helper()
	p.click("#tab-" + id)
	p.wait(`document.body.dataset.view === ` + quote(id) + ` && !document.getElementById("panel-` + id + `").hidden`)
}

func (p *tab) size(w, h int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(w, h))
}

// media sets what the page can ask about its reader.
func (p *tab) media(kind, colours string, still bool) {
	p.t.Helper()
	motion := "no-preference"
	if still {
		motion = "reduce"
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind, Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: colours}, {Name: "prefers-reduced-motion", Value: motion},
	}})
}

// picture keeps what can be seen, where somebody asked for it.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("CONTEXTGRAPH_SCREENSHOTS")
	if dir == "" {
		dir = p.t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// quote writes a text as a literal of JavaScript.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return string(b)
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "… (" + strconv.Itoa(len(s)) + " bytes)"
	}
	return s
}
