// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
	"testing"
)

// fakeDB is a driver with one answer to every query. It keeps what it was asked.
type fakeDB struct {
	columns  []string
	rows     [][]driver.Value
	more     bool  // another result follows
	queryErr error // of the query
	rowErr   error // behind the rows, in place of their end
	beginErr error // of a transaction
	// plain has no transactions with options, and so none that are read-only.
	plain bool

	mu        sync.Mutex
	query     string
	args      []any
	readOnly  int // transactions that were begun read-only
	rollbacks int
}

func (f *fakeDB) open(t testing.TB) *sql.DB {
	t.Helper()
	db := sql.OpenDB(f)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func (f *fakeDB) Connect(context.Context) (driver.Conn, error) {
	if f.plain {
		return fakeConn{f}, nil
	}
	return fakeTxConn{fakeConn{f}}, nil
}
func (f *fakeDB) Driver() driver.Driver { return nil }

type fakeConn struct{ f *fakeDB }

func (fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("no statements") }
func (fakeConn) Close() error                        { return nil }
func (c fakeConn) Begin() (driver.Tx, error)         { return c, nil }
func (fakeConn) Commit() error                       { return errors.New("nothing is to be committed") }
func (c fakeConn) Rollback() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.rollbacks++
	return nil
}

func (c fakeConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.query, c.f.args = query, nil
	for _, a := range args {
		c.f.args = append(c.f.args, a.Value)
	}
	if c.f.queryErr != nil {
		return nil, c.f.queryErr
	}
	return &fakeRows{f: c.f}, nil
}

type fakeTxConn struct{ fakeConn }

func (c fakeTxConn) BeginTx(_ context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if opts.ReadOnly {
		c.f.readOnly++
	}
	return c, c.f.beginErr
}

type fakeRows struct {
	f    *fakeDB
	next int
}

func (r *fakeRows) Columns() []string      { return r.f.columns }
func (r *fakeRows) Close() error           { return nil }
func (r *fakeRows) HasNextResultSet() bool { return r.f.more }
func (r *fakeRows) NextResultSet() error   { return nil }
func (r *fakeRows) Next(dest []driver.Value) error {
	switch {
	case r.next < len(r.f.rows):
		copy(dest, r.f.rows[r.next])
		r.next++
		return nil
	case r.f.rowErr != nil:
		return r.f.rowErr
	}
	return io.EOF
}
