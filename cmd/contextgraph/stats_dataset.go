// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"time"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// datasetStatsJSON has the counts of BigQuery, for programs.
type datasetStatsJSON struct {
	From     time.Time         `json:"from"`
	To       time.Time         `json:"to"`
	Verdicts []dayVerdictsJSON `json:"verdicts"`
	Changes  []changeJSON      `json:"changes"`
	Waiting  []waitingJSON     `json:"waiting"`
	// Truncated says that there is more of one of the lists.
	Truncated bool `json:"truncated"`
}

// dayVerdictsJSON are the verdicts of one day, tool and stage.
type dayVerdictsJSON struct {
	Day      time.Time `json:"day"`
	Tool     string    `json:"tool"`
	Stage    string    `json:"stage"`
	Checks   int       `json:"checks"`
	Safe     int       `json:"safe"`
	Drift    int       `json:"drift"`
	Failed   int       `json:"check_failed"`
	Entities int       `json:"entities"`
	Stale    int       `json:"stale_entities"`
}

// changeJSON is one change of one entity.
type changeJSON struct {
	EntityType string    `json:"entity_type"`
	Value      string    `json:"value"`
	DriftType  string    `json:"drift_type"`
	Alerts     int       `json:"alerts"`
	Sessions   int       `json:"sessions"`
	Severity   float64   `json:"severity"`
	Last       time.Time `json:"last"`
}

// waitingJSON is the waiting for humans in one group of requests.
type waitingJSON struct {
	Kind      string `json:"kind"`
	Agent     string `json:"agent"`
	Tool      string `json:"tool"`
	Requests  int    `json:"requests"`
	Unpaired  int    `json:"unpaired"`
	Answered  int    `json:"answered"`
	Confirmed int    `json:"confirmed"`
	Rejected  int    `json:"rejected"`
	Accepted  int    `json:"accepted"`
	Average   int64  `json:"average_ms"`
	P50       int64  `json:"p50_ms"`
	P95       int64  `json:"p95_ms"`
	Max       int64  `json:"max_ms"`
}

// defaultWindow is the time that BigQuery is asked about.
const defaultWindow = duration(30 * 24 * time.Hour)

func (a *app) datasetStats(ctx context.Context, f statsFlags) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	d, err := a.dataset(ctx, cfg.BigQuery)
	if err != nil {
		return err
	}
	defer d.Close()
	to := a.now().UTC()
	w := ask.Window{App: f.app, From: cmp.Or(f.since, defaultWindow).before(to), To: to}
	drift, err := d.DriftStatistics(ctx, w)
	if err != nil {
		return err
	}
	times, err := d.WaitingTimes(ctx, w)
	if err != nil {
		return err
	}
	s := newDatasetStats(w, drift, times)
	if err := a.print(s, s.table); err != nil {
		return err
	}
	if s.Truncated {
		a.note("there is more: ask about less time with --since, or about one application with --app")
	}
	return nil
}

func newDatasetStats(w ask.Window, drift ask.Drift, times ask.WaitingTimes) *datasetStatsJSON {
	s := &datasetStatsJSON{
		From: w.From, To: w.To, Verdicts: []dayVerdictsJSON{}, Changes: []changeJSON{}, Waiting: []waitingJSON{},
		Truncated: drift.Truncated || times.Truncated,
	}
	for _, v := range drift.Verdicts {
		s.Verdicts = append(s.Verdicts, dayVerdictsJSON(v))
	}
	for _, v := range drift.Changes {
		s.Changes = append(s.Changes, changeJSON(v))
	}
	for _, v := range times.Groups {
		s.Waiting = append(s.Waiting, waitingJSON{
			v.Kind, v.Agent, v.Tool, v.Requests, v.Unpaired, v.Answered, v.Confirmed, v.Rejected, v.Accepted,
			v.Average.Milliseconds(), v.P50.Milliseconds(), v.P95.Milliseconds(), v.Max.Milliseconds(),
		})
	}
	return s
}

func (s *datasetStatsJSON) table(t *table) {
	t.line(t.at(s.From), " to ", t.at(s.To))
	t.line()
	t.columns("DAY", "TOOL", "STAGE", "CHECKS", "SAFE", "DRIFT", "FAILED", "ENTITIES", "CHANGED")
	for _, v := range s.Verdicts {
		t.row(v.Day.Format(time.DateOnly), v.Tool, v.Stage, v.Checks, v.Safe, v.Drift, v.Failed, v.Entities, v.Stale)
	}
	t.line()
	t.columns("CHANGED", "VALUE", "HOW", "ALERTS", "SESSIONS", "SEVERITY", t.zoned("LAST"))
	for _, v := range s.Changes {
		t.row(v.EntityType, v.Value, v.DriftType, v.Alerts, v.Sessions, v.Severity, t.when(v.Last))
	}
	t.line()
	t.columns("KIND", "AGENT", "TOOL", "ASKED", "UNPAIRED", "ANSWERED", "APPROVED", "REJECTED", "P50", "P95", "MAX")
	for _, v := range s.Waiting {
		t.row(v.Kind, v.Agent, v.Tool, v.Requests, v.Unpaired, v.Answered, v.Confirmed, v.Rejected, waited(v.P50), waited(v.P95), waited(v.Max))
	}
}
