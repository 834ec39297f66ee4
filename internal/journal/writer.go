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

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

const (
	// groupRows and groupBytes complete a group before its interval is over.
	groupRows  = 1024
	groupBytes = 1 << 20
	// txRows and txBytes bound one transaction. So another process that waits to write an approval
	// gets its turn during a backlog, and the writer holds few of the rows that a full queue may
	// drop.
	txRows  = 4096
	txBytes = 4 << 20
	// minBackoff and maxBackoff bound the pause after a failed commit.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// synchronous is a value of the pragma of that name. OFF is not among them: a
// checkpoint would move rows from the log to the file without waiting for the disk,
// and no later write of the log could make up for that.
type synchronous string

const (
	syncNormal synchronous = "NORMAL" // the disk is waited for when the log is copied to the file
	syncFull   synchronous = "FULL"   // and at every commit
)

// synchronous returns the value for commits of rows.
func synchronousOf(d config.Durability) synchronous {
	if d == config.DurabilitySync {
		return syncFull
	}
	return syncNormal
}

// call is work for the write connection, done after all rows queued before it. A
// call without a function is a barrier.
type call struct {
	ctx   context.Context
	fn    func(*sqlite.Conn) error
	level synchronous
	// joins says that the rows that wait are committed in the transaction of fn.
	joins bool
	done  chan error // capacity 1: the writer never waits for a caller that left

	// began says that fn ran behind rows. Until ended it has failed, with err.
	began, ended bool
	err          error
}

// run runs fn in a transaction that has stored rows.
func (c *call) run(conn *sqlite.Conn) error {
	c.began = true
	err := context.Cause(c.ctx)
	if err == nil {
		err = c.fn(conn)
	}
	c.ended = err == nil
	return err
}

// writer owns the write connection: its goroutine is the only user of the fields
// below rows. The channels and the counters are shared.
type writer struct {
	queue   *queue.Queue
	calls   chan *call
	closing chan struct{} // closed by the first Close
	hurry   chan struct{} // closed when the time of Close is up
	abort   chan struct{} // closed to interrupt what SQLite does
	done    chan struct{} // closed when the file is closed
	// hurryCause is why hurry is closed, to be read after it is.
	hurryCause error
	// closeErr is the result of Close, to be read after done is closed.
	closeErr error

	// listeners hear of every transaction that stored rows.
	listeners queue.Listeners

	mu    sync.Mutex
	stats store.Stats // Panics, LastError, FailingSince

	// rows inserts; conn is the connection it uses.
	rows     *inserter
	conn     *sqlite.Conn
	files    files
	level    synchronous      // for commits of rows
	inForce  synchronous      // what the connection is set to; "" when not known
	held     []*queue.Segment // taken from the queue and not stored, in order
	losses   []queue.Loss
	interval time.Duration
	busy     time.Duration
	backoff  time.Duration // pause before the next attempt; 0 when commits succeed
	dropped  uint64        // drops that the log knows of
	maxWAL   int64
	restart  time.Time // before that, no further attempt to shorten the WAL
	now      func() time.Time
	log      *slog.Logger // one line per kind and minute
}

func newWriter(conn *sqlite.Conn, files files, q *queue.Queue, cfg Config, busy time.Duration) *writer {
	w := &writer{
		queue:    q,
		calls:    make(chan *call),
		closing:  make(chan struct{}),
		hurry:    make(chan struct{}),
		abort:    make(chan struct{}),
		done:     make(chan struct{}),
		rows:     newInserter(conn),
		conn:     conn,
		files:    files,
		level:    synchronousOf(cfg.Durability),
		interval: cfg.CommitInterval,
		busy:     busy,
		maxWAL:   maxWAL,
		now:      cfg.Now,
		log:      slog.New(ratelog.NewHandler(cfg.Logger.Handler(), 0, cfg.Now)).With("journal", cfg.Path),
	}
	conn.SetInterrupt(w.abort)
	return w
}

// doAt runs fn on the write connection in a transaction of its own, after all rows queued before, and
// commits it at level. It returns when fn is committed, has failed, or ctx ends; in the last case fn may
// still run, unless it has not begun. When doAt returns nil with syncFull, the writes of fn and every row
// committed before are on the disk, at any level of durability: the log of SQLite is one file, and the
// disk is told to keep all of it. A nil fn only commits the rows, as the level of the journal says.
func (w *writer) doAt(ctx context.Context, level synchronous, fn func(*sqlite.Conn) error) error {
	return w.call(&call{ctx: ctx, fn: fn, level: level})
}

// join is doAt in one transaction with the rows queued before. It is for a short fn: the rows are
// not safe before it ends. If fn fails, the rows are committed without it.
func (w *writer) join(ctx context.Context, level synchronous, fn func(*sqlite.Conn) error) error {
	return w.call(&call{ctx: ctx, fn: fn, level: level, joins: true})
}

func (w *writer) call(c *call) error {
	c.done = make(chan error, 1)
	ctx := c.ctx
	select {
	case w.calls <- c:
	case <-w.closing:
		return store.ErrClosed
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
func (w *writer) run(readers *readers) {
	defer close(w.done)
	timer := time.NewTimer(w.interval)
	timer.Stop()
	armed := false
	for {
		select {
		case <-w.queue.Wake():
			rows, complete := w.queue.Pending()
			switch {
			case rows == 0 || w.backoff > 0:
				continue // stored already, or waiting for the next attempt
			case !complete:
				if !armed {
					timer.Reset(w.interval)
					armed = true
				}
				continue
			}
			_ = w.commit(nil) // it is tried again
		case <-timer.C:
			_ = w.commit(nil)
		case c := <-w.calls:
			c.done <- w.serve(c)
		case <-w.closing:
			timer.Stop()
			w.finish(readers)
			return
		}
		timer.Stop()
		if armed = w.backoff > 0; armed {
			timer.Reset(w.backoff)
		} else if rows, _ := w.queue.Pending(); rows > 0 {
			// They came during the commit, and may have come without a signal.
			w.queue.Signal()
		}
	}
}

// serve does the work of c, after all rows queued before.
func (w *writer) serve(c *call) error {
	var last *call
	if c.joins {
		last = c
	}
	if err := w.commit(last); err != nil {
		return err
	}
	switch {
	case c.began:
		return c.err
	case c.fn == nil:
		// Perhaps no row waited; a barrier also stands for rows stored before.
		_, err := w.files.check()
		return err
	}
	return explain(w.transact(c.ctx, c.level, c.fn))
}

// commit stores all rows that waited when it was called, and the known losses, one transaction
// after the other. If one fails, its rows stay in held, first in line, and the others in the queue.
// The last transaction runs c too, unless c is nil. Without rows and losses c does not run.
func (w *writer) commit(c *call) error {
	defer w.reportDrops()
	defer w.boundWAL()
	left, _ := w.queue.Pending()
	for unsaved := w.queue.UnsavedLosses(); left > 0 || unsaved > 0; {
		if len(w.held) == 0 {
			w.held = w.queue.Take(w.held)
		}
		w.losses = w.queue.SomeUnsaved(w.losses[:0])
		if len(w.held) == 0 {
			left = 0 // dropped meanwhile
			if len(w.losses) == 0 {
				break
			}
		}
		for _, s := range w.held {
			left -= s.Len()
		}
		unsaved -= len(w.losses)
		var last *call
		if left <= 0 && unsaved <= 0 {
			last = c
		}
		res, err := w.store(last)
		if err != nil {
			err = fmt.Errorf("store rows: %w", explain(err))
			w.failed(err)
			return err
		}
		w.succeeded(res)
		w.queue.Saved(w.losses)
		w.queue.Release(w.held, res)
		if res.Stored > 0 {
			w.listeners.Tell()
		}
		clear(w.held)
		w.held = w.held[:0]
	}
	return nil
}

// store commits what is held, the losses and the work of c, unless c is nil, in one transaction. If
// c fails, its error is in c, and the rest is committed without it.
func (w *writer) store(c *call) (res queue.Result, err error) {
	level := w.level
	if c != nil && c.level == syncFull {
		level = syncFull
	}
	err = w.transact(context.Background(), level, func(conn *sqlite.Conn) (err error) {
		if res, err = w.rows.insert(w.held); err != nil {
			return err
		}
		if err = saveLosses(conn, w.losses); err != nil || c == nil {
			return err
		}
		return c.run(conn)
	})
	if err != nil {
		w.rows.forget()
	}
	if err != nil && c != nil && c.began && !c.ended {
		c.err = explain(err)
		return w.store(nil)
	}
	return res, err
}

// transact runs fn in an immediate transaction, which reads the latest state and
// cannot fail to commit because of another writer. It is committed at level.
func (w *writer) transact(ctx context.Context, level synchronous, fn func(*sqlite.Conn) error) (err error) {
	if err := w.begin(ctx, level); err != nil {
		return err
	}
	err = w.guard(fn)
	if err == nil {
		err = exec(w.conn, "COMMIT", func(*binder) {})
	}
	if err == nil {
		w.note(func(s *store.Stats) {
			s.Transactions++
			if level == syncFull {
				s.Synced++
			}
		})
	}
	if err != nil && !w.conn.AutocommitEnabled() {
		rollbackErr := exec(w.conn, "ROLLBACK", func(*binder) {})
		err = errors.Join(err, rollbackErr)
	}
	return err
}

// guard runs fn and makes an error of a panic.
func (w *writer) guard(fn func(*sqlite.Conn) error) (err error) {
	defer w.rescue(&err)
	return fn(w.conn)
}

// begin sets the level and takes the write lock, waiting for another process at most
// w.busy.
func (w *writer) begin(ctx context.Context, level synchronous) error {
	if _, err := w.files.check(); err != nil {
		return err
	}
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
		if err := w.synchronize(level); err != nil {
			return err
		}
		err := exec(w.conn, "BEGIN IMMEDIATE", func(*binder) {})
		if !isBusy(err) {
			return err
		}
		if time.Now().After(deadline) || isClosed(w.hurry) {
			return err
		}
	}
}

// synchronize makes level the one at which the next transaction is committed. SQLite
// takes it only outside of transactions.
func (w *writer) synchronize(level synchronous) error {
	if w.inForce == level {
		return nil
	}
	w.inForce = ""
	if err := execAll(w.conn, "PRAGMA synchronous = "+string(level)); err != nil {
		return fmt.Errorf("set the level of synchronisation: %w", err)
	}
	w.inForce = level
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeFile closes the connection. It leaves it open if the file has lost its name: SQLite deletes
// the log by its name, which may now belong to another file.
func (w *writer) closeFile() error {
	if _, err := w.files.check(); err != nil {
		w.conn.SetInterrupt(nil)
		return err
	}
	return w.conn.Close()
}

// finish stores what is left until it succeeds or the time of Close is up, then
// closes everything.
func (w *writer) finish(readers *readers) {
	err := w.commit(nil)
	for err != nil && !isClosed(w.hurry) {
		timer := time.NewTimer(w.backoff)
		select {
		case <-timer.C:
		case <-w.hurry:
			timer.Stop()
		}
		err = w.commit(nil)
	}
	if err != nil {
		lost := 0
		for len(w.held) > 0 {
			lost += w.queue.Abandon(w.held, store.LostUnwritten)
			clear(w.held)
			w.held = w.queue.Take(w.held[:0])
		}
		err = fmt.Errorf("%d %w: %w: %w", lost, ErrUnwritten, w.hurryCause, err)
	} else {
		// Keeps the planner's statistics current; not worth an error.
		_ = execAll(w.conn, "PRAGMA optimize")
	}
	// The writer goes last, so that its close empties the WAL.
	err = errors.Join(err, readers.Close(), w.closeFile())
	if err != nil {
		w.closeErr = fmt.Errorf("journal: close: %w", err)
	}
}
