// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package adserver

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed catalog.json
var catalogJSON []byte

// Placement is one piece of media a campaign can buy as a package.
type Placement struct {
	Name      string  `json:"name"`
	Category  string  `json:"category"`
	Available bool    `json:"available"`
	Price     int64   `json:"price"` // whole units of Currency, for the whole flight
	Currency  string  `json:"currency"`
	Match     float64 `json:"match"` // how well it suits its category, 0..1
}

// Audience is one segment a campaign can target.
type Audience struct {
	Name     string  `json:"name"`
	Category string  `json:"category"`
	Reach    int64   `json:"reach"` // people
	Score    float64 `json:"score"` // how well it suits its category, 0..1
}

// Account is an advertiser with the budget authorised for it.
type Account struct {
	ID         string `json:"account"`
	Code       string `json:"code"` // names the account's campaigns and artifacts
	Advertiser string `json:"advertiser"`
	Amount     int64  `json:"amount"` // whole units of Currency
	Currency   string `json:"currency"`
}

// Line is one placement of a campaign and the money planned for it.
type Line struct {
	Placement string `json:"placement"`
	Spend     int64  `json:"spend"` // whole units of the account's currency
}

// Status says how far a campaign has come.
type Status string

// The states of a campaign.
const (
	StatusDraft Status = "draft"
	StatusLive  Status = "live"
)

// Campaign is a media plan the server knows: drafted first, then live.
type Campaign struct {
	ID          string   `json:"id"`
	Account     string   `json:"account"`
	Status      Status   `json:"status"`
	Lines       []Line   `json:"lines"`
	Audiences   []string `json:"audiences"`
	ArtifactURI string   `json:"artifact_uri"`
}

// Catalog is the initial content of an ad server.
type Catalog struct {
	CampaignYear int         `json:"campaign_year"` // part of every campaign id
	Accounts     []Account   `json:"accounts"`
	Placements   []Placement `json:"placements"`
	Audiences    []Audience  `json:"audiences"`
}

// DemoCatalog returns the three advertisers of the demo and the media and audiences on offer to them.
func DemoCatalog() (Catalog, error) {
	dec := json.NewDecoder(bytes.NewReader(catalogJSON))
	dec.DisallowUnknownFields()
	var c Catalog
	if err := dec.Decode(&c); err != nil {
		return Catalog{}, fmt.Errorf("adserver: reading the embedded catalog: %w", err)
	}
	return c, nil
}
