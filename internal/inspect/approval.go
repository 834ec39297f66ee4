// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Approval is one request to a human and all that came of it.
type Approval struct {
	// ID is the id of the approval in the ledger; empty in rows of another recorder.
	ID             string         `json:"id"`
	Session        record.Session `json:"session"`
	ConfirmationID string         `json:"confirmation_id"`
	// Kind is "confirmation", "input" or "credential".
	Kind   string `json:"kind"`
	CallID string `json:"call_id"`
	// Tool is what would run; Agent is who asked.
	Tool  string `json:"tool"`
	Agent string `json:"agent"`
	// Span is the key of the span of the request.
	Span   string `json:"span"`
	Status Status `json:"status"`
	// Action says in a sentence what a yes lets happen, or what came of it.
	Action string `json:"action"`
	// Findings are what the last check found, see [safety.Finding]; none if nobody has checked.
	Findings []safety.Finding `json:"findings"`
	// Can is what can be done about it now: "approve", "reject", "override", "resolve", "check", "redo". The gate
	// decides who may. Hopeless says why no yes to an open request can work; "" if one can.
	Can      []string `json:"can"`
	Hopeless string   `json:"hopeless,omitempty"`
	// Unproven says why a yes may not let it run now, although a later one may: a source is down, say.
	Unproven string `json:"unproven,omitempty"`
	// Explanation has the meaning of the status and the next step, in a sentence or two.
	Explanation string `json:"explanation"`
	// State is the state in the ledger (safety.ApprovalState); empty where only rows are known.
	State string `json:"state,omitempty"`
	// Enforced is false where the confirmation was only observed: the call ran whatever
	// the verdict.
	Enforced      bool            `json:"enforced"`
	Hint          string          `json:"hint,omitempty"`
	Args          json.RawMessage `json:"args,omitempty"`
	ArgsDigest    string          `json:"args_digest,omitempty"`
	Fingerprint   string          `json:"fingerprint,omitempty"`
	PolicyVersion string          `json:"policy_version,omitempty"`
	// Replaces is the id of an earlier request for the same call, which ended by drift and
	// which this one replaces; "" for none. Difference is what changed since.
	Replaces string `json:"replaces,omitempty"`
	// ReplacedBy is the id of the last request that replaces this one; "" for none.
	ReplacedBy  string             `json:"replaced_by,omitempty"`
	Difference  *safety.Difference `json:"difference,omitempty"`
	RequestedAt time.Time          `json:"requested_at"`
	ExpiresAt   time.Time          `json:"expires_at,omitzero"`
	// WaitedMS is how long it waited for humans: until now while it is open, else until the answer
	// that ended it, or until it expired. A request that was approved waits for nobody.
	WaitedMS int64 `json:"waited_ms"`
	// Requester is who asked; nil if that is not on record.
	Requester *Requester `json:"requester,omitempty"`
	// MayApprove says in a sentence who may approve.
	MayApprove string `json:"may_approve"`
	// MayOverride names the people who may let it run although its last check failed, because sources were down; empty
	// where that is not why it failed, or the configuration is not known.
	MayOverride []string `json:"may_override,omitempty"`
	// Approvers is how many different people have to approve, Consents who has.
	Approvers int      `json:"approvers"`
	Consents  []string `json:"consents"`
	// Change is what the person who rejected it wants to be different; "" for a plain rejection.
	Change string `json:"change,omitempty"`
	// Overridden says that people let the call run although its check failed, because sources were
	// down.
	Overridden bool `json:"overridden,omitempty"`
	// NotChecked names the arguments that nothing reads.
	NotChecked []string `json:"not_checked,omitempty"`
	// Warnings are the warnings in the request itself.
	Warnings []string `json:"warnings"`
	// Notes are the remarks in the request, such as what no check knows.
	Notes []string `json:"notes,omitempty"`
	// Entities are what it rests on: as the human saw it, and as the last check found it.
	Entities []Rested `json:"entities"`
	// Costs has the cost of the plan for each rule of a budget: as the human saw it, and as the last
	// check found it.
	Costs []safety.Cost `json:"costs"`
	// Total says what the call buys in all, with the prices that were read; "" where that is not certain.
	Total string `json:"total,omitempty"`
	// Money has the amounts that rules read in the arguments, by JSON Pointer, as people write them.
	Money map[string]string `json:"-"`
	// NotChosen has the entities that could have been chosen and do not count; nil if there are
	// none.
	NotChosen *NotChosen `json:"not_chosen,omitempty"`
	// Answers are the answers of humans in the order of their arrival, Checks the checks.
	Answers []Answer `json:"answers"`
	Checks  []Check  `json:"checks"`
	// Progress is what happened to it, oldest first.
	Progress []Progress `json:"progress"`
	// Execution is the run of the approved call; nil when it did not start.
	Execution *Execution `json:"execution,omitempty"`
	// Why leads from each entity to the request.
	Why []Why `json:"why"`
	// History is that of the ledger; empty where only rows are known.
	History []safety.Step `json:"history,omitempty"`
}

