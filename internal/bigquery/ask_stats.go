// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"fmt"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
)

// WaitingTimes returns how long humans were waited for, from requests and their first
// answers, paired by confirmation, interrupt or call, by kind, agent and tool. Rows of the
// plugin for Python name none of these and stay unpaired. The time
// is the one that the row of the answer has, or else that between the two rows. The
// error wraps [ask.ErrNoWindow] without a time.
func (d *Dataset) WaitingTimes(ctx context.Context, w ask.Window) (ask.WaitingTimes, error) {
	w, err := d.window(w)
	if err != nil {
		return ask.WaitingTimes{}, fmt.Errorf("bigquery: %w", err)
	}
	var out ask.WaitingTimes
	out.Groups, err = all(ctx, d, askJob("ask_waiting", windowParams(w)), func(r *row) ask.Waiting {
		return ask.Waiting{
			Kind: r.text("kind"), Agent: r.text("agent"), Tool: r.text("tool"),
			Requests: r.int("requests"), Unpaired: r.int("unpaired"), Answered: r.int("answered"),
			Confirmed: r.int("confirmed"), Rejected: r.int("rejected"), Accepted: r.int("accepted"), Waited: r.int("waited"),
			Average: r.duration("avg_ms"), P50: r.duration("p50_ms"), P95: r.duration("p95_ms"), Max: r.duration("max_ms"),
		}
	})
	if err != nil {
		return ask.WaitingTimes{}, err
	}
	out.Groups, out.Truncated = cut(out.Groups, w.Limit)
	return out, nil
}

// DriftStatistics returns what checks of the world found: verdicts by day, tool and
// stage, and which entities had changed how often and in which way. The error wraps
// [ask.ErrNoWindow] without a time.
//
// The checks are those of the sessions that were brought to the graph.
func (d *Dataset) DriftStatistics(ctx context.Context, w ask.Window) (ask.Drift, error) {
	w, err := d.window(w)
	if err != nil {
		return ask.Drift{}, fmt.Errorf("bigquery: %w", err)
	}
	var out ask.Drift
	out.Verdicts, err = all(ctx, d, askJob("ask_drift_verdicts", windowParams(w)), func(r *row) ask.DriftVerdicts {
		return ask.DriftVerdicts{
			Day: r.time("day"), Tool: r.text("tool"), Stage: r.text("stage"), Checks: r.int("checks"), Safe: r.int("safe"), Drift: r.int("drift"),
			Failed: r.int("failed"), Entities: r.int("entities"), Stale: r.int("stale"),
		}
	})
	if err != nil {
		return ask.Drift{}, err
	}
	out.Changes, err = all(ctx, d, askJob("ask_drift_alerts", windowParams(w)), func(r *row) ask.DriftChange {
		return ask.DriftChange{
			EntityType: r.text("entity_type"), Value: r.text("value"), DriftType: r.text("drift_type"),
			Alerts: r.int("alerts"), Sessions: r.int("sessions"), Severity: r.float("severity"), Last: r.time("last"),
		}
	})
	if err != nil {
		return ask.Drift{}, err
	}
	var verdicts, changes bool
	out.Verdicts, verdicts = cut(out.Verdicts, w.Limit)
	out.Changes, changes = cut(out.Changes, w.Limit)
	out.Truncated = verdicts || changes
	return out, nil
}
