// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Defaults of what no file sets.
const (
	DefaultQueueRows     = 1 << 20 // with the bytes that each row has, QueueBytes is reached before
	DefaultBlockTimeout  = 100 * time.Millisecond
	DefaultSweepInterval = time.Minute
)

// readingConnections is the number of reads that run at the same time.
const readingConnections = 4

// busyTimeout is how long a connection waits for a lock that another one holds.
const busyTimeout = 5 * time.Second

// closeGrace is how long Close lets the writer finish once the context of Close has
// ended, and again once it has interrupted what the writer does.
const closeGrace = 500 * time.Millisecond

// Errors that callers may branch on.
var (
	// ErrUnwritten is returned by Close when rows were lost.
	ErrUnwritten = errors.New("rows were not written")
)

// Config has the section of a file about the journal, which package config has checked, and the
// settings that only code can give. The zero value is usable.
type Config struct {
	// Journal has the defaults that package config states. The directory of its Path is
	// created when it does not exist; a new file is readable by its owner only, because it
	// holds payloads.
	config.Journal
	// QueueRows bounds the rows that wait to be committed, beside QueueBytes. Default
	// DefaultQueueRows.
	QueueRows int
	// BlockTimeout is how long Append waits for room at most, with config.Block. Default
	// DefaultBlockTimeout.
	BlockTimeout time.Duration
	// SweepInterval is the time between two looks of retention. Default
	// DefaultSweepInterval.
	SweepInterval time.Duration
	// Destinations are the names of outboxes that are to exist from the first look of
	// retention on, which is at once: it then keeps what they have not acknowledged, also
	// before anybody has leased them. See [store.Outbox].
	Destinations []string
	// Logger hears when commits begin to fail, when they succeed again and when rows
	// are dropped, at most once a minute for each kind of message. Default
	// slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

func (c *Config) setDefaults() {
	c.Journal = c.Journal.WithDefaults()
	c.QueueRows = cmp.Or(c.QueueRows, DefaultQueueRows)
	c.BlockTimeout = cmp.Or(c.BlockTimeout, DefaultBlockTimeout)
	c.SweepInterval = cmp.Or(c.SweepInterval, DefaultSweepInterval)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if bound := queue.Bound(c.QueueBytes); bound < c.QueueBytes {
		if c.QueueBytes > config.Default().Journal.QueueBytes {
			c.Logger.Warn("contextgraph: journal.queue_bytes is more than a quarter of the memory that the process may use; fewer rows can wait", "configured", c.QueueBytes, "used", bound)
		}
		c.QueueBytes = bound
	}
}

// newQueue returns the queue of a journal.
func newQueue(cfg Config) *queue.Queue {
	c := queue.Config{
		Rows: cfg.QueueRows, Bytes: int64(cfg.QueueBytes), OnFull: cfg.OnFull, BlockTimeout: cfg.BlockTimeout,
		GroupRows: groupRows, GroupBytes: groupBytes, TxRows: txRows, TxBytes: txBytes,
	}
	if cfg.Durability == config.DurabilityMemory {
		c.GroupRows, c.GroupBytes = txRows, txBytes
	}
	return queue.New(c)
}

var _ store.Publisher = (*Journal)(nil)

// Journal is an open journal file. All methods may be called concurrently.
type Journal struct {
	path    string
	id      string
	secret  []byte
	queue   *queue.Queue
	w       *writer
	readers *readers
	// retention is nil when everything is kept.
	retention *retention
	grace     time.Duration // closeGrace, but where a test cannot count on it

	closeOnce sync.Once
	hurryOnce sync.Once
	abortOnce sync.Once
}

// Open opens the journal at cfg.Path, and creates it when there is none. It refuses a file of another
// version. ctx bounds the opening only; [Journal.Close] ends what Open starts.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	return open(ctx, cfg, busyTimeout)
}

func open(ctx context.Context, cfg Config, busy time.Duration) (*Journal, error) {
	cfg.setDefaults()
	path, err := prepareFile(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if access := accessOfOthers(path); access != "" {
		cfg.Logger.Warn("contextgraph: "+access+": run chmod 600 on it, unless they are meant to", "path", path)
	}
	conn, err := openWriter(ctx, path, cfg.Destinations, busy)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", cfg.Path, explain(err))
	}
	readers, err := openReaders(path, readingConnections, busy)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", cfg.Path, err), conn.Close())
	}
	id, secret, err := identify(conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", cfg.Path, err), readers.Close(), conn.Close())
	}
	files, err := newFiles(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", cfg.Path, err), readers.Close(), conn.Close())
	}
	q := newQueue(cfg)
	w := newWriter(conn, files, q, cfg, busy)
	j := &Journal{path: path, id: id, secret: secret, queue: q, w: w, readers: readers, grace: closeGrace}
	go w.run(readers)
	j.retention = startRetention(j, cfg)
	return j, nil
}

