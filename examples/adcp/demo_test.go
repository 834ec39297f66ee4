// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

func newDemo(t *testing.T) *demo {
	t.Helper()
	d, err := openDemo(t.Context(), filepath.Join(t.TempDir(), journalName), configYAML, newAgents)
	t.Cleanup(func() {
		if err := d.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDemoConfigUsesTheServerOfThisRun(t *testing.T) {
	cfg, err := demoConfig(configYAML, "http://127.0.0.1:1", "j.db")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Journal.Path != "j.db" || len(cfg.Checkers) != 4 {
		t.Errorf("journal %q, %d checkers", cfg.Journal.Path, len(cfg.Checkers))
	}
	for _, c := range cfg.Checkers {
		if !strings.HasPrefix(c.HTTP.URL, "http://127.0.0.1:1/v1/") {
			t.Errorf("checker of %s asks %s", c.Type, c.HTTP.URL)
		}
	}
}

// What each session is about: entity, confidence and document.
func TestEntities(t *testing.T) {
	want := map[string][]string{
		"sess-elf-cosmetics": {
			"Budget $50,000 0.99", "Campaign GAM-2026-ELF-001 1.00 gs://adcp-artifacts/elf/campaign_config.json",
			"Product Instagram Reels 0.97", "Product TikTok TopView 0.95", "Product YouTube Shorts 0.93",
			"Targeting Beauty Enthusiasts 0.92", "Targeting Gen Z Female 18-24 0.94",
		},
		"sess-nike-summer": {
			"Budget $200,000 0.99", "Product ESPN Video Pre-roll 0.94", "Product Strava Sponsored Routes 0.91",
			"Product Yahoo Homepage Takeover 0.96", "Targeting Athletes 18-35 0.91",
		},
		"sess-tesla-q1": {"Budget $100,000 0.99", "Product CNN Digital 0.93", "Product NYT Sponsored Content 0.90"},
	}
	d := newDemo(t)
	for _, s := range scenarios() {
		t.Run(s.session, func(t *testing.T) {
			r, err := d.play(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.verify(r); err != nil {
				t.Error(err)
			}
			got := []string{}
			for _, e := range r.entities {
				got = append(got, strings.TrimSpace(strings.Join([]string{e.Type, e.Value, fmt.Sprintf("%.2f", e.Confidence), e.ArtifactURI}, " ")))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want[s.session], got); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
			explained := 0
			for _, w := range r.why {
				explained += len(w.entities)
				if last := w.steps[len(w.steps)-1]; !strings.HasPrefix(last.span, "hitl ") || last.edge != "" {
					t.Errorf("the path of %v ends at %+v, want the request for approval", w.entities, last)
				}
			}
			if explained != len(want[s.session]) {
				t.Errorf("%d entities have a path to the request, want %d", explained, len(want[s.session]))
			}
		})
	}
}

// The agent of a blocked session says what changed and does not try again.
func TestBlockedIsNotRetried(t *testing.T) {
	d := newDemo(t)
	for _, s := range scenarios()[1:] {
		t.Run(s.session, func(t *testing.T) {
			r, err := d.play(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			next := "A new plan needs a new approval."
			if s.session == "sess-tesla-q1" {
				next = "The approval stays open"
			}
			if !strings.Contains(r.said, "was not provisioned") || !strings.Contains(r.said, next) {
				t.Errorf("the agents said %q", r.said)
			}
			key := record.Session{App: appName, User: userID, ID: s.session}
			approvals, err := d.instance.Approvals(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if len(approvals) != 1 || approvals[0].State == safety.StateExecuted {
				t.Errorf("approvals: %+v, want one that was not executed", approvals)
			}
			for _, c := range d.server.Campaigns() {
				if c.Account == s.brief.Account {
					t.Errorf("the blocked session left campaign %+v", c)
				}
			}
		})
		d.server.FailState(false)
	}
}

// A rejected plan is not provisioned, and needs no check to be refused.
func TestRejectedUnderGuard(t *testing.T) {
	d := newDemo(t)
	first, err := d.buyer.brief(t.Context(), "s", elf)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.asks) != 1 {
		t.Fatalf("asks %v, said %q", first.asks, first.text)
	}
	second, err := d.buyer.answer(t.Context(), "s", first.asks[0], false)
	if err != nil {
		t.Fatal(err)
	}
	if live := d.liveCampaign(elf.Account); live != "" || !strings.Contains(second.text, "was not provisioned") {
		t.Errorf("live %q, said %q", live, second.text)
	}
}

// An approval is good for one run: the same answer again provisions nothing.
func TestApprovalIsUsedOnce(t *testing.T) {
	d := newDemo(t)
	first, err := d.buyer.brief(t.Context(), "s", nike)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.buyer.answer(t.Context(), "s", first.asks[0], true); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.server.Campaigns()); n != 1 {
		t.Errorf("%d campaigns, want 1: %+v", n, d.server.Campaigns())
	}
}
