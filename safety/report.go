// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// EntityResult is the result of the check of one entity.
type EntityResult struct {
	// Type and Value are the entity as shown.
	Type  string `json:"type"`
	Value string `json:"value"`
	// Outcome is the result of the comparison: one of the Entity constants.
	Outcome string `json:"outcome"`
	// Seen holds the attributes that were seen or claimed, Now the attributes of the answer.
	Seen map[string]entity.Value `json:"seen,omitempty"`
	Now  map[string]entity.Value `json:"now,omitempty"`
	// Conditions are the conditions on attributes, in words: "at least 8". An attribute without one
	// is compared with the value that was seen.
	Conditions map[string]string `json:"conditions,omitempty"`
	// SeenAt is when the entity was last seen, AsOf when the answer was true.
	SeenAt time.Time `json:"seen_at,omitzero"`
	AsOf   time.Time `json:"as_of,omitzero"`
	// Unseen marks an entity that was found after the request: it is checked
	// like the others, but the approver did not see it.
	Unseen bool `json:"unseen,omitempty"`
	// Version is the revision the answer named (an ETag, say), for an effect
	// that can be made conditional on it.
	Version string `json:"version,omitempty"`
	// Origins says where the answer came from, if the checker said so.
	Origins []Origin `json:"origins,omitempty"`
	// Skipped says why an optional entity could not be checked.
	Skipped []Failure `json:"skipped,omitempty"`
	// Waived lists attributes that no result has shown, if the policy lets that pass.
	Waived []Failure `json:"waived,omitempty"`
}

// Report is the result of one world-change check. Only this package makes reports, and nothing can
// change them: each answer of a report is computed from the checked entities at each call. The zero
// Report denies.
//
// A Report is safe for concurrent use.
type Report struct {
	id          string
	approvalID  string
	session     record.Session
	fingerprint string
	policy      string
	started     time.Time
	checked     time.Time
	total       int
	results     []EntityResult
	alerts      []Alert
	failures    []Failure
	notChosen   entity.NotChosen
	costs       []Cost
	taken       []LimitCost
	// preconditions are the revisions for an effect after this check.
	preconditions []Precondition
	drifted       []entity.Entity
	// requester is who asked for the approval that was checked.
	requester     string
	authenticated bool
}

// Verdict returns Drift if at least one alert blocks. It returns Safe if all of this holds: the
// session is named; at least one entity was compared; every entity that is not optional was
// compared and is unchanged, except for changes that the policy only warns of; and nothing failed
// that the policy does not waive. In every other case it returns CheckFailed.
func (r Report) Verdict() Verdict {
	switch {
	case slices.ContainsFunc(r.alerts, Alert.blocks) || r.StaleEntities() > 0:
		return Drift
	case r.CheckFailed():
		return CheckFailed
	default:
		return Safe
	}
}

// IsSafeToApprove reports whether the verdict is Safe.
func (r Report) IsSafeToApprove() bool { return r.Verdict() == Safe }

// down returns the names of the entities that could not be checked because their sources are away.
// only says that nothing else is wrong.
func (r Report) down() (names []string, only bool) {
	for _, f := range r.failures {
		if !f.Down() {
			return nil, false
		}
		if !slices.Contains(names, f.name()) {
			names = append(names, f.name())
		}
	}
	whole := named(r.session) && !r.started.IsZero() && !r.checked.IsZero() && len(r.results) == r.total
	return names, whole && len(names) > 0 && r.Verdict() == CheckFailed
}

// CheckFailed reports whether anything failed or nothing was checked. It may be
// true beside drift: a check that found a change and could not look at the rest.
func (r Report) CheckFailed() bool {
	return !named(r.session) || r.started.IsZero() || r.checked.IsZero() ||
		r.total == 0 || len(r.results) != r.total || len(r.failures) > 0 ||
		!slices.ContainsFunc(r.results, EntityResult.compared) ||
		slices.ContainsFunc(r.results, func(e EntityResult) bool { return !e.compared() && e.Outcome != EntitySkipped })
}

