// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal is the durable local log: one SQLite file that holds every event
// row and the ledger of approvals. It stores nothing that can be made of rows: readers fold them.
// Every decision and every report reads from here, and nothing asks the network.
//
// # Delivery
//
// [Journal.Append] puts a row into a queue in memory, bounded by bytes and by rows,
// and never waits for the disk. A goroutine that owns the only writing connection
// takes from the queue what one transaction holds and commits it. [Journal.Flush]
// returns nil when every row accepted before the call is committed. A failed commit
// keeps its rows, first in line, until a later one succeeds: a full disk, a lock or
// an I/O error costs nothing until the queue is full. Then the oldest rows that wait
// are dropped ([config.DropOldest]), or Append waits for a moment ([config.Block]); an approval row
// is never dropped for another.
//
// # Durability
//
// What a committed row survives is the [config.Durability] of the journal:
//
//	level    commits                kill -9 may take  a power loss may take
//	memory   every second           the last second   rows since the last fsync
//	journal  every 20 ms            the last 20 ms    rows since the last fsync
//	sync     every 20 ms, by fsync  the last 20 ms    the last 20 ms
//
// Without sync there is an fsync when the log is copied into the file, about every
// 64 MiB, and with every write of the ledger. The newest rows are lost
// first: with a row, all rows before it survive. The ledger is committed with an fsync at
// every level, and so is every row committed before. An approval therefore never survives
// without its evidence.
//
// # Books
//
// A row that is not stored is counted with a reason in [Stats] and, by session, in
// [Journal.Lost] and [Journal.Losses]. The next commit writes the number of each run to
// the file, so that Losses knows it after the end of the process, and in other processes. At
// any time each accepted row is stored, a duplicate, queued or counted as lost:
// [Stats.Unaccounted] is 0.
//
// # Rules
//
// The rules under which rows are recorded stand beside them: [Journal.SetRules]. So a reader
// without a configuration finds in the rows what the process found that recorded them.
//
// # Retention
//
// A journal keeps everything unless [config.Journal.Retention] bounds its age or its size.
// Then whole sessions are removed in the background, in steps of some milliseconds: those of which
// [store.Store] says that they may be, and that have no row of the last [MinIdle]. The journal
// remembers the number of rows of a removed session, and [Journal.Losses] reports it, so that
// no approval rests on a record without its beginning.
//
// # Replication
//
// The rows of a journal can be sent elsewhere: see [store.Outbox]. The file remembers up to which row
// a destination has acknowledged them, never more, so that a row is sent at least once whatever
// happens to the process that sends; the event id identifies a second copy. A row that a destination
// refuses for its content is a dead letter, and holds up no row. A destination that also gets the
// graphs of sessions has a second position: every [store.Trigger] up to it has had its graph brought
// there.
//
// # Processes
//
// Other processes may open the same file, to read it or to answer an approval. The
// file is in WAL mode, which needs a local file system. Every ledger transition is
// one immediate transaction with a compare-and-set, so of two processes that want
// the same permit exactly one gets it. A step of an approval reads and writes its state
// alone, and not all that it rests on.
package journal
