// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire encodes rows of agent_events as the protocol buffer messages that
// BigQuery's Storage Write API takes, and describes them: [schema.Columns] is the table,
// [Descriptor] the message, and [Row.Append] writes one.
package wire
