// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ApprovalState is the state of an approval:
//
//	pending ──► approved ──► permitted ──► executing ──► executed | failed
//	   │            │             │
//	   ├► rejected ◄┤             │
//	   ├► blocked ◄─┤             │
//	   ├► superseded ◄┤           │
//	   └► expired ◄─┴─────────────┘
//
// The zero value is no state and leads nowhere.
type ApprovalState string

// The states of an approval. For a confirmation that is only observed, the state says what the gate
// would have done; the call may have run all the same.
const (
	// StatePending waits for a person.
	StatePending ApprovalState = "pending"
	// StateApproved was approved by a person while the world was unchanged. It
	// is checked again before it permits anything.
	StateApproved ApprovalState = "approved"
	// StateRejected was rejected by a person, or approved and taken back before it
	// was used. Terminal.
	StateRejected ApprovalState = "rejected"
	// StateExpired was not carried out in time. Terminal.
	StateExpired ApprovalState = "expired"
	// StateBlocked rests on a world that has changed. Terminal: a new plan needs
	// a new request.
	StateBlocked ApprovalState = "blocked"
	// StateSuperseded was asked again, and the later request for the same call counts in its place.
	// Terminal.
	StateSuperseded ApprovalState = "superseded"
	// StatePermitted has a permit that was handed out and not consumed. A permit
	// that nobody consumes in time is lost: the approval leads nowhere any more.
	StatePermitted ApprovalState = "permitted"
	// StateExecuting consumed its permit: the effect is running, or its process
	// is gone and nobody knows whether it ran. See [Approval.InDoubt].
	StateExecuting ApprovalState = "executing"
	// StateExecuted ran without an error. Terminal.
	StateExecuted ApprovalState = "executed"
	// StateFailed ran and returned an error, or was about to and is known not to have
	// begun. Terminal.
	StateFailed ApprovalState = "failed"
)

// WentBack begins the note of a step to [StateSuperseded] whose cause is that the session went back.
const WentBack = "the session went back"

// Withdrawn is the note of a step to [StateSuperseded] whose cause is [Guard.Withdraw].
const Withdrawn = "the run goes on without the answer"

// transitions is the whole state machine. A state that may follow itself only has
// its last check recorded.
var transitions = map[ApprovalState][]ApprovalState{
	StatePending:   {StatePending, StateApproved, StateRejected, StateBlocked, StateExpired, StateSuperseded},
	StateApproved:  {StateApproved, StatePermitted, StateRejected, StateBlocked, StateExpired, StateSuperseded},
	StatePermitted: {StateExecuting, StateExpired},
	StateExecuting: {StateExecuted, StateFailed},
}

// CanBecome reports whether an approval in state s may get the state to.
func (s ApprovalState) CanBecome(to ApprovalState) bool {
	return slices.Contains(transitions[s], to)
}

// Final reports whether an approval in state s gets no other state any more.
func (s ApprovalState) Final() bool { return len(transitions[s]) == 0 }

// Open reports whether an approval in state s may still come to permit something:
// pending or approved.
func (s ApprovalState) Open() bool { return s == StatePending || s == StateApproved }

