// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package replicate brings the rows of a journal to a table, over a transport that it
// knows only as a [Target]. The journal is the outbox: rows are read from it in the order
// of their numbers, encoded by package wire, sent in batches, several of them in flight
// on one long-lived stream, and a cursor in the journal moves up to the last row before
// which every row is acknowledged or a dead letter.
//
// # Delivery
//
// At least once. The cursor never stands beyond a row that is not acknowledged, so after
// a crash, a broken stream or a change of owner rows are sent again; event_id tells that
// a row is there already. Rows of one session stand in every request, and are sent for
// the first time, in the order of the journal. A request that is sent again may arrive
// after those that were behind it in flight: readers order rows by timestamp and run_seq.
//
// One process at a time sends, by a lease in the journal. The others stand by and look
// whether it is free three times per [Config.LeaseTTL].
//
// # Errors
//
// What is done about an error is said by its [Class]:
//
//	ambiguous, transient  sent again on a new stream after 0 to 100 ms, doubling up to 30 s
//	exhausted             the same, 2 s doubling up to 2 minutes
//	not found             the same, 1 s doubling up to 30 s; after 5 minutes permanent
//	schema                the same, and Target.Upgrade before each new stream
//	permanent             stopped, tried again every Config.Recheck; Status and Flush say why
//	too large             split in halves at once; a single row becomes a dead letter
//	rows                  see below
//
// Waits have full jitter: they are drawn evenly from 0 to the bound. An acknowledgement
// resets them. A stream that answers nothing for [Config.AckTimeout] is dropped, whether
// or not its methods return, and what it had not answered is sent again on another.
//
// # Bad rows
//
// A row that the server names becomes a dead letter with its words, and the rest of its request is sent
// again. The rows of a request in which no row is named are sent again one by one. Streaming stops, as for a
// permanent error, when the table rather than a row seems to be at fault:
//
//   - when 64 requests in succession were refused and none was taken;
//   - when more than 8 rows were refused in requests without any other row, and none was taken since. That many
//     are dead letters then. The bound doubles with each such stop, up to 128, so that a run of bad
//     rows is passed in the end.
//
// A row that is larger than one request may be never gets sent; it becomes a dead letter
// at once.
//
// # Memory
//
// Encoded rows take at most Config.InFlight × Config.BatchBytes and one batch, or one row
// where that is larger; rows just read and not yet encoded at most another batch. Buffers
// are used again, except those that a dropped stream may still read. Of dropped streams
// that do not return at most three are left behind at a time, and no other is opened
// until one returns.
package replicate
