// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	bq "cloud.google.com/go/bigquery"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/bigquery"
	"github.com/adk-contextgraph/contextgraph/internal/cgtest/testsize"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The answers of the recursive form, executed by the emulator, are those of the journal.
// The emulator cannot run a pattern with a condition or a quantifier, so the GQL form is
// parsed and analysed in package googlesql and not executed anywhere.

func askServer(t *testing.T, queries config.Queries) (*emulator.Server, *bigquery.Dataset, *bq.Client) {
	t.Helper()
	s := emulator.Start(t)
	cfg := s.Config()
	cfg.Graph.Queries = config.QueriesRecursive
	made := dataset(t, s, cfg)
	if _, err := made.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg.Graph.Queries = queries
	client, err := bq.NewClient(t.Context(), emulator.Project, s.RESTOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return s, storyDataset(t, s, cfg), client
}

// storyDataset returns a dataset whose clock is a day after the stories: questions without
// times look at the days before it.
func storyDataset(t *testing.T, s *emulator.Server, cfg config.BigQuery) *bigquery.Dataset {
	t.Helper()
	d, err := bigquery.NewDataset(t.Context(), cfg, bigquery.DatasetOptions{
		Client: s.RESTOptions(), Now: func() time.Time { return time.UnixMicro(baseTime).Add(24 * time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Errorf("%s (-journal +dataset):\n%s", what, d)
	}
}

func TestReasoningChainEqualsTheJournal(t *testing.T) {
	server, d, _ := askServer(t, config.QueriesRecursive)
	// 3 to the power of 14 paths. The time that the emulator takes for a window grows with the square of the rows.
	long := diamonds(t, "long", 14, 3)
	type test struct {
		*story
		decisions []string // spans; empty for the latest request
		hops      int
	}
	tests := []test{
		{delegate(t, "resumed").resumed(true, time.Minute), []string{"H", "T4", "R2"}, 0},
		{named(t, "named"), []string{"", "L4"}, 0},
		{diamonds(t, "diamonds", 6, 3), []string{"T3.1"}, 3},
		{long, []string{""}, 6},
	}
	for i := range testsize.Rounds(t, 1, 3) {
		tests = append(tests, test{tangle(t, fmt.Sprint("tangle", i), uint64(i+1), testsize.Rounds(t, 30, 60)), []string{"", "S29"}, 2 * (i % 2)})
	}
	for _, test := range tests {
		t.Run(test.session.ID, func(t *testing.T) {
			test.t = t
			g := test.graph()
			test.loadGraph(server)
			for _, span := range test.decisions {
				q := ask.ReasoningQuestion{Scope: ask.Scope{Session: test.session}, Hops: test.hops}
				key, _ := g.Decision()
				if span != "" {
					key = test.key(span)
					q.Decision = key
				}
				got, err := d.ReasoningChain(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				var opts []graphsync.Option
				if test.hops > 0 {
					opts = append(opts, graphsync.WithHops(test.hops))
				}
				want, err := g.Why(key, opts...)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "reasons of "+span, want, got.Reasons)
				node, _ := g.Node(key)
				same(t, "decision "+span, node, got.Decision)
				farther, err := g.Why(key, graphsync.WithHops(cmp.Or(test.hops, graphsync.DefaultHops)+1))
				if err != nil {
					t.Fatal(err)
				}
				if got.Form != ask.FormRecursive || got.Truncated || !got.Beyond && len(farther) > len(want) {
					t.Errorf("form %s, truncated %t, beyond %t", got.Form, got.Truncated, got.Beyond)
				}
			}
		})
	}
}

// One dataset with three sessions: one that was approved, one that was rejected, one
// that waits, and copies of rows in the table of events.
func TestQuestionsAboutSessions(t *testing.T) {
	server, d, client := askServer(t, config.QueriesRecursive)
	approved := delegate(t, "approved").resumed(true, 90*time.Second)
	rejected := delegate(t, "rejected")
	rejected.answer("2", "inv-1", "R2", "conf1", false, 30*time.Second)
	rejected.check("W", "R2", "conf1", "c5", "drift", m{
		"entity_type": "Product", "entity": "Strava Routes", "attribute": "price", "drift_type": "price_changed",
		"before": "$40,001", "after": "$52,000", "severity": 0.72,
	})
	waiting := newStory(t, "waiting")
	waiting.turn("1", "R")
	waiting.llm("L1", "R", "c1=provision_campaign")
	waiting.ask("T1", "R", "c1=provision_campaign", "H", "conf1", m{"budget": 7})
	for _, s := range []*story{approved, rejected, waiting} {
		s.loadEvents(client, server, append(slices.Clone(s.rows), s.rows...))
		s.loadGraph(server)
	}
	window := ask.Window{From: time.UnixMicro(baseTime), To: time.UnixMicro(baseTime).Add(time.Hour)}

	t.Run("inputs", func(t *testing.T) {
		g := approved.graph()
		got, err := d.WorldChangeInputs(t.Context(), ask.InputsQuestion{Scope: ask.Scope{Session: approved.session}, Decision: approved.key("H")})
		if err != nil {
			t.Fatal(err)
		}
		var before []entity.Entity
		for _, e := range g.Entities() {
			if !e.SeenAt.After(got.DecidedAt) {
				before = append(before, e)
			}
		}
		same(t, "inputs", entity.Canonicalize(before), got.Entities)
		reasons, err := g.Why(approved.key("H"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reasons {
			if !slices.ContainsFunc(got.Entities, func(c entity.Canonical) bool { return c.Key == r.Entity.Key }) {
				t.Errorf("the inputs lack %s, which led to the decision", r.Entity.Key)
			}
		}
		shows(t, client, server, approved.session, g)
	})
	t.Run("explanation", func(t *testing.T) {
		got, err := d.ExplainDecision(t.Context(), ask.ReasoningQuestion{Scope: ask.Scope{Session: rejected.session}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := rejected.graph().Why(rejected.key("H"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "reasons", want, got.Reasons)
		if len(got.Checks) != 1 || got.Checks[0].Verdict != "drift" || got.Checks[0].Tool != "provision_campaign" ||
			len(got.Checks[0].Alerts) != 1 || got.Checks[0].Alerts[0].After != "$52,000" {
			t.Errorf("checks %+v", got.Checks)
		}
		if len(got.Answers) != 1 || got.Answers[0].Confirmed || got.Answers[0].Approver != "u1" || got.Answers[0].Waited != 30*time.Second {
			t.Errorf("answers %+v", got.Answers)
		}
	})
	t.Run("entity across sessions", func(t *testing.T) {
		got, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{
			Window: window, Entity: entity.Entity{Type: "Product", Value: "INSTAGRAM  reels"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var sessions []string
		for _, a := range got.Approvals {
			sessions = append(sessions, a.Session.ID)
			if a.Hops != 4 || a.Sightings != 1 || a.Value != "Instagram Reels" {
				t.Errorf("%+v, want 4 hops from one step as in Why", a)
			}
		}
		slices.Sort(sessions)
		same(t, "sessions", []string{"approved", "rejected"}, sessions)
		cut, err := d.EntityAcrossSessions(t.Context(), ask.EntityQuestion{
			Window: ask.Window{From: window.From, To: window.To, Limit: 1}, Entity: entity.Entity{Type: "Product", Value: "Instagram Reels"},
		})
		if err != nil || len(cut.Approvals) != 1 || !cut.Truncated {
			t.Errorf("with a limit: %+v, %v", cut, err)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		got, err := d.WaitingTimes(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "waiting", []ask.Waiting{{
			Kind: "CONFIRMATION", Agent: "planner", Tool: "provision_campaign", Requests: 3, Answered: 2, Confirmed: 1, Rejected: 1, Accepted: 1,
			Waited: 2, Average: 60 * time.Second, P50: 60 * time.Second, P95: 87 * time.Second, Max: 90 * time.Second,
		}}, got.Groups)
	})
	t.Run("drift", func(t *testing.T) {
		got, err := d.DriftStatistics(t.Context(), window)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "verdicts", []ask.DriftVerdicts{{
			Day: time.UnixMicro(baseTime).UTC().Truncate(24 * time.Hour), Tool: "provision_campaign", Stage: "answer",
			Checks: 2, Safe: 1, Drift: 1, Entities: 6, Stale: 1,
		}}, got.Verdicts)
		if len(got.Changes) != 1 || got.Changes[0].Value != "Strava Routes" || got.Changes[0].DriftType != "price_changed" || got.Changes[0].Sessions != 1 {
			t.Errorf("changes %+v", got.Changes)
		}
	})
	t.Run("limit", func(t *testing.T) {
		got, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: ask.Scope{Session: approved.session, Limit: 3}, Decision: approved.key("H")})
		if err != nil || !got.Truncated || len(got.Reasons) == 0 {
			t.Errorf("a limit of 3 steps: %+v, %v", got, err)
		}
		for _, r := range got.Reasons {
			if last := r.Path[len(r.Path)-1].Node.Key; last != approved.key("H") || r.Path[0].Node.SpanID == "" {
				t.Errorf("the path of %s is cut: %+v", r.Entity.Key, r.Path)
			}
		}
	})
	t.Run("errors", func(t *testing.T) {
		asked := func(s record.Session, decision string) error {
			_, err := d.ReasoningChain(t.Context(), ask.ReasoningQuestion{Scope: ask.Scope{Session: s}, Decision: decision})
			return err
		}
		other := approved.session
		other.User = "somebody else"
		for name, test := range map[string]struct{ got, want error }{
			"no id":          {asked(record.Session{App: "ads", User: "u1"}, ""), ask.ErrNoSessionID},
			"other user":     {asked(other, ""), ask.ErrUnknownSession},
			"unknown node":   {asked(approved.session, "nothing"), graphsync.ErrUnknownNode},
			"no time":        {func() error { _, err := d.WaitingTimes(t.Context(), ask.Window{}); return err }(), ask.ErrNoWindow},
			"no id of trace": {func() error { _, err := d.Trace(t.Context(), ask.Scope{}); return err }(), ask.ErrNoSessionID},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: %v, want %v", name, test.got, test.want)
			}
		}
	})
}