// Approval is one request for approval of one tool call. The entities that it rests on are frozen
// at the time of the request. Times are UTC in whole microseconds.
type Approval struct {
	// ID is 32 hexadecimal digits.
	ID      string
	Session record.Session
	// ConfirmationID is the id that the answer will name; "" until attached.
	ConfirmationID string
	// CallID, Tool, Agent, InvocationID and RunID name the call that asked.
	CallID       string
	Tool         string
	Agent        string
	InvocationID string
	RunID        string
	// DecisionNode, Answer and After name the step that asked, as in [record.Decision], TraceID
	// and SpanID the place of the request in the record.
	DecisionNode string
	Answer       string
	After        string
	TraceID      string
	SpanID       string
	// Args is the canonical JSON of the call's arguments, ArgsDigest its digest.
	ArgsDigest string
	Args       []byte
	// Declaration is a digest of how the tool was declared; "" if it is not known.
	Declaration string
	// Entities are the entities that the request rests on, each with the readings that count, as in
	// [Snapshot]. Fingerprint is their [Fingerprint].
	Entities    []entity.Canonical
	Fingerprint string
	// NotChosen is the field of the snapshot. It is no part of the approved content.
	NotChosen entity.NotChosen
	// Surroundings are what the call could read beside its arguments.
	Surroundings Surroundings
	// Needs are the conditions of the policy on the Entities, by key and attribute.
	Needs map[string]map[string]Need
	// Costs are what the plan costs against its budgets, with the values that were read. Only the result
	// of [Guard.Ask] has them: a [Ledger] does not store them.
	Costs []Cost
	// Total is what the call buys in all, as "10 × €3.10 = €31"; "" where quantity and price are not known to belong to one
	// thing. Each has, by key, the attribute that is what one costs. Only the result of [Guard.Ask] has them.
	Total string
	Each  map[string]string
	// Money has the amounts that rules read in the arguments, by JSON Pointer. Only the result of [Guard.Ask] has it.
	Money map[string]string
	// NotChecked names the arguments that nothing reads, as "options.ship.to". Only the result of [Guard.Ask] has it.
	NotChecked []string
	// Fails says why the check will fail, as far as that is known by the arguments and by what the model that asked had
	// read. Only the result of [Guard.Ask] has it.
	Fails []string
	// Hopeless says why no check of the request can pass, by the record of the request alone; "" if one can. Only the
	// result of [Guard.Ask] has it.
	Hopeless string
	// Checked is the check that was made before anybody is asked; nil if none was. Only the result of [Guard.Ask] has it.
	Checked *Report
	// Same is the last step of the last request for the same call of the same agent, if it was let run.
	// Only the result of [Guard.Ask] has it.
	Same Step
	// PolicyVersion is the version of the policy at the time of the request.
	PolicyVersion string
	// Receipt and Gaps are the fields of the snapshot.
	Receipt record.Receipt
	Gaps    []string
	// Replaces is the id of the earlier request for the same call that this request replaces: it ended
	// by drift, or this one supersedes it. It is "" for none. Chain counts the
	// requests for the same call that its agent made in the turn before this one.
	// Difference holds the changes since the last of them. See [Guard.Ask].
	Replaces   string
	Chain      int
	Difference Difference
	// Requester is who asked. RequesterAuthenticated says that a [GuardConfig.Identity] named them; without
	// it the requester is the user of the session, as the client named it.
	Requester              string
	RequesterAuthenticated bool
	RequestedAt            time.Time
	// Approvers is how many different people have to approve; 0 means one.
	Approvers int
	// ExpiresAt is the last moment at which anything may come of the request.
	ExpiresAt time.Time

	State ApprovalState
	// Consents are the approvals of people so far, in their order.
	Consents []Consent
	// Approver is who made the decision: who rejected, or the last one who had to approve. DecidedAt
	// is when.
	Approver  string
	DecidedAt time.Time
	// Change is what the person who rejected wants to be different; "" for a plain rejection.
	Change string
	// Overridden says that the permit was given on the word of people, although sources were down.
	Overridden bool
	// PermitNonce, PermitRun and PermitExpiresAt describe the permit.
	PermitNonce     string
	PermitRun       string
	PermitExpiresAt time.Time
	// Verdict and Report are the last check, the latter as JSON.
	Verdict   string
	Report    []byte
	UpdatedAt time.Time
}

// InDoubt reports whether the approved effect was begun and its end is not
// recorded. While the process that began it lives, that is an effect in progress;
// after a crash nobody knows whether it happened. It is never repeated by this
// package: a person has to look, and a repetition needs a new request.
func (a Approval) InDoubt() bool { return a.State == StateExecuting }

// Ended says in words what became of an approval that no answer changes any more, where its state does
// not say it all; else it is "".
func (a Approval) Ended() string {
	at := stamp(a.UpdatedAt)
	switch a.State {
	case StateSuperseded:
		return "the same call was asked for again at " + at + ", or the session went back to before it, and only the later request counts"
	case StatePermitted:
		return "it is about to run; do not repeat it"
	case StateExecuting:
		return "it began at " + at + ", and its end is not on record; do not repeat it"
	case StateExecuted:
		return "it ran already, at " + at + "; do not repeat it"
	case StateFailed:
		return "it was let run already, and failed at " + at
	}
	return ""
}

