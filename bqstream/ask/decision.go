// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import "time"

// Explanation has the causes of a decision and its outcome.
type Explanation struct {
	Reasoning
	// Checks are the checks of the world for the decision, Answers the answers of humans, both in
	// order. A decision that is no request for a confirmation has neither.
	Checks  []Check
	Answers []Answer
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
	// Checked, Stale and Failed count entities.
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

// Answer is the answer of a human to a request for a confirmation.
type Answer struct {
	// ID is the event id of its row.
	ID                         string
	AnsweredAt                 time.Time
	ConfirmationID, ApprovalID string
	// Confirmed is the answer of the human. Accepted and Reason are the guard's reaction. Approver
	// is the human.
	Confirmed, Accepted bool
	Reason, Approver    string
	// Waited is how long the answer took; zero when the row does not say.
	Waited time.Duration
}
