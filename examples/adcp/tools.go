// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	contextgraph "github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Names of the tools, as the model calls them.
const (
	toolInventory = "query_ad_inventory"
	toolAudience  = "match_target_audience"
	toolBudget    = "allocate_media_budget"
	toolDraft     = "draft_campaign"
	toolProvision = "provision_campaign"
	toolTransfer  = "transfer_to_agent" // the framework's own
)

// minScore is the lowest score an audience is targeted with.
const minScore = 0.9

// mediaTools are the tools of the media planner and of the root agent. They act on the ad server.
type mediaTools struct {
	ads    *adserver.Server
	record func(agent.Context, ...entity.Entity) error // declares what a tool evaluated; nil: nobody listens
}

// forPlanner returns the tools that look and plan.
func (m *mediaTools) forPlanner() ([]tool.Tool, error) {
	inventory, err1 := functiontool.New(functiontool.Config{
		Name:        toolInventory,
		Description: "Lists the placements an advertiser of a category can buy, with price, availability and match.",
	}, m.queryInventory)
	audience, err2 := functiontool.New(functiontool.Config{
		Name:        toolAudience,
		Description: "Finds the audience segments worth targeting for a category.",
	}, m.matchAudience)
	budget, err3 := functiontool.New(functiontool.Config{
		Name:        toolBudget,
		Description: "Splits a budget over placements at their current prices, within what the account may spend.",
	}, m.allocateBudget)
	draft, err4 := functiontool.New(functiontool.Config{
		Name:        toolDraft,
		Description: "Stores a media plan on the ad server as a draft campaign. Only when the brief asks for a draft.",
	}, m.draftCampaign)
	return []tool.Tool{inventory, audience, budget, draft}, errors.Join(err1, err2, err3, err4)
}

// forRoot returns the tool that spends money. It asks a person every time.
func (m *mediaTools) forRoot() (tool.Tool, error) {
	return functiontool.New(functiontool.Config{
		Name:                toolProvision,
		Description:         "Makes a campaign live on the ad server. Spends the budget. A person has to confirm it.",
		RequireConfirmation: true,
	}, m.provisionCampaign)
}

type inventoryArgs struct {
	Category string `json:"category" jsonschema:"the advertiser's category, for example cosmetics"`
}

type inventoryResult struct {
	Category   string               `json:"category"`
	Placements []adserver.Placement `json:"placements"`
}

func (m *mediaTools) queryInventory(ctx agent.Context, in inventoryArgs) (inventoryResult, error) {
	placements, err := m.ads.Placements(in.Category)
	if err != nil {
		return inventoryResult{}, err
	}
	// The confidence of a placement differs from one to the next. The tool knows it and a rule does
	// not, so the tool declares the placements itself.
	products := make([]entity.Entity, len(placements))
	for i, p := range placements {
		price, err := entity.Money(fmt.Sprint(p.Price), p.Currency)
		if err != nil {
			return inventoryResult{}, fmt.Errorf("placement %q: %w", p.Name, err)
		}
		products[i] = entity.Entity{Type: "Product", Value: p.Name, Confidence: p.Match, Attributes: map[string]entity.Value{
			"availability": entity.Bool(p.Available), "price": price,
		}}
	}
	if err := m.declare(ctx, products); err != nil {
		return inventoryResult{}, err
	}
	return inventoryResult{in.Category, placements}, nil
}

type audienceArgs struct {
	Category string `json:"category" jsonschema:"the advertiser's category, for example cosmetics"`
}

type audienceResult struct {
	Audiences  []adserver.Audience `json:"audiences"`
	Considered int                 `json:"considered"` // segments looked at, also those not worth targeting
}

func (m *mediaTools) matchAudience(ctx agent.Context, in audienceArgs) (audienceResult, error) {
	all, err := m.ads.Audiences(in.Category)
	if err != nil {
		return audienceResult{}, err
	}
	matched := slices.DeleteFunc(slices.Clone(all), func(a adserver.Audience) bool { return a.Score < minScore })
	targets := make([]entity.Entity, len(matched))
	for i, a := range matched {
		reach, err := entity.Number(a.Reach)
		if err != nil {
			return audienceResult{}, fmt.Errorf("audience %q: %w", a.Name, err)
		}
		targets[i] = entity.Entity{Type: "Targeting", Value: a.Name, Confidence: a.Score, Attributes: map[string]entity.Value{
			"reach": reach,
		}}
	}
	if err := m.declare(ctx, targets); err != nil {
		return audienceResult{}, err
	}
	return audienceResult{matched, len(all)}, nil
}

type budgetArgs struct {
	Account    string   `json:"account"`
	Budget     string   `json:"budget" jsonschema:"the budget of the brief, for example $50,000"`
	Placements []string `json:"placements" jsonschema:"names of the placements, the most wanted first"`
}

type budgetResult struct {
	Account    string          `json:"account"`
	Budget     string          `json:"budget"`
	Authorized int64           `json:"authorized"` // the present budget of the account, whole units of Currency
	Currency   string          `json:"currency"`
	Lines      []adserver.Line `json:"lines"`
	Unspent    int64           `json:"unspent"`
}

