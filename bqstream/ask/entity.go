// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// EntityQuestion asks which approvals rest on an entity.
type EntityQuestion struct {
	Window
	// Entity is the entity in question: its type and value are required. An entity that was seen is
	// the same if it has the same [entity.Entity.CanonicalKey], or the same type and value as
	// written. If Norm is set, a typed value is found in any spelling.
	Entity entity.Entity
	// Hops limits paths to that many edges of kind informs and resumes, as in a
	// [graphsync.Graph.Why].
	Hops int
}

// EntityUses are the approvals that rest on an entity.
type EntityUses struct {
	// Approvals are by time, latest first.
	Approvals []EntityUse
	// Truncated is true in two cases. The sessions that saw the entity had more approvals than the
	// limit, so only the latest were looked at. Or paths had more edges than recursive SQL follows.
	Truncated bool
}

// EntityUse is one approval that rests on an entity.
type EntityUse struct {
	Session record.Session
	// Node is the key of the request for the confirmation, Name, Agent and CallID are
	// its own.
	Node, Name, Agent, CallID string
	DecidedAt                 time.Time
	// Hops is the number of edges of kind informs and resumes from the nearest step
	// that saw the entity.
	Hops int
	// Sightings is the number of steps that saw it and led to the approval, Value how
	// the last of them had it, and EvaluatedAt when.
	Sightings   int
	Value       string
	EvaluatedAt time.Time
}
