// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package contextgraph

import (
	"errors"
	"fmt"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/offload"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/internal/warehouse"
	cgplugin "github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/plugin/gate"
)

// Stats is a snapshot of the counters since the start of the Instance.
type Stats struct {
	// Recorder counts the rows that callbacks wrote.
	Recorder cgplugin.Stats
	// Gate counts tools that it cannot guard, and its panics.
	Gate gate.Stats
	// Journal counts the rows that were stored and lost.
	Journal JournalStats
	// Parts counts the large and binary parts that were stored outside of the rows.
	Parts PartStats
	// BigQuery says how far the dataset is behind the journal.
	BigQuery BigQueryStats
}

// JournalStats counts rows of the journal. At any time the sum of Accepted and Refused is the sum
// of Stored, Duplicates, Queued and Lost.
type JournalStats struct {
	// Accepted counts the rows that the journal took, Refused the others, Stored the committed
	// ones, Duplicates those with an event id that was stored already.
	Accepted, Refused, Stored, Duplicates uint64
	// Lost counts the rows that were not stored, by reason: docs/loss-table.md lists them. Those
	// that were refused count too.
	Lost map[string]uint64
	// Queued is how many rows wait to be committed, and QueuedBytes their memory.
	Queued      int
	QueuedBytes int64
	// Transactions counts the transactions of rows, of approvals and of what is made from rows.
	// Synced counts those of them that waited for the disk: see docs/loss-table.md.
	Transactions, Synced uint64
	// RemovedSessions and RemovedRows count what retention removed. HeldSessions is how many
	// sessions it keeps because BigQuery has not acknowledged all their rows.
	RemovedSessions, RemovedRows uint64
	HeldSessions                 int
	// Error says why the last commit failed, with the remedy; nil if it succeeded.
	Error error
}

// PartStats counts large and binary parts. At any time the sum of Accepted and Refused is the sum
// of Stored, Queued and Lost.
type PartStats struct {
	// Accepted counts the parts that were taken, Refused those that were not, Stored those that
	// are in the store, StoredBytes their bytes.
	Accepted, Refused, Stored, StoredBytes uint64
	// Lost counts the parts that were not stored, by reason. Those that were refused count too.
	Lost map[string]uint64
	// Queued is how many parts wait.
	Queued int
}

// BigQueryStats says how far the dataset is behind the journal.
type BigQueryStats struct {
	// Enabled is false without a dataset.
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
	// LastError is the present failure, with the remedy; nil if rows are taken. FailingSince is its
	// beginning; zero if nothing fails.
	LastError    error
	FailingSince time.Time
	// Stopped is true when streaming has stopped until somebody does what LastError
	// says.
	Stopped bool
	// GraphSyncs counts the graphs of sessions that were brought to the dataset, GraphErrors the
	// failed attempts, and GraphGivenUp the sessions that were passed over, because BigQuery refuses
	// their graph or they have no rows any more; the log names them. GraphPending is the number of
	// requests for approval, answers and verdicts whose graph is still to be brought, up to 1,000.
	// GraphError is the last error; nil after a success.
	GraphSyncs, GraphErrors, GraphGivenUp uint64
	GraphPending                          int
	GraphError                            error
	// Ready is true once tables, views and the graph are as this version makes them, or
	// when the configuration leaves them to people. InitError is why they could not be
	// created or upgraded.
	Ready     bool
	InitError error
}

// Stats returns the counters. It may be called at any time.
func (in *Instance) Stats() Stats {
	c := in.counters()
	j, p := c.journal, c.parts
	s := Stats{
		Recorder: c.recorder, Gate: c.gate,
		Journal: JournalStats{
			Accepted: j.Accepted, Refused: j.Refused(), Stored: j.Stored, Duplicates: j.Duplicates, Lost: make(map[string]uint64, len(j.Lost)),
			Queued: j.QueuedRows, QueuedBytes: j.QueuedBytes, Transactions: j.Transactions, Synced: j.Synced,
			RemovedSessions: j.RemovedSessions, RemovedRows: j.RemovedRows, HeldSessions: j.HeldSessions, Error: j.LastError,
		},
		Parts: PartStats{
			Accepted: p.Accepted, Stored: p.Stored, StoredBytes: p.StoredBytes, Queued: p.Queued, Lost: make(map[string]uint64, len(p.Lost)+len(p.Refused)),
		},
		BigQuery: BigQueryStats(c.warehouse),
	}
	for reason, n := range j.Lost {
		s.Journal.Lost[string(reason)] = n
	}
	for reason, n := range p.Lost {
		s.Parts.Lost[string(reason)] = n
	}
	for reason, n := range p.Refused {
		s.Parts.Lost[string(reason)] += n
		s.Parts.Refused += n
	}
	return s
}

// Check returns an error unless every row and every part is accounted for: stored, waiting, or
// lost for a reason that is counted. There is none unless contextgraph has a bug; tests of
// programs that record call it at their end.
func (s Stats) Check() error {
	var errs []error
	if s.Recorder.Rows != s.Journal.Accepted || s.Recorder.Refused != s.Journal.Refused {
		errs = append(errs, fmt.Errorf("contextgraph: the recorder handed on %d rows and had %d refused, the journal took %d and refused %d",
			s.Recorder.Rows, s.Recorder.Refused, s.Journal.Accepted, s.Journal.Refused))
	}
	account := func(what string, in, stored, lost uint64, queued int) {
		if queued < 0 || in != stored+lost+uint64(queued) {
			errs = append(errs, fmt.Errorf("contextgraph: of %d %s %d are stored, %d lost and %d queued", in, what, stored, lost, queued))
		}
	}
	j, p := s.Journal, s.Parts
	account("rows", j.Accepted+j.Refused, j.Stored+j.Duplicates, sum(j.Lost), j.Queued)
	account("parts", p.Accepted+p.Refused, p.Stored, sum(p.Lost), p.Queued)
	return errors.Join(errs...)
}

func sum(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// counters are the counters of the packages that do the work.
type counters struct {
	recorder  cgplugin.Stats
	gate      gate.Stats
	journal   store.Stats
	parts     offload.Stats
	warehouse warehouse.Status
}

func (in *Instance) counters() counters {
	c := counters{recorder: in.rec.Stats(), gate: in.gate.Stats()}
	if in.store != nil {
		c.journal = in.store.Stats()
	}
	if in.parts != nil {
		c.parts = in.parts.Stats()
	}
	if in.warehouse != nil {
		c.warehouse = in.warehouse.Status()
	}
	return c
}
