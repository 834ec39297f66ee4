// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// toldRows is how many rows people are told of that have to be read: that takes about a second.
	toldRows = 30_000
	// progress is how often people hear how many are read.
	progress = 5 * time.Second
	// keptAtOnce is how many summaries are stored in one transaction.
	keptAtOnce = 200
)

// more is what a session comes to beside the numbers of its summary.
type more struct {
	Requests []outcome `json:"requests,omitempty"`
	Verdicts []string  `json:"verdicts,omitempty"` // of its checks
	Gaps     []string  `json:"gaps,omitempty"`     // of its record, in words
}

// outcome is what came of one request to a human.
type outcome struct {
	Status Status    `json:"status"`
	At     time.Time `json:"at"`
	// WaitedMS is how long people were waited for; it grows while Waits.
	WaitedMS int64 `json:"waited_ms,omitempty"`
	Waits    bool  `json:"waits,omitempty"`
}

// KeepSummaries makes the summaries that a journal lacks, and keeps them in it. The source is one of
// [NewJournal].
func KeepSummaries(ctx context.Context, src Source, now time.Time) error {
	s := src.(*journalSource)
	v, err := s.look(ctx, now, func(*store.Summary) bool { return false })
	if err != nil {
		return err
	}
	var failed error
	err = v.fill(ctx, nil, func(string, ...any) {}, &failed)
	return cmp.Or(err, failed)
}

// view is one look at all sessions of a journal.
type view struct {
	s   *journalSource
	now time.Time
	// known are the sessions with a summary that holds now and is wanted, missing those without one.
	known, missing []store.Summary
}

// look reads the summaries that hold and are wanted.
func (s *journalSource) look(ctx context.Context, now time.Time, wanted func(*store.Summary) bool) (*view, error) {
	v := &view{s: s, now: now}
	err := s.j.Summaries(ctx, now, func(m *store.Summary) {
		switch {
		case !m.Known:
			v.missing = append(v.missing, *m)
		case wanted(m):
			v.known = append(v.known, *m)
		}
	})
	return v, err
}

// fill reads the sessions without a summary that q selects, and keeps what they come to. Nil selects
// all. unkept becomes the reason if they cannot be kept.
func (v *view) fill(ctx context.Context, q *Query, note func(format string, args ...any), unkept *error) error {
	missing := slices.DeleteFunc(v.missing, func(m store.Summary) bool { return !q.in(m.Session, m.LastTime) })
	rows := int64(0)
	for _, m := range missing {
		rows += m.Events
	}
	if rows >= toldRows {
		note("%d sessions with %d rows have no summary yet: reading them", len(missing), rows)
	}
	var unsaved []store.NewSummary
	keep := func() {
		if *unkept == nil && len(unsaved) > 0 {
			*unkept = v.s.j.KeepSummaries(ctx, unsaved)
		}
		unsaved = unsaved[:0]
	}
	read, told := int64(0), v.s.now()
	for _, m := range missing {
		made, found, err := v.s.entry(ctx, m, v.now)
		if err != nil {
			keep()
			return err
		}
		if found {
			v.known = append(v.known, made.Summary)
			unsaved = append(unsaved, made)
		}
		read += m.Events
		if len(unsaved) >= keptAtOnce {
			keep()
		}
		if at := v.s.now(); at.Sub(told) >= progress {
			note("%d of %d rows are read", read, rows)
			told = at
			keep()
		}
	}
	keep()
	return nil
}

// in reports whether a query selects a session by its application, its user and the time of its last
// row, in microseconds. Nil selects all.
func (q *Query) in(s record.Session, last int64) bool {
	return q == nil || (q.App == "" || s.App == q.App) && (q.User == "" || s.User == q.User) && q.during(time.UnixMicro(last))
}

