// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Errors of an [Outbox] that callers may branch on.
var (
	// ErrLeased is returned when somebody else sends the rows of the store to the destination.
	ErrLeased = errors.New("the destination is leased to another owner")
	// ErrLeaseLost is returned by Advance if the caller has no lease any more. The owner of the
	// lease will send again all rows that the caller has sent since the last Advance.
	ErrLeaseLost = errors.New("the lease of the destination is lost")
)

// Publisher is a store whose rows are sent to other places.
type Publisher interface {
	Store
	// ID is the name of the store in other places. It is made with the store and never changes.
	ID() string
	// LastSeq returns the greatest number of a committed row, 0 if there is none.
	LastSeq(ctx context.Context) (int64, error)
	// Writer names the store as the one that has the rows of a session. If retention removed rows of it, the
	// name is another one after each removal: a graph of the rows since then says nothing about the steps
	// before, and so does not take the place of theirs.
	Writer(ctx context.Context, s record.Session) (string, error)
	// Outbox returns a handle to the destination with the name, which is free to choose but not empty, such
	// as "bigquery:project.dataset.agent_events". It does not touch the store.
	Outbox(destination string) Outbox
}

// Outbox is a store as one destination sees it: the rows of all sessions, and which of them the
// destination has acknowledged. The store keeps that, and the owner that sends. So one owner at a time
// sends, also among several processes, and no row is passed over when it dies.
//
// A destination exists from the first Acquire, or from the opening of a store that is told its name, until
// Forget. Meanwhile retention removes no session with a row that it has not acknowledged. Its first row
// is the oldest in the store.
//
// The rows of a session come in the order of their numbers. Rows of several sessions come in any order
// that does not change.
//
// The place of a row among all rows is its position, which Rows puts in its Seq. Positions are ordered and
// say nothing else; 0 is before all rows, and a number between two positions stands for the first of them.
// The positions of one handle may mean nothing to another one.
//
// A store whose numbers are given in the order of commits uses them as positions, and remembers one of them
// for a destination. Another store cannot: whoever has read up to a number would pass over a smaller one
// that is committed later. Such a store remembers by session up to which row the destination has it. A
// handle gives positions to rows when it finds them, and Advance notes for each session the last row up to
// the position.
//
// All methods may be called concurrently. They return an [ErrClosed] after the store is closed.
type Outbox interface {
	// Destination returns the name.
	Destination() string

	// Acquire leases the destination to owner for ttl, from now on by the clock of the store, and returns its
	// position: that of the last row that needs no sending, because it and all before it are acknowledged
	// or dead letters. It creates the destination if there is none. For one who has the lease already it
	// renews it. It returns an [ErrLeased] that says who has the lease, and until when, while another has
	// one that has not expired. owner names one sender, so two in one process have two names.
	Acquire(ctx context.Context, owner string, ttl time.Duration) (position int64, err error)
	// Release ends the lease of owner, so that another need not wait until it expires. It does nothing
	// if owner has none.
	Release(ctx context.Context, owner string) error
	// Position returns the position as Acquire does, without a lease; 0 if there is no such destination.
	Position(ctx context.Context) (int64, error)
	// Advance notes in one transaction that the destination has acknowledged every row up to the position
	// to, but for dead letters, and stores the new ones. Of a letter it uses Seq (the position of the row),
	// Bytes, Reason, Code and At (the zero At is now). A letter replaces an earlier one for the same row.
	//
	// It returns an [ErrLeaseLost] and changes nothing if owner has no lease: it never had one, released
	// it, another owner took it over, or the destination was forgotten. A lease that has expired and that
	// nobody took over is good enough: the position still belongs to owner alone. A position never moves
	// backwards, nor beyond the last row.
	//
	// What it notes survives what a row survives, and never outlives the rows. If it is lost, they are sent
	// again.
	Advance(ctx context.Context, owner string, to int64, dead []DeadLetter) error
	// Forget removes the destination with its dead letters and the position of its graphs: nobody sends to
	// it any more, and retention need not wait for it. It returns an [ErrLeased] while somebody does. It does
	// nothing if there is no such destination.
	Forget(ctx context.Context) error

	// Rows returns committed rows of all sessions behind a position, in order: at most maxRows rows and maxBytes
	// of payload (content, content parts, attributes, latencies and error message, as stored), but at least
	// one row if there is one. Both bounds must be positive. after is that of Acquire or a later one. The
	// rows are the caller's. A row that is committed later than one that was returned gets a greater
	// position, whichever process records it: none is passed over. It needs no lease.
	Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error)
	// LastSeq returns a position: whoever has the rows up to it has every row that was committed before
	// the call. 0 if there is none.
	LastSeq(ctx context.Context) (int64, error)
	// Changed makes the store send to ch after each transaction of this process that stored rows, until stop
	// is called. Nothing is sent after stop has returned. It does not wait for the receiver: if ch is full,
	// the message is left out, so a channel with room for one loses no news. Rows of other processes send
	// nothing; a reader of those has to look from time to time.
	Changed(ch chan<- struct{}) (stop func())
	// Backlog returns what the destination lacks. For one that does not exist yet that is everything. Its
	// cost does not depend on the number of rows.
	Backlog(ctx context.Context) (Backlog, error)

	// DeadLetters returns the dead letters in the order of their rows, at most limit; 0 stands for 100.
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	// DeadRows returns the rows of dead letters with a number greater than after, bounded as by Rows. Use it
	// to send them again after the reason is gone. It needs no lease, because the owner of the lease has
	// left these rows behind. Discard settles a row that was acknowledged this time. A row that is sent and
	// not discarded will be sent again; the destination recognises it by the event id.
	DeadRows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error)
	// Reword stores what was said about rows that were sent again and refused again: Bytes, Reason, Code and
	// At of the letters (the zero At is now), by Seq. It needs no lease, and makes no letter for a row that
	// has none: it may have been discarded meanwhile.
	Reword(ctx context.Context, letters []DeadLetter) error
	// Discard removes the dead letters with these event ids, for good when it returns nil, and returns how
	// many there were. Retention need not keep their sessions any more.
	Discard(ctx context.Context, eventIDs []string) (int, error)

	// Graphs returns the second position of the destination: up to which row the graphs of sessions are
	// there. It has a lease of its own. For people the two are one destination: Backlog and Forget of the
	// first know of the second.
	Graphs() Outbox
	// Triggers is a method of what Graphs returns. It returns the triggers behind a position, in order, at most
	// limit, of the rows that the destination has acknowledged; and the position up to which these are all,
	// which is after if there is nothing new.
	Triggers(ctx context.Context, after int64, limit int) (list []Trigger, through int64, err error)
}

