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

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// Defaults of Config.
const (
	DefaultPath           = "contextgraph.db"
	DefaultCommitInterval = 20 * time.Millisecond
	DefaultQueueBytes     = 64 << 20
	DefaultQueueRows      = 100_000
	DefaultReaders        = 4
)

// busyTimeout is how long a connection waits for a lock that another one holds.
const busyTimeout = 5 * time.Second

// closeGrace is how long Close lets the writer finish once the context of Close has
// ended, and again once it has interrupted what the writer does.
const closeGrace = 500 * time.Millisecond

// Errors that callers may branch on.
var (
	// ErrClosed is returned for work that comes after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrUnwritten is returned by Close when rows were lost.
	ErrUnwritten = errors.New("rows were not written")
)

// Config says where a journal is and how it trades latency for throughput. The zero
// value is usable.
type Config struct {
	// Path is the file. Its directory is created when it does not exist; a new file
	// is readable by its owner only, because it holds payloads. Default
	// DefaultPath.
	Path string
	// CommitInterval is how long the first row of a group waits for others before the
	// group is committed. Longer means fewer disk flushes and more rows at risk when
	// the process is killed. Default DefaultCommitInterval.
	CommitInterval time.Duration
	// QueueBytes and QueueRows bound what waits to be committed. A row beyond them
	// is dropped and counted. Defaults DefaultQueueBytes and DefaultQueueRows.
	QueueBytes int64
	QueueRows  int
	// Readers is the number of reading connections, which is the number of reads
	// that run at the same time. Default DefaultReaders.
	Readers int
	// Logger hears when commits begin to fail, when they succeed again and when rows
	// are dropped. Default slog.Default().
	Logger *slog.Logger
}

func (c *Config) setDefaults() error {
	if c.Path == "" {
		c.Path = DefaultPath
	}
	if c.CommitInterval == 0 {
		c.CommitInterval = DefaultCommitInterval
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = DefaultQueueBytes
	}
	if c.QueueRows == 0 {
		c.QueueRows = DefaultQueueRows
	}
	if c.Readers == 0 {
		c.Readers = DefaultReaders
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.CommitInterval < 0:
		return fmt.Errorf("commit interval %v is negative: leave it out for %v", c.CommitInterval, DefaultCommitInterval)
	case c.QueueBytes < 0 || c.QueueRows < 0:
		return fmt.Errorf("queue of %d bytes and %d rows: a bound is negative", c.QueueBytes, c.QueueRows)
	case c.Readers < 0:
		return fmt.Errorf("%d readers: use at least 1", c.Readers)
	}
	return nil
}

// Journal is an open journal file. All methods may be called concurrently.
type Journal struct {
	path    string
	queue   *queue
	w       *writer
	readers *sqlitex.Pool

	closeOnce sync.Once
	hurryOnce sync.Once
	abortOnce sync.Once
}

// Open opens the journal at cfg.Path, creates it when there is none and brings an
// older one up to date. ctx bounds the opening only; [Journal.Close] ends what Open
// starts.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	return open(ctx, cfg, busyTimeout)
}

func open(ctx context.Context, cfg Config, busy time.Duration) (*Journal, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	path, err := prepareFile(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	conn, err := openWriter(ctx, path, busy)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", cfg.Path, err)
	}
	readers, err := openReaders(path, cfg.Readers, busy)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", cfg.Path, err), conn.Close())
	}
	queue := newQueue(cfg.QueueRows, cfg.QueueBytes)
	w := newWriter(conn, queue, cfg, busy)
	j := &Journal{path: path, queue: queue, w: w, readers: readers}
	go w.run(readers)
	return j, nil
}

// Path returns the absolute path of the file.
func (j *Journal) Path() string { return j.path }

// Append queues e to be stored. It never blocks on the disk. It takes e over: the
// caller must not change the slices of e any more. It returns false when the row
// was dropped: the queue is full, the journal is closed, or the row has no event
// id, type or status. The drop is counted with its reason.
func (j *Journal) Append(e schema.Event) bool {
	return j.queue.put(&e)
}

// Flush is a barrier: it returns nil only when every row accepted before the call
// is on disk. When the commit fails it returns that error and the rows stay queued;
// when ctx ends first it returns its cause, and the rows are still being written.
func (j *Journal) Flush(ctx context.Context) error {
	if err := j.w.do(ctx, nil); err != nil {
		return fmt.Errorf("journal: flush: %w", err)
	}
	return nil
}

// Lost returns how many rows of session s were lost since the journal was opened.
func (j *Journal) Lost(s schema.Session) int {
	return j.queue.lostOf(s)
}

// Close stores what waits, then closes the file. When ctx ends first, one last
// attempt is made without waiting for locks; rows it cannot store are counted as
// lost and the error is an [ErrUnwritten]. Close returns at the latest a second
// after ctx has ended. Only the first call closes; all calls wait for it and return
// its result.
func (j *Journal) Close(ctx context.Context) error {
	w := j.w
	j.closeOnce.Do(func() {
		j.queue.close()
		close(w.closing)
	})
	if ended(w.done, ctx.Done()) {
		return w.closeErr
	}
	j.hurryOnce.Do(func() {
		w.hurryCause = context.Cause(ctx)
		close(w.hurry)
	})
	if ended(w.done, time.After(closeGrace)) {
		return w.closeErr
	}
	j.abortOnce.Do(func() { close(w.abort) })
	if ended(w.done, time.After(closeGrace)) {
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
