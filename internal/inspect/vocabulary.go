// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

// Word is how people read a code: its name, and what it means in a sentence.
type Word struct {
	Name string `json:"name"`
	Says string `json:"says,omitempty"`
}

// Words has the names of codes, by what they are codes of: "status" a [Status], "outcome" the outcome of
// the check of one entity (safety.EntityUnchanged …), "stage" the stage of a [Check].
var Words = map[string]map[string]Word{
	"status": {
		string(StatusNone):        {"No approval", ""},
		string(StatusPending):     {"Pending", "A person was asked and has not answered."},
		string(StatusSafe):        {"Safe", "The last check found nothing changed. It has not run yet."},
		string(StatusDrift):       {"Changed since it was read", "The world changed since it was read. Nothing runs."},
		string(StatusCheckFailed): {"Check failed", "It could not be shown that the world is unchanged. Nothing runs."},
		string(StatusRejected):    {"Rejected", "A person said no."},
		string(StatusExpired):     {"Expired", "Nothing came of it in time."},
		string(StatusSuperseded):  {"Replaced by a newer request", "The same call was asked for again, and the newer request counts."},
		string(StatusExecuted):    {"Executed", "It ran without an error."},
		string(StatusFailed):      {"Failed", "It ran and returned an error."},
		string(StatusInDoubt):     {"In doubt", "It was started and its end was never recorded."},
		string(StatusUnknown):     {"Unknown", "The record does not say whether it ran."},
	},
	"outcome": {
		"":          {"Not checked", ""},
		"unchanged": {"Unchanged", ""},
		"changed":   {"Changed", ""},
		"warned":    {"Changed, a warning", ""},
		"failed":    {"Check failed", ""},
		"skipped":   {"Skipped", ""},
	},
	"stage": {
		stageAsking:    {"before anybody was asked", ""},
		"answer":       {"when it was answered", ""},
		stageExecution: {"right before the call", ""},
		stageCheck:     {"on demand", ""},
	},
}
