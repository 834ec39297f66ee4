// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import "time"

// WaitingTimes says how long humans were waited for.
type WaitingTimes struct {
	// Groups are by kind, agent and tool, those with the most requests first.
	Groups []Waiting
	// Truncated is true when there were more groups than the limit.
	Truncated bool
}

// Waiting is the waiting for humans in one group of requests.
type Waiting struct {
	// Kind is CONFIRMATION, INPUT or CREDENTIAL.
	Kind string
	// Agent is the one that asked, Tool the tool that is to be confirmed or, for the
	// other kinds, the function that asks.
	Agent, Tool string
	// Requests counts the requests. A request counts, too, if only its answer lies in the time.
	// Answered counts those with an answer.
	Requests, Answered int
	// Unpaired counts requests and answers whose rows name no confirmation, interrupt or
	// call, as the plugin for Python writes them. They count nowhere else.
	Unpaired int
	// Confirmed and Rejected count what humans said, Accepted what the guard took. They
	// are about confirmations alone.
	Confirmed, Rejected, Accepted int
	// Waited counts the answers with a known waiting time; the others are zero if there is none.
	// P50 and P95 are interpolated.
	Waited                 int
	Average, P50, P95, Max time.Duration
}

// Drift has the findings of checks of the world.
type Drift struct {
	// Verdicts are by day, tool and stage; Changes by how often they were found.
	Verdicts []DriftVerdicts
	Changes  []DriftChange
	// Truncated is true when one of the two has more rows than the limit.
	Truncated bool
}

// DriftVerdicts are the verdicts of one day, tool and stage.
type DriftVerdicts struct {
	// Day is its beginning, UTC.
	Day time.Time `json:"day"`
	// Tool is empty where the row of the check names no call. Stage is answer, execution
	// or check.
	Tool  string `json:"tool"`
	Stage string `json:"stage"`
	// Checks is the sum of the three others. A verdict that is missing counts as failed.
	Checks int `json:"checks"`
	Safe   int `json:"safe"`
	Drift  int `json:"drift"`
	Failed int `json:"check_failed"`
	// Entities counts the entities checked, Stale those that had changed.
	Entities int `json:"entities"`
	Stale    int `json:"stale_entities"`
}

// DriftChange is one change of one entity.
type DriftChange struct {
	EntityType string `json:"entity_type"`
	Value      string `json:"value"`
	DriftType  string `json:"drift_type"`
	// Alerts counts the checks that found it, Sessions the sessions they were made in.
	Alerts   int `json:"alerts"`
	Sessions int `json:"sessions"`
	// Severity is the average, 0 to 1.
	Severity float64   `json:"severity"`
	Last     time.Time `json:"last"`
}
