// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin records the runs of ADK-Go: it turns their callbacks into rows with a closed
// span tree. It decides nothing about approvals; package gate below it does.
//
// One callback becomes one row, or a few. The files follow its way: observer.go lists the
// callbacks; lifecycle.go, agent.go, model.go, tool.go and event.go have one kind each; row.go
// encodes a row on the goroutine of the callback, by the rules in encode.go, and hands it to
// the [Sink].
//
// Observation never costs a run: callbacks return nil values, recover their own panics and do
// no I/O.
//
// Another package can stand on the record. It looks up the [Run] and the [Call] that a context
// belongs to ([Recorder.Lookup], [Recorder.LookupCall]), keeps its own state with the run
// ([Run.Value], [Run.AtEnd]), and adds rows of its own ([Recorder.Emit]).
package plugin
