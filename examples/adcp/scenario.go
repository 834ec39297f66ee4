// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adk-contextgraph/contextgraph/examples/adcp/internal/adserver"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// scenario is one session: a brief, the change of the world between request and approval, and the
// expected outcome.
type scenario struct {
	session string
	brief   brief
	world   string                       // what happens, in words
	happen  func(*adserver.Server) error // makes it happen
	want    outcome
}

// outcome is the end that a session must have.
type outcome struct {
	verdict safety.Verdict
	checked int // entities
	stale   int
	alerts  []string // without the values, which are in the report
	live    string   // id of the campaign that went live; empty: nothing was provisioned
}

// scenarios returns the three sessions of the demo.
func scenarios() []scenario {
	return []scenario{{
		session: "sess-elf-cosmetics",
		brief: brief{Advertiser: "ELF Cosmetics", Account: "elf-cosmetics", Category: "cosmetics", Budget: "$50,000",
			Audience: "young beauty fans", Draft: true},
		world:  "nothing changes",
		happen: func(*adserver.Server) error { return nil },
		want:   outcome{verdict: safety.Safe, checked: 7, live: "GAM-2026-ELF-001"},
	}, {
		session: "sess-nike-summer",
		brief: brief{Advertiser: "Nike", Account: "nike-running", Category: "sportswear", Budget: "$200,000",
			Audience: "runners under 35"},
		world: "Yahoo Homepage Takeover sells out; Strava Sponsored Routes goes from $40,000 to $52,000",
		happen: func(s *adserver.Server) error {
			return errors.Join(s.SellOut("Yahoo Homepage Takeover"), s.SetPrice("Strava Sponsored Routes", 52000))
		},
		want: outcome{verdict: safety.Drift, checked: 5, stale: 2, alerts: []string{
			"budget_exceeded: cost of the plan: $200,000 → $212,000, more than Budget $200,000 (+6%), severity 0.85",
			"inventory_depleted: availability of Product Yahoo Homepage Takeover: available → unavailable, severity 0.95",
			"price_changed: price of Product Strava Sponsored Routes: $40,000 → $52,000 (+30%), severity 0.72",
		}},
	}, {
		session: "sess-tesla-q1",
		brief:   brief{Advertiser: "Tesla", Account: "tesla-motors", Category: "automotive", Budget: "$100,000"},
		world:   "the ad server can no longer read its state",
		happen: func(s *adserver.Server) error {
			s.FailState(true)
			return nil
		},
		want: outcome{verdict: safety.CheckFailed, checked: 3},
	}}
}

// verify compares the end of a session with the expected one. The error names every difference.
func (s scenario) verify(got result) error {
	var wrong []string
	differ := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s: %v, want %v", what, got, want))
	}
	if got.check.Verdict != s.want.verdict.String() {
		differ("verdict", got.check.Verdict, s.want.verdict)
	}
	if got.check.Total != s.want.checked {
		differ("entities checked", got.check.Total, s.want.checked)
	}
	if got.check.Stale != s.want.stale {
		differ("stale entities", got.check.Stale, s.want.stale)
	}
	if have, want := briefly(got.check.Alerts), s.want.alerts; !slices.Equal(have, want) {
		differ("alerts", have, want)
	}
	if got.live != s.want.live {
		differ("campaign live", orNone(got.live), orNone(s.want.live))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("session %s did not end as it must: %s", s.session, strings.Join(wrong, "; "))
}

// briefly writes alerts in a line each, sorted.
func briefly(alerts []safety.Alert) []string {
	var lines []string
	for _, a := range alerts {
		lines = append(lines, a.String())
	}
	slices.Sort(lines)
	return lines
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