// compared reports whether the entity was held against an answer.
func (e EntityResult) compared() bool {
	return e.Outcome == EntityUnchanged || e.Outcome == EntityWarned || e.Outcome == EntityChanged
}

// Alerts returns the changes that block, in the order of the entities; budgets that
// are exceeded come last. The slice is the caller's.
func (r Report) Alerts() []Alert { return selectAlerts(r.alerts, true) }

// Warnings returns the changes that the policy only warns of, in the order of the
// entities. They do not enter the verdict. The slice is the caller's.
func (r Report) Warnings() []Alert { return selectAlerts(r.alerts, false) }

// Failures returns what failed: first what concerns the whole check, then the
// entities in order. The slice is the caller's.
func (r Report) Failures() []Failure { return slices.Clone(r.failures) }

// Entities returns one result per entity, ordered by type and key, those the
// approver did not see last. The slice is the caller's.
func (r Report) Entities() []EntityResult {
	out := slices.Clone(r.results)
	for i := range out {
		out[i].Seen, out[i].Now = maps.Clone(out[i].Seen), maps.Clone(out[i].Now)
		out[i].Conditions = maps.Clone(out[i].Conditions)
		out[i].Skipped = slices.Clone(out[i].Skipped)
		out[i].Waived = slices.Clone(out[i].Waived)
		out[i].Origins = slices.Clone(out[i].Origins)
	}
	return out
}

// Costs returns the cost of the plan for each budget rule that applies, in the order of the policy,
// whatever the verdict is. The slice is the caller's.
func (r Report) Costs() []Cost { return slices.Clone(r.costs) }

// NotChosen returns what was there to choose and does not count. It is the caller's.
func (r Report) NotChosen() entity.NotChosen { return ownNotChosen(r.notChosen) }

// Drifted returns the changed entities, each with the present values of the attributes whose change
// blocks. They are readings of the check itself, for a record of the present state. Only type,
// value, norm and attributes are set. The slice belongs to the caller.
func (r Report) Drifted() []entity.Entity {
	out := slices.Clone(r.drifted)
	for i := range out {
		out[i].Attributes = maps.Clone(out[i].Attributes)
	}
	return out
}

// drifted returns the changed values in the answers. An answer with an error, and one without the
// attribute, gives none.
func drifted(found []entityCheck) []entity.Entity {
	var out []entity.Entity
	for _, x := range found {
		now := make(map[string]entity.Value)
		for _, a := range x.alerts {
			if v := x.result.Now[a.Attribute]; a.blocks() && x.read && !v.IsZero() {
				now[a.Attribute] = v
			}
		}
		if len(now) > 0 {
			e := x.target.entity
			out = append(out, entity.Entity{Type: e.Type, Value: e.Value, Norm: e.Norm, Attributes: now})
		}
	}
	return out
}

// ID returns the id of the check, 32 hexadecimal digits; "" for the zero report.
func (r Report) ID() string { return r.id }

// ApprovalID returns the id of the approval the check was made for; "" if none.
func (r Report) ApprovalID() string { return r.approvalID }

// Session returns the session that was checked.
func (r Report) Session() record.Session { return r.session }

// TotalEntities returns the number of entities that were looked at, whether or not
// their check succeeded.
func (r Report) TotalEntities() int { return r.total }

// StaleEntities returns the number of entities with at least one alert of their own
// that blocks.
func (r Report) StaleEntities() int {
	n := 0
	for _, e := range r.results {
		if e.Outcome == EntityChanged {
			n++
		}
	}
	return n
}

// StartedAt returns when the check began. The age of the check counts from here.
func (r Report) StartedAt() time.Time { return r.started }

// CheckedAt returns when the check ended.
func (r Report) CheckedAt() time.Time { return r.checked }

// Fingerprint returns the fingerprint of the entities and values that were
// required; see [Fingerprint].
func (r Report) Fingerprint() string { return r.fingerprint }

