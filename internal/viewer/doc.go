// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer is the page: sessions, the graph of why, thoughts, the timeline, and every
// approval with its verdicts. [Write] makes one HTML file that needs nothing else, and
// [NewHandler] serves the same page live from a source, which sends payloads when the page asks.
//
// The page fetches nothing from any network. Its policy forbids every script and style
// but its own, which are named by their hashes, and every text of a record is put into it
// as text: nothing that an agent, a model or a user wrote is ever read as markup.
package viewer
