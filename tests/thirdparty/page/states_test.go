// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// statesDir is where TestStatesOfRequests writes its pictures.
var statesDir = flag.String("states", "", "write pictures of requests in all states to this `directory`")

// edited edits the request of a record.
func edited(f func(*inspect.Record, *safety.Approval)) func(*inspect.Record) {
	return func(r *inspect.Record) {
		for i := range r.Approvals {
			f(r, &r.Approvals[i])
		}
	}
}

// requestStates are the states that a request can be in, each of a session of the demo.
var requestStates = []struct {
	name, session string
	answered      bool // as the demo went on
	edit          func(*inspect.Record)
	check         bool // somebody pressed “check now”
}{
	{"safe", "sess-elf-cosmetics", false, nil, true},
	{"waits", "sess-elf-cosmetics", false, nil, false},
	{"drift", "sess-nike-summer", true, nil, false},
	{"drift-at-a-look", "sess-nike-summer", false, nil, true},
	{"not-seen", "sess-nike-summer", false, edited(func(_ *inspect.Record, a *safety.Approval) {
		e := &a.Entities[len(a.Entities)-1]
		e.Type, e.Value = "Product", "Moon Billboard"
		e.Attributes = map[string]entity.Value{entity.Exists: entity.Bool(true)}
		e.LastSeen, e.FirstSeen = a.RequestedAt, a.RequestedAt
		a.Hopeless = "No check of this request can pass: Product Moon Billboard: not seen."
	}), false},
	{"source-down", "sess-tesla-q1", true, nil, false},
	{"in-doubt", "sess-elf-cosmetics", true, edited(func(r *inspect.Record, a *safety.Approval) {
		a.State = safety.StateExecuting
		h := r.History[a.ID]
		r.History[a.ID] = h[:len(h)-1]
		i := slices.IndexFunc(r.Rows, func(e record.Event) bool { return bytes.Contains(e.Attributes, []byte(`"stage":"answer"`)) })
		i += slices.IndexFunc(r.Rows[i:], func(e record.Event) bool { return e.EventType == record.ToolStarting })
		r.Rows = r.Rows[:i+1]
		r.Fold = graphsync.Fold(r.Fold.Extractor(), r.Rows)
	}), false},
	{"hopeless", "sess-nike-summer", false, edited(func(_ *inspect.Record, a *safety.Approval) {
		a.ExpiresAt = time.Now().Add(-time.Hour)
	}), false},
	{"replaced", "sess-nike-summer", false, edited(func(_ *inspect.Record, a *safety.Approval) {
		a.State = safety.StateSuperseded
	}), false},
	{"two-approvers", "sess-elf-cosmetics", false, edited(func(_ *inspect.Record, a *safety.Approval) {
		a.Approvers = 2
		a.Consents = []safety.Consent{{Who: "eva", At: a.RequestedAt.Add(time.Minute)}}
	}), false},
}

// TestStatesOfRequests takes pictures of the card and of the inbox for requests in all states, at the
// widths of a telephone and of a desk, light and dark. It runs when somebody asks:
//
//	go test ./page -run TestStatesOfRequests -states /tmp/pictures
func TestStatesOfRequests(t *testing.T) {
	if *statesDir == "" {
		t.Skip("pictures are taken on request: -states directory")
	}
	if err := os.MkdirAll(*statesDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range requestStates {
		t.Run(s.name, func(t *testing.T) {
			d, url := servePast(t)
			d.edit = map[string]func(*inspect.Record){s.session: s.edit}
			d.answered[s.session] = s.answered
			p := open(t, url+"#s=adcp/buyer-agent/"+s.session+"&v=approvals&token="+token)
			p.wait(`document.querySelector("#panel-approvals .card")`)
			if s.check {
				p.click(card+" .check-now", "Check now")
				p.wait(`document.querySelector(".finding-head")`)
			}
			p.pictures("card-" + s.name)
			p.size(wide.w, wide.h)
			p.key("i")
			p.wait(`document.body.dataset.view === "inbox"`)
			p.pictures("inbox-" + s.name)
		})
	}
}

// pictures takes the four pictures of what is shown, of all its height.
func (p *tab) pictures(name string) {
	p.t.Helper()
	for _, s := range []size{narrow, wide} {
		for _, theme := range []string{"light", "dark"} {
			p.size(s.w, s.h)
			p.media("screen", theme, true)
			eval[any](p, `__t.frame()`)
			height := eval[int64](p, `Math.min(2400, innerHeight + Math.max(0, ...[...document.querySelectorAll(".panel")].filter(__t.seen).map((e) => e.scrollHeight - e.clientHeight)))`)
			p.size(s.w, height)
			eval[any](p, `__t.frame()`)
			data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				p.t.Fatal(err)
			}
			if err := os.WriteFile(fmt.Sprintf("%s/%s-%d-%s.png", *statesDir, name, s.w, theme), data, 0o644); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}
