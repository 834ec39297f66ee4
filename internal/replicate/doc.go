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
// A row that the server names is taken out and the rest of its request sent again. A
// request that is refused as a whole is split in halves until single rows are left. A
// row refused either way is under suspicion only: perhaps the table refuses everything,
// and thousands of good rows would become dead letters. What settles it is another row:
//
//   - When the table takes any other row after the first refusal, the suspects are at
//     fault and become dead letters with the server's words.
//   - When more than 64 requests in succession were refused for their rows and none was
//     taken, or 16,384 rows are under suspicion, the table is at fault. Streaming stops
//     as for a permanent error; nothing is buried. Each further attempt searches twice
//     as far, up to 1,024 requests, so that some hundred bad rows in succession are
//     passed in the end if there are good ones behind them.
//   - When there is no other row to send, up to 8 suspects are buried on the word of the
//     last acknowledgement. Beyond that, or when this process has had none yet, streaming
//     stops, and the row that comes next decides.
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
