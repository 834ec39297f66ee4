// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/internal/postgres"
)

// isDatabase reports whether a value of --from is meant as a database.
func isDatabase(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// shared opens the database of a configuration for reading.
func shared(ctx context.Context, cfg config.Config) (opened, error) {
	j, err := postgres.Open(ctx, postgres.Config{Config: cfg, Read: true})
	if err != nil {
		return opened{}, err
	}
	return opened{Source: inspect.NewJournal(j), cfg: cfg, journal: j, close: func() {
		_ = j.Close(context.WithoutCancel(ctx)) // it wrote nothing
	}}, nil
}

// initStore makes the schema of the database of the configuration, or brings it up to date.
func (a *app) initStore(ctx context.Context) error {
	cfg, err := a.fileConfig()
	if err != nil {
		return err
	}
	if cfg.Store.Postgres.DSN == "" {
		return usageError{errors.New("--store: the configuration names no database: write store.postgres.dsn in it")}
	}
	version, err := postgres.Init(ctx, postgres.Config{Config: cfg})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "the schema contextgraph has version %d\n", version)
	return err
}
