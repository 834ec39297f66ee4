// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// WaitingTimes returns how long humans were waited for, from requests and their first
// answers, paired by confirmation, interrupt or call, by kind, agent and tool. Rows of the
// plugin for Python name none of these and stay unpaired. The time
// is the one that the row of the answer has, or else that between the two rows. The
// error wraps [ask.ErrNoWindow] without a time.
//
// In SQL it counts the rows of events. In GQL ([config.QueriesGQL]) it counts the requests of the
// steps that began in the time asked about: those of sessions that were brought to the graph, and
// without an answer to a request from before that time.
func (d *Dataset) WaitingTimes(ctx context.Context, w ask.Window) (ask.WaitingTimes, error) {
	w, err := d.window(w)
	if err != nil {
		return ask.WaitingTimes{}, fmt.Errorf("bigquery: %w", err)
	}
	rows, form, err := answer(ctx, d, d.waitingQuestion(w))
	if err != nil {
		return ask.WaitingTimes{}, err
	}
	out := ask.WaitingTimes{Form: form}
	rows, out.Truncated = cut(rows, w.Limit)
	for _, r := range rows {
		out.Groups = append(out.Groups, ask.Waiting{
			Kind: r.Kind.StringVal, Agent: r.Agent.StringVal, Tool: r.Tool.StringVal,
			Requests: int(r.Requests), Unpaired: int(r.Unpaired), Answered: int(r.Answered),
			Confirmed: int(r.Confirmed), Rejected: int(r.Rejected), Accepted: int(r.Accepted), Waited: int(r.Waited),
			Average: milliseconds(r.AvgMS.Float64), P50: milliseconds(r.P50MS.Float64),
			P95: milliseconds(r.P95MS.Float64), Max: milliseconds(r.MaxMS.Float64),
		})
	}
	return out, nil
}

func (d *Dataset) waitingQuestion(w ask.Window) asked[waitingRow] {
	return both[waitingRow](d, "ask_waiting", nil, windowParams(w))
}

type waitingRow struct {
	Kind      bq.NullString  `bigquery:"kind"`
	Agent     bq.NullString  `bigquery:"agent"`
	Tool      bq.NullString  `bigquery:"tool"`
	Requests  int64          `bigquery:"requests"`
	Unpaired  int64          `bigquery:"unpaired"`
	Answered  int64          `bigquery:"answered"`
	Confirmed int64          `bigquery:"confirmed"`
	Rejected  int64          `bigquery:"rejected"`
	Accepted  int64          `bigquery:"accepted"`
	Waited    int64          `bigquery:"waited"`
	AvgMS     bq.NullFloat64 `bigquery:"avg_ms"`
	P50MS     bq.NullFloat64 `bigquery:"p50_ms"`
	P95MS     bq.NullFloat64 `bigquery:"p95_ms"`
	MaxMS     bq.NullFloat64 `bigquery:"max_ms"`
}

// DriftStatistics returns what checks of the world found: verdicts by day, tool and
// stage, and which entities had changed how often and in which way. The error wraps
// [ask.ErrNoWindow] without a time.
//
// Both are counted in SQL, as [Dataset.WaitingTimes] is, and in GQL only where the
// configuration insists on it. The checks are those of the sessions that were brought to
// the graph, in both forms.
func (d *Dataset) DriftStatistics(ctx context.Context, w ask.Window) (ask.Drift, error) {
	w, err := d.window(w)
	if err != nil {
		return ask.Drift{}, fmt.Errorf("bigquery: %w", err)
	}
	verdicts, form, err := answer(ctx, d, both[verdictsRow](d, "ask_drift_verdicts", nil, windowParams(w)))
	if err != nil {
		return ask.Drift{}, err
	}
	changes, _, err := answer(ctx, d, both[changeRow](d, "ask_drift_alerts", nil, windowParams(w)))
	if err != nil {
		return ask.Drift{}, err
	}
	out := ask.Drift{Form: form}
	verdicts, cutVerdicts := cut(verdicts, w.Limit)
	changes, cutChanges := cut(changes, w.Limit)
	out.Truncated = cutVerdicts || cutChanges
	for _, r := range verdicts {
		out.Verdicts = append(out.Verdicts, ask.DriftVerdicts{
			Day: r.Day.UTC(), Tool: r.Tool, Stage: r.Stage, Checks: int(r.Checks), Safe: int(r.Safe), Drift: int(r.Drift),
			Failed: int(r.Failed), Entities: int(r.Entities), Stale: int(r.Stale),
		})
	}
	for _, r := range changes {
		out.Changes = append(out.Changes, ask.DriftChange{
			EntityType: r.EntityType.StringVal, Value: r.Value.StringVal, DriftType: r.DriftType.StringVal,
			Alerts: int(r.Alerts), Sessions: int(r.Sessions), Severity: r.Severity.Float64, Last: r.Last.UTC(),
		})
	}
	return out, nil
}

type verdictsRow struct {
	Day      time.Time `bigquery:"day"`
	Tool     string    `bigquery:"tool"`
	Stage    string    `bigquery:"stage"`
	Checks   int64     `bigquery:"checks"`
	Safe     int64     `bigquery:"safe"`
	Drift    int64     `bigquery:"drift"`
	Failed   int64     `bigquery:"failed"`
	Entities int64     `bigquery:"entities"`
	Stale    int64     `bigquery:"stale"`
}

type changeRow struct {
	EntityType bq.NullString  `bigquery:"entity_type"`
	Value      bq.NullString  `bigquery:"value"`
	DriftType  bq.NullString  `bigquery:"drift_type"`
	Alerts     int64          `bigquery:"alerts"`
	Sessions   int64          `bigquery:"sessions"`
	Severity   bq.NullFloat64 `bigquery:"severity"`
	Last       time.Time      `bigquery:"last"`
}
