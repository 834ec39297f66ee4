// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"
)

// OpenImpatient opens a journal that waits for locks only as long as busy.
func OpenImpatient(ctx context.Context, cfg Config, busy time.Duration) (*Journal, error) {
	return open(ctx, cfg, busy)
}

// SetCloseGrace is called before Close.
func (j *Journal) SetCloseGrace(d time.Duration) { j.grace = d }

// NewWithoutWriter returns a journal that only queues.
func NewWithoutWriter(cfg Config) *Journal {
	if err := cfg.setDefaults(); err != nil {
		panic(err)
	}
	return &Journal{queue: newQueue(cfg)}
}

// QueueStats returns the numbers of the queue alone.
func (j *Journal) QueueStats() (s Stats) {
	j.queue.count(&s)
	return s
}

// Blocked returns how many calls of Append wait for room.
func (j *Journal) Blocked() int {
	j.queue.mu.Lock()
	defer j.queue.mu.Unlock()
	return j.queue.blocked
}

// Drain takes everything out of the queue, as the writer does.
func (j *Journal) Drain() {
	for held := j.queue.take(nil); len(held) > 0; held = j.queue.take(held[:0]) {
		j.queue.release(held, insertResult{})
	}
}

// Take takes out of the queue what the writer takes at a time and returns how much
// that is.
func (j *Journal) Take() (rows int, bytes int64) {
	for _, s := range j.queue.take(nil) {
		rows += s.all.rows
		bytes += s.all.bytes
	}
	return rows, bytes
}

// Write runs fn on the write connection.
func (j *Journal) Write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return j.w.do(ctx, fn)
}

// IntervalOf returns the commit interval that cfg leads to.
func IntervalOf(cfg Config) time.Duration {
	if err := cfg.setDefaults(); err != nil {
		panic(err)
	}
	return cfg.CommitInterval
}

// LimitWAL runs the pragmas and makes the WAL file start anew beyond the size.
func (j *Journal) LimitWAL(ctx context.Context, size int64, pragmas ...string) error {
	return j.w.do(ctx, func(conn *sqlite.Conn) error {
		j.w.maxWAL = size
		return execAll(conn, pragmas...)
	})
}

// OutboxSQL returns the statements by which a sender looks at the journal, by their
// names with a mark for each parameter.
func OutboxSQL() map[string]string {
	return map[string]string{
		"rows ??": selectRowsSQL, "dead rows ???": selectDeadRowsSQL, "dead letters ??": selectDeadLettersSQL,
		"backlog ???": selectBacklogSQL, "triggers ???": selectTriggersSQL, "last seq": selectLastSeqSQL,
	}
}

// EvidenceSQL returns the statements on the evidence of sessions, by their names.
func EvidenceSQL() map[string]string {
	return map[string]string{
		"select_progress": selectProgressSQL, "upsert_progress": upsertProgressSQL, "insert_result": insertResultSQL,
		"rewrite_result": rewriteResultSQL, "rewrite_seen": rewriteSeenSQL, "rewrite_sightings": rewriteSightingsSQL,
		"insert_call": insertCallSQL, "insert_name": insertNameSQL, "add_name": addNameSQL, "select_attribute": selectAttributeSQL,
		"upsert_attribute": upsertAttributeSQL, "insert_sighting": insertSightingSQL, "insert_seen": insertSeenSQL,
		"upsert_run": upsertRunSQL, "select_run": selectRunSQL, "insert_turn": insertTurnSQL, "select_last_row": selectLastRowSQL,
		"select_row": selectRowSQL, "select_results": selectResultsSQL, "select_results_of_run": selectResultsOfRunSQL,
		"select_calls": selectCallsSQL, "select_keys": selectKeysSQL, "select_attributes": selectAttributesSQL,
		"select_sightings": selectSightingsSQL, "select_open_runs": selectOpenRunsSQL, "select_runs_of_turn": selectRunsOfTurnSQL,
		"insert_choice": insertChoiceSQL, "rewrite_choices": rewriteChoicesSQL, "select_choices": selectChoicesSQL, "remove_choices": removeChoicesSQL,
		"remove_seen": removeSeenSQL, "remove_sightings": removeSightingsSQL, "remove_attributes": removeAttributesSQL,
		"remove_names": removeNamesSQL, "remove_calls": removeCallsSQL, "remove_results": removeResultsSQL, "remove_turns": removeTurnsSQL,
		"remove_runs": removeRunsSQL, "remove_progress": removeProgressSQL,
	}
}
