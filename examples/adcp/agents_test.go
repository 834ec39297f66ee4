// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is the demo's cast without contextgraph: an ad server, the agents and a buyer.
type stage struct {
	server *adserver.Server
	buyer  *buyer
}

func newStage(t *testing.T) *stage {
	t.Helper()
	catalog, err := adserver.DemoCatalog()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{server: adserver.New(catalog)}
	unprotected := func(t tool.Tool) tool.Tool { return t }
	root, err := newAgents(scriptedModel{}, &mediaTools{ads: s.server}, unprotected)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.NewInMemory(appName, root)
	if err != nil {
		t.Fatal(err)
	}
	s.buyer = &buyer{runner: r, user: userID}
	return s
}

var (
	elf = brief{Advertiser: "ELF Cosmetics", Account: "elf-cosmetics", Category: "cosmetics", Budget: "$50,000", Audience: "young beauty fans", Draft: true}

	tesla = brief{Advertiser: "Tesla", Account: "tesla-motors", Category: "automotive", Budget: "$100,000"}
)

// oneAsk hands the brief over and returns the request for approval it must lead to.
func (s *stage) oneAsk(t *testing.T, session string, b brief) ask {
	t.Helper()
	got, err := s.buyer.brief(t.Context(), session, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.asks) != 1 || got.asks[0].tool != toolProvision {
		t.Fatalf("%s: said %q, asks %+v; want one request to run %s", b.Advertiser, got.text, got.asks, toolProvision)
	}
	return got.asks[0]
}

func TestBriefThatCannotBePlanned(t *testing.T) {
	for _, tc := range []struct {
		name    string
		arrange func(s *stage) brief
		want    string
	}{
		{"unknown category", func(*stage) brief {
			b := tesla
			b.Category = "yachts"
			return b
		}, "none of the 0 placements is available within $100,000"},
		{"more than the account may spend", func(*stage) brief {
			b := tesla
			b.Budget = "$100,001"
			return b
		}, "the budget $100,001 is more than the 100000 USD account tesla-motors may spend"},
		{"another currency", func(*stage) brief {
			b := tesla
			b.Budget = "€100"
			return b
		}, "is in EUR, the account is kept in USD"},
		{"not an amount", func(*stage) brief {
			b := tesla
			b.Budget = "plenty"
			return b
		}, `budget "plenty"`},
		{"unknown account", func(*stage) brief {
			b := tesla
			b.Account = "acme"
			return b
		}, `no account "acme"`},
		{"ad server down", func(s *stage) brief {
			s.server.FailState(true)
			return tesla
		}, "the state of this ad server cannot be read now"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			got, err := s.buyer.brief(t.Context(), "s", tc.arrange(s))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.asks) != 0 || !strings.HasPrefix(got.text, "There is no plan for Tesla: ") || !strings.Contains(got.text, tc.want) {
				t.Errorf("said %q and asks %v, want ...%q and nothing asked", got.text, got.asks, tc.want)
			}
		})
	}
}

func TestPlacementsThatDoNotFitAreLeftOut(t *testing.T) {
	s := newStage(t)
	if err := s.server.SellOut("Instagram Reels"); err != nil {
		t.Fatal(err)
	}
	b := elf
	b.Budget = "$20,000"
	request := s.oneAsk(t, "s", b)
	if _, err := s.buyer.answer(t.Context(), "s", request, true); err != nil {
		t.Fatal(err)
	}
	c, _, err := s.server.Campaign("GAM-2026-ELF-001")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]adserver.Line{{Placement: "TikTok TopView", Spend: 18000}}, c.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestDraftEditedAfterApproval(t *testing.T) {
	s := newStage(t)
	tools := &mediaTools{ads: s.server}
	lines := []adserver.Line{{Placement: "CNN Digital", Spend: 60000}}
	c, _, err := s.server.Draft("tesla-motors", lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []provisionArgs{
		{Account: "tesla-motors", CampaignID: c.ID, Lines: []adserver.Line{{Placement: "CNN Digital", Spend: 50000}}},
		{Account: "tesla-motors", CampaignID: c.ID, Lines: lines, Audiences: []string{"Athletes 18-35"}},
		{Account: "nike-running", CampaignID: c.ID, Lines: lines},
	} {
		if _, err := tools.provision(in, nil); err == nil || !strings.Contains(err.Error(), "is not the plan that was approved") {
			t.Errorf("%+v: err = %v, want a refusal", in, err)
		}
	}
	got, err := tools.provision(provisionArgs{Account: "tesla-motors", CampaignID: c.ID, Lines: slices.Clone(lines)}, nil)
	if err != nil || got.Status != adserver.StatusLive {
		t.Errorf("the approved plan: %+v, %v", got, err)
	}
}

// What moved between the check and the effect keeps a campaign from going live, although nothing looks anew.
func TestProvisionInAnotherWorld(t *testing.T) {
	s := newStage(t)
	tools := &mediaTools{ads: s.server}
	in := provisionArgs{Account: "tesla-motors", Lines: []adserver.Line{{Placement: "CNN Digital", Spend: 60000}}}
	seen := []safety.Precondition{
		{EntityType: "Product", Entity: "CNN Digital", Version: `"1"`}, {EntityType: "Budget", Entity: "$100,000", Version: `"1"`},
	}
	if err := s.server.SetPrice("CNN Digital", 75000); err != nil {
		t.Fatal(err)
	}
	if _, err := tools.provision(in, seen); err == nil || !strings.Contains(err.Error(), "placement CNN Digital is not what it was") {
		t.Errorf("bought at a price that nobody saw: %v", err)
	}
	seen[0].Version = `"2"`
	if got, err := tools.provision(in, seen); err != nil || got.Status != adserver.StatusLive {
		t.Errorf("in the world that was checked: %+v, %v", got, err)
	}
}