// hits returns the sessions behind a place that a query may select, in their order.
func (s *journalSource) hits(ctx context.Context, q *Query, before int64) (hits []store.Summary, err error) {
	search := wordsOf(q.Search)
	v, err := s.look(ctx, s.now(), func(m *store.Summary) bool {
		return words(m.Words).mayContain(search) && q.wants(Status(m.Status))
	})
	if err != nil {
		return nil, err
	}
	hits = slices.DeleteFunc(append(v.known, v.missing...), func(m store.Summary) bool {
		return !q.in(m.Session, m.LastTime) || before > 0 && m.LastSeq >= before
	})
	slices.SortFunc(hits, func(a, b store.Summary) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	return hits, nil
}

// count is [Count] for a journal.
func (s *journalSource) count(ctx context.Context, q Query, now time.Time, note func(format string, args ...any)) (Totals, error) {
	v, err := s.look(ctx, now, func(m *store.Summary) bool { return q.in(m.Session, m.LastTime) })
	if err != nil {
		return Totals{}, err
	}
	var unkept error
	if err := v.fill(ctx, &q, note, &unkept); err != nil {
		return Totals{}, err
	}
	if unkept != nil {
		note("the rows are read each time, because what they come to cannot be kept: %v", unkept)
	}
	slices.SortFunc(v.known, func(a, b store.Summary) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	t := newTotals(s)
	for i := range v.known {
		k, also := &v.known[i], more{}
		if len(k.More) > 0 {
			if err := json.Unmarshal(k.More, &also); err != nil {
				return Totals{}, fmt.Errorf("the summary of session %s: %w", k.Session.ID, err)
			}
		}
		t.add(k, &also, now)
	}
	return t, nil
}

// entry reads what a session comes to; false if nothing is left of it.
func (s *journalSource) entry(ctx context.Context, m store.Summary, now time.Time) (made store.NewSummary, found bool, err error) {
	of, err := s.j.Stamp(ctx, m.Session)
	if err != nil {
		return made, false, err
	}
	l, found, err := s.j.Session(ctx, m.Session)
	if err != nil || !found {
		return made, false, err
	}
	stands, err := s.stand(ctx, []store.Session{l}, now)
	if err != nil {
		return made, false, err
	}
	rows, err := s.j.Outline(ctx, l.Session)
	if err != nil {
		return made, false, err
	}
	until := int64(math.MaxInt64)
	changes := func(at time.Time) { // what is said at this time may change after it
		if !at.Before(now) {
			until = min(until, at.UnixMicro())
		}
	}
	asked := stands[0].approvals
	if len(asked) > 0 {
		// Some checks stand in the ledger alone.
		full, ledger, err := s.asked(ctx, l.Session, now)
		if err != nil {
			return made, false, err
		}
		asked = full
		for i := range ledger { // also of a request whose rows say more than the ledger
			switch a := &ledger[i]; a.State {
			case safety.StatePending, safety.StateApproved, safety.StatePermitted:
				changes(a.ExpiresAt)
				changes(a.PermitExpiresAt)
			}
		}
		for i := range asked {
			if asked[i].Status.Open() {
				changes(asked[i].ExpiresAt)
			}
		}
	}
	var live []string
	for run, at := range lastRows(rows, now) {
		live = append(live, run)
		changes(at.Add(quiet))
	}
	gaps, err := s.gaps(ctx, l.Session, graphsync.Fold(nil, rows), live)
	if err != nil {
		return made, false, err
	}
	line, also := summarize(l.Session, decode(rows), asked), moreOf(asked, gaps)
	made = store.NewSummary{Summary: numbered(&line), Of: of, Until: time.UnixMicro(until)}
	made.Known, made.Status = true, string(stands[0].Status)
	made.LastSeq, made.LastTime, made.Events = m.LastSeq, m.LastTime, m.Events
	if len(also.Requests)+len(also.Verdicts)+len(also.Gaps) > 0 {
		if made.More, err = json.Marshal(also); err != nil {
			return made, false, fmt.Errorf("the summary of session %s: %w", l.Session.ID, err)
		}
	}
	made.Words = wordsOf(append([]string{l.Session.ID, l.Session.User, l.Session.App, stands[0].Title}, l.Agents...)...)
	return made, true, nil
}