// PolicyVersion returns the version of the policy that was applied.
func (r Report) PolicyVersion() string { return r.policy }

// Summary returns the report as text for people:
//
//	World Change Report - Session: sess-nike-summer
//	  Entities checked : 5
//	  Stale entities   : 1
//	  Safe to approve  : false
//	  Changed          : price_changed: price of Product Strava Sponsored Routes: $40,000 → $52,000 (+30%), severity 0.72
//
// Lines begin with "CHECK FAILED" and have a failure, with "Skipped" and have an optional entity that could not be
// checked, with "Waived" and have an attribute that no result has shown and that the policy lets pass, with "Not chosen"
// and have entities that do not count, with "Requester" and name who asked for the approval, if nothing authenticated
// them, or with "Changed" or "Warning" and have a change. The text is for reading; programs use the methods or the JSON.
func (r Report) Summary() string {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "  %-17s: %v\n", name, value) }
	fmt.Fprintf(&b, "World Change Report - Session: %s\n", oneLine(r.session.ID))
	line("Entities checked", r.total)
	line("Stale entities", r.StaleEntities())
	line("Safe to approve", r.IsSafeToApprove())
	for _, f := range r.failures {
		line("CHECK FAILED", f)
	}
	if len(r.failures) == 0 && r.CheckFailed() {
		line("CHECK FAILED", "not evaluated")
	}
	for _, e := range r.results {
		for _, f := range e.Skipped {
			line("Skipped", f)
		}
		for _, f := range e.Waived {
			line("Waived", f)
		}
	}
	if r.notChosen.Total > 0 {
		line("Not chosen", NotChosenNames(r.notChosen))
	}
	if r.approvalID != "" && !r.authenticated {
		line("Requester", oneLine(r.requester)+" (not authenticated)")
	}
	for _, a := range r.Alerts() {
		line("Changed", a)
	}
	for _, a := range r.Warnings() {
		line("Warning", a)
	}
	return b.String()
}

// signed formats a percentage with its sign and as few digits as it needs.
func signed(p float64) string {
	s := strconv.FormatFloat(p, 'f', -1, 64)
	if p >= 0 {
		s = "+" + s
	}
	return s
}

