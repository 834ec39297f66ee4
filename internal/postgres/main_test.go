// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/pgtest"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		pgtest.Stop()
		os.Exit(code)
	}))
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// part opens a store as package pgstore does.
type part struct{}

func (part) Name() string { return "pgstore" }

func (part) OpenStore(ctx context.Context, c config.Config, log *slog.Logger, now func() time.Time, to []string) (store.Store, error) {
	return Open(ctx, Config{Config: c, Logger: log, Now: now, Destinations: to})
}

// of returns the configuration of a store.
func of(url string) Config {
	c := config.Config{Store: config.Store{Postgres: config.Postgres{DSN: config.Secret(url)}}}
	c.Journal.CommitInterval = time.Millisecond
	return Config{Config: c, Logger: quiet()}
}

// opened opens a store until the end of the test.
func opened(t testing.TB, url string) *db {
	t.Helper()
	s, err := open(t.Context(), of(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
