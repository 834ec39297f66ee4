// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

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

// SQLAttribute says in which column an attribute is and what it is.
type SQLAttribute struct {
	// Column is the name of the column, as the query gives it. NULL means that the
	// answer does not have the attribute.
	Column string
	// Kind is the kind of the value. Conversion is strict: a text is no boolean. As
	// some databases have no booleans, the integers 0 and 1 are.
	Kind entity.Kind
	// Currency is the currency of an amount of money that names none.
	Currency string
}

// SQLConfig configures the checker of [SQL].
type SQLConfig struct {
	// Database is asked. Required. The checker never closes it.
	Database Querier
	// Name names the database in errors and reports. Default "database".
	Name string
	// Kind is the kind of the database in reports. Default [safety.OriginSQL].
	Kind string
	// Query is the query for one entity, with parameters as the driver writes them
	// (?, $1, @p1). It must give exactly one row. Required.
	Query string
	// Args are the arguments of the parameters, in order. In each of them {value},
	// {type} and {attributes.NAME} stand for those of the entity. They are never part
	// of the query. An argument that is one attribute and nothing else has its type:
	// a boolean, a time, an integer; an amount of money, or a number with a fraction,
	// is its exact decimal text.
	Args []string
	// Attributes says what to read. At least one is required.
	Attributes map[string]SQLAttribute
	// AsOf says when an answer was true: AsOfFetch (default) is the time the query was
	// sent, anything else the name of a column with a time. For a replica that lags,
	// AsOfFetch is wrong.
	AsOf string
	// Version is the name of a column with the revision of the row; "" for none.
	Version string
	// Now is the clock of AsOfFetch. Default [time.Now].
	Now func() time.Time
}

// sqlChecker is a [safety.Checker] that asks a database.
type sqlChecker struct {
	SQLConfig
	args       []sqlArg
	attributes []string // sorted names
}

// SQL returns a [safety.Checker] that asks a database with one query for each entity, or an
// error that names every field that is wrong. The query runs in a read-only transaction
// where the database has them. Its answer is exactly one row, whose values are taken as
// they are: an amount that comes as text is never rounded. The checker is safe for
// concurrent use.
func SQL(cfg SQLConfig) (safety.Checker, error) {
	var errs []error
	c := &sqlChecker{SQLConfig: cfg}
	c.Attributes = maps.Clone(cfg.Attributes)
	c.Name, c.Kind, c.AsOf = cmp.Or(cfg.Name, "database"), cmp.Or(cfg.Kind, safety.OriginSQL), cmp.Or(cfg.AsOf, AsOfFetch)
	if c.Now == nil {
		c.Now = time.Now
	}
	if db, ok := cfg.Database.(*sql.DB); cfg.Database == nil || ok && db == nil {
		errs = append(errs, errors.New("Database is nil: there is nothing to ask; look at the error of sql.Open"))
	}
	if cfg.Query == "" {
		errs = append(errs, errors.New("Query is missing"))
	}
	for i, text := range cfg.Args {
		arg, err := parseSQLArg(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("argument %d: %w", i+1, err))
		}
		c.args = append(c.args, arg)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Attributes)) {
		a := cfg.Attributes[name]
		if a.Kind == entity.KindNone {
			errs = append(errs, fmt.Errorf("attribute %q: Kind is missing: use text, number, money, boolean or time", name))
		}
		if a.Column == "" {
			errs = append(errs, fmt.Errorf("attribute %q: Column is missing", name))
		}
		c.attributes = append(c.attributes, name)
	}
	if len(c.attributes) == 0 {
		errs = append(errs, errors.New("Attributes is empty: nothing could be compared"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("sql checker: %w", err)
	}
	return c, nil
}

// Check implements [safety.Checker].
func (c *sqlChecker) Check(ctx context.Context, e entity.Canonical) (safety.State, error) {
	args := make([]any, len(c.args))
	for i, a := range c.args {
		var err error
		if args[i], err = a.of(e); err != nil {
			return safety.State{}, fmt.Errorf("%s: argument %d: %w", c.Name, i+1, err)
		}
	}
	asked := c.Now()
	s, err := c.ask(ctx, args, asked)
	s.Origins = []safety.Origin{{Kind: c.Kind, Name: c.Name, LatencyMS: c.Now().Sub(asked).Milliseconds()}}
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.Name, err)
	}
	return s, nil
}

func (c *sqlChecker) ask(ctx context.Context, args []any, asked time.Time) (safety.State, error) {
	from := c.Database
	if db, ok := c.Database.(sqlBeginner); ok {
		// A driver without read-only transactions says so with an error of its own; a
		// database that is not there says the same again to the query.
		if tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil {
			defer tx.Rollback() // there is nothing to commit
			from = tx
		}
	}
	rows, err := from.QueryContext(ctx, c.Query, args...)
	if err != nil {
		return safety.State{}, err
	}
	defer rows.Close()
	row, err := oneRow(rows)
	if err != nil {
		return safety.State{}, err
	}
	return c.read(row, asked)
}

// oneRow reads the only row there is.
func oneRow(rows *sql.Rows) (sqlRow, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("reading the row: %w", err)
		}
		return nil, &safety.AnswerError{Reason: safety.ReasonEmptyAnswer, Err: errors.New("the query gave no row; it has to give exactly one")}
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
		return nil, fmt.Errorf("reading the row: %w", err)
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
		v, err := row.value(a.Column, a.Kind, a.Currency)
		switch {
		case err != nil:
			errs = append(errs, &safety.AnswerError{Reason: safety.ReasonTypeMismatch, Err: fmt.Errorf("%s in column %s: %w", name, a.Column, err)})
		case !v.IsZero():
			s.Attributes[name] = v
		}
	}
	if c.AsOf != AsOfFetch {
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
