// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// readers are the connections that reads share. A read takes the first one that is free. So the
// reads that come one after the other use one connection, which has compiled their statements and
// may still hold the pages. The others are for reads at the same time.
type readers struct {
	pools []*sqlitex.Pool // of one connection each
	taken chan struct{}   // holds as many as are taken

	mu   sync.Mutex
	free []bool
}

// openReaders opens the connections that reads share.
func openReaders(path string, n int, busy time.Duration) (*readers, error) {
	r := &readers{taken: make(chan struct{}, n)}
	for range n {
		// Opened for writing because a reader of a WAL file must be able to create its
		// shared-memory file; query_only keeps it from changing anything. Retention copies the log to
		// the file on one of them, which fullfsync is for, as it is for the writer.
		pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{
			Flags:    sqlite.OpenReadWrite,
			PoolSize: 1,
			PrepareConn: func(conn *sqlite.Conn) error {
				conn.SetBusyTimeout(busy)
				return execAll(conn, "PRAGMA query_only = ON", "PRAGMA fullfsync = ON", "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA cache_size = -8192")
			},
		})
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.pools, r.free = append(r.pools, pool), append(r.free, true)
	}
	return r, nil
}

// with calls fn with a connection that nobody else uses. The end of ctx interrupts what SQLite does
// on it.
func (r *readers) with(ctx context.Context, fn func(*sqlite.Conn) error) error {
	select {
	case r.taken <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	i := slices.Index(r.free, true)
	r.free[i] = false
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.free[i] = true
		r.mu.Unlock()
		<-r.taken
	}()
	conn, err := r.pools[i].Take(ctx)
	if err != nil {
		return err
	}
	defer r.pools[i].Put(conn) // also when fn panics: who recovers that reads on
	return fn(conn)
}

// Close interrupts the reads under way, waits for them and closes the connections.
func (r *readers) Close() (err error) {
	for _, p := range r.pools {
		err = errors.Join(err, p.Close())
	}
	return err
}
