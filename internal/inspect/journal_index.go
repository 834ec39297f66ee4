// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/index"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// indexedRows is of how many rows a journal without an index gets one: fewer are read in half a
	// second.
	indexedRows = 10_000
	// toldRows is how many rows people are told of that have to be read: that takes about a second.
	toldRows = 30_000
	// progress is how often people hear how many are read.
	progress = 5 * time.Second
)

// UpdateIndex brings the index of a journal up to date, and makes one for a journal of many rows. The
// source is one of [NewJournal].
func UpdateIndex(ctx context.Context, src Source, now time.Time) error {
	s := src.(*journalSource)
	v, err := s.look(ctx, now)
	if err != nil || !v.kept {
		return err
	}
	if err := v.fill(ctx, nil, func(string, ...any) {}); err != nil {
		return err
	}
	return v.write(ctx)
}

// view is one look at all sessions of a journal.
type view struct {
	s   *journalSource
	now time.Time
	// known are the sessions with an entry that is true now, missing the others, which have so many
	// rows.
	known   []indexed
	missing []journal.MarkedSession
	rows    int64
	step    int64 // the last one of the ledger
	// usable says that there is an index that can be used, kept that there is or should be a file, and
	// changed that it says something else than known.
	usable, kept, changed bool
}

// indexed is a session with its entry.
type indexed struct {
	record.Session
	*index.Entry
}

// look compares the index with the sessions.
func (s *journalSource) look(ctx context.Context, now time.Time) (*view, error) {
	x, err := index.Read(s.j.Path(), s.j.ID())
	v := &view{s: s, now: now, usable: err == nil, kept: !errors.Is(err, fs.ErrNotExist)}
	v.known = make([]indexed, 0, len(x.Entries))
	v.step, err = s.j.Marks(ctx, x.Step, func(m journal.MarkedSession, touched bool) {
		if e := x.Entry(m.LastSeq); e != nil && e.Mark == m.Mark && !touched && now.UnixMicro() < e.Until {
			v.known = append(v.known, indexed{m.Session, e})
			return
		}
		v.missing = append(v.missing, m)
		v.rows += m.Events
	})
	v.changed = !v.usable || len(v.missing) > 0 || len(v.known) < len(x.Entries)
	v.kept = v.kept || v.rows >= indexedRows
	return v, err
}

// fill reads the sessions that the index lacks; if it is not kept, only those that q selects. Nil
// selects all.
func (v *view) fill(ctx context.Context, q *Query, note func(format string, args ...any)) error {
	if v.kept && v.rows >= toldRows {
		note("%d sessions with %d rows are not in the index yet: reading them", len(v.missing), v.rows)
	}
	read, told := int64(0), v.s.now()
	for _, m := range v.missing {
		if !v.kept && !q.in(m.Session, m.LastTime) {
			continue
		}
		e, err := v.s.entry(ctx, m, v.now)
		if err != nil {
			return err
		}
		if e != nil {
			v.known = append(v.known, indexed{m.Session, e})
		}
		read += m.Events
		if at := v.s.now(); v.kept && at.Sub(told) >= progress {
			note("%d of %d rows are read", read, v.rows)
			told = at
			_ = v.write(ctx) // for who has no time for the rest
		}
	}
	return nil
}

// write writes the index, if something in it changed.
func (v *view) write(ctx context.Context) error {
	slices.SortFunc(v.known, func(a, b indexed) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	if !v.kept || !v.changed {
		return nil
	}
	x := index.Index{Step: v.step}
	for _, k := range v.known {
		x.Entries = append(x.Entries, k.Entry)
	}
	err := index.Write(v.s.j.Path(), v.s.j.ID(), x)
	switch {
	case errors.Is(err, index.ErrBusy):
		return nil // another process writes what it read; the next look reads what is lacking then
	case err != nil:
		return fmt.Errorf("the index cannot be written, so the rows are read each time: %w", err)
	}
	return v.s.j.PruneIndex(ctx)
}

// in reports whether a query selects a session by its application, its user and the time of its last
// row, in microseconds. Nil selects all.
func (q *Query) in(s record.Session, last int64) bool {
	return q == nil || (q.App == "" || s.App == q.App) && (q.User == "" || s.User == q.User) && q.during(time.UnixMicro(last))
}

// hits returns the sessions behind a place that a query may select, in their order. They are not known
// if there is no index that can be used.
func (s *journalSource) hits(ctx context.Context, q *Query, before int64) (hits []journal.MarkedSession, known bool, err error) {
	v, err := s.look(ctx, s.now())
	if err != nil || !v.usable {
		return nil, false, err
	}
	words := index.WordsOf(q.Search)
	for _, k := range v.known {
		if k.Words.MayContain(words) && q.wants(Status(k.Status)) {
			hits = append(hits, journal.MarkedSession{Session: k.Session, Mark: k.Mark})
		}
	}
	hits = slices.DeleteFunc(append(hits, v.missing...), func(m journal.MarkedSession) bool {
		return !q.in(m.Session, m.LastTime) || before > 0 && m.LastSeq >= before
	})
	slices.SortFunc(hits, func(a, b journal.MarkedSession) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	return hits, true, nil
}

// count is [Count] for a journal.
func (s *journalSource) count(ctx context.Context, q Query, now time.Time, note func(format string, args ...any)) (Totals, error) {
	v, err := s.look(ctx, now)
	if err != nil {
		return Totals{}, err
	}
	if err := v.fill(ctx, &q, note); err != nil {
		return Totals{}, err
	}
	if err := v.write(ctx); err != nil {
		note("%v", err)
	}
	t := newTotals(s)
	for _, k := range v.known {
		if q.in(k.Session, k.LastTime) {
			t.add(k.Session, k.Entry, now)
		}
	}
	return t, nil
}

// entry reads what a session comes to; nil if nothing is left of it. The entry has the mark that the
// session had before.
func (s *journalSource) entry(ctx context.Context, m journal.MarkedSession, now time.Time) (*index.Entry, error) {
	l, found, err := s.j.Session(ctx, m.Session)
	if err != nil || !found {
		return nil, err
	}
	stands, err := s.stand(ctx, []journal.SessionSummary{l}, now)
	if err != nil {
		return nil, err
	}
	rows, err := s.j.Outline(ctx, l.Session)
	if err != nil {
		return nil, err
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
			return nil, err
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
		return nil, err
	}
	line := summarize(l.Session, decode(rows), asked)
	e := entryOf(&line, asked, gaps)
	e.Mark, e.Until, e.Status = m.Mark, until, string(stands[0].Status)
	e.Words = index.WordsOf(append([]string{l.Session.ID, l.Session.User, l.Session.App, stands[0].Title}, l.Agents...)...)
	return e, nil
}
