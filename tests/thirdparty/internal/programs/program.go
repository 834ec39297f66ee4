// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs holds the body of small programs that link contextgraph
// beside something else. Each program is a main package of its own, because what
// is registered twice fails at start.
package programs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adk-contextgraph/contextgraph"
)

// UseJournal opens an instance with a journal in a temporary directory, flushes
// and closes it.
func UseJournal(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "contextgraph-program-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var cfg contextgraph.Config
	cfg.Journal.Path = filepath.Join(dir, "contextgraph.db")
	in, err := contextgraph.Open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(in.Flush(ctx), in.Close(ctx))
}

// UseDriver writes and reads one value with the SQL driver named "sqlite".
func UseDriver(ctx context.Context) error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	var got int
	if err := db.QueryRowContext(ctx, "SELECT 6 * 7").Scan(&got); err != nil {
		return err
	}
	if got != 42 {
		return fmt.Errorf("SELECT 6 * 7 = %d", got)
	}
	return nil
}
