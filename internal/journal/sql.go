// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"time"
	"unsafe"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/adk-contextgraph/contextgraph/record"
)

// execAll runs statements that return nothing of interest, such as pragmas.
func execAll(conn *sqlite.Conn, statements ...string) error {
	for _, text := range statements {
		if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
			return err
		}
	}
	return nil
}

// queryRow runs a statement without parameters and hands its only row to scan.
func queryRow(conn *sqlite.Conn, text string, scan func(*sqlite.Stmt)) error {
	return sqlitex.ExecuteTransient(conn, text, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		scan(stmt)
		return nil
	}})
}

// query runs a cached statement with the parameters that bind sets and hands every
// row to scan.
func query(conn *sqlite.Conn, text string, bind func(*binder), scan func(*sqlite.Stmt) error) (err error) {
	stmt, err := conn.Prepare(text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Reset()) }()
	bind(&binder{stmt: stmt})
	for {
		ok, err := stmt.Step()
		if err != nil || !ok {
			return err
		}
		if err := scan(stmt); err != nil {
			return err
		}
	}
}

// exec runs a cached statement that returns no rows.
func exec(conn *sqlite.Conn, text string, bind func(*binder)) error {
	return query(conn, text, bind, func(*sqlite.Stmt) error { return nil })
}

// binder sets the parameters of a statement in order.
type binder struct {
	stmt *sqlite.Stmt
	n    int
}

func (b *binder) text(values ...string) {
	for _, v := range values {
		b.n++
		b.stmt.BindText(b.n, v)
	}
}

func (b *binder) session(s record.Session) { b.text(s.App, s.User, s.ID) }

// optional binds "" as NULL: the warehouse has NULL where there is nothing.
func (b *binder) optional(values ...string) {
	for _, v := range values {
		b.n++
		if v == "" {
			b.stmt.BindNull(b.n)
		} else {
			b.stmt.BindText(b.n, v)
		}
	}
}

// json binds JSON texts, nil as NULL.
func (b *binder) json(values ...[]byte) {
	for _, v := range values {
		b.n++
		if len(v) == 0 {
			b.stmt.BindNull(b.n)
		} else {
			// BindText copies, so the string need not outlive the call.
			b.stmt.BindText(b.n, unsafe.String(unsafe.SliceData(v), len(v)))
		}
	}
}

func (b *binder) blob(v []byte) {
	b.n++
	b.stmt.BindBytes(b.n, v)
}

func (b *binder) integer(values ...int64) {
	for _, v := range values {
		b.n++
		b.stmt.BindInt64(b.n, v)
	}
}

func (b *binder) boolean(v bool) {
	b.n++
	b.stmt.BindBool(b.n, v)
}

// time binds microseconds since the Unix epoch, the zero time as NULL.
func (b *binder) time(values ...time.Time) {
	for _, v := range values {
		b.n++
		if v.IsZero() {
			b.stmt.BindNull(b.n)
		} else {
			b.stmt.BindInt64(b.n, v.UnixMicro())
		}
	}
}

// columnJSON returns a copy of a JSON column, nil for NULL.
func columnJSON(stmt *sqlite.Stmt, col int) []byte {
	if stmt.ColumnIsNull(col) {
		return nil
	}
	// ColumnText makes one copy, which is nobody else's; ColumnBytes makes two. But a string of one byte
	// is Go's own, and must not be written to.
	s := stmt.ColumnText(col)
	if len(s) < 2 {
		return []byte(s)
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// columnSession returns a session from three columns, which begin with col.
func columnSession(stmt *sqlite.Stmt, col int) record.Session {
	return record.Session{App: stmt.ColumnText(col), User: stmt.ColumnText(col + 1), ID: stmt.ColumnText(col + 2)}
}

// columnTime returns a time column in UTC, the zero time for NULL.
func columnTime(stmt *sqlite.Stmt, col int) time.Time {
	if stmt.ColumnIsNull(col) {
		return time.Time{}
	}
	return time.UnixMicro(stmt.ColumnInt64(col)).UTC()
}