// Backlog is what a destination lacks.
type Backlog struct {
	// Rows is how many rows are not acknowledged. Up to 1,000 it is exact; beyond, it
	// is the distance between the numbers of the first and the last, which is more
	// when numbers in between have no row any more.
	Rows int64
	// First is the position of the first of them, and Oldest its time; zero when there is
	// none. Every row before First is acknowledged, or a dead letter.
	First  int64
	Oldest time.Time
	// DeadLetters is the number of rows that were refused, and neither sent again nor discarded.
	DeadLetters int64
	// Graphs is after how many rows the graph of a session is still to be brought, see [Trigger]. It
	// counts up to 1,000, and is 0 where nobody brings graphs.
	Graphs int64
}

// MaxReason bounds DeadLetter.Reason in bytes: a server may quote the row. A longer one is cut and ends
// with "…".
const MaxReason = 4 << 10

// DeadLetter is a row that a destination refuses for its content, and will refuse whenever it is
// sent. The row itself stays in the store, and retention keeps its session, until people decide:
// they have it sent again, see [Outbox] DeadRows, or discard the letter.
type DeadLetter struct {
	// Seq is the number of the row, which orders letters; where Advance takes it, it is the position.
	Seq int64 `json:"seq"`
	// EventID, Session and EventType name the row.
	EventID string `json:"event_id"`
	// At is when the row was refused.
	At        time.Time      `json:"at"`
	Session   record.Session `json:"session"`
	EventType string         `json:"event_type"`
	// Bytes is the size of the row as it was sent.
	Bytes int `json:"bytes"`
	// Code is the code of the server, may be empty; Reason has its words, at most MaxReason bytes.
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Trigger is a row after which the graph of its session says something new about an approval: a
// request for a confirmation, its answer, or a verdict.
type Trigger struct {
	Seq     int64 // its position
	Session record.Session
}

// graphsOf stands before the name of a destination in that of its graphs.
const graphsOf = "graphs of "

// GraphDestination returns the name for the graphs that go to a destination.
func GraphDestination(destination string) string { return graphsOf + destination }
