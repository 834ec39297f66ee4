// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse_test

import (
	"encoding/json"
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
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/tests/thirdparty/emulator"
)

// The emulator cannot run a pattern with a condition or a quantifier, so queries in GQL are
// parsed and analysed in package googlesql and not executed anywhere.

func askServer(t *testing.T) (*emulator.Server, *bigquery.Dataset, *bq.Client) {
	t.Helper()
	s := emulator.Start(t)
	cfg := s.Config()
	cfg.Graph.GQL = new(false)
	made := dataset(t, s, cfg)
	if _, err := made.Init(t.Context(), bigquery.InitOptions{}); err != nil {
		t.Fatal(err)
	}
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

// equal compares what two graphs of a session say.
func equal(t *testing.T, want, got *graphsync.Graph) (reasons int) {
	t.Helper()
	nodes := want.Nodes()
	same(t, "steps", nodes, got.Nodes())
	same(t, "edges", want.Edges(), got.Edges())
	decision, ok := want.Decision()
	kept, keptOK := got.Decision()
	if kept != decision || keptOK != ok {
		t.Errorf("the decision is %q, %t, want %q, %t", kept, keptOK, decision, ok)
	}
	for i, n := range nodes {
		if n.Key != decision && i%5 != 0 {
			continue
		}
		for _, hops := range []int{1, graphsync.DefaultHops} {
			same(t, "effects", want.Effects(n.Key, hops), got.Effects(n.Key, hops))
			same(t, "causes", want.Causes(n.Key, hops), got.Causes(n.Key, hops))
			if tied(want, n) {
				continue
			}
			why, err := want.Why(n.Key, graphsync.WithHops(hops))
			if err != nil {
				t.Fatal(err)
			}
			gotWhy, err := got.Why(n.Key, graphsync.WithHops(hops))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "reasons", why, gotWhy)
			reasons += len(why)
		}
		if tied(want, n) {
			continue
		}
		before, err := want.SeenBefore(n.Key)
		if err != nil {
			t.Fatal(err)
		}
		gotBefore, err := got.SeenBefore(n.Key)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "seen before", before, gotBefore)
	}
	return reasons
}

// tied reports whether another step saw something in the microsecond of the last row of a step. A journal knows what came
// first, and a dataset does not.
func tied(g *graphsync.Graph, n graphsync.TechNode) bool {
	entities := g.Entities()
	for i, known := range g.Sightings() {
		for _, k := range known {
			if entities[i].TechNode != n.Key && k.Since.Equal(n.End) {
				return true
			}
		}
	}
	return false
}

// The graph that is read back from the dataset answers as that of the journal, for sessions of many forms. Older versions of
// it, and those of a writer that has fewer rows, are there too.
func TestGraphEqualsTheJournal(t *testing.T) {
	server, d, _ := askServer(t)
	stories := []*story{
		delegate(t, "approved").resumed(true, time.Minute), named(t, "named"), between(t, "between"), diamonds(t, "diamonds", 4, 3), tangle(t, "tangle", 3, 40),
	}
	for seed := range uint64(4) {
		stories = append(stories, newWander(t, fmt.Sprint("w", seed), seed).story)
	}
	for _, s := range stories {
		early := &story{t: t, session: s.session, rows: s.rows[:len(s.rows)/2]}
		early.loadGraph(server)
		s.loadGraph(server)
		got, err := d.Graph(t.Context(), ask.Scope{Session: s.session})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, s.graph(), got.Graph)
		if t.Failed() {
			t.Fatalf("session %s", s.session.ID)
		}
	}
}

// Graphs that were kept answer as those of the rows, for sessions nobody thought of. Nothing is sent: the rows
// of session_graphs go through JSON, as the dataset gives them.
func TestKeptGraphsEqualTheJournal(t *testing.T) {
	sessions, reasons := testsize.Rounds(t, 500, 20_000), 0
	for seed := range uint64(sessions) {
		w := newWander(t, fmt.Sprint("w", seed), seed)
		folded := w.fold()
		g, err := warehouse.NewSessionGraph(w.session, folded)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(g.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []warehouse.NodeRow
		if err := json.Unmarshal(text, &nodes); err != nil {
			t.Fatal(err)
		}
		kept, err := warehouse.KeptGraph(w.session, nodes)
		if err != nil {
			t.Fatal(err)
		}
		reasons += equal(t, folded.Graph(), kept)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if reasons < sessions {
		t.Errorf("only %d reasons for %d sessions", reasons, sessions)
	}
}

// One dataset with three sessions: one that was approved, one that was rejected, one
// that waits, and copies of rows in the table of events.
func TestQuestionsAboutSessions(t *testing.T) {
	server, d, client := askServer(t)
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

	t.Run("checks", func(t *testing.T) {
		got, err := d.Graph(t.Context(), ask.Scope{Session: rejected.session})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Checks) != 1 || got.Checks[0].Verdict != "drift" || got.Checks[0].Tool != "provision_campaign" ||
			len(got.Checks[0].Alerts) != 1 || got.Checks[0].Alerts[0].After != "$52,000" {
			t.Errorf("checks %+v", got.Checks)
		}
		shows(t, client, server, approved.session, approved.graph())
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
	t.Run("errors", func(t *testing.T) {
		asked := func(s record.Session) error {
			_, err := d.Graph(t.Context(), ask.Scope{Session: s})
			return err
		}
		other := approved.session
		other.User = "somebody else"
		for name, test := range map[string]struct{ got, want error }{
			"no id":      {asked(record.Session{App: "ads", User: "u1"}), ask.ErrNoSessionID},
			"other user": {asked(other), ask.ErrUnknownSession},
			"no time":    {func() error { _, err := d.WaitingTimes(t.Context(), ask.Window{}); return err }(), ask.ErrNoWindow},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: %v, want %v", name, test.got, test.want)
			}
		}
	})
}
