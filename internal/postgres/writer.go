// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

const (
	// minBackoff and maxBackoff bound the pause after a failed commit.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
	// knownSessions bounds how many sessions are known to be there.
	knownSessions = 1 << 16
)

// writer is the state of the goroutine that stores rows. The fields from known on are its own.
type writer struct {
	flushes chan chan error
	mu      sync.Mutex
	stats   store.Stats // but for those of the queue

	known   map[string]struct{} // the keys of sessions that are there
	taken   []*queue.Segment    // from the queue, and not stored
	losses  []queue.Loss
	backoff time.Duration
}

func (s *db) Append(e record.Event) bool { return s.queue.Put(&e) }

// Waiting cannot tell what other replicas have.
func (s *db) Waiting(record.Session) ([]record.Event, bool) { return nil, false }

// Flush commits what waits. Of the turns that the history of ctx names, it also waits for the rows that another replica
// is about to store.
func (s *db) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case s.flushes <- done:
	case <-s.closing:
		return fmt.Errorf("postgres: flush: %w", store.ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("postgres: flush: %w", context.Cause(ctx))
	}
	select {
	case err := <-done:
		if err == nil {
			s.await(ctx)
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("postgres: flush: %w", context.Cause(ctx))
	}
}

func (s *db) Commit(ctx context.Context, eventID string) error {
	err := s.Flush(ctx)
	if err != nil {
		return err
	}
	stored, err := s.Stored(ctx, eventID)
	if err == nil && !stored {
		err = errors.New("postgres: the row was dropped because the queue was full, or the database refused it; " +
			"Stats and the log say which")
	}
	return err
}

func (s *db) Stats() store.Stats {
	s.mu.Lock()
	out := s.stats
	s.mu.Unlock()
	s.queue.Count(&out)
	return out
}

