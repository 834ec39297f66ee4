// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package warehouse

import (
	"context"
	"log/slog"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Opener connects a journal to the dataset of cfg. It returns at once: what needs the
// network happens in the background. ctx bounds the opening only.
type Opener func(ctx context.Context, cfg config.BigQuery, host Host) (Connection, error)

// Name returns the name of the optional package that has Openers.
func (Opener) Name() string { return "bqstream" }

// Host is what a Connection gets of the instance it belongs to.
type Host struct {
	// Journal has the rows.
	Journal *journal.Journal
	// Graphs brings the graph of a session in the journal up to date.
	Graphs *graphsync.Syncer
	// Logger hears of failures.
	Logger *slog.Logger
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Connection streams the rows of one journal to a dataset and keeps the graph there.
// Its methods are safe for concurrent use.
type Connection interface {
	// Sync asks for the graph of the session to be brought to the dataset, in the
	// background, once its rows are there. It never waits.
	Sync(s record.Session)
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

// Status says how far a dataset is behind its journal.
type Status struct {
	// Enabled is false without a warehouse.
	Enabled bool
	// Active is true while this process streams, Standby while another one does. Of
	// several processes with one journal one does; the others wait to take over.
	Active, Standby bool
	// LagRows is the number of rows that were not acknowledged yet, LagSeconds the age
	// of the oldest of them.
	LagRows    int64
	LagSeconds float64
	// Acknowledged counts rows, and Bytes their encoded size, that this process had
	// acknowledged; Retries the requests it sent again, Reopened the streams it opened
	// again.
	Acknowledged, Bytes, Retries, Reopened uint64
	// DeadLetters is the number of rows in the journal's table of dead letters.
	DeadLetters int64
	// PartsLost counts rows that were sent without their content_parts, because these
	// are not as the schema says. The rows in the journal are whole.
	PartsLost uint64
	// LastError is what goes wrong now, and what to do about it; nil when rows are
	// taken. FailingSince is when that began; zero when nothing fails.
	LastError    error
	FailingSince time.Time
	// Stopped is true when streaming has stopped until somebody does what LastError
	// says.
	Stopped bool
	// GraphSyncs counts the graphs of sessions that were brought to the dataset,
	// GraphErrors the attempts that failed, and GraphGivenUp the sessions that are not
	// tried any more and need "contextgraph sync". GraphPending is the number of those
	// that wait. GraphError is the last failure, nil when the last attempt succeeded.
	GraphSyncs, GraphErrors, GraphGivenUp uint64
	GraphPending                          int
	GraphError                            error
	// Ready is true once tables, views and the graph are as this version makes them, or
	// when the configuration leaves them to people. InitError is why they could not be
	// created or upgraded.
	Ready     bool
	InitError error
}
