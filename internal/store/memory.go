// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Memory is what stores in memory have. It is for tests: nothing of it outlives the process. Each
// [Memory.Open] is as another process with the same file. The zero value is empty and ready.
type Memory struct {
	ledger MemoryLedger

	mu        sync.Mutex
	secret    [sha256.Size]byte
	rows      []record.Event // Seq is the place, from 1 on
	byID      map[string]int
	sessions  map[record.Session][]int
	summaries map[record.Session]NewSummary
	rules     []rules // the newest last
}

type rules struct {
	digest string
	text   []byte
}

// Open returns a store over m.
func (m *Memory) Open() Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID, m.sessions = make(map[string]int), make(map[record.Session][]int)
		m.summaries = make(map[record.Session]NewSummary)
		_, _ = rand.Read(m.secret[:]) // it never fails
	}
	return &memory{m: m, stats: Stats{Lost: make(map[LossReason]uint64)}}
}

// memory is an open store in memory. What is appended is committed at once.
type memory struct {
	m      *Memory
	stats  Stats // guarded by m.mu, as closed is
	closed bool
}

func (s *memory) Name() string   { return "memory" }
func (s *memory) Secret() []byte { return slices.Clone(s.m.secret[:]) }

// use takes the lock for a method that returns an error; done gives it back.
func (s *memory) use(ctx context.Context) (done func(), err error) {
	s.m.mu.Lock()
	switch {
	case s.closed:
		err = ErrClosed
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if err != nil {
		s.m.mu.Unlock()
		return nil, err
	}
	return s.m.mu.Unlock, nil
}

func (s *memory) Append(e record.Event) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	switch {
	case s.closed:
		s.stats.Lost[LostClosed]++
		return false
	case e.EventID == "" || e.EventType == "" || e.Status == "":
		s.stats.Lost[LostInvalid]++
		return false
	}
	s.stats.Accepted++
	s.put(e)
	return true
}

// put stores a row unless it is stored. Like a file it keeps no more of the row than the columns have.
func (s *memory) put(e record.Event) {
	if _, stored := s.m.byID[e.EventID]; stored {
		s.stats.Duplicates++
		return
	}
	e.Seq = int64(len(s.m.rows)) + 1
	s.m.byID[e.EventID] = len(s.m.rows)
	s.m.sessions[e.Session()] = append(s.m.sessions[e.Session()], len(s.m.rows))
	s.m.rows = append(s.m.rows, e)
	s.stats.Stored++
}

func (s *memory) Flush(ctx context.Context) error {
	done, err := s.use(ctx)
	if err == nil {
		done()
	}
	return err
}

func (s *memory) Commit(ctx context.Context, eventID string) error {
	stored, err := s.Stored(ctx, eventID)
	if err == nil && !stored {
		err = errNotStored
	}
	return err
}

func (s *memory) Import(ctx context.Context, rows []record.Event) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, e := range rows {
		s.stats.Accepted++
		s.put(e)
	}
	return nil
}

// of returns the rows of a session that want selects.
func (s *memory) of(ctx context.Context, of record.Session, want func(*record.Event) bool) ([]record.Event, error) {
	done, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []record.Event
	for _, i := range s.m.sessions[of] {
		if want(&s.m.rows[i]) {
			out = append(out, s.m.rows[i])
		}
	}
	return out, nil
}

func (s *memory) RowsAfter(ctx context.Context, of record.Session, seq int64) ([]record.Event, error) {
	return s.of(ctx, of, func(e *record.Event) bool { return e.Seq > seq })
}

func (s *memory) Outline(ctx context.Context, of record.Session) ([]record.Event, error) {
	return s.RowsAfter(ctx, of, 0)
}

func (s *memory) Row(ctx context.Context, eventID string) (record.Event, bool, error) {
	done, err := s.use(ctx)
	if err != nil {
		return record.Event{}, false, err
	}
	defer done()
	i, found := s.m.byID[eventID]
	if !found {
		return record.Event{}, false, nil
	}
	return s.m.rows[i], true, nil
}

