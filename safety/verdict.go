// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package safety

import "github.com/adk-contextgraph/contextgraph/record"

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

// EntityOutcome is the result of the check of one entity. The zero value is EntityFailed.
type EntityOutcome uint8

const (
	// EntityFailed means that the entity has a failure and no alert.
	EntityFailed EntityOutcome = iota
	// EntityChanged means that the entity has at least one alert that blocks. It may
	// have failures besides.
	EntityChanged
	// EntityUnchanged means that the entity was compared and is as it was seen.
	EntityUnchanged
	// EntityWarned means that the entity was compared, and that the policy only warns of its
	// changes.
	EntityWarned
	// EntitySkipped means that the entity could not be checked, and that its type
	// is optional. It proves nothing.
	EntitySkipped
)

// String returns "unchanged", "warned", "changed", "skipped" or, for every other
// value, "failed".
func (o EntityOutcome) String() string {
	switch o {
	case EntityUnchanged:
		return "unchanged"
	case EntityWarned:
		return "warned"
	case EntityChanged:
		return "changed"
	case EntitySkipped:
		return "skipped"
	default:
		return "failed"
	}
}

// MarshalText encodes the outcome as its String.
func (o EntityOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// named reports whether a session is named in full. Its id is unique only within an application and a
// user: a check or an approval of a session with an empty part is refused.
func named(s record.Session) bool { return s.App != "" && s.User != "" && s.ID != "" }
