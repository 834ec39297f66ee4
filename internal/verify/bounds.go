// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
)

// Bytes that a statement may read. The dataset of a run holds less than 1 MiB of this month and,
// after it was aged, about 100 MiB of 200 days before.
const (
	recent int64 = 2 << 20
	whole  int64 = 256 << 20
	graph  int64 = 512 << 20
	// least is the least that BigQuery bills for a statement that reads two tables.
	least int64 = 20 << 20
)

// bounds says how much each statement may read, and why.
var bounds = []struct {
	bytes      int64
	reason     string
	statements []string
}{
	{recent, "it names its days, so it reads nothing of older ones, however many there are", []string{
		"ask_days", "ask_drift_alerts", "ask_drift_verdicts", "ask_entity_approvals", "ask_graph", "ask_waiting",
		"list_rows", "list_sessions", "sync_find_sessions", "sync_known", "sync_read_sessions",
		"verify_age_events", "verify_age_graphs",
	}},
	{graph, "it asks the graph, and nothing promises that its condition on time gets through to the table", []string{
		"causal_chain", "entity_approvals", "seed_reasoning", "seed_trace", "trace", "why",
	}},
	{whole, "it names no time, so it reads all days", []string{
		"seed_freshness",
		"verify_adk_errors", "verify_adk_hitl", "verify_adk_latency", "verify_adk_pauses", "verify_adk_pauses_views",
		"verify_adk_spans", "verify_adk_tokens", "verify_adk_tools", "verify_adk_turn",
	}},
}

// Bound returns how many bytes a statement may read, and why. One that nobody bounded may read
// what a statement with a time may.
func Bound(statement string) (bytes int64, reason string) {
	for _, b := range bounds {
		if slices.Contains(b.statements, statement) {
			return b.bytes, b.reason
		}
	}
	return recent, "it has no bound of its own"
}

// BoundError says that a statement would read more than its bound. It did not run.
type BoundError struct {
	Statement       string
	Estimate, Bound int64
	Reason          string
}

// Error names the statement, both numbers and the reason of the bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("%s would read %s, and its bound is %s: %s", e.Statement, Size(e.Estimate), Size(e.Bound), e.Reason)
}

func admit(statement string, estimate int64) error {
	if bound, reason := Bound(statement); estimate > bound {
		return &BoundError{Statement: statement, Estimate: estimate, Bound: bound, Reason: reason}
	}
	return nil
}

// Size returns a number of bytes as people read it.
func Size(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, units := float64(n)/unit, "KMGT"
	for f >= unit && len(units) > 1 {
		f, units = f/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", f, units[0])
}