func (s *memory) Stored(ctx context.Context, eventIDs ...string) (bool, error) {
	done, err := s.use(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	return !slices.ContainsFunc(eventIDs, func(id string) bool {
		_, found := s.m.byID[id]
		return !found
	}), nil
}

func (s *memory) Waiting(record.Session) ([]record.Event, bool) { return nil, true }

func (s *memory) Losses(ctx context.Context, _ record.Session) ([]string, error) {
	return nil, s.Flush(ctx)
}

// session returns a line of the list. The caller has the lock.
func (s *memory) session(of record.Session) Session {
	l := Session{Session: of}
	agents := make(map[string]bool)
	var first, last int64
	for n, i := range s.m.sessions[of] {
		e := &s.m.rows[i]
		if n == 0 {
			first, last = e.Timestamp, e.Timestamp
		}
		first, last, l.LastSeq = min(first, e.Timestamp), max(last, e.Timestamp), e.Seq
		l.Events++
		if e.Agent != "" {
			agents[e.Agent] = true
		}
	}
	l.First, l.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
	l.Agents = slices.Sorted(maps.Keys(agents))
	for _, a := range s.m.ledger.all() {
		if a.Session == of {
			l.Approval = string(a.State)
		}
	}
	return l
}

func (s *memory) Session(ctx context.Context, of record.Session) (Session, bool, error) {
	done, err := s.use(ctx)
	if err != nil {
		return Session{}, false, err
	}
	defer done()
	l := s.session(of)
	return l, l.Events > 0, nil
}

func (s *memory) Sessions(ctx context.Context, q Query) ([]Session, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	done, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []Session
	for of := range s.m.sessions {
		if l := s.session(of); q.selects(&l) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Session) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	out = out[min(q.Offset, len(out)):]
	return out[:min(cmp.Or(q.Limit, 100), len(out))], nil
}

func (s *memory) Standings(ctx context.Context, sessions []record.Session) ([]Standing, error) {
	out := make([]Standing, len(sessions))
	for i, of := range sessions {
		var err error
		if out[i].Rows, err = s.of(ctx, of, func(e *record.Event) bool { return Milestone(e.EventType) }); err != nil {
			return nil, err
		}
		if out[i].Approvals, err = s.m.ledger.List(ctx, safety.Query{Session: of}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *memory) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	list := s.m.ledger.all()
	slices.SortStableFunc(list, func(a, b safety.Approval) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return s.those(ctx, list, limit, func(a *safety.Approval) bool { return a.State.Open() && a.ExpiresAt.After(now) })
}

func (s *memory) Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error) {
	list := s.m.ledger.all()
	slices.Reverse(list)
	return s.those(ctx, list, limit, func(a *safety.Approval) bool {
		return (strings.HasPrefix(a.ID, prefix) || a.ConfirmationID != "" && strings.HasPrefix(a.ConfirmationID, prefix)) &&
			(of.App == "" || of.App == a.Session.App) && (of.User == "" || of.User == a.Session.User)
	})
}

// those returns the sessions of approvals that want selects, each once.
func (s *memory) those(ctx context.Context, list []safety.Approval, limit int, want func(*safety.Approval) bool) ([]record.Session, error) {
	var out []record.Session
	for i := range list {
		if a := &list[i]; len(out) < limit && want(a) && !slices.Contains(out, a.Session) {
			out = append(out, a.Session)
		}
	}
	return out, s.Flush(ctx)
}

func (s *memory) Summaries(ctx context.Context, now time.Time, each func(*Summary)) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	for of := range s.m.sessions {
		l := s.session(of)
		var sum Summary
		if kept, ok := s.m.summaries[of]; ok && kept.Of == s.stamp(of) && kept.Until.After(now) {
			sum = kept.Summary
			sum.Known = true
		}
		sum.Session, sum.LastSeq, sum.LastTime, sum.Events = of, l.LastSeq, l.Last.UnixMicro(), l.Events
		each(&sum)
	}
	return nil
}

// stamp returns the state of a session. The caller has the lock.
func (s *memory) stamp(of record.Session) (stamp Stamp) {
	l := s.session(of)
	return Stamp{LastSeq: l.LastSeq, Events: l.Events, Steps: s.m.ledger.steps(of)}
}

func (s *memory) Stamp(ctx context.Context, of record.Session) (Stamp, error) {
	done, err := s.use(ctx)
	if err != nil {
		return Stamp{}, err
	}
	defer done()
	return s.stamp(of), nil
}

func (s *memory) KeepSummaries(ctx context.Context, list []NewSummary) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, sum := range list {
		if sum.Of == s.stamp(sum.Session) {
			s.m.summaries[sum.Session] = sum
		}
	}
	return nil
}

func (s *memory) Rules(ctx context.Context, digest string) (text []byte, found bool, err error) {
	done, err := s.use(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	for _, r := range slices.Backward(s.m.rules) {
		if digest == "" || digest == r.digest {
			return slices.Clone(r.text), true, nil
		}
	}
	return nil, false, nil
}

func (s *memory) SetRules(ctx context.Context, digest string, text []byte) error {
	if digest == "" {
		return errNoDigest
	}
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	s.m.rules = slices.DeleteFunc(s.m.rules, func(r rules) bool { return r.digest == digest })
	s.m.rules = append(s.m.rules, rules{digest, slices.Clone(text)})
	return nil
}

// Ledger returns the ledger, which goes on when a store is closed: another one has it open.
func (s *memory) Ledger() safety.Ledger { return &s.m.ledger }

func (s *memory) LastSeq(ctx context.Context) (int64, error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return int64(len(s.m.rows)), nil
}

func (s *memory) Stats() Stats {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	stats := s.stats
	stats.Lost = maps.Clone(stats.Lost)
	return stats
}

func (s *memory) Close(context.Context) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.closed = true
	return nil
}
