// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate stands between an approved action and its effect. It asks for approvals, takes
// their answers, and lets an approved call run once, on the arguments that were approved, after
// a check of the world. What it cannot establish, it denies.
//
// It works on the record of package plugin and asks it for three things: the run and the call
// that a context belongs to (look-up), a context that outlives the caller's (detach), and a row
// for each step of its own (emit). The recorder knows nothing of it.
//
// The gate has two places among the plugins of a runner. In the first plugin it stands right
// behind the recorder, whose callbacks it wraps: it takes the answers in a user message, and
// the requests of a tool that has ended, before any other plugin can hide them. The last
// plugin sees the arguments of a call as every other one left them. Callbacks of an agent
// still run behind it; [Gate.Protect] puts the gate around the tool itself.
package gate
