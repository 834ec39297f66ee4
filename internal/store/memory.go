// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
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
	mu        sync.Mutex
	secret    string
	rows      []record.Event // Seq is the place, from 1 on
	byID      map[string]int
	sessions  map[record.Session][]int
	lost      map[record.Session][]Loss
	summaries map[record.Session]NewSummary
	rules     []rules           // the newest last
	approvals []safety.Approval // in the order of creation
	history   map[string][]safety.Step
}

type rules struct {
	digest string
	text   []byte
}

// Open returns a store over m.
func (m *Memory) Open() Store { return m.open() }

func (m *Memory) open() *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byID == nil {
		m.byID, m.sessions, m.lost = make(map[string]int), make(map[record.Session][]int), make(map[record.Session][]Loss)
		m.summaries, m.history = make(map[record.Session]NewSummary), make(map[string][]safety.Step)
		m.secret = rand.Text()
	}
	return &memory{m: m, stats: Stats{Lost: make(map[LossReason]uint64)}}
}

// memory is an open store in memory. It commits each row as it is appended.
type memory struct {
	m      *Memory
	stats  Stats // guarded by m.mu, as closed is
	closed bool
}

func (s *memory) Name() string   { return "memory" }
func (s *memory) Secret() []byte { return []byte(s.m.secret) }

// do calls fn with the lock, unless the store is closed or ctx has ended.
func (s *memory) do(ctx context.Context, fn func()) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	fn()
	return nil
}

// get returns what fn does, called with the lock.
func get[T any](ctx context.Context, s *memory, fn func() T) (out T, err error) {
	err = s.do(ctx, func() { out = fn() })
	return out, err
}

func (s *memory) Append(e record.Event) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	_, stored := s.m.byID[e.EventID]
	switch {
	case e.EventID == "" || e.EventType == "" || e.Status == "":
		return s.lose(LostInvalid, e)
	case s.closed:
		return s.lose(LostClosed, e)
	case stored:
		s.stats.Duplicates++
	default:
		i := len(s.m.rows)
		e.Seq = int64(i) + 1
		for _, p := range []*[]byte{&e.Content, &e.ContentParts, &e.Attributes, &e.LatencyMS} {
			if len(*p) == 0 {
				*p = nil
			}
		}
		s.m.rows = append(s.m.rows, e)
		s.m.byID[e.EventID] = i
		s.m.sessions[e.Session()] = append(s.m.sessions[e.Session()], i)
		s.stats.Stored++
	}
	s.stats.Accepted++
	return true
}

// lose counts a row that is refused.
func (s *memory) lose(reason LossReason, e record.Event) (taken bool) {
	s.stats.Lost[reason]++
	s.m.lost[e.Session()] = countDropped(s.m.lost[e.Session()], e.RunID)
	return false
}

func (s *memory) Flush(ctx context.Context) error { return s.do(ctx, func() {}) }

func (s *memory) Commit(ctx context.Context, eventID string) error {
	stored, err := s.Stored(ctx, eventID)
	if err == nil && !stored {
		err = errNotStored
	}
	return err
}

func (s *memory) Import(ctx context.Context, rows []record.Event) error {
	for _, e := range rows {
		if err := s.Flush(ctx); err != nil {
			return err
		}
		if !s.Append(e) {
			return fmt.Errorf("import row %q: %w", e.EventID, errNotStored)
		}
	}
	return s.Flush(ctx)
}

// of returns the rows of a session that want selects. The caller has the lock.
func (s *memory) of(of record.Session, want func(*record.Event) bool) (out []record.Event) {
	for _, i := range s.m.sessions[of] {
		if e := &s.m.rows[i]; want(e) {
			out = append(out, *e)
		}
	}
	return out
}

// pageRows is how many rows RowsAfter returns, so that nobody relies on all.
const pageRows = 500

func (s *memory) RowsAfter(ctx context.Context, of record.Session, seq int64) ([]record.Event, error) {
	return get(ctx, s, func() []record.Event {
		rows := s.of(of, func(e *record.Event) bool { return e.Seq > seq })
		return rows[:min(len(rows), pageRows)]
	})
}

func (s *memory) Outline(ctx context.Context, of record.Session) ([]record.Event, error) {
	return get(ctx, s, func() []record.Event { return s.of(of, func(*record.Event) bool { return true }) })
}

func (s *memory) Row(ctx context.Context, eventID string) (e record.Event, found bool, err error) {
	err = s.do(ctx, func() {
		var i int
		if i, found = s.m.byID[eventID]; found {
			e = s.m.rows[i]
		}
	})
	return e, found, err
}

func (s *memory) Stored(ctx context.Context, eventIDs ...string) (bool, error) {
	return get(ctx, s, func() bool {
		return !slices.ContainsFunc(eventIDs, func(id string) bool {
			_, found := s.m.byID[id]
			return !found
		})
	})
}

func (s *memory) Waiting(record.Session) ([]record.Event, bool) { return nil, true }

func (s *memory) Losses(ctx context.Context, of record.Session) ([]Loss, error) {
	return get(ctx, s, func() []Loss { return slices.Clone(s.m.lost[of]) })
}

