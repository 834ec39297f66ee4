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
)

// Errors of an [Outbox] that callers may branch on.
var (
	// ErrLeased is returned when somebody else sends the rows of the journal to the
	// destination.
	ErrLeased = errors.New("the destination is leased to another owner")
	// ErrLeaseLost is returned by Advance if the caller has no lease any more. The owner of the
	// lease will send again all rows that the caller has sent since the last Advance.
	ErrLeaseLost = errors.New("the lease of the destination is lost")
)

// Outbox is the journal as one destination sees it: all rows of all sessions in the order of their
// numbers, and the number up to which the destination has acknowledged them. The file stores that
// number and the owner that sends. So one owner at a time sends, also among several processes, and
// no row is passed over when it dies.
//
// A destination exists from the first Acquire, or the first Open that names it in [Config], until
// Forget. Meanwhile retention removes no session with a row that it has not acknowledged. Its first
// row is the oldest in the file.
//
// A destination that also gets the graphs of sessions has two positions, each with a lease: see
// [Outbox.Graphs].
//
// All methods may be called concurrently. They return [store.ErrClosed] after the journal is closed.
type Outbox struct {
	journal *Journal
	name    string
}

// Outbox returns a handle to the destination with the name, which is free to choose but
// not empty, such as "bigquery:project.dataset.agent_events". It costs nothing and does
// not touch the file.
func (j *Journal) Outbox(destination string) *Outbox {
	return &Outbox{journal: j, name: destination}
}

// Destination returns the name.
func (o *Outbox) Destination() string { return o.name }

// Acquire leases the destination to owner for ttl, from now on by the clock of the
// journal, and returns its position: the number of the last row that needs no sending, because it
// and all before it are acknowledged or dead letters; 0 is before the first. It creates the
// destination when there is none. For
// one who has the lease already it renews it. It returns an [ErrLeased] that says who
// has the lease, and until when, while another has one that has not expired. owner names
// one sender, so two in one process have two names.
//
// The lease survives what a row survives; see [config.Durability].
func (o *Outbox) Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error) {
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

// Release ends the lease of owner, so that another need not wait until it expires. It
// does nothing when owner has none.
func (o *Outbox) Release(ctx context.Context, owner string) error {
	return o.write(ctx, "release "+o.name, func(conn *sqlite.Conn) error {
		return exec(conn, releaseDestinationSQL, func(b *binder) { b.text(o.name, owner) })
	})
}

// Advance notes in one transaction that the destination has acknowledged every row up to and
// including number to, except for dead letters, and stores the new ones. Of a letter it uses Seq, Bytes, Reason, Code and At (the zero At is now); the names of the row are
// read from the row. A letter replaces an earlier one for the same row.
//
// Advance returns an [ErrLeaseLost] and changes nothing if owner has no lease: it never had one, it
// released it, another owner took it over, or the destination was forgotten. A lease that has
// expired and that nobody took over is good enough: the position still belongs to owner alone. A
// position never moves backwards, nor beyond the last stored row.
//
// Its effect survives whatever a row survives, see [config.Durability]. It never survives a row
// that it is about. If it is lost, the rows are sent again.
func (o *Outbox) Advance(ctx context.Context, owner string, to int64, dead []DeadLetter) error {
	dead = slices.Clone(dead) // the writer may still use them when ctx has ended
	return o.write(ctx, fmt.Sprintf("advance %s to row %d", o.name, to), func(conn *sqlite.Conn) error {
		d, found, err := getDestination(conn, o.name)
		switch {
		case err != nil:
			return err
		case !found || owner == "" || d.owner != owner:
			return fmt.Errorf("%w: %s", ErrLeaseLost, d.describe(found))
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
			if err := dead[i].put(conn, d.id, now); err != nil {
				return err
			}
		}
		return exec(conn, advanceDestinationSQL, func(b *binder) {
			b.integer(d.id, to)
		})
	})
}

// Forget removes the destination with its dead letters and the position of its graphs: nobody sends
// to it any more, and retention need not wait for it. It returns an [ErrLeased] while somebody does.
// It does nothing when there is no such destination.
func (o *Outbox) Forget(ctx context.Context) error {
	what := "forget " + o.name
	err := o.journal.w.do(ctx, func(conn *sqlite.Conn) error {
		for _, name := range []string{o.name, GraphDestination(o.name)} {
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
	if err != nil {
		return fmt.Errorf("journal: %s: %w", what, err)
	}
	return nil
}

// Changed is [Journal.Changed].
func (o *Outbox) Changed(ch chan<- struct{}) (stop func()) { return o.journal.Changed(ch) }

// Changed makes the journal send to ch after each transaction of this process that stored rows,
// until stop is called. Nothing is sent after stop has returned. It does not wait for the receiver:
// if ch is full, the message is left out, so a channel with room for one loses no news. Rows of
// other processes send nothing; a reader of those has to look from time to time.
func (j *Journal) Changed(ch chan<- struct{}) (stop func()) { return j.w.listeners.add(ch) }

// write runs fn in a transaction that survives what a row survives.
func (o *Outbox) write(ctx context.Context, what string, fn func(*sqlite.Conn) error) error {
	if err := o.journal.w.doAt(ctx, o.journal.w.level, fn); err != nil {
		return fmt.Errorf("journal: %s: %w", what, err)
	}
	return nil
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
	return fmt.Errorf("%w: %q, until %s", ErrLeased, d.owner, d.until.Format(time.RFC3339))
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
