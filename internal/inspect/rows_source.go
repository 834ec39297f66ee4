// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/record"
)

// RowsOption changes what [NewRows] makes of rows.
type RowsOption func(*rowsSource)

// WithExtractor finds entities in the rows by its rules too, and not only those that
// tools declared.
func WithExtractor(x *graphsync.Extractor) RowsOption {
	return func(s *rowsSource) { s.extractor = x }
}

// WithClock makes facts that depend on the time, such as the wait of an open request, those of another
// clock than [time.Now].
func WithClock(now func() time.Time) RowsOption {
	return func(s *rowsSource) { s.now = now }
}

// NewRows returns the sessions in rows that no store holds, such as the rows of a file. name
// describes them for people. They may be in any order, and must not change.
func NewRows(name string, rows []record.Event, opts ...RowsOption) Source {
	s := &rowsSource{name: name, of: make(map[record.Session]*rowsSession), now: time.Now}
	for _, opt := range opts {
		opt(s)
	}
	for i := range rows {
		key := rows[i].Session()
		of := s.of[key]
		if of == nil {
			of = &rowsSession{key: key}
			s.of[key] = of
			s.list = append(s.list, of)
		}
		of.rows = append(of.rows, rows[i])
		of.last = max(of.last, rows[i].Timestamp)
	}
	for _, of := range s.list {
		of.order(s.now())
	}
	slices.SortFunc(s.list, func(a, b *rowsSession) int { return compare(b.place(), a.place()) })
	return s
}

type rowsSource struct {
	name      string
	extractor *graphsync.Extractor
	of        map[record.Session]*rowsSession
	list      []*rowsSession // the one with the newest row first
	now       func() time.Time
}

// rowsSession is one session.
type rowsSession struct {
	key  record.Session
	rows []record.Event
	last int64

	mu      sync.Mutex
	summary Summary
	// until is the last moment for which the summary is true: an open request waits longer after it,
	// or expires. Zero is for ever.
	until time.Time
}

// order brings the rows into order, and makes the line of the session.
func (of *rowsSession) order(now time.Time) {
	if !slices.ContainsFunc(of.rows, func(e record.Event) bool { return e.Seq != 0 }) {
		slices.SortStableFunc(of.rows, func(a, b record.Event) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
		Order(of.rows)
	}
	of.rows = graphsync.InOrder(of.rows)
	of.summarize(now)
}

func (of *rowsSession) summarize(now time.Time) {
	rows := decode(of.rows)
	asked := approvalsOf(rows, nil, now)
	of.summary, of.until = summarize(of.key, rows, asked), time.Time{}
	if slices.ContainsFunc(asked, func(a Approval) bool { return a.Status.Open() }) {
		of.until = now
	}
}

// at returns the line of the session as of now.
func (of *rowsSession) at(now time.Time) Summary {
	of.mu.Lock()
	defer of.mu.Unlock()
	if past(of.until, now) {
		of.summarize(now)
	}
	return of.summary
}

// rowsPlace is a place in a list of sessions: behind this one.
type rowsPlace struct {
	Last    int64          `json:"t"`
	Session record.Session `json:"s"`
}

func (of *rowsSession) place() rowsPlace { return rowsPlace{of.last, of.key} }

func compare(a, b rowsPlace) int {
	return cmp.Or(cmp.Compare(a.Last, b.Last), strings.Compare(a.Session.App, b.Session.App),
		strings.Compare(a.Session.User, b.Session.User), strings.Compare(a.Session.ID, b.Session.ID))
}

func (s *rowsSource) Name() string { return s.name }

func (s *rowsSource) Find(_ context.Context, key record.Session) ([]record.Session, error) {
	var out []record.Session
	for _, of := range s.list {
		if (key.App == "" || of.key.App == key.App) && (key.User == "" || of.key.User == key.User) {
			out = append(out, of.key)
		}
	}
	return NamedSessions(out, key.ID), nil
}

// Waiting implements [Waiter].
func (s *rowsSource) Waiting(_ context.Context, _ time.Time, limit int) ([]record.Session, error) {
	var out []record.Session
	for _, of := range s.list {
		if len(out) < limit && slices.ContainsFunc(of.rows, func(e record.Event) bool { return e.EventType == record.HITLConfirmationRequest }) {
			out = append(out, of.key)
		}
	}
	return out, nil
}

func (s *rowsSource) Record(_ context.Context, key record.Session) (Record, error) {
	of := s.of[key]
	if of == nil {
		return Record{}, notFound(key)
	}
	folded := graphsync.Fold(s.extractor, of.rows)
	return Record{Session: key, Rows: of.rows, Fold: folded, Gaps: Gaps(folded)}, nil
}

func (s *rowsSource) Sessions(ctx context.Context, q Query) (Page, error) {
	if err := q.Check(); err != nil {
		return Page{}, err
	}
	var after *rowsPlace
	if err := ReadCursor(q.After, &after); err != nil {
		return Page{}, err
	}
	page, now := Page{Sessions: []Summary{}}, s.now()
	var last rowsPlace
	for _, of := range s.list {
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
		if after != nil && compare(of.place(), *after) >= 0 ||
			q.App != "" && of.key.App != q.App || q.User != "" && of.key.User != q.User {
			continue
		}
		line := of.at(now)
		if !q.during(line.End) || !q.Selects(&line) {
			continue
		}
		if len(page.Sessions) == q.Limit {
			var err error
			page.Next, err = Cursor(last)
			return page, err
		}
		page.Sessions = append(page.Sessions, line)
		last = of.place()
	}
	return page, nil
}

// Gaps says in words what the numbers of rows within their runs show to be missing. Rows
// of other recorders have no such numbers, and no gaps that anyone knows of. Rows alone do not tell
// whether a run without an end is under way.
func Gaps(of *graphsync.Session) []string {
	var live []string
	for _, r := range of.Runs() {
		live = append(live, r.ID)
	}
	return graphsync.RunGaps(of.Runs(), live)
}
