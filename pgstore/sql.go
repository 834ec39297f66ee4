// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

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
		panic(fmt.Sprintf("pgstore: no statement %q", name))
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
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, q querier, name string, args ...any) (int64, error) {
	tag, err := q.Exec(ctx, statement(name), texts(args)...)
	return tag.RowsAffected(), err
}

// query returns what scan makes of each row of a statement.
func query[T any](ctx context.Context, q querier, name string, scan func(scanner) (T, error), args ...any) ([]T, error) {
	rows, err := q.Query(ctx, statement(name), texts(args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(scanner{row}) })
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
