// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgstore keeps rows and approvals in a PostgreSQL database, which the replicas of an agent share: what one of
// them asks, any other may be answered. It is an optional part of contextgraph: a program that does not import it does
// not link its client. The configuration names the database, in the section store; the program gives one more option:
//
//	cg, err := contextgraph.FromFile("contextgraph.yaml", pgstore.Option())
//
// The tables stand in a schema of their own, contextgraph, so that ADK's sessions may use the same database. No
// statement relies on the state of a connection: PgBouncer may pool transactions.
package pgstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/adk-contextgraph/contextgraph"
	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/postgres"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// Errors of an Open that finds a schema of another version of contextgraph.
var (
	// ErrSchemaNewer says that a later version has changed the schema: run that version.
	ErrSchemaNewer = postgres.ErrSchemaNewer
	// ErrSchemaOlder says that the role of the program may not bring the schema up to date: let one that may run
	// "contextgraph init --store".
	ErrSchemaOlder = postgres.ErrSchemaOlder
)

// Option keeps rows and approvals in the database that the configuration names, if it names one.
func Option() contextgraph.Option { return contextgraph.WithPart(part{}) }

type part struct{}

func (part) Name() string { return "pgstore" }

// OpenStore is what the core calls.
func (part) OpenStore(ctx context.Context, c config.Config, log *slog.Logger, now func() time.Time, to []string) (store.Store, error) {
	return postgres.Open(ctx, postgres.Config{Config: c, Logger: log, Now: now, Destinations: to})
}
