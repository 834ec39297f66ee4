// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package inspect makes the views that people look at from the record of a session: a line in a
// list, a tree of spans, the graph of why, the thoughts of the agent, and every approval with its
// evidence, its checks and its outcome.
//
// It reads from a [Source]: a journal, a dataset in BigQuery, or rows alone. Everything is derived
// from the rows, so every source gives the same answers. A journal also has the ledger, which knows
// more about an approval than its rows do, and has the last word.
//
// The types below are the JSON that the command line prints and the page reads: fields are added to
// them, never renamed or removed. Times are UTC, durations whole or fractional milliseconds. Texts
// are as they were recorded: their printer must escape them.
package inspect
