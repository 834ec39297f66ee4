// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/text/ratelog"
)

const (
	// schemaVersion is that of sql/schema.sql.
	schemaVersion = 1
	leastServer   = 150000
	// statementTime bounds one transaction. connectTime bounds the wait for a server, unless the DSN says it.
	statementTime = 15 * time.Second
	connectTime   = 5 * time.Second
	queueRows     = 1 << 20 // with the bytes that each row has, the bound of bytes is reached before
	blockTimeout  = 100 * time.Millisecond
	// A transaction of rows has at most so much. A group is complete before its interval is over with so much.
	txRows, txBytes       = 4096, 4 << 20
	groupRows, groupBytes = 1024, 1 << 20
)

// db is an open store. It has one goroutine that writes rows, one that renews leases, and one for retention.
type db struct {
	pool      *pgxpool.Pool
	name, id  string
	secret    []byte
	queue     *queue.Queue
	listeners queue.Listeners
	now       func() time.Time
	log       *slog.Logger
	life      // the end of it
	writer
	leases
	waited turns
}

// open connects to the database and makes the schema if there is none.
func open(ctx context.Context, c config.Config, log *slog.Logger, now func() time.Time) (*db, error) {
	place := c.Store.Postgres
	c = c.WithDefaults()
	if now == nil {
		now = time.Now
	}
	pc, err := pgxpool.ParseConfig(string(place.DSN))
	if err != nil {
		return nil, place.Fault("it is no connection string: "+brief(err), "write for example postgres://agent:${PGPASSWORD}@db.example.com/app")
	}
	if !strings.Contains(string(place.DSN), "default_query_exec_mode") {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTime)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, place.Fault(brief(err), "correct the connection string")
	}
	s := &db{
		pool: pool, name: "database " + pc.ConnConfig.Database + " on " + pc.ConnConfig.Host, now: now,
		log: slog.New(ratelog.NewHandler(log.Handler(), 0, now)).With("store", pc.ConnConfig.Host+"/"+pc.ConnConfig.Database),
		queue: queue.New(queue.Config{
			Rows: queueRows, Bytes: int64(queue.Bound(c.Journal.QueueBytes)), OnFull: c.Journal.OnFull, BlockTimeout: blockTimeout,
			GroupRows: groupRows, GroupBytes: groupBytes, TxRows: txRows, TxBytes: txBytes,
		}),
	}
	ctx, cancel := context.WithTimeout(ctx, 2*statementTime)
	defer cancel()
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, place.Fault(brief(err), remedyOf(err))
	}
	s.start(c.Journal)
	return s, nil
}

// errServer is an error that no other attempt mends.
type errServer struct{ problem, remedy string }

func (e errServer) Error() string { return e.problem }

// prepare looks at the server, and makes the schema if there is none.
func (s *db) prepare(ctx context.Context) error {
	var version int
	var encoding string
	var made bool
	if err := s.pool.QueryRow(ctx, statement("select_server")).Scan(&version, &encoding, &made); err != nil {
		return err
	}
	if version < leastServer {
		return errServer{fmt.Sprintf("the server has version %d of PostgreSQL", version/10000), "use PostgreSQL 15 or a later one"}
	}
	if encoding != "UTF8" {
		return errServer{"the database has the encoding " + encoding, "make a database with ENCODING 'UTF8'"}
	}
	if !made {
		if err := s.makeSchema(ctx); err != nil {
			return err
		}
	}
	has := 0
	if err := s.pool.QueryRow(ctx, statement("select_meta")).Scan(&has, &s.id, &s.secret); err != nil {
		return err
	}
	if has != schemaVersion {
		return errServer{fmt.Sprintf("the schema contextgraph has version %d, and this program knows %d", has, schemaVersion),
			"run the version of contextgraph that made it"}
	}
	return nil
}

// makeSchema makes the schema, unless another program does so at the same time.
func (s *db) makeSchema(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := exec(ctx, tx, "lock_schema"); err != nil {
			return err
		}
		var version int
		var encoding string
		var made bool
		if err := tx.QueryRow(ctx, statement("select_server")).Scan(&version, &encoding, &made); err != nil || made {
			return err
		}
		schema, err := files.ReadFile("sql/schema.sql")
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(schema), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err = exec(ctx, tx, "insert_meta", schemaVersion, rand.Text(), []byte(rand.Text()+rand.Text()))
		return err
	})
}

// brief returns what an error says, without the connection string: a password may stand in it.
func brief(err error) string {
	if refused, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return cmp.Or(unwrapped(refused), "it cannot be read")
	}
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Message + " (" + failed.Code + ")"
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "the server cannot be reached: " + unwrapped(failed)
	}
	return err.Error()
}

// unwrapped returns the first line of what err wraps.
func unwrapped(err error) string {
	if below := errors.Unwrap(err); below != nil {
		first, _, _ := strings.Cut(below.Error(), "\n")
		return first
	}
	return ""
}

// remedyOf says what to do about an error of [open].
func remedyOf(err error) string {
	if e, ok := errors.AsType[errServer](err); ok {
		return e.remedy
	}
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch failed.Code {
		case "28P01", "28000":
			return "correct the name and the password of the role, or the pg_hba.conf of the server"
		case "3D000":
			return "create the database, or name another one"
		case "42501":
			return "let a role that may create the schema contextgraph start once, and grant the schema and its tables to this one"
		}
		return "mend this on the server, and start again"
	}
	return "correct host and port, and see that the server runs and lets this machine in"
}

// reason says why a statement failed, as the interface of stores wants it.
func (s *db) reason(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case s.isClosed():
		err = store.ErrClosed
	}
	return fmt.Errorf("pgstore: %s: %w", what, err)
}