// Rested is an entity that an approval rests on.
type Rested struct {
	// Key is the key of an element of [Session.Entities]; empty if the record has none.
	Key        string            `json:"key,omitempty"`
	Type       string            `json:"type"`
	Value      string            `json:"value"`
	Confidence float64           `json:"confidence"`
	Seen       map[string]string `json:"seen"`
	SeenAt     time.Time         `json:"seen_at,omitzero"`
	// Conditions are the conditions on attributes, in words: "at least 8".
	Conditions map[string]string `json:"conditions,omitempty"`
	// Now and AsOf come from the last check that asked for it. Outcome is the result of the
	// comparison (safety.EntityUnchanged …), "" if it was never checked.
	Now     map[string]string `json:"now,omitempty"`
	AsOf    time.Time         `json:"as_of,omitzero"`
	Outcome string            `json:"outcome,omitempty"`
	// Unseen marks an entity that the human was not shown: it was found later.
	Unseen bool `json:"unseen,omitempty"`
	// Reason says why it could not be checked.
	Reason string `json:"reason,omitempty"`
}

// NotChosen has the entities that a request could have chosen and did not choose: the first of them
// in Entities, their number in Total.
type NotChosen struct {
	Total    int           `json:"total"`
	Entities []Alternative `json:"entities"`
}

// Alternative is one of them, as it was read last.
type Alternative struct {
	Type   string            `json:"type"`
	Value  string            `json:"value"`
	Seen   map[string]string `json:"seen"`
	SeenAt time.Time         `json:"seen_at,omitzero"`
}

// Requester is who asked for an approval.
type Requester struct {
	Name string `json:"name"`
	// Authenticated says that the program named them. Else the name is the word of a client.
	Authenticated bool `json:"authenticated"`
}

// Answer is the answer of a human to a request, and the guard's reaction.
type Answer struct {
	At        time.Time `json:"at"`
	Confirmed bool      `json:"confirmed"`
	Accepted  bool      `json:"accepted"`
	// Approver is who answered; Authenticated says that the program named them.
	Approver      string `json:"approver,omitempty"`
	Authenticated bool   `json:"authenticated"`
	// Change and Override are the words of the person: what should be different, and why the call
	// shall run although sources are down.
	Change   string `json:"change,omitempty"`
	Override string `json:"override,omitempty"`
	// Because is the reason of a person who said no; "" for none.
	Because string `json:"because,omitempty"`
	// Reason is why the answer was not taken: a code of package safety, or a text. Refusal says it in
	// words.
	Reason  string `json:"reason,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Row     int    `json:"row"`
}

// Check is one world-change check.
type Check struct {
	ID string `json:"id"`
	// Stage is "asking", "answer", "execution" or "check".
	Stage         string           `json:"stage"`
	Verdict       string           `json:"verdict"`
	At            time.Time        `json:"at"`
	DurationMS    float64          `json:"duration_ms"`
	Span          string           `json:"span"`
	Row           int              `json:"row"`
	Fingerprint   string           `json:"fingerprint,omitempty"`
	PolicyVersion string           `json:"policy_version,omitempty"`
	Total         int              `json:"total_entities"`
	Stale         int              `json:"stale_entities"`
	Entities      []Rested         `json:"entities"`
	Alerts        []safety.Alert   `json:"alerts"`
	Warnings      []safety.Alert   `json:"warnings"`
	Failures      []safety.Failure `json:"failures"`
	Costs         []safety.Cost    `json:"costs"`
	// Findings are the alerts, the warnings and the failures as one list. Changed and Failed say in brackets, as sentences
	// have it, what blocks and what failed.
	Findings []safety.Finding `json:"findings"`
	Changed  string           `json:"changed,omitempty"`
	Failed   string           `json:"failed,omitempty"`
}

// Execution is the run of an approved call.
type Execution struct {
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status string    `json:"status,omitempty"`
	Error  string    `json:"error,omitempty"`
	Span   string    `json:"span"`
}

// Why is one entity that a request rests on and a shortest path from the span where it was
// learned to the request.
type Why struct {
	Entity string `json:"entity"`
	Type   string `json:"type"`
	Value  string `json:"value"`
	// Origin is the relation of the first span of Path to the entity. "result": the result of the
	// span showed it. "named": the span only named it, or a model found it there. "action": only
	// the action names it, and Path is the request alone.
	Origin string `json:"origin"`
	// Note says in words that no result showed the entity; empty where one did.
	Note string    `json:"note,omitempty"`
	Hops int       `json:"hops"`
	Path []WhyStep `json:"path"`
}

// WhyStep is a span on a path and the kind of the edge to the next one, empty at the end.
type WhyStep struct {
	Span string `json:"span"`
	Edge string `json:"edge,omitempty"`
}
