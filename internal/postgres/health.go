// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Health is what there is to know about a database before agents rely on it.
type Health struct {
	// Name is that of [store.Store].
	Name string
	// Version is that of the server. Schema is that of the schema, 0 if there is none, and Newest what this program makes.
	Version, Schema, Newest int
	// Missing are the rights that the role of an agent has and this one lacks, as "INSERT on rows".
	Missing []string
	// Ahead is how far the clock of the server is ahead of this one, give or take Within.
	Ahead, Within time.Duration
	// Commit is the synchronous_commit of the server.
	Commit string
	// Standby says that the server is one itself: nothing can be written.
	Standby bool
	// Asynchronous are the standbys that may lack what is committed, "?" for one that this role may not see.
	Asynchronous []string
	// Pooled says that a pool stands before the server. Prepared says that the connection string asks for statements that
	// a pool of transactions loses.
	Pooled, Prepared bool
}

// Examine looks at the database that a configuration names. It changes nothing.
func Examine(ctx context.Context, c Config) (h Health, err error) {
	c.Read = true
	s, err := connect(ctx, c)
	if err != nil {
		return h, err
	}
	defer s.pool.Close()
	h.Name, h.Newest = s.name, len(migrations)
	m, err := metaOf(ctx, s.pool)
	h.Schema = m.version
	if err == nil && h.Schema > 0 {
		h.Missing, err = query(ctx, s.pool, "select_missing_rights", one[string])
	}
	if err == nil {
		err = s.state(ctx, &h)
	}
	if err != nil {
		return h, c.fault(s.name, err)
	}
	return h, nil
}

// state asks how the server works.
func (s *db) state(ctx context.Context, h *Health) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	began := time.Now()
	_, err = query(ctx, conn, "select_health", func(r scanner) (pid uint32, err error) {
		var at time.Time
		err = r.to(&h.Version, &at, &h.Commit, &h.Standby, &pid, &h.Asynchronous)
		h.Within = time.Since(began)
		h.Ahead = at.Sub(began.Add(h.Within / 2))
		h.Pooled = pid != conn.Conn().PgConn().PID() // a pool gives its clients numbers of its own
		return pid, err
	})
	h.Prepared = s.pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	return err
}