// MarshalJSON encodes the report. The shape is a contract; fields may be added:
//
//	{
//	  "id": "32 hex", "approval_id": "32 hex, absent if none",
//	  "session": {"app", "user", "id"},
//	  "requester": {"name", "authenticated": bool}, absent without an approval,
//	  "verdict": "safe|drift|check_failed",
//	  "safe_to_approve": bool, "check_failed": bool,
//	  "fingerprint": "64 hex", "policy_version": "64 hex",
//	  "started_at", "checked_at": RFC 3339, UTC,
//	  "total_entities": int, "stale_entities": int,
//	  "entities": [{"type", "value", "outcome": "unchanged|warned|changed|skipped|failed",
//	    "seen": {name: value}, "now": {name: value}, "conditions": {name: text}, "seen_at", "as_of",
//	    "unseen": bool, "version",
//	    "origins": [{"kind", "name", "call", "latency_ms"}], "skipped": [as failures],
//	    "waived": [as failures]}],
//	  "alerts": [{"entity_type", "entity", "attribute", "drift_type", "before", "after",
//	    "condition": text, absent where there is none, "change_percent", "severity", "effect": "block", "recommendation"}],
//	  "warnings": [as alerts, with "effect": "warn"],
//	  "failures": [{"entity_type", "entity", "reason", "detail"}],
//	  "costs": [{"budget_type", "budget", "limit", "seen", "now", "others", "exceeded": bool}], see [Cost];
//	    what is not known is absent, and so is the list where no budget rule applies,
//	  "not_chosen": {"total": int, "entities": [{"type", "value", "seen": {name: value},
//	    "seen_at"}]}, absent where there is none
//	}
//
// Values are those of [entity.Value]. There is no UnmarshalJSON, and decoding into
// a Report leaves the zero Report: a report that was read back permits nothing.
func (r Report) MarshalJSON() ([]byte, error) {
	type requester struct {
		Name          string `json:"name"`
		Authenticated bool   `json:"authenticated"`
	}
	var asked *requester
	if r.approvalID != "" {
		asked = &requester{r.requester, r.authenticated}
	}
	return json.Marshal(struct {
		ID            string           `json:"id"`
		ApprovalID    string           `json:"approval_id,omitempty"`
		Session       record.Session   `json:"session"`
		Requester     *requester       `json:"requester,omitempty"`
		Verdict       Verdict          `json:"verdict"`
		SafeToApprove bool             `json:"safe_to_approve"`
		CheckFailed   bool             `json:"check_failed"`
		Fingerprint   string           `json:"fingerprint"`
		PolicyVersion string           `json:"policy_version"`
		StartedAt     time.Time        `json:"started_at"`
		CheckedAt     time.Time        `json:"checked_at"`
		TotalEntities int              `json:"total_entities"`
		StaleEntities int              `json:"stale_entities"`
		Entities      []EntityResult   `json:"entities"`
		Alerts        []Alert          `json:"alerts"`
		Warnings      []Alert          `json:"warnings"`
		Failures      []Failure        `json:"failures"`
		Costs         []Cost           `json:"costs,omitempty"`
		NotChosen     entity.NotChosen `json:"not_chosen,omitzero"`
	}{
		r.id, r.approvalID, r.session, asked, r.Verdict(), r.IsSafeToApprove(), r.CheckFailed(),
		r.fingerprint, r.policy, r.started.UTC(), r.checked.UTC(), r.total, r.StaleEntities(),
		append([]EntityResult{}, r.results...), append([]Alert{}, r.Alerts()...), append([]Alert{}, r.Warnings()...), append([]Failure{}, r.failures...),
		r.costs, r.notChosen,
	})
}

// Verdict is the outcome of a world-change check. The zero value is CheckFailed,
// so a verdict nobody set denies.
type Verdict uint8

const (
	// CheckFailed means that the check could not show that nothing changed:
	// something was missing, late, malformed or in error. It denies.
	CheckFailed Verdict = iota
	// Drift means that at least one entity has changed since it was seen. It denies.
	Drift
	// Safe means that every required entity was checked, that every answer was fresh and complete,
	// and that nothing changed, except for optional entities and changes that the policy only warns
	// of. Only Safe approves.
	Safe
)

// String returns "safe", "drift" or, for every other value, "check_failed".
func (v Verdict) String() string {
	switch v {
	case Safe:
		return "safe"
	case Drift:
		return "drift"
	default:
		return "check_failed"
	}
}

// MarshalText encodes the verdict as its String. There is no UnmarshalText: a
// verdict that was read back is no verdict.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// The types of drift of a guard that says nothing else, see [config.Guard.Drift].
const (
	Unavailable   = "unavailable"    // availability
	PriceChanged  = "price_changed"  // price
	StatusChanged = "status_changed" // status
	Changed       = "changed"        // any other attribute
)

// The outcomes of the check of an entity. Every other value is as EntityFailed.
const (
	// EntityFailed means that the entity has a failure and no alert.
	EntityFailed = "failed"
	// EntityChanged means that the entity has at least one alert that blocks. It may
	// have failures besides.
	EntityChanged = "changed"
	// EntityUnchanged means that the entity was compared and is as it was seen.
	EntityUnchanged = "unchanged"
	// EntityWarned means that the entity was compared, and that the policy only warns of its
	// changes.
	EntityWarned = "warned"
	// EntitySkipped means that the entity could not be checked, and that its type
	// is optional. It proves nothing.
	EntitySkipped = "skipped"
)

// named reports whether a session is named in full. Its id is unique only within an application and a
// user: a check or an approval of a session with an empty part is refused.
func named(s record.Session) bool { return s.App != "" && s.User != "" && s.ID != "" }