// session returns a line of the list. The caller has the lock.
func (s *memory) session(of record.Session) Session {
	l := Session{Session: of}
	for n, i := range s.m.sessions[of] {
		e := &s.m.rows[i]
		if n == 0 || e.Time().Before(l.First) {
			l.First = e.Time()
		}
		if n == 0 || e.Time().After(l.Last) {
			l.Last = e.Time()
		}
		if e.Agent != "" {
			l.Agents = append(l.Agents, e.Agent)
		}
		l.LastSeq = e.Seq
		l.Events++
	}
	slices.Sort(l.Agents)
	l.Agents = slices.Compact(l.Agents)
	for _, a := range s.m.approvals {
		if a.Session == of {
			l.Approval = string(a.State)
		}
	}
	return l
}

func (s *memory) Session(ctx context.Context, of record.Session) (l Session, found bool, err error) {
	err = s.do(ctx, func() { l = s.session(of) })
	return l, l.Events > 0, err
}

func (s *memory) Sessions(ctx context.Context, q Query) (list []Session, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	err = s.do(ctx, func() {
		for of := range s.m.sessions {
			if l := s.session(of); q.selects(&l) {
				list = append(list, l)
			}
		}
	})
	slices.SortFunc(list, func(a, b Session) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
	list = list[min(q.Offset, len(list)):]
	return list[:min(cmp.Or(q.Limit, 100), len(list))], err
}

func (s *memory) Standings(ctx context.Context, sessions []record.Session) (out []Standing, err error) {
	err = s.do(ctx, func() {
		for _, of := range sessions {
			rows := s.of(of, func(e *record.Event) bool { return Milestone(e.EventType) })
			out = append(out, Standing{Rows: rows, Approvals: s.m.list(safety.Query{Session: of, Brief: true})})
		}
	})
	return out, err
}

func (s *memory) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	return get(ctx, s, func() []record.Session {
		approvals := slices.Clone(s.m.approvals)
		slices.SortStableFunc(approvals, func(a, b safety.Approval) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
		return those(approvals, limit, func(a *safety.Approval) bool { return a.State.Open() && a.ExpiresAt.After(now) })
	})
}

func (s *memory) Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error) {
	return get(ctx, s, func() []record.Session {
		approvals := slices.Clone(s.m.approvals)
		slices.Reverse(approvals)
		return those(approvals, limit, func(a *safety.Approval) bool {
			return (strings.HasPrefix(a.ID, prefix) || a.ConfirmationID != "" && strings.HasPrefix(a.ConfirmationID, prefix)) &&
				(of.App == "" || of.App == a.Session.App) && (of.User == "" || of.User == a.Session.User)
		})
	})
}

// those returns the sessions of approvals that want selects, each once.
func those(approvals []safety.Approval, limit int, want func(*safety.Approval) bool) (list []record.Session) {
	for i := range approvals {
		if a := &approvals[i]; len(list) < limit && want(a) && !slices.Contains(list, a.Session) {
			list = append(list, a.Session)
		}
	}
	return list
}

func (s *memory) Summaries(ctx context.Context, now time.Time, each func(*Summary)) error {
	return s.do(ctx, func() {
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
	})
}

// stamp returns the state of a session. The caller has the lock.
func (s *memory) stamp(of record.Session) Stamp {
	l := s.session(of)
	stamp := Stamp{LastSeq: l.LastSeq, Events: l.Events, Lost: lostRows(s.m.lost[of], CauseDropped)}
	for _, a := range s.m.approvals {
		if a.Session == of {
			stamp.Steps += int64(len(s.m.history[a.ID]))
		}
	}
	return stamp
}

func (s *memory) Stamp(ctx context.Context, of record.Session) (Stamp, error) {
	return get(ctx, s, func() Stamp { return s.stamp(of) })
}

func (s *memory) KeepSummaries(ctx context.Context, list []NewSummary) error {
	return s.do(ctx, func() {
		for _, sum := range list {
			if sum.Of == s.stamp(sum.Session) {
				sum.Words, sum.More = bytes.Clone(sum.Words), bytes.Clone(sum.More)
				s.m.summaries[sum.Session] = sum
			}
		}
	})
}

func (s *memory) Rules(ctx context.Context, digest string) (text []byte, found bool, err error) {
	err = s.do(ctx, func() {
		for _, r := range s.m.rules {
			if digest == "" || digest == r.digest {
				text, found = r.text, true
			}
		}
	})
	return text, found, err
}

func (s *memory) SetRules(ctx context.Context, digest string, text []byte) error {
	if digest == "" {
		return errNoDigest
	}
	return s.do(ctx, func() {
		newest := rules{digest, bytes.Clone(text)}
		s.m.rules = slices.DeleteFunc(s.m.rules, func(r rules) bool {
			if r.digest == digest {
				newest = r
			}
			return r.digest == digest
		})
		s.m.rules = append(s.m.rules, newest)
	})
}

func (s *memory) Ledger() safety.Ledger { return &MemoryLedger{s: s} }

func (s *memory) LastSeq(ctx context.Context) (int64, error) {
	return get(ctx, s, func() int64 { return int64(len(s.m.rows)) })
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
