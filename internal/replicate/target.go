// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text"
)

// Target is where rows are sent: one table and the connection to it. A Replicator calls
// Open and Upgrade from one goroutine at a time, unless a call does not return in time:
// then it is abandoned, its context ended, and another one made. A panic of a Target,
// a Stream or a Pending is treated as an error of class [ClassAmbiguous].
type Target interface {
	// Open opens a new stream. It need not wait for the server: an error that the first
	// Append reports is as good. ctx bounds the opening only; the stream lives until its
	// Close.
	Open(ctx context.Context) (Stream, error)
	// Upgrade adds to the table the columns that it lacks, after an error of class
	// [ClassSchema]. It is idempotent. Streams are opened again after it.
	Upgrade(ctx context.Context) error
}

// Stream is one connection to a table. One goroutine calls Append, and no other method
// of the stream before it returned, unless it is overdue: then Close may be called at
// the same time.
type Stream interface {
	// Append hands rows, each one message encoded by package wire, to the connection in
	// the order given and does not wait for the answer. It may wait for room in the
	// connection until ctx ends. Rows and the bytes in them must only be read, and stay
	// unchanged until the Pending is answered. What Append refused, and what Close left
	// unanswered, is never changed again, so a stream that hangs may go on reading it.
	Append(ctx context.Context, rows [][]byte) (Pending, error)
	// Close ends the connection. Appends without an answer get an error. It may hang:
	// nothing waits for it.
	Close() error
}

// Pending is an Append whose answer has not been read.
type Pending interface {
	// Wait returns nil when the server acknowledged every row, an error from which
	// [errors.As] gets an [*Error] when it did not, and the error of ctx when that ends
	// first. The requests of one stream are answered in the order of their Append; Wait
	// is called in that order, from one goroutine.
	Wait(ctx context.Context) error
}

// Class says what can be done about an error of a Target.
type Class int

const (
	// ClassAmbiguous is an error after which nobody knows whether the rows were taken:
	// the connection broke, or the answer did not come. They are sent again on a new
	// stream. Errors that are no [*Error] are of this class.
	ClassAmbiguous Class = iota
	// ClassTransient is an error after which the rows were not taken and may be next
	// time, such as UNAVAILABLE. They are sent again on a new stream.
	ClassTransient
	// ClassExhausted is RESOURCE_EXHAUSTED: as ClassTransient, but the wait is longer.
	ClassExhausted
	// ClassPermanent is an error that every request will meet until somebody does
	// something, such as PERMISSION_DENIED. [Error.Remedy] says what.
	ClassPermanent
	// ClassRows is a request that was refused for what its rows hold. Error.Rows names
	// the bad ones; when it is empty the server did not say which, or whether it was a
	// row at all (INVALID_ARGUMENT for the whole), and they are sent one by one. No row of
	// the request was taken. The stream is used further.
	ClassRows
	// ClassNotFound is NOT_FOUND: the table was created a moment ago and is not known
	// everywhere yet, or it does not exist.
	ClassNotFound
	// ClassSchema is a table whose schema lacks a column of the rows.
	ClassSchema
	// ClassTooLarge is a request that is larger than the server takes.
	ClassTooLarge
)

// String returns the name of the class as it stands in dead letters and logs.
func (c Class) String() string {
	return [...]string{"ambiguous", "transient", "exhausted", "permanent", "rows", "not found", "schema", "too large"}[c]
}

// Error is what a Target reports. The zero value is an ambiguous error without words.
type Error struct {
	Class Class
	// Rows are the rows that the server named, of class [ClassRows] only.
	Rows []RowError
	// Remedy says what a person can do, in words that follow a colon; empty when there
	// is nothing to do but wait.
	Remedy string
	// Err is what happened, in the server's words.
	Err error
}

// Error returns the words of Err, of the first rows and of Remedy.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	} else {
		fmt.Fprintf(&b, "error of class %s", e.Class)
	}
	const named = 3
	for i, r := range e.Rows {
		if i == named {
			fmt.Fprintf(&b, "; and %d more", len(e.Rows)-named)
			break
		}
		fmt.Fprintf(&b, "; row %d: %s", r.Index, r.text())
	}
	if e.Remedy != "" {
		b.WriteString(": ")
		b.WriteString(e.Remedy)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// RowError is what the server says about one row of a request.
type RowError struct {
	// Index is the position of the row in the request, from 0.
	Index int
	// Code is the server's code, such as FIELDS_ERROR.
	Code string
	// Message is the server's words.
	Message string
}

// Letter returns the dead letter for the row, of a size in bytes.
func (r RowError) Letter(seq int64, size int, at time.Time) store.DeadLetter {
	return store.DeadLetter{
		Seq: seq, Bytes: size, At: at, Code: cmp.Or(r.Code, ClassRows.String()),
		Reason: text.Clip(cmp.Or(r.Message, r.Code, "refused without a reason"), maxReason),
	}
}

// maxReason bounds what is kept of the words of a server about one row.
const maxReason = 1 << 10

// Named returns what the server said about the rows of a request of n rows when it refused it: of a
// request of one row, what it said about the request.
func Named(err error, n int) map[int]RowError {
	words := make(map[int]RowError)
	if e, ok := errors.AsType[*Error](err); ok {
		for _, row := range e.Rows {
			if row.Index < 0 || row.Index >= n {
				continue
			}
			if first, twice := words[row.Index]; twice {
				row = RowError{Code: first.Code, Message: first.Message + "; " + row.text()}
			}
			words[row.Index] = row
		}
	}
	if len(words) == 0 && n == 1 {
		words[0] = RowError{Code: ClassOf(err).String(), Message: err.Error()}
	}
	return words
}

func (r RowError) text() string {
	switch {
	case r.Message == "":
		return r.Code
	case r.Code == "":
		return r.Message
	}
	return r.Code + ": " + r.Message
}

// ClassOf returns the class of err, ClassAmbiguous when it is no Error.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Class
	}
	return ClassAmbiguous
}
