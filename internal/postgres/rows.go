// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/plugin"
	"github.com/adk-contextgraph/contextgraph/record"
)

// The bounds of RowsAfter.
const (
	nextRows  = 500
	nextBytes = 4 << 20
)

// row is a row of select_events, with its number in the session.
type row struct {
	record.Event
	number int64
}

// scanRow reads a row of select_events, and what follows it into more.
func scanRow(r scanner, more ...any) (e row, err error) {
	var payload [4]string
	err = r.to(append([]any{&e.Seq, &e.RunSeq, &e.Timestamp, &e.IsTruncated, &e.RunID, &e.EventID, &e.EventType, &e.Agent, &e.InvocationID,
		&e.TraceID, &e.SpanID, &e.ParentSpanID, &e.Status, &e.ErrorMessage, &payload[0], &payload[1], &payload[2], &payload[3], &e.number}, more...)...)
	for i, to := range []*[]byte{&e.Content, &e.ContentParts, &e.Attributes, &e.LatencyMS} {
		if payload[i] != "" {
			*to = []byte(payload[i])
		}
	}
	return e, err
}

// scanNamed reads a row of select_row.
func scanNamed(r scanner) (record.Event, error) {
	var of record.Session
	e, err := scanRow(r, &of.App, &of.User, &of.ID)
	e.AppName, e.UserID, e.SessionID = of.App, of.User, of.ID
	return e.Event, err
}

// numbered reads a row of a session that the caller has, and rowOf the same without its number.
func numbered(s record.Session) func(scanner) (row, error) {
	return func(r scanner) (row, error) {
		e, err := scanRow(r)
		e.AppName, e.UserID, e.SessionID = s.App, s.User, s.ID
		return e, err
	}
}

func rowOf(s record.Session) func(scanner) (record.Event, error) {
	return func(r scanner) (record.Event, error) {
		e, err := numbered(s)(r)
		return e.Event, err
	}
}

func (s *db) RowsAfter(ctx context.Context, of record.Session, seq int64) ([]record.Event, error) {
	return read(ctx, s, "select_events", rowOf(of), keyOf(of), seq, nextRows, int64(nextBytes))
}

func (s *db) Outline(ctx context.Context, of record.Session) ([]record.Event, error) {
	return read(ctx, s, "select_outline", rowOf(of), keyOf(of))
}

func (s *db) Row(ctx context.Context, eventID string) (e record.Event, found bool, err error) {
	list, err := read(ctx, s, "select_row", scanNamed, digest(eventID))
	if len(list) == 0 {
		return e, false, err
	}
	return list[0], true, err
}

func (s *db) Stored(ctx context.Context, eventIDs ...string) (bool, error) {
	ids := make(map[string]bool)
	keys := [][]byte{}
	for _, id := range eventIDs {
		if !ids[id] {
			keys = append(keys, digest(id))
		}
		ids[id] = true
	}
	n, err := only(read(ctx, s, "select_stored", one[int64], keys))
	return err == nil && n == int64(len(keys)), err
}

// only returns the first of a list, or the zero value.
func only[T any](list []T, err error) (first T, _ error) {
	if len(list) > 0 {
		first = list[0]
	}
	return first, err
}

func scanSession(r scanner) (of record.Session, err error) {
	return of, r.to(&of.App, &of.User, &of.ID)
}

func (s *db) Children(ctx context.Context, of record.Session) ([]record.Child, error) {
	return read(ctx, s, "select_children", func(r scanner) (c record.Child, err error) {
		return c, r.to(&c.Session.App, &c.Session.User, &c.Session.ID, &c.Span, &c.Call)
	}, keyOf(of))
}

func (s *db) LastSeq(ctx context.Context) (int64, error) {
	return only(read(ctx, s, "select_last_seq", one[int64]))
}

func (s *db) Changes(ctx context.Context) (int64, error) {
	return only(read(ctx, s, "select_changes", one[int64]))
}

func (s *db) Losses(ctx context.Context, of record.Session) ([]store.Loss, error) {
	lost, err := read(ctx, s, "select_losses", func(r scanner) (l store.Loss, err error) {
		removed := false
		l.Cause = store.CauseDropped
		if err = r.to(&l.Run, &l.Rows, &removed); removed {
			l.Cause = store.CauseRemoved
		}
		return l, err
	}, keyOf(of))
	if err != nil {
		return nil, err
	}
	// Those that the database does not know yet.
	_, unsaved := s.queue.LostOf(of)
	for _, run := range slices.Sorted(maps.Keys(unsaved)) {
		i := slices.IndexFunc(lost, func(l store.Loss) bool { return l.Run == run && l.Cause == store.CauseDropped })
		if i < 0 {
			i, lost = len(lost), append(lost, store.Loss{Run: run, Cause: store.CauseDropped})
		}
		lost[i].Rows += int64(unsaved[run])
	}
	return lost, nil
}

// awaitRows is how long rows that another replica has are waited for, and awaitPause the time between two looks.
const (
	awaitRows  = 2 * time.Second
	awaitPause = 10 * time.Millisecond
)

// turns remembers for which runs rows were waited for, so that a run waits once for those that never come.
type turns struct {
	mu   sync.Mutex
	runs map[string]bool
}

// await waits for the ends of the turns that the history of ctx names: the replica that ran them may be about to store
// them. A turn without an end is a matter of the evidence.
func (s *db) await(ctx context.Context) {
	t := plugin.TurnsIn(ctx)
	names := slices.Clone(t.Earlier)
	if t.Continued {
		names = append(names, t.Invocation)
	}
	if len(names) == 0 || !s.waited.first(t.Run) {
		return
	}
	for end := time.Now().Add(awaitRows); time.Now().Before(end); time.Sleep(awaitPause) {
		missing, err := only(read(ctx, s, "select_unended", one[bool], keyOf(t.Session), names, t.Invocation))
		if err != nil || !missing {
			return
		}
	}
}

// first reports whether a run has not waited before.
func (w *turns) first(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil || len(w.runs) > 1<<12 {
		w.runs = make(map[string]bool)
	}
	waited := w.runs[run]
	w.runs[run] = true
	return !waited
}

func (s *db) Sessions(ctx context.Context, q store.Query) ([]store.Session, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !q.From.IsZero() {
		from = q.From.UnixMicro()
	}
	if !q.To.IsZero() {
		to = q.To.UnixMicro()
	}
	return read(ctx, s, "select_sessions", scanLine, q.App, q.User, q.ID, q.Prefix, from, to, cmp.Or(q.Before, math.MaxInt64),
		cmp.Or(q.Limit, store.DefaultLimit), q.Offset)
}

func (s *db) Session(ctx context.Context, of record.Session) (store.Session, bool, error) {
	l, err := only(read(ctx, s, "select_session", scanLine, keyOf(of)))
	return l, l.Events > 0, err
}

func scanLine(r scanner) (l store.Session, err error) {
	var first, last int64
	err = r.to(&l.Session.App, &l.Session.User, &l.Session.ID, &first, &last, &l.LastSeq, &l.Events, &l.Agents, &l.Approval)
	l.First, l.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
	slices.Sort(l.Agents)
	return l, err
}