// decision names the step that asked, and how much of the record it rests on.
func (a Approval) decision() record.Decision {
	return record.Decision{Node: a.DecisionNode, Answer: a.Answer, Run: a.RunID, After: a.After, UpTo: a.Receipt.Watermark, Tool: a.Tool, Args: string(a.Args)}
}

// Clone returns a copy that shares nothing with a.
func (a Approval) Clone() Approval {
	a.Args = bytes.Clone(a.Args)
	a.Entities = cloneEntities(a.Entities)
	a.NotChosen = ownNotChosen(a.NotChosen)
	a.Surroundings = a.Surroundings.clone()
	a.Needs = maps.Clone(a.Needs)
	for key, needs := range a.Needs {
		a.Needs[key] = maps.Clone(needs)
	}
	a.Costs = slices.Clone(a.Costs)
	a.Each, a.Money = maps.Clone(a.Each), maps.Clone(a.Money)
	a.NotChecked = slices.Clone(a.NotChecked)
	a.Fails = slices.Clone(a.Fails)
	a.Gaps = slices.Clone(a.Gaps)
	a.Receipt.Notes = slices.Clone(a.Receipt.Notes)
	a.Difference = a.Difference.clone()
	a.Consents = cloneConsents(a.Consents)
	a.Report = bytes.Clone(a.Report)
	return a
}

// Shown returns the content that a person has to see before answering, as JSON-shaped data:
//
//	{
//	  "approval_id", "tool", "agent", "args_digest", "fingerprint",
//	  "requested_at", "expires_at": RFC 3339,
//	  "requester": {"name", "authenticated": bool},
//	  "hopeless": text, why no check of the request can pass, absent where one can,
//	  "not_checked": [text], the arguments that nothing reads, absent where there is none,
//	  "approvers": int, how many different people have to approve,
//	  "entities": [{"type", "value", "attributes": {name: text},
//	    "now": {name: text}, what the check before asking found, absent where there is none,
//	    "conditions": {name: text}, absent where there is none, "confidence": number,
//	    "seen_at": RFC 3339, "age": "12s", both absent of what no result showed}],
//	  "check": {"verdict", "at": RFC 3339, "not_yet": [text]}, the check before asking and what it could not look at,
//	    absent where none was made,
//	  "state": {key: value as text}, see [Surroundings.Shown], absent where there is none,
//	  "money": {JSON Pointer: text}, the amounts that rules read in the arguments, absent where there is none,
//	  "total": text, see [Approval.Total], absent where there is none,
//	  "costs": [{"budget_type", "budget", "limit", "seen", "others"}], see [Cost], absent where there is none,
//	  "warnings": [text],
//	  "notes": [text], absent where there is none,
//	  "not_chosen": {"total": int, "entities": [{"type", "value", "attributes", "seen_at",
//	    "age"}]}, absent where there is none,
//	  "replaces": id, "difference": see [Difference], absent where it replaces none
//	  "same": {"state", "at": RFC 3339, "untold": true, absent if the agent was told}, see [Approval.Same],
//	    absent where there is none
//	}
//
// Ages are those at the time of the request. Warnings name the reasons for which the check will
// fail: no entities, an incomplete record, an attribute that no result shows, a condition that is
// not met or cannot be evaluated; or that the call ends if it reads certain parts of the state. Notes are those of the Receipt. The map belongs to the caller.
func (a Approval) Shown() map[string]any {
	entities := []any{}
	for _, e := range a.Entities {
		seen, at := Seen(e)
		entry := compact(map[string]any{"conditions": a.conditions(e.Key), "now": a.shownNow(e)})
		entry["type"], entry["value"], entry["attributes"], entry["confidence"] = e.Type, e.Value, shaped(seen), e.Confidence
		if !at.IsZero() {
			entry["seen_at"], entry["age"] = stamp(at), a.RequestedAt.Sub(at).Round(time.Second).String()
		}
		entities = append(entities, entry)
	}
	out := compact(map[string]any{
		"hopeless": a.Hopeless, "not_checked": shownNotChecked(a.NotChecked), "check": a.shownCheck(),
		"state": a.Surroundings.shown(), "money": shaped(a.Money), "total": a.Total, "costs": shaped(a.Costs), "notes": lines(a.Receipt.Notes), "replaces": a.Replaces,
	})
	maps.Copy(out, map[string]any{
		"approval_id": a.ID, "tool": a.Tool, "agent": a.Agent, "args_digest": a.ArgsDigest,
		"fingerprint": a.Fingerprint, "requested_at": stamp(a.RequestedAt), "expires_at": stamp(a.ExpiresAt),
		"requester": map[string]any{"name": oneLine(a.Requester), "authenticated": a.RequesterAuthenticated},
		"approvers": max(a.Approvers, 1), "entities": entities, "warnings": lines(a.warnings()),
	})
	if a.NotChosen.Total > 0 {
		out["not_chosen"] = shownNotChosen(a.NotChosen, a.RequestedAt)
	}
	if a.Same.To != "" {
		same := map[string]any{"state": string(a.Same.To), "at": stamp(a.Same.At)}
		if a.Same.untold() {
			same["untold"] = true
		}
		out["same"] = same
	}
	if a.Replaces != "" {
		out["difference"] = shaped(a.Difference)
	}
	return out
}

