// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	// groupRows and groupBytes complete a group before its interval is over.
	groupRows  = 256
	groupBytes = 1 << 20
	// txRows and txBytes bound one transaction, so that another process that waits
	// to write an approval gets its turn while a backlog is written.
	txRows  = 4096
	txBytes = 4 << 20
	// minBackoff and maxBackoff bound the pause after a failed commit.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// call is work for the write connection, done after all rows queued before it. A
// call without a function is a barrier.
type call struct {
	ctx  context.Context
	fn   func(*sqlite.Conn) error
	done chan error // capacity 1: the writer never waits for a caller that left
}

// writer owns the write connection: its goroutine is the only user of the fields
// below rows. The channels and the counters are shared.
type writer struct {
	queue   *queue
	calls   chan *call
	closing chan struct{} // closed by the first Close
	hurry   chan struct{} // closed when the time of Close is up
	abort   chan struct{} // closed to interrupt what SQLite does
	done    chan struct{} // closed when the file is closed
	// hurryCause is why hurry is closed, to be read after it is.
	hurryCause error
	// closeErr is the result of Close, to be read after done is closed.
	closeErr error

	mu    sync.Mutex
	stats Stats // Stored, Duplicates, Commits, LastError, FailingSince

	// rows inserts; conn is the connection it uses.
	rows     *inserter
	conn     *sqlite.Conn
	held     []*segment // taken from the queue and not stored, in order
	interval time.Duration
	busy     time.Duration
	backoff  time.Duration // pause before the next attempt; 0 when commits succeed
	dropped  uint64        // drops seen by the last commit
	dropping bool          // there were new ones, and the log knows
	log      *slog.Logger
}

func newWriter(conn *sqlite.Conn, q *queue, cfg Config, busy time.Duration) *writer {
	w := &writer{
		queue:    q,
		calls:    make(chan *call),
		closing:  make(chan struct{}),
		hurry:    make(chan struct{}),
		abort:    make(chan struct{}),
		done:     make(chan struct{}),
		rows:     newInserter(conn),
		conn:     conn,
		interval: cfg.CommitInterval,
		busy:     busy,
		log:      cfg.Logger.With("journal", cfg.Path),
	}
	conn.SetInterrupt(w.abort)
	return w
}

// do runs fn on the write connection in a transaction of its own, after all rows
// queued before. It returns when fn is committed, has failed, or ctx ends; in the
// last case fn may still run, unless it has not begun.
func (w *writer) do(ctx context.Context, fn func(*sqlite.Conn) error) error {
	c := &call{ctx: ctx, fn: fn, done: make(chan error, 1)}
	select {
	case w.calls <- c:
	case <-w.closing:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run is the writer's goroutine. It ends by closing the readers and the file.
func (w *writer) run(readers *sqlitex.Pool) {
	defer close(w.done)
	timer := time.NewTimer(w.interval)
	timer.Stop()
	armed := false
	for {
		select {
		case <-w.queue.wake:
			rows, bytes := w.queue.size()
			switch {
			case rows == 0 || w.backoff > 0:
				continue // stored already, or waiting for the next attempt
			case rows < groupRows && bytes < groupBytes:
				if !armed {
					timer.Reset(w.interval)
					armed = true
				}
				continue
			}
			w.commit()
		case <-timer.C:
			w.commit()
		case c := <-w.calls:
			err := w.commit()
			if err == nil && c.fn != nil {
				err = w.transact(c.ctx, c.fn)
			}
			c.done <- err
		case <-w.closing:
			timer.Stop()
			w.finish(readers)
			return
		}
		timer.Stop()
		if armed = w.backoff > 0; armed {
			timer.Reset(w.backoff)
		}
	}
}

// commit stores everything that waits. When it fails, what is not stored stays in
// held, first in line.
func (w *writer) commit() error {
	w.held = w.queue.take(w.held)
	for len(w.held) > 0 {
		n := w.group()
		var res insertResult
		err := w.transact(context.Background(), func(*sqlite.Conn) (err error) {
			res, err = w.rows.insert(w.held[:n])
			return err
		})
		if err != nil {
			err = fmt.Errorf("store rows: %w", err)
			w.failed(err)
			return err
		}
		w.queue.release(w.held[:n], res.rejected)
		m := copy(w.held, w.held[n:])
		clear(w.held[m:])
		w.held = w.held[:m]
		w.succeeded(res)
	}
	w.reportDrops()
	return nil
}

// group returns how many of the held segments make one transaction.
func (w *writer) group() int {
	var rows int
	var bytes int64
	for i, s := range w.held {
		rows += len(s.rows)
		bytes += s.bytes
		if rows >= txRows || bytes >= txBytes {
			return i + 1
		}
	}
	return len(w.held)
}

// transact runs fn in an immediate transaction, which reads the latest state and
// cannot fail to commit because of another writer.
func (w *writer) transact(ctx context.Context, fn func(*sqlite.Conn) error) (err error) {
	if err := w.begin(ctx); err != nil {
		return err
	}
	err = fn(w.conn)
	if err == nil {
		err = exec(w.conn, "COMMIT", func(*binder) {})
	}
	if err != nil && !w.conn.AutocommitEnabled() {
		rollbackErr := exec(w.conn, "ROLLBACK", func(*binder) {})
		err = errors.Join(err, rollbackErr)
	}
	return err
}

// begin takes the write lock, waiting for another process at most w.busy.
func (w *writer) begin(ctx context.Context) error {
	deadline := time.Now().Add(w.busy)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !w.conn.AutocommitEnabled() {
			// The last rollback failed too; nothing begins before it succeeds.
			if err := exec(w.conn, "ROLLBACK", func(*binder) {}); err != nil {
				return err
			}
		}
		err := exec(w.conn, "BEGIN IMMEDIATE", func(*binder) {})
		if !isBusy(err) {
			return err
		}
		if time.Now().After(deadline) || isClosed(w.hurry) {
			return fmt.Errorf("another process holds the write lock: %w", err)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// finish stores what is left until it succeeds or the time of Close is up, then
// closes everything.
func (w *writer) finish(readers *sqlitex.Pool) {
	err := w.commit()
	for err != nil && !isClosed(w.hurry) {
		timer := time.NewTimer(w.backoff)
		select {
		case <-timer.C:
		case <-w.hurry:
			timer.Stop()
		}
		err = w.commit()
	}
	if err != nil {
		lost := w.queue.abandon(w.held, LostUnwritten)
		err = fmt.Errorf("%d %w: %w: %w", lost, ErrUnwritten, w.hurryCause, err)
	} else {
		// Keeps the planner's statistics current; not worth an error.
		_ = execAll(w.conn, "PRAGMA optimize")
	}
	// The writer goes last, so that its close empties the WAL.
	err = errors.Join(err, readers.Close(), w.conn.Close())
	if err != nil {
		w.closeErr = fmt.Errorf("journal: close: %w", err)
	}
}
