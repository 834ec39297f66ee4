// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal is the durable local log: one SQLite file that holds every event
// row, the graph derived from it and the approvals ledger. Everything that decides
// or reports reads from here; the network is never asked.
//
// # Durability
//
// [Journal.Append] hands a row to a goroutine that owns the only writing connection
// and commits in groups. [Journal.Flush] returns nil when every row accepted before
// the call is on disk: the transaction is committed with synchronous=FULL. A failed
// commit keeps its rows, first in line, until a later one succeeds. A row that can
// not be kept is counted with a reason in [Stats] and, by session, in [Journal.Lost]
// and [Journal.Gaps]; none disappears in silence.
//
// # Processes
//
// Other processes may open the same file, to read it or to answer an approval. The
// file is in WAL mode, which needs a local file system. Every ledger transition is
// one immediate transaction with a compare-and-set, so of two processes that want
// the same permit exactly one gets it.
package journal