// compact returns m without what is empty.
func compact(m map[string]any) map[string]any {
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil || reflect.ValueOf(v).Len() == 0 })
	return m
}

// lines returns texts in a line each.
func lines(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = oneLine(s)
	}
	return out
}

// warnings says why no check will pass, by the parts of the request.
func (a Approval) warnings() (out []string) {
	if len(a.Entities) == 0 {
		out = append(out, "The request names no entity that can be checked; it cannot be approved.")
	}
	for _, f := range problems(a.Receipt, a.Gaps) {
		out = append(out, "The record of the session is incomplete; the request cannot be approved: "+f.Detail+".")
	}
	for _, e := range a.Entities {
		if !shown(e) {
			out = append(out, unshown(e, ""))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Attributes)) {
			if values, _ := readings(e, name); len(values) == 0 {
				out = append(out, unshown(e, name+" of "))
			}
		}
	}
	var fails []string
	for _, e := range a.Entities {
		for _, name := range slices.Sorted(maps.Keys(a.Needs[e.Key])) {
			if n := a.Needs[e.Key][name]; n.Problem != "" {
				fails = append(fails, e.Type+" "+e.Value+": "+n.Problem)
			}
		}
	}
	for _, why := range append(fails, a.Fails...) {
		out = append(out, "The request cannot be approved as it is: "+why+".")
	}
	if n := a.Surroundings.Unbound; n > 0 {
		out = append(out, unboundHint(n)+" when it was asked, too many or too large to compare: a call that reads one of them is ended.")
	}
	return out
}

// conditions returns what the attributes of an entity have to meet, in words.
func (a Approval) conditions(key string) map[string]any {
	out := make(map[string]any, len(a.Needs[key]))
	for name, n := range a.Needs[key] {
		out[name] = n.Condition
	}
	return out
}

// unshown warns of values that are only claimed. It does not know whether a policy lets them pass.
func unshown(e entity.Canonical, what string) string {
	return "Nothing has shown " + what + e.Type + " " + e.Value + ": unless the policy lets that pass, the request cannot be approved."
}

// costHint says what the plan costs and may cost, where both are known.
func (a Approval) costHint() string {
	known := slices.DeleteFunc(slices.Clone(a.Costs), func(c Cost) bool { return c.Seen == "" || c.Limit == "" })
	items := make([]string, len(known))
	for i, c := range known {
		beside := ""
		if c.Others != "" {
			beside = ", and " + text.Clip(c.Others, maxWord) + " of other requests,"
		}
		items[i] = text.Clip(c.Seen, maxWord) + beside + " of " + word(c.BudgetType) + " " + text.Clip(c.Limit, maxWord)
		if c.Exceeded {
			items[i] += " (exceeded)"
		}
	}
	return listed(hintCost+" ", items, len(items), maxCostHint)
}