// note changes the statistics.
func (s *db) note(change func(*store.Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// write is the goroutine that stores rows.
func (s *db) write(interval time.Duration) {
	timer := time.NewTimer(interval)
	timer.Stop()
	armed := false
	for {
		select {
		case <-s.queue.Wake():
			rows, complete := s.queue.Pending()
			if rows == 0 || s.backoff > 0 {
				continue
			}
			if !complete {
				if !armed {
					timer.Reset(interval)
					armed = true
				}
				continue
			}
			_ = s.commit() // it is tried again
		case <-timer.C:
			_ = s.commit()
		case done := <-s.flushes:
			done <- s.commit()
		case <-s.closing:
			timer.Stop()
			s.finish()
			s.end()
			return
		}
		timer.Stop()
		if armed = s.backoff > 0; armed {
			timer.Reset(s.backoff)
		} else if rows, _ := s.queue.Pending(); rows > 0 {
			s.queue.Signal()
		}
	}
}

// finish stores what is left, until the time of Close is up.
func (s *db) finish() {
	err := s.commit()
	for err != nil && s.hurry.Err() == nil {
		select {
		case <-time.After(s.backoff):
		case <-s.hurry.Done():
		}
		err = s.commit()
	}
	if err == nil {
		return
	}
	lost := 0
	for len(s.taken) > 0 {
		lost += s.queue.Abandon(s.taken, store.LostUnwritten)
		s.taken = s.queue.Take(s.taken[:0])
	}
	s.err = fmt.Errorf("postgres: close: %d rows were not written: %w: %w", lost, context.Cause(s.hurry), err)
}

// commit stores all rows that waited when it was called, and the known losses. If that fails, the rows stay first in
// line.
func (s *db) commit() error {
	left, _ := s.queue.Pending()
	for unsaved := s.queue.UnsavedLosses(); left > 0 || unsaved > 0; {
		if len(s.taken) == 0 {
			s.taken = s.queue.Take(s.taken)
		}
		s.losses = s.queue.SomeUnsaved(s.losses[:0])
		if len(s.taken)+len(s.losses) == 0 {
			break // dropped meanwhile
		}
		var rows []*record.Event
		for _, seg := range s.taken {
			left -= seg.Len()
			for i := range seg.Live() {
				rows = append(rows, &seg.Live()[i])
			}
		}
		unsaved -= len(s.losses)
		var res queue.Result
		err := s.store(rows, &res)
		if err == nil {
			err = s.saveLosses()
		}
		if err != nil {
			err = fmt.Errorf("postgres: store rows: %w", err)
			s.failed(err)
			return err
		}
		s.succeeded(res)
		s.queue.Saved(s.losses)
		s.queue.Release(s.taken, res)
		clear(s.taken)
		s.taken = s.taken[:0]
		if res.Stored > 0 {
			s.listeners.Tell()
		}
	}
	return nil
}

// failed notes that rows cannot be stored, and chooses the pause before the next attempt.
func (s *db) failed(err error) {
	first := false
	s.note(func(st *store.Stats) {
		if first = st.FailingSince.IsZero(); first {
			st.FailingSince = s.now()
		}
		st.LastError = err
	})
	if first {
		s.log.Error("contextgraph: rows cannot be stored; they are kept and tried again", "error", err)
	}
	s.backoff = min(max(minBackoff, 2*s.backoff), maxBackoff)
}

func (s *db) succeeded(res queue.Result) {
	s.backoff = 0
	s.note(func(st *store.Stats) {
		st.Transactions++
		st.Synced++
		st.LastError, st.FailingSince = nil, time.Time{}
	})
	for _, err := range res.Errors {
		s.log.Error("contextgraph: a row was refused and is lost", "error", err)
	}
}

// store stores rows. It finds a row that the database refuses by halving. It may be called again with the same rows,
// whatever became of the first attempt: the rows that stand then are duplicates.
func (s *db) store(rows []*record.Event, res *queue.Result) error {
	if len(rows) == 0 {
		return nil
	}
	stored, err := s.insert(rows)
	switch {
	case err == nil:
		res.Stored += uint64(stored)
		res.Duplicates += uint64(len(rows)) - uint64(stored)
		return nil
	case !refused(err):
		return err
	case len(rows) == 1:
		res.Rejected = append(res.Rejected, rows[0])
		res.Errors = append(res.Errors, fmt.Errorf("row %s of session %s: %w", rows[0].EventID, rows[0].SessionID, err))
		return nil
	}
	half := len(rows) / 2
	return errors.Join(s.store(rows[:half], res), s.store(rows[half:], res))
}

// refused reports whether an error is about what a row holds. Everything else may be over the next time.
func refused(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || failed.Code == "23505" { // another session got the row at the same time
		return false
	}
	return slices.Contains([]string{"22", "23", "54", "P0"}, failed.Code[:2])
}

// sessionsOf are the sessions of a group, each once.
type sessionsOf struct {
	keys           [][]byte
	app, user, ids []string
}

func (l *sessionsOf) add(s record.Session, key []byte) {
	l.keys, l.app, l.user, l.ids = append(l.keys, key), append(l.app, s.App), append(l.user, s.User), append(l.ids, s.ID)
}

// insert stores rows in one transaction, and returns how many of them did not stand.
func (s *db) insert(rows []*record.Event) (stored int64, err error) {
	if len(s.known) > knownSessions {
		clear(s.known)
	}
	var missing sessionsOf
	found := make(map[string]struct{})
	key := func(of record.Session) []byte {
		k := keyOf(of)
		_, known := s.known[string(k)]
		if _, noted := found[string(k)]; !known && !noted {
			missing.add(of, k)
		}
		found[string(k)] = struct{}{}
		return k
	}
	var g group
	var kids children
	seen := make(map[string]bool, len(rows))
	lock := make(map[string][]byte)
	for _, e := range rows {
		id := digest(e.EventID)
		if seen[string(id)] {
			continue
		}
		seen[string(id)] = true
		k := key(e.Session())
		lock[string(k)] = k
		g.add(e, k, id)
		if parent, child, is := schema.Nested(e); is {
			kids.add(key(parent), key(child.Session), child)
		}
	}
	ctx, cancel := context.WithTimeout(s.hurry, statementTime)
	defer cancel()
	var b pgx.Batch // one round trip, and one transaction
	b.Queue(statement("bound_rows"))
	if len(missing.keys) > 0 {
		b.Queue(statement("insert_sessions"), texts([]any{missing.keys, missing.app, missing.user, missing.ids})...)
	}
	b.Queue(statement("lock_sessions"), slices.Collect(maps.Values(lock)))
	b.Queue(statement("insert_rows"), g.args()...).QueryRow(func(row pgx.Row) error { return row.Scan(&stored) })
	if len(kids.spans) > 0 {
		b.Queue(statement("insert_children"), texts([]any{kids.parents, kids.children, kids.keys, kids.spans, kids.calls})...)
	}
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	maps.Copy(s.known, found)
	return stored, nil
}

// group has the columns of rows.
type group struct {
	sessions, keys [][]byte
	runSeq, at     []int64
	truncated      []bool
	texts          [14][]string
}

func (g *group) add(e *record.Event, session, key []byte) {
	g.sessions, g.keys = append(g.sessions, session), append(g.keys, key)
	g.runSeq, g.at, g.truncated = append(g.runSeq, e.RunSeq), append(g.at, e.Timestamp), append(g.truncated, e.IsTruncated)
	for i, text := range [...]string{
		e.RunID, e.EventID, e.EventType, e.Agent, e.InvocationID, e.TraceID, e.SpanID, e.ParentSpanID, e.Status, e.ErrorMessage,
		string(e.Content), string(e.ContentParts), string(e.Attributes), string(e.LatencyMS),
	} {
		g.texts[i] = append(g.texts[i], text)
	}
}

func (g *group) args() []any {
	args := []any{g.sessions, g.keys, g.runSeq, g.at, g.truncated}
	for _, column := range g.texts {
		args = append(args, column)
	}
	return texts(args)
}

// children are links from sessions to those of agents that ran as tools.
type children struct {
	parents, children, keys [][]byte
	spans, calls            []string
}

func (c *children) add(parent, child []byte, link record.Child) {
	c.parents, c.children, c.keys = append(c.parents, parent), append(c.children, child), append(c.keys, digest(link.Span))
	c.spans, c.calls = append(c.spans, link.Span), append(c.calls, link.Call)
}

// saveLosses stores the known losses. If nobody knows what became of the first attempt, they count twice.
func (s *db) saveLosses() error {
	if len(s.losses) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.hurry, statementTime)
	defer cancel()
	var of sessionsOf
	var b, counts pgx.Batch
	for _, l := range s.losses {
		key := keyOf(l.Session)
		of.add(l.Session, key)
		counts.Queue(statement("add_lost_rows"), texts([]any{key, digest(l.Run), l.Run, l.Rows, store.LossRuns, digest("")})...)
	}
	b.Queue(statement("bound_rows"))
	b.Queue(statement("insert_sessions"), texts([]any{of.keys, of.app, of.user, of.ids})...)
	b.Queue(statement("lock_sessions"), of.keys)
	b.QueuedQueries = append(b.QueuedQueries, counts.QueuedQueries...)
	return s.pool.SendBatch(ctx, &b).Close()
}
