// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text"
	"github.com/adk-contextgraph/contextgraph/record"
)

var _ store.Publisher = (*db)(nil)

// outbox is a [store.Outbox]. The database remembers by session up to which row the destination has it. Positions are
// this handle's own: it finds spans, which are rows of one session that follow each other, and counts on.
type outbox struct {
	*db
	name string

	mu    sync.Mutex
	moved int64  // how often rows were acknowledged when they were found
	sent  int64  // the position up to which all is acknowledged
	given int64  // the last one that somebody knows
	last  int64  // that of the last row that was found
	spans []span // what is not acknowledged, in the order of positions
}

// span are the rows of a session behind the number from, up to through. The first has the position at + 1.
type span struct {
	key               []byte
	of                record.Session
	from, through, at int64
}

func scanSpan(r scanner) (p span, err error) {
	var seq int64 // for their order
	return p, r.to(&p.key, &p.of.App, &p.of.User, &p.of.ID, &p.from, &p.through, &seq)
}

func (p *span) end() int64 { return p.at + p.through - p.from }

// number returns that of the row at a position, or the nearest one of the span.
func (p *span) number(position int64) int64 { return p.from + max(0, min(position, p.end())-p.at) }

// check forgets what was found if others have sent meanwhile.
func (o *outbox) check(l lease) {
	if l.moved != o.moved {
		o.sent, o.last, o.spans, o.moved = o.given, o.given, nil, l.moved
	}
}

// Outbox implements [store.Publisher]. It costs nothing.
func (s *db) Outbox(destination string) store.Outbox {
	return &outbox{db: s, name: destination, moved: -1}
}

// Writer implements [store.Publisher].
func (s *db) Writer(ctx context.Context, of record.Session) (string, error) {
	removed, err := only(read(ctx, s, "select_removed", one[int64], keyOf(of)))
	if err != nil || removed == 0 {
		return s.id, err
	}
	return fmt.Sprintf("%s:%d", s.id, removed), nil
}

func (o *outbox) Destination() string                      { return o.name }
func (o *outbox) Graphs() store.Outbox                     { return o.Outbox(store.GraphDestination(o.name)) }
func (o *outbox) Changed(ch chan<- struct{}) (stop func()) { return o.listeners.Add(ch) }

// createDestination makes a destination, which lacks all rows, unless there is one.
func (s *db) createDestination(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("postgres: a destination has no name")
	}
	return s.do(ctx, "create destination "+name, func(ctx context.Context) error {
		if list, err := query(ctx, s.pool, "select_destination", scanLease, name); err != nil || len(list) > 0 {
			return err
		}
		return s.tx(ctx, func(tx pgx.Tx) error {
			if _, err := exec(ctx, tx, "lock_unsent"); err != nil {
				return err
			}
			_, err := exec(ctx, tx, "create_destination", name)
			return err
		})
	})
}

// lease says who sends to a destination, and how often rows were acknowledged.
type lease struct {
	owner string
	until time.Time
	moved int64
}

func scanLease(r scanner) (l lease, err error) { return l, r.to(&l.owner, &l.until, &l.moved) }

func (l lease) leasedError(name string) error {
	return fmt.Errorf("%s: %w: %q, until %s", name, store.ErrLeased, l.owner, l.until.Format(time.RFC3339))
}

// lease returns that of the destination; false if there is none.
func (o *outbox) lease(ctx context.Context) (l lease, found bool, err error) {
	list, err := read(ctx, o.db, "select_destination", scanLease, o.name)
	l, err = only(list, err)
	return l, len(list) > 0, err
}

func (o *outbox) Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error) {
	if owner == "" || ttl <= 0 {
		return 0, fmt.Errorf("postgres: lease %s to %q for %v: it needs an owner and a time", o.name, owner, ttl)
	}
	if err := o.createDestination(ctx, o.name); err != nil {
		return 0, err
	}
	var n int64
	err := o.do(ctx, "lease "+o.name, func(ctx context.Context) (err error) {
		n, err = exec(ctx, o.pool, "lease_destination", o.name, owner, ttl.Seconds())
		return err
	})
	if err != nil {
		return 0, err
	}
	l, _, err := o.lease(ctx)
	if err == nil && n == 0 {
		err = l.leasedError(o.name)
	}
	if err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.check(l)
	return o.sent, nil
}

func (o *outbox) Release(ctx context.Context, owner string) error {
	return o.do(ctx, "release "+o.name, func(ctx context.Context) error {
		_, err := exec(ctx, o.pool, "release_destination", o.name, owner)
		return err
	})
}

func (o *outbox) Position(context.Context) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent, nil
}

// find adds what the destination lacks behind what was found before.
func (o *outbox) find(ctx context.Context) error {
	l, _, err := o.lease(ctx)
	if err != nil {
		return err
	}
	o.check(l)
	found, err := read(ctx, o.db, "select_unsent", scanSpan, o.name)
	known := make(map[string]int64)
	for i := range o.spans {
		known[string(o.spans[i].key)] = o.spans[i].through
	}
	for _, p := range found {
		if p.from = max(p.from, known[string(p.key)]); p.through > p.from {
			p.at = o.last
			o.last = p.end()
			o.spans = append(o.spans, p)
		}
	}
	return err
}

