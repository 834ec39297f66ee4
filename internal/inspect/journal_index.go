// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/index"
	"github.com/adk-contextgraph/contextgraph/internal/journal"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

const (
	// indexedRows is of how many rows a journal without an index gets one: fewer are read in less than
	// a second.
	indexedRows = 10_000
	// toldRows is how many rows people are told of that have to be read.
	toldRows = 100_000
)

// UpdateIndex brings the index of a journal up to date, and makes one for a journal of many rows. It
// does nothing for another source.
func UpdateIndex(ctx context.Context, src Source, now time.Time) error {
	s, ok := src.(*journalSource)
	if !ok {
		return nil
	}
	v, err := s.look(ctx, now)
	if err != nil || !v.kept() {
		return err
	}
	if err := v.rest(ctx, nil, func(*tally) {}); err != nil {
		return err
	}
	return v.write()
}

// view is one look at all sessions of a journal.
type view struct {
	s     *journalSource
	now   time.Time
	marks journal.Marks
	// indexed says that there is an index. known are its entries that are true now, the newest session
	// first, and gone is how many are not.
	indexed bool
	known   []index.Entry
	gone    int
	// missing are the sessions that the index does not know, in the same order, with so many rows.
	missing []journal.Mark
	rows    int64
}

// look compares the index with the sessions. What is wrong with it is told: everything is on record in
// the journal too.
func (s *journalSource) look(ctx context.Context, now time.Time) (*view, error) {
	v := &view{s: s, now: now}
	x, err := index.Read(s.j)
	if v.indexed = err == nil; !v.indexed && !errors.Is(err, index.ErrNone) {
		s.note("%v; the rows are read instead", err)
	}
	if v.marks, err = s.j.Marks(ctx, x.Step); err != nil {
		return nil, err
	}
	if v.marks.LastStep < x.Step {
		x.Entries = nil // a ledger that lost steps is that of a copy of the journal
	}
	rest := v.marks.Sessions
	v.known = make([]index.Entry, 0, len(x.Entries))
	for _, e := range x.Entries {
		for len(rest) > 0 && rest[0].LastSeq > e.LastSeq {
			v.missing, rest = append(v.missing, rest[0]), rest[1:]
		}
		if len(rest) > 0 && rest[0] == e.Mark && !v.marks.Decided[e.LastSeq] && now.UnixMicro() < e.Until {
			v.known, rest = append(v.known, e), rest[1:]
		}
	}
	v.gone = len(x.Entries) - len(v.known)
	v.missing = append(v.missing, rest...)
	v.rows = eventsOf(v.missing)
	return v, nil
}

func eventsOf(marks []journal.Mark) (n int64) {
	for _, m := range marks {
		n += m.Events
	}
	return n
}

// kept reports whether what is read is worth an index.
func (v *view) kept() bool { return v.indexed || v.rows >= indexedRows }

// rest calls fn with what each session comes to that is not in the index and that q selects; nil
// selects all. If that is worth it, it reads all of them, for [view.write].
func (v *view) rest(ctx context.Context, q *Query, fn func(*tally)) error {
	if v.kept() && v.rows >= toldRows {
		v.s.note("the index lacks %d sessions with %d rows: they are read now, and not again", len(v.missing), v.rows)
	}
	read, told := int64(0), int64(1)
	for i, m := range v.missing {
		l, found, err := v.s.j.SessionOf(ctx, m.LastSeq)
		if err != nil {
			return err
		}
		if wanted := q.in(l.Session, l.Last); found && (wanted || v.kept()) {
			one, e, err := v.s.tally(ctx, m, l, v.now)
			if err != nil {
				return err
			}
			if wanted {
				fn(&one)
			}
			v.known = append(v.known, e)
		}
		read += m.Events
		if last := i == len(v.missing)-1; !last && v.rows >= toldRows && read*tenths >= told*v.rows {
			v.s.note("%d of %d rows are read", read, v.rows)
			_ = v.write() // for who has no time for the rest
			told = read*tenths/v.rows + 1
		}
	}
	return nil
}

// tenths is how often people hear of rows that are read.
const tenths = 10

