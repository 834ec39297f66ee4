// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// NewJournal returns the sessions of a journal, with the word of its ledger. The source
// must not be used once the journal is closed. Rows that are not written yet are not seen:
// whoever records in the same process calls Flush first.
func NewJournal(j store.Store) Source { return &journalSource{j: j, now: time.Now} }

type journalSource struct {
	j   store.Store
	now func() time.Time
}

func (s *journalSource) Name() string { return s.j.Name() }

// Waiting implements [Waiter] by the ledger.
func (s *journalSource) Waiting(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	return s.j.OpenRequests(ctx, now, limit)
}

// findAtMost is how many sessions are looked for that one id names.
const findAtMost = 1000

func (s *journalSource) Find(ctx context.Context, key record.Session) ([]record.Session, error) {
	if key.ID == "" { // it stands for no session, and not for all
		return nil, nil
	}
	for _, q := range []store.Query{{ID: key.ID}, {Prefix: prefix(key.ID)}} {
		q.App, q.User, q.Limit = key.App, key.User, findAtMost
		list, err := s.j.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		var out []record.Session
		for _, l := range list {
			out = append(out, l.Session)
		}
		if out = NamedSessions(out, key.ID); len(out) > 0 {
			return out, nil
		}
	}
	return nil, nil
}

// requestedAtMost is how many sessions are read for requests that one id names.
const requestedAtMost = 50

func (s *journalSource) requested(ctx context.Context, of record.Session, id string) ([]record.Session, error) {
	if id == "" {
		return nil, nil
	}
	return s.j.Requested(ctx, of, prefix(id), requestedAtMost)
}

// Record reads the ledger before the rows: what it says has rows then.
func (s *journalSource) Record(ctx context.Context, key record.Session) (Record, error) {
	r := Record{Session: key, History: make(map[string][]safety.Step)}
	var err error
	if r.Approvals, err = s.j.Ledger().List(ctx, safety.Query{Session: key}); err != nil {
		return Record{}, err
	}
	for _, a := range r.Approvals {
		if r.History[a.ID], err = s.j.Ledger().History(ctx, a.ID); err != nil {
			return Record{}, err
		}
	}
	if r.Rows, err = store.Events(ctx, s.j, key); err != nil {
		return Record{}, err
	}
	if len(r.Rows) == 0 && len(r.Approvals) == 0 {
		return Record{}, notFound(key)
	}
	x, err := s.rules(ctx, r.Approvals)
	if err != nil {
		return Record{}, err
	}
	r.Fold = graphsync.Fold(x, r.Rows)
	r.Gaps, err = s.gaps(ctx, key, r.Fold, liveRuns(r.Rows, s.now()))
	return r, err
}

// gaps says what is missing in the record of a session. live are the runs that may be under way.
func (s *journalSource) gaps(ctx context.Context, key record.Session, of *graphsync.Session, live []string) ([]string, error) {
	// After the rows: a removal during their reading shows there.
	losses, err := s.j.Losses(ctx, key)
	if err != nil {
		return nil, err
	}
	return append(graphsync.RunGaps(of.Runs(), live), store.LossSentences(losses)...), nil
}

// rules returns the rules that the latest approval of a session was asked under. Where there is none,
// or the journal does not have its rules, they are those that a program opened the journal with last.
func (s *journalSource) rules(ctx context.Context, approvals []safety.Approval) (*graphsync.Extractor, error) {
	digest := ""
	if len(approvals) > 0 {
		digest = approvals[len(approvals)-1].Receipt.Version
	}
	text, stored, err := s.j.Rules(ctx, digest)
	if err == nil && !stored && digest != "" {
		text, stored, err = s.j.Rules(ctx, "")
	}
	if err != nil || !stored {
		return nil, err
	}
	x, err := graphsync.ReadRules(text)
	if err != nil {
		return nil, fmt.Errorf("the rules in %s: %w", s.Name(), err)
	}
	return x, nil
}

// quiet is how long a run may go without a row before it is taken for one that ended
// without saying so.
const quiet = 10 * time.Minute

// liveRuns returns the runs that may still be under way.
func liveRuns(rows []record.Event, now time.Time) []string {
	return slices.Collect(maps.Keys(lastRows(rows, now)))
}

// lastRows returns the times of the last rows of the runs that may still be under way.
func lastRows(rows []record.Event, now time.Time) map[string]time.Time {
	latest := make(map[string]time.Time)
	for i := range rows {
		latest[rows[i].RunID] = time.UnixMicro(rows[i].Timestamp)
	}
	maps.DeleteFunc(latest, func(_ string, at time.Time) bool { return now.Sub(at) >= quiet })
	return latest
}
