// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package inspect turns what was recorded of a session into what people look at: a
// line in a list, a tree of spans, the graph of why, the thoughts of the agent, and
// every approval with what it rested on, what was checked and what came of it.
//
// It reads from a [Source]: a journal, a dataset in BigQuery, or rows alone. Everything
// is derived from the rows, so every source gives the same answers; a journal also has the
// ledger, which knows more about an approval than its rows do, and whose word counts.
//
// The types below are the JSON that the command line prints and the page reads: fields are
// added to them, never renamed or removed. Times are UTC, durations whole or fractional
// milliseconds, texts as they were recorded: whoever shows them must escape them.
package inspect
