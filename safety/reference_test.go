// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// TestReference holds the check of the world against what the tests of the Python
// implementation say of it, by the numbers of docs/internal/reference-behaviours.md.
func TestReference(t *testing.T) {
	contains := func(t *testing.T, text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("no %q in\n%s", p, text)
			}
		}
	}
	t.Run("03_an_alert_recommends_something", func(t *testing.T) {
		_, r := nikeDrift(t)
		for _, a := range r.Alerts() {
			if a.Recommendation == "" {
				t.Errorf("%+v recommends nothing", a)
			}
		}
	})
	t.Run("04_summary_of_a_safe_report", func(t *testing.T) {
		r := newBench(t, nil, yahoo, strava, budget).check()
		wantSafe(t, r)
		contains(t, r.Summary(), "Entities checked : 3", "Stale entities   : 0", "Safe to approve  : true")
	})
	t.Run("05_summary_names_drift_and_entity", func(t *testing.T) {
		b := newBench(t, nil, yahoo)
		b.world.put(yahoo, "availability", entity.Bool(false))
		contains(t, b.check().Summary(), "Safe to approve  : false", string(safety.Unavailable), "Yahoo Homepage Takeover")
	})
	t.Run("06_summary_counts", func(t *testing.T) {
		_, r := nikeDrift(t)
		contains(t, r.Summary(), nike.ID, "Entities checked : 5", "Stale entities   : 2", "Yahoo Homepage Takeover", "Strava Sponsored Routes")
	})
	t.Run("24_nothing_checked_is_not_safe", func(t *testing.T) {
		// The reference calls a session without entities, and one without a checker, safe.
		r := newBench(t, nil).check()
		wantFailure(t, r, safety.ReasonNoEntities)
		wantFailure(t, newBench(t, func(cfg *safety.GuardConfig) { cfg.Checkers = nil }, strava).check(), safety.ReasonNoChecker)
		if r.StaleEntities() != 0 || len(r.Alerts()) != 0 {
			t.Errorf("found something in nothing:\n%s", r.Summary())
		}
	})
	t.Run("25_one_of_two_is_gone", func(t *testing.T) {
		b := newBench(t, nil, yahoo, strava)
		b.world.put(yahoo, "availability", entity.Bool(false))
		r := b.check()
		wantDrift(t, r, safety.Unavailable)
		a := r.Alerts()[0]
		if r.StaleEntities() != 1 || r.IsSafeToApprove() || a.Entity != "Yahoo Homepage Takeover" || a.After != "unavailable" || a.Severity != 0.95 {
			t.Errorf("%+v\n%s", a, r.Summary())
		}
	})
	t.Run("26_a_checker_that_fails_denies", func(t *testing.T) {
		wantFailure(t, newBench(t, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) {
			return safety.State{}, errors.New("boom")
		}), strava).check(), safety.ReasonError)
		wantFailure(t, newBench(t, checkerOf(func(context.Context, entity.Canonical) (safety.State, error) { panic("boom") }), strava).check(), safety.ReasonPanic)
	})
	t.Run("27_a_record_that_cannot_be_read_denies", func(t *testing.T) {
		b := newBench(t, nil, strava)
		b.record.err = errors.New("query failed")
		r := b.check()
		wantFailure(t, r, safety.ReasonStore)
		contains(t, r.Summary(), "CHECK FAILED")
	})

	seen := thing("Product", "Yahoo Homepage Takeover", values{"availability": entity.Bool(true)})
	seen.ArtifactURI = "gs://plans/summer.json"
	asked := func(t *testing.T) []entity.Canonical {
		t.Helper()
		var mu sync.Mutex
		var got []entity.Canonical
		newBench(t, checkerOf(func(_ context.Context, e entity.Canonical) (safety.State, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, e)
			return safety.State{Attributes: e.Attributes, AsOf: epoch}, nil
		}), seen).check()
		return got
	}
	t.Run("38_an_entity_has_its_time_and_document", func(t *testing.T) {
		if got := asked(t); len(got) != 1 || got[0].ArtifactURI != "gs://plans/summer.json" || !got[0].LastSeen.Equal(epoch.Add(-10*time.Second)) {
			t.Errorf("the checker got %+v", got)
		}
	})
	t.Run("39_the_checker_learns_once_when_it_was_seen", func(t *testing.T) {
		if got := asked(t); len(got) != 1 || !got[0].LastSeen.Equal(seen.LastSeen) {
			t.Errorf("the checker got %+v", got)
		}
	})
}
