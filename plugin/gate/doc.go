// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package gate stands between an approved action and its effect. It asks for approvals, takes
// their answers, and lets an approved call run once, on the arguments that were approved, after
// a check of the world. It denies every call about which it is not certain.
//
// It works on the record of package plugin, extends the recorder's callbacks, and asks the
// recorder for four things: the run and the call that a context belongs to (look-up), a context
// that outlives the caller's (detach), a row for each step of its own (emit), and a value as a
// row would hold it (encode). The recorder knows nothing of it.
//
// The gate has two places among the plugins of a runner. In the first plugin it stands right
// behind the recorder. There it takes the answers in a user message, and the requests of a
// tool that has ended, before any other plugin can hide them. The last plugin sees the
// arguments of a call as every other plugin left them. Callbacks of an agent still run behind
// it; [Gate.Protect] puts the gate around the tool itself.
package gate