// overriders is how many people have to override a check that failed because a source is down.
const overriders = 2

// Consent is the approval of one person.
type Consent struct {
	// Who approved, and At is when.
	Who string    `json:"who"`
	At  time.Time `json:"at"`
	// Content is [Answer.Content].
	Content string `json:"content,omitempty"`
	// Override is the reason of a person who lets the call run although sources are down, and
	// Unchecked names the entities that could not be checked then, as "Product Strava". Both are
	// empty for a consent after a safe check.
	Override  string   `json:"override,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Costs are what the call takes from limits that the requests of a session share, by the last check since the
	// consent. The last consent has them.
	Costs []LimitCost `json:"costs,omitempty"`
}

// with returns the consents with one more. A person counts once: a later consent takes the place of
// an earlier one only if it overrides.
func with(consents []Consent, c Consent) []Consent {
	consents = slices.Clone(consents)
	i := slices.IndexFunc(consents, func(o Consent) bool { return same(o.Who, c.Who) })
	switch {
	case i < 0:
		return append(consents, c)
	case c.Override != "":
		consents[i] = c
	}
	return consents
}

// Consented reports whether a person has approved.
func (a Approval) Consented(who string) bool {
	return slices.ContainsFunc(a.Consents, func(c Consent) bool { return same(c.Who, who) })
}

// Missing returns how many more people have to approve, not counting that a check can fail.
func (a Approval) Missing() int { return max(max(a.Approvers, 1)-len(a.Consents), 0) }

// overrides returns the people whose consent lets the call run although these entities cannot be
// checked.
func (a Approval) overrides(unchecked []string) (people []string) {
	for _, c := range a.Consents {
		covers := !slices.ContainsFunc(unchecked, func(name string) bool { return !slices.Contains(c.Unchecked, name) })
		if c.Override != "" && covers {
			people = append(people, c.Who)
		}
	}
	return people
}

// decided reports whether the consents approve the request, if the last one is c.
func (a Approval) decided(c Consent) bool {
	return a.Missing() == 0 && (c.Override == "" || len(a.overrides(c.Unchecked)) >= overriders)
}

func cloneConsents(consents []Consent) []Consent {
	out := slices.Clone(consents)
	for i := range out {
		out[i].Unchecked, out[i].Costs = slices.Clone(out[i].Unchecked), slices.Clone(out[i].Costs)
	}
	return out
}

// Surroundings are what a call can read beside its arguments, as it was when its approval was asked:
// the state of the session, and artifacts. They hold no value but those that people are shown.
type Surroundings struct {
	// State has a digest of each value, by key. Artifacts has one of each content, by name.
	State     map[string]string `json:"state,omitempty"`
	Artifacts map[string]string `json:"artifacts,omitempty"`
	// Shown has the values of the keys that people are shown, as text. Each is in State too, if the
	// state had it.
	Shown map[string]string `json:"shown,omitempty"`
	// Unbound counts the keys and artifacts that have no digest, because there were too many of them
	// or they were too large.
	Unbound int `json:"unbound,omitempty"`
	// Watched says that the reads of the call are compared with State and Artifacts.
	Watched bool `json:"watched,omitempty"`
}

// clone returns a copy that shares nothing with s.
func (s Surroundings) clone() Surroundings {
	s.State, s.Artifacts, s.Shown = maps.Clone(s.State), maps.Clone(s.Artifacts), maps.Clone(s.Shown)
	return s
}

// shown returns the keys that people are shown, with their values.
func (s Surroundings) shown() map[string]any {
	out := make(map[string]any, len(s.Shown))
	for key, value := range s.Shown {
		out[oneLine(key)] = oneLine(value)
	}
	return out
}

// hints names the same in a few words each: "state cluster test".
func (s Surroundings) hints() (items []string) {
	for _, key := range slices.Sorted(maps.Keys(s.Shown)) {
		items = append(items, "state "+word(key)+" "+word(s.Shown[key]))
	}
	return items
}

// unboundHint says how much has no digest.
func unboundHint(n int) string {
	if n == 1 {
		return "1 key of the state, or artifact"
	}
	return fmt.Sprintf("%d keys of the state, or artifacts", n)
}
