// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// files has a file for the statements of each table.
//
//go:embed sql
var files embed.FS

// migrations are the files that make the schema and change it, in the order of their numbers: as many as its version says.
var migrations = func() []string {
	names, _ := fs.Glob(files, "sql/schema/*.sql")
	return names
}()

// statements are the statements of all files, by name: each stands behind the line "-- name: NAME".
var statements = func() map[string]string {
	all := make(map[string]string)
	names, _ := fs.Glob(files, "sql/*.sql")
	for _, name := range names {
		text, _ := files.ReadFile(name)
		for i, part := range strings.Split(string(text), "-- name: ") {
			if name, body, named := strings.Cut(part, "\n"); named && i > 0 {
				all[name] = body
			}
		}
	}
	return all
}()

// statement returns the statement with a name. It panics if there is none.
func statement(name string) string {
	if statements[name] == "" {
		panic(fmt.Sprintf("postgres: no statement %q", name))
	}
	return statements[name]
}

// texts makes of the arguments of a statement what PostgreSQL can hold.
func texts(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = toText(a)
		case []string:
			for j, s := range a {
				a[j] = toText(s)
			}
		}
	}
	return args
}

// querier runs statements: the pool, or a transaction.
type querier interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// batch returns statements to send to q: in one round trip, and in one transaction with bounds.
func batch(q querier) *pgx.Batch {
	b := new(pgx.Batch)
	if _, begun := q.(pgx.Tx); !begun {
		b.Queue(statement("bound"))
	}
	return b
}

// tx runs f in a transaction with bounds.
func (s *db) tx(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: "BEGIN; " + statement("bound")}, f)
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, q querier, name string, args ...any) (n int64, err error) {
	b := batch(q)
	b.Queue(statement(name), texts(args)...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	err = q.SendBatch(ctx, b).Close()
	return n, err
}

// query returns what scan makes of each row of a statement.
func query[T any](ctx context.Context, q querier, name string, scan func(scanner) (T, error), args ...any) (list []T, err error) {
	b := batch(q)
	b.Queue(statement(name), texts(args)...).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(scanner{row}) })
		return err
	})
	err = q.SendBatch(ctx, b).Close()
	return list, err
}

// scanner reads the columns of a row.
type scanner struct{ pgx.CollectableRow }

// to reads the columns, with the texts as they were given.
func (s scanner) to(dst ...any) error {
	err := s.Scan(dst...)
	for _, d := range dst {
		switch d := d.(type) {
		case *string:
			*d = fromText(*d)
		case *[]string:
			for i, text := range *d {
				(*d)[i] = fromText(text)
			}
		}
	}
	return err
}

// one reads a row of one column.
func one[T any](row scanner) (out T, err error) { return out, row.to(&out) }
