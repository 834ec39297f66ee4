// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// outbox is a [store.Outbox]. Positions are the numbers of rows, and the file has one of them for each
// destination: numbers are given under the write lock, which is held until the commit, so no row becomes
// visible after one with a greater number, whichever process records it.
type outbox struct {
	journal *Journal
	name    string
}

// Outbox implements [store.Publisher]. It costs nothing.
func (j *Journal) Outbox(destination string) store.Outbox {
	return &outbox{journal: j, name: destination}
}

// Destination returns the name.
func (o *outbox) Destination() string { return o.name }

// Acquire implements [store.Outbox]. The lease survives what a row survives; see [config.Durability].
func (o *outbox) Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error) {
	what := fmt.Sprintf("lease %s to %q", o.name, owner)
	switch {
	case o.name == "":
		return 0, fmt.Errorf("journal: %s: the destination has no name", what)
	case owner == "":
		return 0, fmt.Errorf("journal: %s: the owner has no name", what)
	case ttl <= 0:
		return 0, fmt.Errorf("journal: %s: time of %v: it must be positive", what, ttl)
	}
	var position int64 // no result by name: the writer may set it when ctx has ended
	err := o.write(ctx, what, func(conn *sqlite.Conn) error {
		now := o.journal.w.now()
		d, _, err := getDestination(conn, o.name)
		if err != nil {
			return err
		}
		if d.leasedToOther(owner, now) {
			return d.leasedError()
		}
		position = d.cursor
		return exec(conn, leaseDestinationSQL, func(b *binder) {
			b.text(o.name, owner)
			b.time(now.Add(ttl))
		})
	})
	if err != nil {
		return 0, err
	}
	return position, nil
}

func (o *outbox) Release(ctx context.Context, owner string) error {
	return o.write(ctx, "release "+o.name, func(conn *sqlite.Conn) error {
		return exec(conn, releaseDestinationSQL, func(b *binder) { b.text(o.name, owner) })
	})
}

// Advance implements [store.Outbox]. The event id, session and type of a letter are read from its row.
func (o *outbox) Advance(ctx context.Context, owner string, to int64, dead []store.DeadLetter) error {
	dead = slices.Clone(dead) // the writer may still use them when ctx has ended
	return o.write(ctx, fmt.Sprintf("advance %s to row %d", o.name, to), func(conn *sqlite.Conn) error {
		d, found, err := getDestination(conn, o.name)
		switch {
		case err != nil:
			return err
		case !found || owner == "" || d.owner != owner:
			return fmt.Errorf("%w: %s", store.ErrLeaseLost, d.describe(found))
		case to < d.cursor:
			return fmt.Errorf("it is at row %d already: a position never moves backwards", d.cursor)
		}
		if to > d.cursor {
			last, err := lastSeq(conn)
			if err != nil {
				return err
			}
			if to > last {
				return fmt.Errorf("the last row is %d: rows to come would never be sent", last)
			}
		}
		now := o.journal.w.now()
		for i := range dead {
			if err := putLetter(conn, &dead[i], d.id, now); err != nil {
				return err
			}
		}
		return exec(conn, advanceDestinationSQL, func(b *binder) {
			b.integer(d.id, to)
		})
	})
}

func (o *outbox) Forget(ctx context.Context) error {
	return o.journal.write(ctx, "forget "+o.name, syncFull, func(conn *sqlite.Conn) error {
		for _, name := range []string{o.name, store.GraphDestination(o.name)} {
			d, found, err := getDestination(conn, name)
			if err != nil {
				return err
			}
			if d.leasedToOther("", o.journal.w.now()) {
				return d.leasedError()
			}
			if !found {
				continue
			}
			if err := exec(conn, forgetDestinationSQL, func(b *binder) { b.integer(d.id) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *outbox) Changed(ch chan<- struct{}) (stop func()) { return o.journal.Changed(ch) }

// Changed is that of [store.Outbox].
func (j *Journal) Changed(ch chan<- struct{}) (stop func()) { return j.w.listeners.Add(ch) }

// write runs fn in a transaction that survives what a row survives.
func (o *outbox) write(ctx context.Context, what string, fn func(*sqlite.Conn) error) error {
	return o.journal.write(ctx, what, o.journal.w.level, fn)
}

// destination is a row of the table of destinations.
type destination struct {
	id, cursor int64
	owner      string
	until      time.Time
}

// createDestinations creates those that do not exist. Only a new one costs the write lock.
func createDestinations(conn *sqlite.Conn, names []string) error {
	for _, name := range names {
		if name == "" {
			return errors.New("a destination has no name")
		}
		_, found, err := getDestination(conn, name)
		if err == nil && !found {
			err = exec(conn, createDestinationSQL, func(b *binder) { b.text(name) })
		}
		if err != nil {
			return fmt.Errorf("create destination %s: %w", name, err)
		}
	}
	return nil
}

func getDestination(conn *sqlite.Conn, name string) (d destination, found bool, err error) {
	err = query(conn, selectDestinationSQL, func(b *binder) { b.text(name) }, func(stmt *sqlite.Stmt) error {
		found = true
		d.id, d.cursor = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
		d.owner, d.until = stmt.ColumnText(2), columnTime(stmt, 3)
		return nil
	})
	return d, found, err
}

// leasedToOther reports whether somebody but owner has a lease at the time now.
func (d *destination) leasedToOther(owner string, now time.Time) bool {
	return d.owner != "" && d.owner != owner && now.Before(d.until)
}

func (d *destination) leasedError() error {
	return fmt.Errorf("%w: %q, until %s", store.ErrLeased, d.owner, d.until.Format(time.RFC3339))
}

// describe says for people who has the lease.
func (d *destination) describe(found bool) string {
	switch {
	case !found:
		return "the destination does not exist: nobody has leased it, or it was forgotten"
	case d.owner == "":
		return "nobody has it"
	}
	return fmt.Sprintf("%q has it", d.owner)
}
