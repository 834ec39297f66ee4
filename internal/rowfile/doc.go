// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package rowfile reads and writes files of rows: one JSON object a line, with the columns of
// agent_events as members. It reads the forms in which recorders and exports write them: times
// as text or as numbers, JSON as JSON or in strings. It writes the form of the row contract.
package rowfile
