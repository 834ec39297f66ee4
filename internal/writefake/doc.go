// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package writefake is a BigQuery write service for tests: a gRPC server on loopback
// that takes the requests of a real client, decodes every row with the schema the
// client sent, keeps a table, and does what a script or a seeded schedule says: answer
// late, never, in another order or with an error, end the stream before or after the
// rows were applied, lose the table, restart, drain.
//
// It does nothing that a client has no way to see through: the protocol of the default
// stream numbers neither requests nor answers, they belong together by their order
// alone. So on a connection where answers are missing or swapped every request before the
// last answer was applied: one that is refused ends the stream instead.
package writefake
