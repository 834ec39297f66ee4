// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire encodes rows as the protocol buffer messages that BigQuery's Storage Write API
// takes, and describes them.
//
// For agent_events, [schema.Columns] is the table, [Descriptor] the message, and [Row.Append] writes
// one. A row of any other table comes as JSON: [DescriptorOf] describes its message, and
// [AppendJSON] writes it.
package wire
