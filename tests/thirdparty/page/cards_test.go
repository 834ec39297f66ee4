// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/flowtest"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/internal/viewer"
)

// cardsDir is where TestCardsOfFlows writes its pictures.
var cardsDir = flag.String("cards", "", "write pictures of the cards of flows to this `directory`")

// later is the way of a flow in which a person is asked what the check before asking would refuse.
const later = "without the check before asking"

// flowCards are flows of the corpus, up to the first answer or with some answers, and words of their cards.
var flowCards = []struct {
	name, flow, way string
	answers         int
	says            []string
}{
	{"set", "attacks/sets/cart_item_swapped", "", 0, []string{"Cart cart1", "Chair, Desk"}},
	{"hold", "attacks/sets/payment_is_held", "", 0, []string{"Invoice R-104", "$1,980", "none"}},
	{"limit", "attacks/what_counts/pay_less_is_left", "", 0, []string{"$1,980 of $2,000"}},
	{"alternatives", "honest/alternatives/not_chosen_is_shown", "", 0, []string{"Not checked", "count", "Not chosen, and not checked", "Lamp"}},
	{"decoy", "attacks/alternatives/decoy_without_alternatives", "", 0, []string{"Product Desk", "Lamp"}},
	{"drift", "attacks/what_counts/placements_dearer", "", 1, []string{"$40,000 is now $52,000"}},
	{"asked-again", "honest/alternatives/asked_again", "", 1, []string{"$400", "$800"}},
	{"source-down", "honest/before_asking/source_is_down", "", 0, []string{"Drug Ibuprofen: its source is down", "It could not be checked"}},
	{"not-seen", "attacks/unread/one_of_two_lines", later, 0, []string{"Placement Strava", "not seen"}},
	{"two-approvers", "honest/people/two_approve", "", 1, []string{"1 of 2", "eva"}},
	{"replaced", "honest/twice/yes_to_the_later_one", "listed", 0, []string{"Replaced by a newer request", "Open the newer request"}},
	{"total", "honest/shown/total_of_an_order", "", 0, []string{"€3.10", "at least 10 needed", "10 × €3.10 = €31"}},
}

// TestCardsOfFlows shows what a person sees who is asked in a flow of the corpus. It writes pictures when somebody asks:
//
//	go test ./page -run TestCardsOfFlows -cards /tmp/pictures
func TestCardsOfFlows(t *testing.T) {
	if suite.browser == nil {
		t.Skip("no Chromium in PATH and none named in CONTEXTGRAPH_CHROMIUM")
	}
	for _, c := range flowCards {
		t.Run(c.name, func(t *testing.T) {
			at := flowPage(t, c.flow, c.way, c.answers)
			if c.name == "replaced" {
				at += "&approval=0"
			}
			p := open(t, at)
			p.wait(`document.querySelector("#panel-approvals .card")`)
			p.shows(card, c.says...)
			p.holds(`/^(If (you|nothing)|The agent |This cannot run)/.test(__t.text("#panel-approvals .card h2"))`)
			if *cardsDir != "" {
				p.cardPicture(filepath.Join(*cardsDir, c.name+".png"))
			}
		})
	}
}

// flowPage runs a flow with its first answers, and serves the page of its journal.
func flowPage(t *testing.T, name, way string, answers int) string {
	t.Helper()
	f, err := flowtest.Load(filepath.Join("..", "..", "flows", filepath.FromSlash(name)+".yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	if f = f.Ways()[way]; f == nil {
		t.Fatalf("%s has no way %q", name, way)
	}
	for i, s := range f.Steps {
		if answers -= len(s.Answer); answers < 0 {
			f.Steps = f.Steps[:i]
			break
		}
	}
	path := filepath.Join(t.TempDir(), "flow.db")
	if _, err := f.Run(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Config{Journal: config.Journal{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	d := &decider{then: func() error { return nil }}
	return serveSource(t, viewer.Options{Source: inspect.NewJournal(j), Changes: j.LastSeq, Decide: d}) + "#s=flow/ann/s1&v=approvals&token=" + token
}

// cardPicture writes a picture of all of the card.
func (p *tab) cardPicture(path string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.media("screen", "light", true)
	eval[any](p, `__t.frame()`)
	p.size(wide.w, eval[int64](p, `Math.min(3000, innerHeight + Math.max(0, document.querySelector("#panel-approvals").scrollHeight - document.querySelector("#panel-approvals").clientHeight))`))
	eval[any](p, `__t.frame()`)
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
