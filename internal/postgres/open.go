// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

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
	leastServer = 150000
	// statementTime bounds one transaction, and the statement bound does so on the server. connectTime bounds the wait for a
	// server, unless the DSN says it.
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

// Config says how a database is opened.
type Config struct {
	config.Config
	// Logger and Now are by default silent, and the clock.
	Logger *slog.Logger
	Now    func() time.Time
	// Destinations are those that rows are sent to.
	Destinations []string
	// Read opens it for who only reads: nothing is made, and nothing removed.
	Read bool
}

// Open opens the database that a configuration names, and brings its schema up to date.
func Open(ctx context.Context, c Config) (store.Store, error) {
	s, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Destinations {
		if err := s.createDestination(ctx, name); err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	return s, nil
}

func open(ctx context.Context, c Config) (*db, error) {
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*statementTime)
	defer cancel()
	if err := s.prepare(ctx, c.Read); err != nil {
		s.pool.Close()
		return nil, c.fault(s.name, err)
	}
	s.start(c.WithDefaults().Journal, c.Read)
	return s, nil
}

// connect returns a store that has no goroutines. It connects when it has something to do.
func connect(ctx context.Context, c Config) (*db, error) {
	dsn := string(c.Store.Postgres.DSN)
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, c.fault("the database", errServer{"it is no connection string: " + brief(err),
			"write for example postgres://agent:${PGPASSWORD}@db.example.com/app", nil})
	}
	if !strings.Contains(dsn, "default_query_exec_mode") {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTime)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, c.fault("the database", err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	j := c.WithDefaults().Journal
	return &db{
		pool: pool, name: "database " + pc.ConnConfig.Database + " on " + pc.ConnConfig.Host, now: c.Now,
		log: slog.New(ratelog.NewHandler(c.Logger.Handler(), 0, c.Now)).With("store", pc.ConnConfig.Host+"/"+pc.ConnConfig.Database),
		queue: queue.New(queue.Config{
			Rows: queueRows, Bytes: int64(queue.Bound(j.QueueBytes)), OnFull: j.OnFull, BlockTimeout: blockTimeout,
			GroupRows: groupRows, GroupBytes: groupBytes, TxRows: txRows, TxBytes: txBytes,
		}),
	}, nil
}

// fault is the error that the database with a name cannot be used. It has the place of the configuration, if one names it.
func (c *Config) fault(name string, err error) error {
	at := c.Store.Postgres.Fault(brief(err), remedyOf(err))
	if c.Read {
		at = fmt.Errorf("%s: %s; %s", name, brief(err), remedyOf(err))
	}
	return fault{at, err}
}

// fault has the words of one error and is the other one too.
type fault struct {
	error
	cause error
}

func (f fault) Unwrap() []error { return []error{f.error, f.cause} }

// Errors of a schema that another version of contextgraph has made.
var (
	ErrSchemaNewer = errors.New("the schema is of a later version of contextgraph")
	ErrSchemaOlder = errors.New("the schema is of an earlier version of contextgraph")
)

// errServer is an error that no other attempt mends.
type errServer struct {
	problem, remedy string
	cause           error
}

func (e errServer) Error() string { return e.problem }
func (e errServer) Unwrap() error { return e.cause }

// server is what a database says of itself.
type server struct {
	version  int
	encoding string
	made     bool
}

func scanServer(r scanner) (v server, err error) { return v, r.to(&v.version, &v.encoding, &v.made) }

// fault returns why a database cannot be used.
func (v server) fault() error {
	if v.version < leastServer {
		return errServer{fmt.Sprintf("the server has version %d of PostgreSQL", v.version/10000), "use PostgreSQL 15 or a later one", nil}
	}
	if v.encoding != "UTF8" {
		return errServer{"the database has the encoding " + v.encoding, "make a database with ENCODING 'UTF8'", nil}
	}
	return nil
}

// meta is what a schema says of itself.
type meta struct {
	version int
	id      string
	secret  []byte
}

func scanMeta(r scanner) (m meta, err error) { return m, r.to(&m.version, &m.id, &m.secret) }

// metaOf returns the meta of the schema, without a version where there is none.
func metaOf(ctx context.Context, q querier) (m meta, err error) {
	v, err := only(query(ctx, q, "select_server", scanServer))
	if err == nil {
		err = v.fault()
	}
	if err != nil || !v.made {
		return m, err
	}
	return only(query(ctx, q, "select_meta", scanMeta))
}

// prepare looks at the server, and brings the schema up to date, unless it is only read.
func (s *db) prepare(ctx context.Context, read bool) error {
	m, err := metaOf(ctx, s.pool)
	if err == nil && m.version < len(migrations) && !read {
		if err = s.migrate(ctx); err == nil {
			m, err = metaOf(ctx, s.pool)
		}
	}
	const init = `let a role that may change it run "contextgraph init --store"`
	has := fmt.Sprintf("the schema contextgraph has version %d, and this program knows %d", m.version, len(migrations))
	failed, _ := errors.AsType[*pgconn.PgError](err)
	switch denied := failed != nil && failed.Code == "42501"; {
	case denied && m.version > 0:
		return errServer{has + ", and the role may not change it: " + brief(err), init, ErrSchemaOlder}
	case err != nil:
		return err
	case m.version > len(migrations):
		return errServer{has, "run the version of contextgraph that made it", ErrSchemaNewer}
	case m.version == 0:
		return errServer{"it has no schema contextgraph", "start the agent that records there, or name another database", nil}
	case m.version < len(migrations):
		return errServer{has, init, ErrSchemaOlder}
	}
	s.id, s.secret = m.id, m.secret
	return nil
}

// migrate makes the schema, or brings it up to date. Programs that start at once do so one after another.
func (s *db) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := exec(ctx, tx, "lock_schema"); err != nil {
			return err
		}
		m, err := metaOf(ctx, tx)
		for i := m.version; err == nil && i < len(migrations); i++ {
			var text []byte
			if text, err = files.ReadFile(migrations[i]); err == nil {
				_, err = tx.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol)
			}
		}
		switch {
		case err != nil:
		case m.version == 0:
			_, err = exec(ctx, tx, "insert_meta", len(migrations), rand.Text(), []byte(rand.Text()+rand.Text()))
		case m.version < len(migrations):
			_, err = exec(ctx, tx, "update_meta", len(migrations))
		}
		return err
	})
}

// Init makes the schema of the database that a configuration names, or brings it up to date, and returns its version.
func Init(ctx context.Context, c Config) (version int, err error) {
	s, err := connect(ctx, c)
	if err != nil {
		return 0, err
	}
	defer s.pool.Close()
	if err := s.prepare(ctx, false); err != nil {
		return 0, c.fault(s.name, err)
	}
	return len(migrations), nil
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
			return `let a role that may create the schema contextgraph run "contextgraph init --store", and grant this one what docs/production.md says`
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
	return fmt.Errorf("postgres: %s: %w", what, err)
}
