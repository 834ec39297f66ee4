// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package bigquery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	bq "cloud.google.com/go/bigquery"

	"github.com/adk-contextgraph/contextgraph/bqstream/ask"
	"github.com/adk-contextgraph/contextgraph/graphsync"
	"github.com/adk-contextgraph/contextgraph/internal/inspect"
	"github.com/adk-contextgraph/contextgraph/record"
)

// featureInspect is the label of the jobs of people who look.
const featureInspect = "inspect"

// SourceOptions are those of [Dataset.Source].
type SourceOptions struct {
	// Extractor finds entities in the rows by its rules. Without one there are those that
	// tools declared and models found.
	Extractor *graphsync.Extractor
	// Since is how far back sessions are looked for: only rows of this time are read, but for
	// a session that has a graph, which is read from its first step, if that is not more than
	// 90 days earlier. Default [ask.DefaultSince].
	Since time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Source returns the sessions of the dataset as the journal's are: the same code makes the same
// of the same rows. There is no ledger in a dataset, so what it says of an approval is what the
// rows say: that a person resolved one that was in doubt is not among it. Each call is one to
// two queries over the days it looks at, which are billed; Records makes two for each 100 sessions.
func (d *Dataset) Source(o SourceOptions) inspect.Source {
	if o.Since <= 0 {
		o.Since = ask.DefaultSince
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &source{d: d, SourceOptions: o}
}

type source struct {
	SourceOptions
	d *Dataset
}

func (s *source) Name() string { return "dataset " + s.d.names.Project() + "." + s.d.names.Dataset() }

// window returns the time whose rows are read. Clocks of hosts differ.
func (s *source) window() (from, to time.Time) {
	now := s.Now().UTC()
	return now.Add(-s.Since), now.Add(skew)
}

func (s *source) Find(ctx context.Context, key record.Session) ([]record.Session, error) {
	if key.ID == "" {
		return nil, nil // an empty id would select all
	}
	from, to := s.window()
	found, err := s.d.FindSessions(ctx, key, from, to)
	var out []record.Session
	for _, f := range found {
		out = append(out, f.Session)
	}
	return out, err
}

func (s *source) Record(ctx context.Context, key record.Session) (inspect.Record, error) {
	for r, err := range s.Records(ctx, []record.Session{key}) {
		return r, err
	}
	return inspect.Record{}, fmt.Errorf("session %q of user %q in application %q within %v: %w", key.ID, key.User, key.App, s.Since, inspect.ErrNotFound)
}

// Records reads 100 sessions by two queries.
func (s *source) Records(ctx context.Context, keys []record.Session) iter.Seq2[inspect.Record, error] {
	return func(yield func(inspect.Record, error) bool) {
		for chunk := range slices.Chunk(keys, readAtOnce) {
			if err := s.records(ctx, chunk, yield); err != nil {
				if !errors.Is(err, errEnough) {
					yield(inspect.Record{}, err)
				}
				return
			}
		}
	}
}

func (s *source) records(ctx context.Context, keys []record.Session, yield func(inspect.Record, error) bool) error {
	from, to := s.window()
	known, err := s.d.KnownGraphs(ctx, keys, from)
	if err != nil {
		return err
	}
	for read, err := range s.d.ReadSessions(ctx, known.Spans(keys, from), to) {
		switch {
		case err != nil:
			return err
		case len(read.Rows) == 0:
			continue
		}
		folded := graphsync.Fold(s.Extractor, read.Rows)
		if !yield(inspect.Record{Session: read.Session, Rows: read.Rows, Fold: folded, Gaps: inspect.Gaps(folded)}, nil) {
			return errEnough
		}
	}
	return nil
}

// sourcePlace is a place in the list: behind this session, whose last row is of Last, in
// microseconds.
type sourcePlace struct {
	Last    int64          `json:"t"`
	Session record.Session `json:"s"`
}

// lastOfAll is behind no session.
const lastOfAll = 253402300799_000000 // the end of the year 9999, the latest that BigQuery knows

func (s *source) Sessions(ctx context.Context, q inspect.Query) (inspect.Page, error) {
	place := sourcePlace{Last: lastOfAll}
	if err := q.Check(); err != nil {
		return inspect.Page{}, err
	}
	if err := inspect.ReadCursor(q.After, &place); err != nil {
		return inspect.Page{}, err
	}
	selects := q.Search != "" || len(q.Status) > 0
	page := inspect.Page{Sessions: []inspect.Summary{}}
	for {
		size := q.Limit + 1 - len(page.Sessions)
		if selects {
			size = max(size, readAtOnce)
		}
		keys, err := s.list(ctx, q, place, size)
		if err != nil {
			return inspect.Page{}, err
		}
		lines, err := s.lines(ctx, q, keys)
		if err != nil {
			return inspect.Page{}, err
		}
		for _, k := range keys {
			line, ok := lines[k.Session]
			if ok {
				if len(page.Sessions) == q.Limit {
					page.Next, err = inspect.Cursor(place)
					return page, err
				}
				page.Sessions = append(page.Sessions, line)
			}
			place = sourcePlace{Last: k.Last.UnixMicro(), Session: k.Session}
		}
		if len(keys) < size {
			return page, nil
		}
	}
}

// list returns the keys of sessions behind a place.
func (s *source) list(ctx context.Context, q inspect.Query, place sourcePlace, limit int) ([]FoundSession, error) {
	from, to := s.window()
	if q.From.After(from) {
		from = q.From
	}
	endsFrom, endsBefore := q.From, q.To
	if endsBefore.IsZero() {
		endsBefore = time.UnixMicro(lastOfAll)
	}
	if endsFrom.IsZero() {
		endsFrom = from
	}
	return all(ctx, s.d, job{
		statement: "list_sessions", feature: featureInspect,
		params: []bq.QueryParameter{
			param("app", q.App), param("user", q.User), param("session", ""), param("from", from.UTC()), param("to", to.UTC()),
			param("ends_from", endsFrom.UTC()), param("ends_before", endsBefore.UTC()), param("last", time.UnixMicro(place.Last).UTC()),
			param("after_app", place.Session.App), param("after_user", place.Session.User), param("after_session", place.Session.ID),
			param("limit", int64(limit)),
		},
	}, foundOf)
}

// lines returns the lines of those of the sessions that the query selects.
func (s *source) lines(ctx context.Context, q inspect.Query, keys []FoundSession) (map[record.Session]inspect.Summary, error) {
	lines := make(map[record.Session]inspect.Summary, len(keys))
	if len(keys) == 0 {
		return lines, nil
	}
	var ids []string
	from, to := keys[0].First, keys[0].Last
	if start, _ := s.window(); q.From.After(start) {
		from = start // q bounds the end of a session; where it began is not among the keys then
	}
	for _, k := range keys {
		ids = append(ids, k.Session.ID)
		from, to = slices.MinFunc([]time.Time{from, k.First}, time.Time.Compare), slices.MaxFunc([]time.Time{to, k.Last}, time.Time.Compare)
	}
	slices.Sort(ids)
	of := make(map[record.Session][]record.Event)
	err := s.d.query(ctx, job{
		statement: "list_rows", feature: featureInspect,
		params: []bq.QueryParameter{param("sessions", slices.Compact(ids)), param("from", from), param("to", to)},
	}, func(r *row) error {
		e, err := eventOf(r)
		of[e.Session()] = append(of[e.Session()], e)
		return err
	})
	if err != nil {
		return nil, err
	}
	for key, rows := range of {
		inspect.Order(rows)
		if line := inspect.Summarize(key, rows, s.Now()); q.Selects(&line) {
			lines[key] = line
		}
	}
	return lines, nil
}
