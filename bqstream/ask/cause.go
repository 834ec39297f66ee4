// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import "github.com/adk-contextgraph/contextgraph/graphsync"

// CausalQuestion asks for the effects or the causes of a step.
type CausalQuestion struct {
	Scope
	// Node is the key of the step. Defaults to the first one with a message of the user.
	Node string
	// Backwards asks what led to the step.
	Backwards bool
	// Hops is how many edges of any kind lead at most from the step to another one.
	// Defaults to [graphsync.DefaultHops], and is at most [MaxHops].
	Hops int
}

// Causal is a causal chain.
type Causal struct {
	// Origin is the key of the step it begins at.
	Origin string
	// Steps are the steps that were reached, each once, near ones first, in the order of
	// [graphsync.Graph.Effects] and [graphsync.Graph.Causes].
	Steps []CausalStep
	// Truncated is true when there were more steps than the limit, Beyond when there
	// are steps farther away than the limit of hops.
	Truncated, Beyond bool
	Form              Form
}

// CausalStep is one step of a causal chain.
type CausalStep struct {
	Node graphsync.TechNode
	// Hops is the number of edges to the origin.
	Hops int
	// Via is the key of the step before it on the way from the origin, Edge the kind of
	// the edge between them.
	Via  string
	Edge graphsync.EdgeKind
}
