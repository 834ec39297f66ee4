// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"fmt"
	"testing"

	"google.golang.org/adk/v2/runner"

	"github.com/adk-contextgraph/contextgraph/checkpoint"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
)

// rewoundShop is a session whose request met drift. It went back to before its message, and its agent asked anew.
func rewoundShop(t *testing.T) *inspect.Session {
	t.Helper()
	s := cgtest.New(t, cgtest.OnFile)
	cps := checkpoint.New(s.CG, checkpoint.Reads("search"))
	s.Sessions = cps.Sessions(s.Sessions)
	r, err := runner.New(runner.Config{
		AppName: cgtest.App, Agent: cgtest.RootAgent(t, s.Model, s.Tools...), SessionService: s.Sessions,
		PluginConfig: s.CG.PluginConfig(), AutoCreateSession: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Runner = r
	id, _ := s.Ask(cgtest.SessionID)
	s.Shop.Set("$52,000", true)
	s.Answer(cgtest.SessionID, id, true)
	key := cgtest.Key(cgtest.SessionID)
	list, err := cps.List(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cps.Rewind(t.Context(), key, list[len(list)-1].ID); err != nil {
		t.Fatal(err)
	}
	s.Ask(cgtest.SessionID)
	record, err := inspect.NewJournal(s.Journal()).Record(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := inspect.New(record, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// What a session left when it went back is grey in every view, and a line says when, and by whom.
func TestWhatWasLeftIsGrey(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	s := rewoundShop(t)
	if len(s.Left) != 1 || len(s.Left[0].Rows) == 0 || len(s.Left[0].Rows) > len(s.Rows)-5 {
		t.Fatalf("the session left %+v of %d rows", s.Left, len(s.Rows))
	}
	l := s.Left[0]
	line := "Left on " + l.At.Format("2006-01-02 15:04:05") + " by alice"
	p := open(t, pageOf(t, s)+"#s=shop/alice/s1&v=graph")
	p.shows(".session-head .left-note", line)
	for view, sel := range map[string]string{"graph": ".gn:not(.gn-entity)", "timeline": ".tl-row", "trajectory": ".step", "thoughts": ".tn"} {
		p.view(view)
		all := fmt.Sprintf(`[...document.querySelectorAll("#panel-%s %s")]`, view, sel)
		p.wait(fmt.Sprintf(`(() => { const left = %[1]s.filter((e) => e.classList.contains("left")).length; return left >= 8 && %[1]s.length - left >= 3; })()`, all))
		p.holds(all + `.filter((e) => e.classList.contains("left")).every((e) => getComputedStyle(e).filter === "grayscale(1)")`)
		for _, s := range []size{narrow, wide} {
			for _, theme := range []string{"light", "dark"} {
				p.size(s.w, s.h)
				p.media("screen", theme, true)
				eval[any](p, `__t.frame()`)
				p.picture(fmt.Sprintf("left-%s-%d-%s", view, s.w, theme))
			}
		}
		p.media("screen", "light", true)
	}
	p.view("trajectory")
	p.shows("#panel-trajectory .turn", line)
	p.holds(fmt.Sprintf(`document.querySelectorAll("#panel-trajectory .step.left").length === %d`, len(l.Rows)))
	p.click("#panel-trajectory .step.left .step-name")
	p.shows("#cg-detail .facts", line)
}
