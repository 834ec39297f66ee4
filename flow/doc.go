// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package flow makes workflows of ADK survive a person's answer, and builds graphs of nodes with
// conditions and loops.
//
// [Agent] stands in the place of workflowagent.New and repairs what happens after an answer. [AgentNode],
// [ToolNode] and [WorkflowNode] stand in the place of ADK's nodes that cannot go on where they asked. [New] makes a
// graph whose edges have conditions. [Continue] goes on after a crash.
//
// Nodes run on ADK's scheduler. The package stores nothing of its own: what has happened stands in the events of the
// session, under the key "flow" of their metadata. So the answer may come to another process. Contextgraph is not
// needed; where a runner has its plugins, nodes are recorded and their tools are guarded as those of any agent.
//
// Documented in docs/flow.md.
package flow

import "errors"

// The errors with which a run ends.
var (
	// ErrAnswered says that the answered question is answered already or withdrawn, or that its run is cancelled.
	ErrAnswered = errors.New("flow: the question is answered already")
	// ErrStockNode says that a node of ADK asked that cannot go on after the answer. It names the replacement.
	ErrStockNode = errors.New("flow: this node cannot go on after an answer")
	// ErrNoEdge says that no edge of a node holds, and the node is no end.
	ErrNoEdge = errors.New("flow: no edge holds")
	// ErrRefused says that a guarded call was rejected or blocked, and no edge of its node is for that.
	ErrRefused = errors.New("flow: a call was refused")
	// ErrMaxIterations says that the run would go on behind its last iteration.
	ErrMaxIterations = errors.New("flow: the run has no iterations left")
	// ErrInDoubt says that a node began, and nobody knows whether it ended.
	ErrInDoubt = errors.New("flow: it is in doubt whether the node took effect")
	// ErrNothingToContinue says that no run of the session was cut off.
	ErrNothingToContinue = errors.New("flow: nothing to continue")
	// ErrChanged says that a run is at a node which the graph no longer has.
	ErrChanged = errors.New("flow: the graph has changed")
	// ErrMistake is in every error that a wrong graph gives before it runs.
	ErrMistake = errors.New("flow: mistake in the graph")
)
