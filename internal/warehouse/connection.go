// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"context"
	"log/slog"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
)

// Opener connects a journal to the dataset of cfg. It returns at once: what needs the
// network happens in the background. ctx bounds the opening only.
type Opener func(ctx context.Context, cfg config.BigQuery, host Host) (Connection, error)

// Name returns the name of the optional package that has Openers.
func (Opener) Name() string { return "bqstream" }

// Host is what a Connection gets of the instance it belongs to.
type Host struct {
	// Journal has the rows.
	Journal store.Publisher
	// Sessions folds the sessions of the journal.
	Sessions *graphsync.Sessions
	// Parts takes the payloads of rows that are too large for the dataset.
	Parts Parts
	// Logger hears of failures.
	Logger *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Parts is where payloads go that are too large for a row of the dataset.
type Parts struct {
	// Store takes them in the background, see [offload.Uploader]. Nil without an artifact store.
	Store interface {
		Put(name, contentType string, data []byte) (uri string, ok bool)
	}
	// Connection is the connection by which BigQuery reads the store; it may be empty.
	Connection string
}

// Connection streams the rows of one journal to a dataset and keeps the graph there.
// Its methods are safe for concurrent use.
type Connection interface {
	// Flush returns nil when every row that was in the journal before the call was
	// acknowledged by BigQuery or is in the table of dead letters. It returns early
	// with the reason when streaming has stopped until somebody does something about
	// it, or ctx ends.
	Flush(ctx context.Context) error
	// Status says how far the dataset is behind the journal. It does not wait: metrics
	// are collected by it.
	Status() Status
	// Close sends what is left within ctx, then ends what the Opener started. What
	// was not sent stays in the journal. It is idempotent.
	Close(ctx context.Context) error
}

// Status says how far a dataset is behind its journal. Its fields are those of
// contextgraph.BigQueryStats, where they are explained.
type Status struct {
	Enabled                                bool
	Active, Standby                        bool
	LagRows                                int64
	LagSeconds                             float64
	Acknowledged, Bytes, Retries, Reopened uint64
	DeadLetters                            int64
	PartsLost                              uint64
	LastError                              error
	FailingSince                           time.Time
	Stopped                                bool
	GraphSyncs, GraphErrors, GraphGivenUp  uint64
	GraphPending                           int
	GraphError                             error
	Ready                                  bool
	InitError                              error
}