func (o *outbox) LastSeq(ctx context.Context) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.find(ctx)
	o.given = o.last
	return o.last, err
}

func (o *outbox) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) (out []record.Event, err error) {
	if maxRows <= 0 || maxBytes <= 0 {
		return nil, fmt.Errorf("postgres: rows for %s: at most %d rows of %d bytes: both bounds must be positive", o.name, maxRows, maxBytes)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if after >= o.last {
		if err := o.find(ctx); err != nil {
			return nil, err
		}
	}
	for i := range o.spans {
		p := &o.spans[i]
		for at := max(after, p.at); at < p.end() && len(out) < maxRows && maxBytes > 0; {
			rows, err := read(ctx, o.db, "select_unsent_rows", numbered(p.of), p.key, p.number(at), p.through, min(maxRows-len(out), nextRows), maxBytes)
			if err != nil || len(rows) == 0 {
				return out, err
			}
			for _, e := range rows {
				if maxBytes -= sizeOf(&e.Event); maxBytes < 0 && len(out) > 0 {
					return out, nil
				}
				e.Seq = p.at + e.number - p.from
				o.given = max(o.given, e.Seq)
				out, at = append(out, e.Event), e.Seq
			}
		}
	}
	return out, nil
}

// sizeOf returns the bytes of a row that count for a bound.
func sizeOf(e *record.Event) int64 {
	return int64(len(e.Content) + len(e.ContentParts) + len(e.Attributes) + len(e.LatencyMS) + len(e.ErrorMessage))
}

func (o *outbox) Advance(ctx context.Context, owner string, to int64, dead []store.DeadLetter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to > o.last {
		if err := o.find(ctx); err != nil {
			return err
		}
	}
	numbers := make(map[string]int64) // of several spans of a session the last counts
	for i := range o.spans {
		if p := &o.spans[i]; to > p.at {
			numbers[string(p.key)] = p.number(to)
		}
	}
	var keys [][]byte
	var through []int64
	for key, n := range numbers {
		keys, through = append(keys, []byte(key)), append(through, n)
	}
	var held [][2]int64 // the id of the destination, and how often rows were acknowledged
	err := o.do(ctx, fmt.Sprintf("advance %s to %d", o.name, to), func(ctx context.Context) (err error) {
		return o.tx(ctx, func(tx pgx.Tx) error {
			held, err = query(ctx, tx, "move_destination", func(r scanner) (n [2]int64, err error) { return n, r.to(&n[0], &n[1]) }, o.name, owner)
			switch {
			case err != nil:
				return err
			case len(held) == 0:
				return fmt.Errorf("%s: %w: %q has no lease of it", o.name, store.ErrLeaseLost, owner)
			case held[0][1] != o.moved+1 && o.moved >= 0:
				return fmt.Errorf("%s: %w: others have sent", o.name, store.ErrLeaseLost)
			case to < o.sent:
				return fmt.Errorf("it is at %d already: a position never moves backwards", o.sent)
			case to > o.last:
				return fmt.Errorf("the last row is at %d: rows to come would never be sent", o.last)
			}
			for i := range dead {
				if err := o.putLetter(ctx, tx, held[0][0], &dead[i]); err != nil {
					return err
				}
			}
			_, err = exec(ctx, tx, "lock_sessions", keys)
			if err == nil {
				_, err = exec(ctx, tx, "advance_unsent", held[0][0], keys, through)
			}
			if err == nil {
				_, err = exec(ctx, tx, "remove_sent", held[0][0], keys)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	o.sent, o.given, o.moved = to, max(o.given, to), held[0][1]
	o.spans = slices.DeleteFunc(o.spans, func(p span) bool { return p.end() <= to })
	return nil
}

func (o *outbox) Forget(ctx context.Context) error {
	for _, name := range []string{o.name, store.GraphDestination(o.name)} {
		other := outbox{db: o.db, name: name}
		l, found, err := other.lease(ctx)
		if err != nil {
			return err
		}
		var n int64
		err = o.do(ctx, "forget "+name, func(ctx context.Context) (err error) {
			n, err = exec(ctx, o.pool, "forget_destination", name)
			return err
		})
		if err == nil && found && n == 0 {
			err = l.leasedError(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *outbox) Backlog(ctx context.Context) (l store.Backlog, err error) {
	lacks, err := read(ctx, o.db, "select_unsent", scanSpan, o.name)
	if err != nil {
		return l, err
	}
	var keys [][]byte
	var numbers []int64
	for _, p := range lacks {
		l.Rows += p.through - p.from
		keys, numbers = append(keys, p.key), append(numbers, p.from)
	}
	if l.Rows > 0 {
		o.mu.Lock()
		l.First = o.sent + 1
		o.mu.Unlock()
		oldest, err := only(read(ctx, o.db, "select_oldest", one[*int64], keys, numbers))
		if err != nil || oldest == nil {
			return l, err
		}
		l.Oldest = time.UnixMicro(*oldest).UTC()
	}
	if l.DeadLetters, err = only(read(ctx, o.db, "count_dead_letters", one[int64], o.name)); err != nil {
		return l, err
	}
	graphs := outbox{db: o.db, name: store.GraphDestination(o.name)}
	if _, found, err := graphs.lease(ctx); err != nil || !found {
		return l, err
	}
	list, _, err := graphs.Triggers(ctx, 0, maxHeld)
	l.Graphs = int64(len(list))
	return l, err
}

// Triggers implements [store.Outbox]. Behind the first span that the other destination has not whole it looks no further.
func (o *outbox) Triggers(ctx context.Context, after int64, limit int) (list []store.Trigger, through int64, err error) {
	of, graphs := strings.CutPrefix(o.name, store.GraphDestination(""))
	if !graphs || limit <= 0 {
		return nil, 0, fmt.Errorf("postgres: triggers of %s: at most %d: it has to be positive, and a destination of graphs", o.name, limit)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.find(ctx); err != nil {
		return nil, 0, err
	}
	lacks, err := read(ctx, o.db, "select_unsent", scanSpan, of)
	if err != nil {
		return nil, 0, err
	}
	sent := make(map[string]int64)
	for _, p := range lacks {
		sent[string(p.key)] = p.from + 1
	}
	through = after
	for i := range o.spans {
		p := &o.spans[i]
		to := p.through
		if first := sent[string(p.key)]; first > 0 {
			to = max(p.from, min(to, first-1))
		}
		numbers, err := read(ctx, o.db, "select_triggers", one[int64], p.key, p.number(after), to)
		if err != nil {
			return nil, 0, err
		}
		for _, n := range numbers {
			list = append(list, store.Trigger{Seq: p.at + n - p.from, Session: p.of})
			if len(list) == limit {
				return list, list[limit-1].Seq, nil
			}
		}
		if through = max(through, p.at+to-p.from); to < p.through {
			break
		}
	}
	o.given = max(o.given, through)
	return list, through, nil
}

// putLetter stores a letter for the row at its position.
func (o *outbox) putLetter(ctx context.Context, tx querier, destination int64, l *store.DeadLetter) error {
	for i := range o.spans {
		p := &o.spans[i]
		if l.Seq <= p.at || l.Seq > p.end() {
			continue
		}
		bytes, code, reason, at := o.words(l)
		n, err := exec(ctx, tx, "insert_dead_letter", destination, p.key, p.number(l.Seq), bytes, code, reason, at)
		if err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("a dead letter for row %d: there is no such row", l.Seq)
}

// maxCode bounds the Code of a letter, and defaultLetters is how many are listed when nobody says how many.
const (
	maxCode        = 128
	defaultLetters = 100
)

// words returns what was said about a row.
func (o *outbox) words(l *store.DeadLetter) (bytes int64, code, reason string, at int64) {
	when := l.At
	if when.IsZero() {
		when = o.now()
	}
	return int64(l.Bytes), text.Clip(l.Code, maxCode), text.Clip(l.Reason, store.MaxReason), when.UnixMicro()
}

func (o *outbox) DeadLetters(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	if limit < 0 {
		return nil, fmt.Errorf("postgres: dead letters of %s: limit %d is negative", o.name, limit)
	}
	return read(ctx, o.db, "select_dead_letters", func(r scanner) (l store.DeadLetter, err error) {
		var at int64
		err = r.to(&l.Seq, &l.EventID, &l.Session.App, &l.Session.User, &l.Session.ID, &l.EventType, &l.Bytes, &l.Code, &l.Reason, &at)
		l.At = time.UnixMicro(at).UTC()
		return l, err
	}, o.name, cmp.Or(limit, defaultLetters))
}

func (o *outbox) DeadRows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	rows, err := read(ctx, o.db, "select_dead_rows", scanNamed, o.name, after, maxRows)
	for i, e := range rows {
		if maxBytes -= sizeOf(&e); maxBytes < 0 && i > 0 {
			return rows[:i], err
		}
	}
	return rows, err
}

func (o *outbox) Reword(ctx context.Context, letters []store.DeadLetter) error {
	return o.do(ctx, "reword dead letters of "+o.name, func(ctx context.Context) error {
		return o.tx(ctx, func(tx pgx.Tx) error {
			for i := range letters {
				bytes, code, reason, at := o.words(&letters[i])
				if _, err := exec(ctx, tx, "update_dead_letter", o.name, letters[i].Seq, bytes, code, reason, at); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (o *outbox) Discard(ctx context.Context, eventIDs []string) (int, error) {
	keys := [][]byte{}
	for _, id := range eventIDs {
		keys = append(keys, digest(id))
	}
	var n int64
	err := o.do(ctx, "discard dead letters of "+o.name, func(ctx context.Context) (err error) {
		n, err = exec(ctx, o.pool, "delete_dead_letters", o.name, keys)
		return err
	})
	return int(n), err
}
