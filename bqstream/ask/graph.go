// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// SessionGraph is the newest graph that a dataset has of a session. It answers as the graph that a journal
// has, but for what [graphsync.KeptGraph] says: what was seen in the microsecond of a decision counts as
// seen before it, and Trace has no events.
type SessionGraph struct {
	*graphsync.Graph
	// Checks are the checks of the world in the session, in order.
	Checks []Check
}

// Check is one check of the world.
type Check struct {
	// ID is the event id of its row.
	ID        string
	CheckedAt time.Time
	// Verdict is safe, drift or check_failed; Stage is answer, execution or check.
	Verdict, Stage             string
	ApprovalID, ConfirmationID string
	CallID, Tool               string
	// Checked, Stale and Failed count entities. They are 0 where the row of the check does not say.
	Checked, Stale, Failed int
	Alerts                 []Alert
}

// Alert is one change that a check found.
type Alert struct {
	EntityType, Value, Attribute string
	// DriftType is unavailable, price_changed, status_changed, changed, or a word of the
	// configuration.
	DriftType     string
	Before, After string
	// Severity is 0 to 1.
	Severity float64
}