func (m *mediaTools) allocateBudget(_ agent.Context, in budgetArgs) (budgetResult, error) {
	may, err := m.ads.Account(in.Account)
	if err != nil {
		return budgetResult{}, err
	}
	left, err := wholeUnits(in.Budget, may.Currency)
	if err != nil {
		return budgetResult{}, err
	}
	if left > may.Amount {
		return budgetResult{}, fmt.Errorf("the budget %s is more than the %d %s account %s may spend", in.Budget, may.Amount, may.Currency, in.Account)
	}
	out := budgetResult{Account: may.ID, Budget: in.Budget, Authorized: may.Amount, Currency: may.Currency, Lines: []adserver.Line{}}
	for _, name := range in.Placements {
		p, err := m.ads.Placement(name)
		if err != nil {
			return budgetResult{}, err
		}
		if p.Available && p.Price <= left {
			out.Lines = append(out.Lines, adserver.Line{Placement: p.Name, Spend: p.Price})
			left -= p.Price
		}
	}
	if len(out.Lines) == 0 {
		return budgetResult{}, fmt.Errorf("none of the %d placements is available within %s", len(in.Placements), in.Budget)
	}
	out.Unspent = left
	return out, nil
}

type draftArgs struct {
	Account   string          `json:"account"`
	Lines     []adserver.Line `json:"lines"`
	Audiences []string        `json:"audiences,omitempty"`
}

type campaignResult struct {
	CampaignID  string          `json:"campaign_id"`
	Status      adserver.Status `json:"status"`
	ArtifactURI string          `json:"artifact_uri"`
}

func (m *mediaTools) draftCampaign(_ agent.Context, in draftArgs) (campaignResult, error) {
	c, _, err := m.ads.Draft(in.Account, in.Lines, in.Audiences)
	if err != nil {
		return campaignResult{}, err
	}
	return campaignResult{c.ID, c.Status, c.ArtifactURI}, nil
}

type provisionArgs struct {
	Account    string          `json:"account"`
	CampaignID string          `json:"campaign_id,omitempty" jsonschema:"the drafted campaign, if there is one"`
	Lines      []adserver.Line `json:"lines"`
	Audiences  []string        `json:"audiences,omitempty"`
}

func (m *mediaTools) provisionCampaign(ctx agent.Context, in provisionArgs) (campaignResult, error) {
	return m.provision(in, contextgraph.Preconditions(ctx))
}

// provision makes the campaign live, in the world that the check right before it saw: seen are the ETags of its
// answers. Where anything moved since, the ad server refuses.
func (m *mediaTools) provision(in provisionArgs, seen []safety.Precondition) (campaignResult, error) {
	c, etag, err := m.toProvision(in)
	if err != nil {
		return campaignResult{}, err
	}
	// A person approved these lines; a draft that somebody edited meanwhile is another campaign.
	if c.Account != in.Account || !slices.Equal(c.Lines, in.Lines) || !slices.Equal(c.Audiences, in.Audiences) {
		return campaignResult{}, fmt.Errorf("campaign %s is not the plan that was approved", c.ID)
	}
	expect := adserver.Expect{Placements: map[string]string{}, Audiences: map[string]string{}, Campaign: etag}
	for _, p := range seen {
		if p.Overridden { // its source is down: there is nothing to insist on
			continue
		}
		switch p.EntityType {
		case "Product":
			expect.Placements[p.Entity] = p.Version
		case "Targeting":
			expect.Audiences[p.Entity] = p.Version
		case "Budget":
			expect.Account = p.Version
		case "Campaign":
			expect.Campaign = p.Version
		}
	}
	live, err := m.ads.Provision(c.ID, expect)
	if err != nil {
		return campaignResult{}, err
	}
	return campaignResult{live.ID, live.Status, live.ArtifactURI}, nil
}

// toProvision returns the campaign the arguments mean: the drafted one, or a new draft of the plan.
func (m *mediaTools) toProvision(in provisionArgs) (adserver.Campaign, string, error) {
	if in.CampaignID != "" {
		return m.ads.Campaign(in.CampaignID)
	}
	return m.ads.Draft(in.Account, in.Lines, in.Audiences)
}

func (m *mediaTools) declare(ctx agent.Context, es []entity.Entity) error {
	if m.record == nil || len(es) == 0 {
		return nil
	}
	return m.record(ctx, es...)
}

// wholeUnits reads an amount such as "$50,000". Media is bought in whole units of the account's currency.
func wholeUnits(amount, currency string) (int64, error) {
	v, err := entity.ParseMoney(amount, currency)
	if err != nil {
		return 0, fmt.Errorf("budget %q: %w", amount, err)
	}
	if c := v.Currency(); c != "" && c != currency {
		return 0, fmt.Errorf("budget %q is in %s, the account is kept in %s", amount, c, currency)
	}
	r, ok := v.Rat()
	if !ok || !r.IsInt() || !r.Num().IsInt64() || r.Sign() <= 0 {
		return 0, fmt.Errorf("budget %q is not a positive whole amount", amount)
	}
	return r.Num().Int64(), nil
}
