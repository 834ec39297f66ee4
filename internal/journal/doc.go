// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal is the durable local log: one SQLite file that holds every event
// row, the graph and the evidence that are derived from the rows, and the approvals ledger.
// Everything that decides or reports reads from here; the network is never asked.
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
// 64 MiB, and with every write of the ledger or of a graph.
// Rows are lost from the newest on: one that survives has all before it. The approvals
// ledger is committed with an fsync at every level, and with it every row committed
// before, so what an approval rests on survives whenever the approval does.
//
// # Books
//
// A row that is not stored is counted with a reason in [Stats] and, by session, in
// [Journal.Lost] and [Journal.Gaps]; none disappears in silence. The next commit writes
// the number of each session to the file, so that Gaps tells of it after the end of the
// process and in others. At any time the rows
// accepted are those stored, found to be duplicates, queued or counted as lost:
// [Stats.Unaccounted] is 0.
//
// # Evidence
//
// What the rows of a session show is stored once for each row, by thing and attribute:
// [Journal.Evidence]. A decision asks for the latest reading of an attribute, for the
// results that a model had read, for the runs that are open; each is found by an index, so
// that it takes no longer in a long session. Evidence is made from rows and can be made
// again. It is therefore as durable as rows are, and when the rules change that it was made
// by, it is made anew. Who extracts compares and sets how far the session was extracted,
// so that processes which do it side by side store each row once.
//
// # Retention
//
// A journal keeps everything unless [config.Journal.Retention] bounds its age or its size.
// Then whole sessions are removed in the background, in steps of some milliseconds.
// A session with an open approval that has not expired, with a row of the last
// [MinIdle], or that is not replicated, stays, and so does the session of an agent that ran
// as a tool of a session which stays. So does the approvals ledger: it is the record of who
// allowed what. Of a removed session the journal remembers how many rows it had, and
// [Journal.Gaps] tells, so that no approval rests on a record whose
// beginning is gone.
//
// # Replication
//
// The rows of a journal can be sent elsewhere: an [Outbox] is the journal as one
// destination sees it. The file remembers up to which row the destination has
// acknowledged them, never more, so that a row is sent at least once whatever happens
// to the process that sends; the event id tells a second copy. A lease in the file lets
// one owner send at a time, also among processes. Rows that a destination refuses for
// what they hold are dead letters, and hold up nothing but their session.
//
// # Processes
//
// Other processes may open the same file, to read it or to answer an approval. The
// file is in WAL mode, which needs a local file system. Every ledger transition is
// one immediate transaction with a compare-and-set, so of two processes that want
// the same permit exactly one gets it. A step of an approval reads and writes its state
// alone, and not all that it rests on.
package journal
