// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import "github.com/adk-contextgraph/contextgraph/graphsync"

// Trace is a session as the dataset has it.
type Trace struct {
	// Trace is the session as a tree of spans and as a list of events, each event once.
	graphsync.Trace
	// Edges are the edges between the spans that the graph in the dataset has, in the
	// order of the spans they lead to.
	Edges []graphsync.Edge
	// Isolated are the ids of the events whose span has no edge in the graph: those recorded after
	// the graph, and spans on their own.
	Isolated []string
	// Truncated is true when there were more edges than the limit. Events are never
	// left out.
	Truncated bool
	Form      Form
}