// write writes the index, if that is worth it and something changed.
func (v *view) write() error {
	if !v.kept() || len(v.missing)+v.gone == 0 {
		return nil
	}
	slices.SortFunc(v.known, func(a, b index.Entry) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	if err := index.Write(v.s.j, index.Index{Step: v.marks.LastStep, Entries: v.known}); err != nil {
		return fmt.Errorf("the index cannot be written, so that the rows are read each time: %w", err)
	}
	return nil
}

// in reports whether a query selects a session by its application, its user and the time of its last
// row. Nil selects all.
func (q *Query) in(s record.Session, last time.Time) bool {
	return q == nil || (q.App == "" || s.App == q.App) && (q.User == "" || s.User == q.User) && q.during(last)
}

// hits returns the numbers of the sessions behind a place that a query may select, in their order.
// They are not known if there is no index.
func (s *journalSource) hits(ctx context.Context, q *Query, before int64) (hits []int64, isKnown bool, err error) {
	v, err := s.look(ctx, s.now())
	if err != nil || !v.indexed {
		return nil, false, err
	}
	words := index.WordsOf(q.Search)
	for i := range v.known {
		e := &v.known[i]
		if q.in(e.Session, time.UnixMicro(e.LastTime)) && e.Words.MayContain(words) && q.wants(Status(e.Status)) {
			hits = append(hits, e.LastSeq)
		}
	}
	for _, m := range v.missing {
		hits = append(hits, m.LastSeq)
	}
	if v.rows >= toldRows {
		s.note(`the index lacks %d sessions, which are looked through: "contextgraph stats" brings it up to date`, len(v.missing))
	}
	slices.SortFunc(hits, func(a, b int64) int { return cmp.Compare(b, a) })
	if before > 0 {
		hits = slices.DeleteFunc(hits, func(seq int64) bool { return seq >= before })
	}
	return hits, true, nil
}

// count implements [counter].
func (s *journalSource) count(ctx context.Context, q Query, now time.Time) (Totals, error) {
	v, err := s.look(ctx, now)
	if err != nil {
		return Totals{}, err
	}
	type incomplete struct {
		place int64
		Incomplete
	}
	t, lacking := newTotals(s), []incomplete(nil)
	add := func(one *tally) {
		t.add(one, now)
		if len(one.Gaps) > 0 {
			lacking = append(lacking, incomplete{one.place, Incomplete{one.session, one.Gaps}})
		}
	}
	for i := range v.known {
		if e := &v.known[i]; q.in(e.Session, time.UnixMicro(e.LastTime)) {
			one := ofEntry(e)
			add(&one)
		}
	}
	if err := v.rest(ctx, &q, add); err != nil {
		return Totals{}, err
	}
	if err := v.write(); err != nil {
		s.note("%v", err)
	}
	slices.SortStableFunc(lacking, func(a, b incomplete) int { return cmp.Compare(b.place, a.place) })
	for i := range lacking {
		t.Incomplete[i] = lacking[i].Incomplete
	}
	return t, nil
}

// tally reads what a session comes to. The entry has the mark that the session had before.
func (s *journalSource) tally(ctx context.Context, m journal.Mark, l journal.SessionSummary, now time.Time) (tally, index.Entry, error) {
	fail := func(err error) (tally, index.Entry, error) { return tally{}, index.Entry{}, err }
	stands, err := s.stand(ctx, []placed{{l, m.LastSeq}}, now)
	if err != nil {
		return fail(err)
	}
	rows, err := s.j.Outline(ctx, l.Session)
	if err != nil {
		return fail(err)
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
			return fail(err)
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
	gaps, err := s.j.Gaps(ctx, l.Session, live)
	if err != nil {
		return fail(err)
	}
	line := summarize(l.Session, decode(rows), asked)
	one := tallyOf(&line, asked, gaps)
	one.place = m.LastSeq
	e := index.Entry{
		Mark: m, Until: until, Session: l.Session, Status: string(line.Status),
		Words: index.WordsOf(append([]string{l.Session.ID, l.Session.User, l.Session.App, stands[0].Title}, l.Agents...)...),
		Start: micros(line.Start), End: micros(line.End), Errors: int64(line.Errors), Turns: int64(line.Turns),
		Prompt: line.Tokens.Prompt, Completion: line.Tokens.Completion, Total: line.Tokens.Total,
	}
	if len(one.Requests)+len(one.Gaps) > 0 {
		text, err := json.Marshal(one.detail)
		if err != nil {
			return fail(err)
		}
		e.Detail = string(text)
	}
	return one, e, nil
}

// ofEntry returns what an entry says.
func ofEntry(e *index.Entry) tally {
	t := tally{
		place: e.LastSeq, session: e.Session, events: int(e.Events), errors: int(e.Errors), turns: int(e.Turns),
		start: ofMicros(e.Start), end: ofMicros(e.End), tokens: Tokens{e.Prompt, e.Completion, e.Total},
	}
	unmarshal([]byte(e.Detail), &t.detail)
	return t
}

// micros returns a time of a summary in microseconds, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func ofMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
