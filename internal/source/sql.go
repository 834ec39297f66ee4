// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Querier is a database for the checker of [SQL]. A [*sql.DB] is one.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// sqlBeginner is a database that has transactions.
type sqlBeginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// sqlChecker is a [safety.Checker] that asks a database.
type sqlChecker struct {
	config.SQL
	db         Querier
	kind       string
	args       []sqlArg
	attributes []string // sorted names
	now        func() time.Time
}

// SQL returns a [safety.Checker] that asks db with one query for each entity, or an error that
// names every wrong field. The query runs in a read-only transaction if the database has them. Its
// answer is one row, or none if the thing does not exist. Values are taken as they are: an amount that comes as text is never
// rounded. Some databases have no booleans, so the integers 0 and 1 count as such.
//
// An argument that is one attribute and nothing else has its type: a boolean, a time, an integer;
// an amount of money, or a number with a fraction, is its exact decimal text. cfg.Database names db
// in errors and reports, and kind is its kind there, for example [safety.OriginSQL]. now is the
// clock of [config.AsOfFetch], which takes the time at which the query was sent; nil is [time.Now].
// The checker is safe for concurrent use and never closes db.
func SQL(cfg config.SQL, db Querier, kind string, now func() time.Time) (safety.Checker, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("sql checker:\n%w", err)
	}
	if pool, ok := db.(*sql.DB); db == nil || ok && pool == nil {
		return nil, errors.New("sql checker: Database is nil: there is nothing to ask; look at the error of sql.Open")
	}
	c := &sqlChecker{SQL: cfg.WithDefaults(), db: db, kind: kind, now: now}
	if c.now == nil {
		c.now = time.Now
	}
	for _, text := range cfg.Args {
		c.args = append(c.args, parseSQLArg(text))
	}
	c.attributes = slices.Sorted(maps.Keys(c.Attributes))
	return c, nil
}

// Check implements [safety.Checker].
func (c *sqlChecker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	args := make([]any, len(c.args))
	for i, a := range c.args {
		var err error
		if args[i], err = a.of(e); err != nil {
			return safety.State{}, fmt.Errorf("%s: argument %d: %w", c.Database, i+1, err)
		}
	}
	asked := c.now()
	s, err := c.ask(ctx, args, asked)
	s.Origins = []safety.Origin{{Kind: c.kind, Name: c.Database, LatencyMS: c.now().Sub(asked).Milliseconds()}}
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.Database, err)
	}
	return s, nil
}

// query runs the query with the arguments, in a read-only transaction if the database has them. done is to be called.
func (c *sqlChecker) query(ctx context.Context, args []any) (rows *sql.Rows, done func(), err error) {
	from, end := c.db, func() {}
	if db, ok := c.db.(sqlBeginner); ok {
		// A driver without read-only transactions says so with an error of its own; a
		// database that is not there says the same again to the query.
		if tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil {
			from, end = tx, func() { tx.Rollback() } // there is nothing to commit
		}
	}
	if rows, err = from.QueryContext(ctx, c.Query, args...); err != nil {
		end()
		return nil, nil, away(err)
	}
	return rows, func() { rows.Close(); end() }, nil
}

// Prepare reports what makes every check fail: a query that the database does not take, or a column that it does not
// give. It runs the query with NULL for each argument, because a database says otherwise neither how many there are nor
// which columns. It reports nothing of a database that is away, that needs longer than ctx, or whose queries cost money.
func (c *sqlChecker) Prepare(ctx context.Context) error {
	if c.kind != safety.OriginSQL {
		return nil
	}
	rows, done, err := c.query(ctx, make([]any, len(c.args)))
	if err != nil {
		if down, is := errors.AsType[*safety.AnswerError](err); ctx.Err() != nil || is && down.Reason == safety.ReasonSourceDown {
			return nil
		}
		return fmt.Errorf("the database %s does not take the query, with NULL for each of its arguments: %w", c.Database, err)
	}
	defer done()
	given, err := rows.Columns()
	needed := []string{c.Version}
	if c.AsOf != config.AsOfFetch {
		needed = append(needed, c.AsOf)
	}
	for _, name := range c.attributes {
		needed = append(needed, c.Attributes[name].Column)
	}
	for _, column := range needed {
		if err == nil && column != "" && !slices.Contains(given, column) {
			return fmt.Errorf("the query gives no column %q; it gives %q", column, given)
		}
	}
	return nil
}

func (c *sqlChecker) ask(ctx context.Context, args []any, asked time.Time) (safety.State, error) {
	rows, done, err := c.query(ctx, args)
	if err != nil {
		return safety.State{}, err
	}
	defer done()
	row, err := oneRow(rows)
	if errors.Is(err, errNoRow) {
		return safety.State{Attributes: gone(), AsOf: asked}, nil
	}
	if err != nil {
		return safety.State{}, err
	}
	return c.read(row, asked)
}

// errNoRow says that the database has no such thing.
var errNoRow = errors.New("the query gave no row")

// oneRow reads the only row there is.
func oneRow(rows *sql.Rows) (sqlRow, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("reading the row: %w", away(err))
		}
		return nil, errNoRow
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	scanned := rows.Scan(into...)
	if rows.Next() || rows.NextResultSet() {
		return nil, errors.New("the query gave more than one row; it has to give exactly one")
	}
	if err := errors.Join(scanned, rows.Err()); err != nil {
		return nil, fmt.Errorf("reading the row: %w", away(err))
	}
	row := make(sqlRow, len(columns))
	for i, name := range columns {
		row[name] = append(row[name], values[i])
	}
	return row, nil
}

// read reads a row. A part that it does not understand is an error; the state has the parts
// that it does.
func (c *sqlChecker) read(row sqlRow, asked time.Time) (safety.State, error) {
	var errs []error
	s := safety.State{Attributes: make(map[string]entity.Value, len(c.attributes)), AsOf: asked}
	for _, name := range c.attributes {
		a := c.Attributes[name]
		v, err := row.value(a.Column, a.Type, a.Currency)
		switch {
		case err != nil:
			errs = append(errs, &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: fmt.Errorf("%s in column %s: %w", name, a.Column, err)})
		case !v.IsZero():
			s.Attributes[name] = v
		default:
			s.Missing = lacks(s.Missing, name, "column "+a.Column)
		}
	}
	if c.AsOf != config.AsOfFetch {
		v, err := row.value(c.AsOf, entity.KindTime, "")
		if err == nil && v.IsZero() {
			err = errNull
		}
		if err != nil {
			errs = append(errs, &safety.AnswerError{Reason: safety.ReasonNoAsOf, Err: fmt.Errorf("as-of in column %s: %w", c.AsOf, err)})
		}
		s.AsOf, _ = v.AsTime()
	}
	if c.Version != "" {
		var err error
		if s.Version, err = row.version(c.Version); err != nil {
			errs = append(errs, &safety.AnswerError{Reason: safety.ReasonMissingAttribute, Err: fmt.Errorf("version in column %s: %w", c.Version, err)})
		}
	}
	return s, errors.Join(errs...)
}
