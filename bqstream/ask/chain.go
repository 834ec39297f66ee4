// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
)

// ReasoningQuestion asks what a decision rests on.
type ReasoningQuestion struct {
	Scope
	// Decision is the key of a node. Defaults to the session's latest request for a
	// confirmation.
	Decision string
	// Entity is the [entity.Entity.CanonicalKey] of the one entity that is asked about.
	// Defaults to all.
	Entity string
	// Hops limits paths to that many edges of kind informs and resumes. Defaults to
	// [graphsync.DefaultHops], and is at most [MaxHops]. Edges of kind contains do not
	// count.
	Hops int
}

// Reasoning is the basis of a decision.
type Reasoning struct {
	// Decision is the node, DecidedAt the time that nothing later counts for.
	Decision  graphsync.TechNode
	DecidedAt time.Time
	// Reasons are in the order of [graphsync.Graph.Why].
	Reasons []graphsync.Reason
	// Truncated is true when there were more rows than the limit, or paths of more edges
	// than recursive SQL follows: the entities that are farthest away are missing, or
	// sightings of them, such as the result that showed them. In the second case a path may
	// not be the shortest.
	Truncated bool
	// Beyond is true when a step one hop farther away than the limit saw an entity, which
	// may be among the Reasons as well.
	Beyond bool
	Form   Form
}
