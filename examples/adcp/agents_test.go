// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is the demo's cast without contextgraph: an ad server, the agents and a buyer.
type stage struct {
	server   *adserver.Server
	buyer    *buyer
	declared []entity.Entity
	guarded  []string // tools that were handed to protect
}

func newStage(t *testing.T) *stage {
	t.Helper()
	catalog, err := adserver.DemoCatalog()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{server: adserver.New(catalog)}
	tools := &mediaTools{ads: s.server, record: func(_ agent.Context, es ...entity.Entity) error {
		s.declared = append(s.declared, es...)
		return nil
	}}
	root, err := newAgents(scriptedModel{}, tools, func(t tool.Tool) tool.Tool {
		s.guarded = append(s.guarded, t.Name())
		return t
	})
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
	elf   = brief{Advertiser: "ELF Cosmetics", Account: "elf-cosmetics", Category: "cosmetics", Budget: "$50,000", Audience: "young beauty fans", Draft: true}
	nike  = brief{Advertiser: "Nike", Account: "nike-running", Category: "sportswear", Budget: "$200,000", Audience: "runners under 35"}
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

func TestCampaignGoesLive(t *testing.T) {
	for _, tc := range []struct {
		brief brief
		want  adserver.Campaign
	}{
		{elf, adserver.Campaign{ID: "GAM-2026-ELF-001", Account: "elf-cosmetics", Status: adserver.StatusLive,
			Lines:       []adserver.Line{{Placement: "Instagram Reels", Spend: 20000}, {Placement: "TikTok TopView", Spend: 18000}, {Placement: "YouTube Shorts", Spend: 12000}},
			Audiences:   []string{"Gen Z Female 18-24", "Beauty Enthusiasts"},
			ArtifactURI: "gs://adcp-artifacts/elf/campaign_config.json"}},
		{nike, adserver.Campaign{ID: "GAM-2026-NIKE-001", Account: "nike-running", Status: adserver.StatusLive,
			Lines:       []adserver.Line{{Placement: "Yahoo Homepage Takeover", Spend: 90000}, {Placement: "ESPN Video Pre-roll", Spend: 70000}, {Placement: "Strava Sponsored Routes", Spend: 40000}},
			Audiences:   []string{"Athletes 18-35"},
			ArtifactURI: "gs://adcp-artifacts/nike/campaign_config.json"}},
		{tesla, adserver.Campaign{ID: "GAM-2026-TESLA-001", Account: "tesla-motors", Status: adserver.StatusLive,
			Lines:       []adserver.Line{{Placement: "CNN Digital", Spend: 60000}, {Placement: "NYT Sponsored Content", Spend: 40000}},
			Audiences:   []string{},
			ArtifactURI: "gs://adcp-artifacts/tesla/campaign_config.json"}},
	} {
		t.Run(tc.brief.Advertiser, func(t *testing.T) {
			s := newStage(t)
			request := s.oneAsk(t, "s", tc.brief)
			got, err := s.buyer.answer(t.Context(), "s", request, true)
			if err != nil {
				t.Fatal(err)
			}
			if want := "is live: " + tc.want.ID; !strings.Contains(got.text, want) || len(got.asks) != 0 {
				t.Errorf("said %q and asks %v, want ...%q and nothing asked", got.text, got.asks, want)
			}
			c, _, err := s.server.Campaign(tc.want.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, c); diff != "" {
				t.Errorf("campaign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlySpendingIsProtected(t *testing.T) {
	if diff := cmp.Diff([]string{toolProvision}, newStage(t).guarded); diff != "" {
		t.Errorf("protected tools (-want +got):\n%s", diff)
	}
}

func TestToolsDeclareWhatTheyEvaluate(t *testing.T) {
	s := newStage(t)
	s.oneAsk(t, "s", nike)
	var got []string
	for _, e := range s.declared {
		line := e.Type + " " + e.Value
		for _, name := range []string{"availability", "price", "reach"} {
			if v, ok := e.Attributes[name]; ok {
				line += " " + name + "=" + v.String()
			}
		}
		got = append(got, line)
	}
	want := []string{
		"Product Yahoo Homepage Takeover availability=true price=$90,000",
		"Product ESPN Video Pre-roll availability=true price=$70,000",
		"Product Strava Sponsored Routes availability=true price=$40,000",
		"Targeting Athletes 18-35 reach=11400000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
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

func TestRejected(t *testing.T) {
	s := newStage(t)
	request := s.oneAsk(t, "s", elf)
	got, err := s.buyer.answer(t.Context(), "s", request, false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.text, "The campaign for ELF Cosmetics was not provisioned.") || len(got.asks) != 0 {
		t.Errorf("said %q, asks %v", got.text, got.asks)
	}
	if c, _, err := s.server.Campaign("GAM-2026-ELF-001"); err != nil || c.Status != adserver.StatusDraft {
		t.Errorf("campaign %+v, %v; want the draft", c, err)
	}
}

// The ad server refuses what is gone even when nothing guards the tool.
func TestSoldOutWithoutGuard(t *testing.T) {
	s := newStage(t)
	request := s.oneAsk(t, "s", nike)
	if err := s.server.SellOut("Yahoo Homepage Takeover"); err != nil {
		t.Fatal(err)
	}
	got, err := s.buyer.answer(t.Context(), "s", request, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := `placement "Yahoo Homepage Takeover" is not available`; !strings.Contains(got.text, want) || len(got.asks) != 0 {
		t.Errorf("said %q, asks %v; want ...%q and nothing asked", got.text, got.asks, want)
	}
}

func TestSecondBriefStartsOver(t *testing.T) {
	s := newStage(t)
	first := s.oneAsk(t, "s", elf)
	if _, err := s.buyer.answer(t.Context(), "s", first, true); err != nil {
		t.Fatal(err)
	}
	second := s.oneAsk(t, "s", tesla)
	got, err := s.buyer.answer(t.Context(), "s", second, true)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.text, "GAM-2026-TESLA-001") {
		t.Errorf("said %q, want Tesla's campaign live", got.text)
	}
}

func TestNoBrief(t *testing.T) {
	s := newStage(t)
	got, err := s.buyer.send(t.Context(), "s", genai.NewContentFromText("Hello", genai.RoleUser))
	if err != nil || !strings.Contains(got.text, "Send me a campaign brief") {
		t.Errorf("said %q, %v; want to be asked for a brief", got.text, err)
	}
}

func TestModelReportsABlockedPlan(t *testing.T) {
	text, err := nike.text()
	if err != nil {
		t.Fatal(err)
	}
	blocked := map[string]any{"status": "blocked", "reason": "drift", "message": "The world changed.", "alerts": []any{
		map[string]any{"entity_type": "Product", "entity": "Strava Sponsored Routes", "before": "$40,000", "after": "$52,000", "recommendation": "Ask again"},
	}, "failures": []any{map[string]any{"entity_type": "Product", "entity": "ESPN Video Pre-roll", "reason": "timeout", "detail": "no answer"}}}
	answer := genai.NewContentFromFunctionResponse(toolProvision, blocked, genai.RoleUser)
	req := &model.LLMRequest{
		Contents: []*genai.Content{genai.NewContentFromText(text, genai.RoleUser), answer},
		Config:   &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: toolProvision}}}}},
	}
	for got, err := range (scriptedModel{}).GenerateContent(t.Context(), req, false) {
		if err != nil {
			t.Fatal(err)
		}
		want := "The campaign for Nike was not provisioned. The world changed.\n" +
			"- Product Strava Sponsored Routes: $40,000 -> $52,000. Ask again\n" +
			"- Product ESPN Video Pre-roll could not be checked\n" +
			"A new plan needs a new approval."
		if diff := cmp.Diff(want, got.Content.Parts[0].Text); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
		u := got.UsageMetadata
		if u.PromptTokenCount <= 0 || u.CandidatesTokenCount <= 0 || u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount {
			t.Errorf("usage %+v", u)
		}
	}
}

func TestModelRefusesAnUnknownPart(t *testing.T) {
	for _, err := range (scriptedModel{}).GenerateContent(t.Context(), &model.LLMRequest{}, false) {
		if err == nil || !strings.Contains(err.Error(), "neither has the tools") {
			t.Errorf("err = %v", err)
		}
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
