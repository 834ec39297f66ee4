// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/replicate"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	"github.com/adk-contextgraph/contextgraph/record"
)

// ResendOptions says which dead letters [Dataset.Resend] sends again. The zero value is
// all of them.
type ResendOptions struct {
	// EventIDs are the rows to send. None stands for every row with a dead letter.
	EventIDs []string
	// Refused is called for each row that was refused again, with the words of the
	// server this time, from the goroutine of Resend. May be nil.
	Refused func(store.DeadLetter)
	// Parts takes the payloads of rows that are too large.
	Parts warehouse.Parts
}

// ResendReport says what became of the rows of dead letters.
type ResendReport struct {
	// Acknowledged is how many rows the dataset has now; their letters are discarded.
	Acknowledged int
	// Refused is how many it refused again; their letters stay in the journal, with the
	// words of the server this time.
	Refused int
	// Bytes is the encoded size of the rows that were acknowledged.
	Bytes int64
	// Missing are the EventIDs that no dead letter of the dataset has, sorted. It is nil
	// when Resend ended early.
	Missing []string
}

// Bounds of Resend.
const (
	// resendRows and resendBytes bound what is read from the journal at a time, and with
	// it what a request and the memory hold. A larger row is read alone.
	resendRows  = 256
	resendBytes = 1 << 20
	// settleTime bounds how long the journal may take to discard the letters of rows that
	// are acknowledged, and to store those of others. That happens after the end of the
	// context too: the rows would be sent twice otherwise.
	settleTime = 10 * time.Second
)

// Resend sends the rows of dead letters in j to the table of events again, in the order
// of their numbers and on a stream of its own: those that had a letter for this dataset
// when it was called. The letters of rows that are acknowledged are discarded. A row that
// is refused again keeps its letter, and the rows beside it go on.
//
// It needs no lease, so it may run while a program streams the journal, in this process
// or another. Two Resends at a time may send a row twice; its event id tells the copies.
//
// What may pass, such as a connection that breaks, is tried again for some seconds. It
// returns early with the report so far when that does not pass, when the dataset takes no
// rows until somebody does what the error says (a [replicate.Error] of class
// [replicate.ClassPermanent]), or when ctx ends. Letters of rows that are not
// acknowledged stay.
func (d *Dataset) Resend(ctx context.Context, j store.Publisher, o ResendOptions) (ResendReport, error) {
	r := &resend{
		appender: appender{target: d.Target(), timeout: d.ackTimeout},
		now:      d.now, outbox: j.Outbox(d.names.Destination()), rows: streamed{d.cfg.PayloadColumnDenylist, o.Parts}, refused: o.Refused,
	}
	defer r.disconnect()
	if len(o.EventIDs) > 0 {
		r.wanted = make(map[string]bool, len(o.EventIDs))
		for _, id := range o.EventIDs {
			r.wanted[id] = true
		}
	}
	// Letters that are added from now on are not waited for.
	through, err := j.LastSeq(ctx)
	if err == nil {
		err = r.all(ctx, through)
	}
	if err != nil {
		return r.report, fmt.Errorf("bigquery: resend: %w", err)
	}
	r.report.Missing = slices.Sorted(maps.Keys(r.wanted))
	return r.report, nil
}

// resend is one call of Resend.
type resend struct {
	appender
	now     func() time.Time
	outbox  store.Outbox
	rows    streamed
	refused func(store.DeadLetter)
	wanted  map[string]bool // those that were not found yet; nil: every row

	again  []store.DeadLetter // refused, and not stored yet
	report ResendReport
}

// message is one row to send.
type message struct {
	event *record.Event
	bytes []byte
}

// all sends the rows up to the number through, as far as they are wanted.
func (r *resend) all(ctx context.Context, through int64) error {
	for after := int64(0); after < through && (r.wanted == nil || len(r.wanted) > 0); {
		events, err := r.outbox.DeadRows(ctx, after, resendRows, resendBytes)
		if err != nil || len(events) == 0 {
			return err
		}
		after = events[len(events)-1].Seq
		var batch []message
		for i := range events {
			e := &events[i]
			if e.Seq > through || r.wanted != nil && !r.wanted[e.EventID] {
				continue
			}
			delete(r.wanted, e.EventID)
			r.rows.prepare(e)
			if m, ok := r.encode(e); ok {
				batch = append(batch, m)
			}
		}
		err = r.send(ctx, batch)
		if err = errors.Join(err, r.reword(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// reword stores what the server said this time.
func (r *resend) reword(ctx context.Context) error {
	if len(r.again) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := r.outbox.Reword(ctx, r.again)
	r.again = nil
	return err
}

// encode returns the message of e, and false when it cannot be sent.
func (r *resend) encode(e *record.Event) (m message, ok bool) {
	b, err := replicate.Encode(e)
	switch {
	case err != nil:
		r.refuse(e, 0, replicate.RowError{Message: err.Error()})
	case len(b) > replicate.MaxRowBytes:
		r.refuse(e, len(b), replicate.TooLarge(len(b), r.rows.advice()))
	default:
		return message{event: e, bytes: b}, true
	}
	return message{}, false
}

// refuse counts a row that stays a dead letter.
func (r *resend) refuse(e *record.Event, size int, words replicate.RowError) {
	r.report.Refused++
	l := words.Letter(e.Seq, size, r.now())
	l.EventID, l.Session, l.EventType = e.EventID, e.Session(), e.EventType
	r.again = append(r.again, l)
	if r.refused != nil {
		r.refused(l)
	}
}

// send sends a batch and settles every row of it: one that is refused as a whole in
// halves, until those that are at fault are alone.
func (r *resend) send(ctx context.Context, batch []message) error {
	if len(batch) == 0 {
		return nil
	}
	rows := make([][]byte, len(batch))
	for i, m := range batch {
		rows[i] = m.bytes
	}
	err := r.request(ctx, rows)
	if err == nil {
		return r.acknowledged(ctx, batch)
	}
	if !refuses(err) {
		return err
	}
	words := replicate.Named(err, len(batch))
	if len(words) == 0 {
		half := len(batch) / 2
		if err := r.send(ctx, batch[:half]); err != nil {
			return err
		}
		return r.send(ctx, batch[half:])
	}
	var rest []message
	for i, m := range batch {
		if w, bad := words[i]; bad {
			r.refuse(m.event, len(m.bytes), w)
		} else {
			rest = append(rest, m)
		}
	}
	return r.send(ctx, rest)
}

// acknowledged discards the letters of rows that the dataset has.
func (r *resend) acknowledged(ctx context.Context, batch []message) error {
	ids := make([]string, len(batch))
	for i, m := range batch {
		ids[i] = m.event.EventID
		r.report.Bytes += int64(len(m.bytes))
	}
	r.report.Acknowledged += len(batch)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if _, err := r.outbox.Discard(ctx, ids); err != nil {
		return fmt.Errorf("%d rows were acknowledged and will be sent again: %w", len(batch), err)
	}
	return nil
}