// Path returns the absolute path of the file.
func (j *Journal) Path() string { return j.path }

// Append queues e to be stored. It never waits for the disk, except for room in a
// queue with [config.Block]. It takes e over: the caller must not change the slices of e any
// more. It returns false when it does not take the row: the queue has no room, the
// journal is closed, or the row has no event id, type or status. That is counted with
// its reason, as is a row that was taken and is dropped later for a newer one.
func (j *Journal) Append(e record.Event) bool {
	return j.queue.Put(&e)
}

// Waiting returns the rows of s that this process has recorded and that are not stored, in order. It
// does not know them while the writer is at work, and when the queue is long.
func (j *Journal) Waiting(s record.Session) (rows []record.Event, known bool) {
	return j.queue.WaitingOf(s)
}

// Flush is a barrier. It returns nil only when every row accepted before the call is committed, as
// safe as the Durability promises, or is counted in Stats as dropped or rejected. If the commit
// fails, it returns that error and the rows stay queued. If ctx ends first, it returns the cause of
// ctx, and the rows are still being written.
func (j *Journal) Flush(ctx context.Context) error {
	return j.write(ctx, "flush", syncFull, nil)
}

// errNotStored is why a row that was accepted is not in the file.
var errNotStored = errors.New("the row was dropped because the queue was full, or SQLite refused it; Stats and the log say which")

// Commit commits the rows accepted before the call, and returns nil if the row with the event id is
// committed then, as safe as the Durability promises. If the commit fails, or ctx ends first, the
// rows stay queued as with [Journal.Flush].
func (j *Journal) Commit(ctx context.Context, eventID string) error {
	stored := false
	err := j.w.join(ctx, j.w.level, func(conn *sqlite.Conn) error {
		return query(conn, selectStoredSQL, func(b *binder) { b.text(eventID) }, func(*sqlite.Stmt) error {
			stored = true
			return nil
		})
	})
	if err == nil && !stored {
		err = errNotStored
	}
	if err != nil {
		return fmt.Errorf("journal: row %s: %w", eventID, err)
	}
	return nil
}

// Lost returns how many rows of session s were lost since the journal was opened. It
// remembers 65,536 sessions; when more have lost rows, a session that it does not
// remember has the losses of all those, so that no loss is hidden.
func (j *Journal) Lost(s record.Session) int {
	lost, _ := j.queue.LostOf(s)
	return lost
}

// Name describes the journal, for people.
func (j *Journal) Name() string { return "journal " + filepath.Base(j.path) }

// Secret returns the key that the file was made with.
func (j *Journal) Secret() []byte { return bytes.Clone(j.secret) }

// Stats returns the counters. It may be called at any time, also after Close.
func (j *Journal) Stats() store.Stats {
	s := j.w.counters()
	j.queue.Count(&s)
	return s
}

// Close stores what waits, then closes the file. When ctx ends first, one last
// attempt is made without waiting for locks; rows it cannot store are counted as
// lost and the error is an [ErrUnwritten]. Close returns at the latest a second
// after ctx has ended. Only the first call closes; all calls wait for it and return
// its result.
func (j *Journal) Close(ctx context.Context) error {
	w := j.w
	j.closeOnce.Do(func() {
		j.retention.stop()
		j.queue.Close()
		close(w.closing)
	})
	if ended(w.done, ctx.Done()) {
		return w.closeErr
	}
	j.hurryOnce.Do(func() {
		w.hurryCause = context.Cause(ctx)
		close(w.hurry)
	})
	if ended(w.done, time.After(j.grace)) {
		return w.closeErr
	}
	j.abortOnce.Do(func() { close(w.abort) })
	if ended(w.done, time.After(j.grace)) {
		return w.closeErr
	}
	return fmt.Errorf("journal: close %s: %d %w: the disk does not answer: %w",
		j.path, j.Stats().QueuedRows, ErrUnwritten, context.Cause(ctx))
}

// ended waits for done or limit and reports whether done is closed.
func ended[T any](done <-chan struct{}, limit <-chan T) bool {
	select {
	case <-done:
		return true
	case <-limit:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
