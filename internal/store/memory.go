// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Memory is what stores in memory have. It is for tests: nothing of it outlives the process. Each
// [Memory.Open] is as another process with the same file. The zero value is empty and ready.
type Memory struct {
	mu        sync.Mutex
	secret    string
	rows      map[string]record.Event // by event id
	last      int64                   // the number of the last row
	sessions  map[record.Session]*kept
	rules     map[string][]byte // by digest
	newest    string            // the digest of the newest rules
	approvals []*approval       // in the order of creation
}

// kept is what a store in memory has of a session.
type kept struct {
	line    Session // without Approval
	rows    []record.Event
	asked   *approval // the last one
	lost    []Loss
	nested  []record.Child
	stamp   Stamp
	summary NewSummary
}

type approval struct {
	safety.Approval
	number  int
	history []safety.Step
}

// Open returns a store over m.
func (m *Memory) Open() Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secret == "" {
		m.secret, m.rules = rand.Text(), make(map[string][]byte)
		m.rows, m.sessions = make(map[string]record.Event), make(map[record.Session]*kept)
	}
	return &memory{m: m, stats: Stats{Lost: make(map[LossReason]uint64)}}
}

// of returns what m has of a session. The caller has the lock.
func (m *Memory) of(s record.Session) *kept {
	if m.sessions[s] == nil {
		m.sessions[s] = &kept{line: Session{Session: s}}
	}
	return m.sessions[s]
}

// Lose removes rows, as if the process had ended before they were stored.
func (m *Memory) Lose(row func(*record.Event) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range m.sessions {
		of.rows = slices.DeleteFunc(slices.Clone(of.rows), func(e record.Event) bool {
			lost := row(&e)
			if lost {
				delete(m.rows, e.EventID)
			}
			return lost
		})
	}
}

// memory is an open store in memory, and its ledger. It commits each row as it is appended.
type memory struct {
	m      *Memory
	stats  Stats // guarded by m.mu, as closed is
	closed bool
}

func (s *memory) Name() string          { return "memory" }
func (s *memory) Secret() []byte        { return []byte(s.m.secret) }
func (s *memory) Ledger() safety.Ledger { return s }

// do calls fn with the lock, unless the store is closed or ctx has ended.
func (s *memory) do(ctx context.Context, fn func() error) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fn()
}

// get returns what fn does, called with the lock.
func get[T any](ctx context.Context, s *memory, fn func() T) (out T, err error) {
	err = s.do(ctx, func() error {
		out = fn()
		return nil
	})
	return out, err
}

func (s *memory) Append(e record.Event) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	of := s.m.of(e.Session())
	_, stored := s.m.rows[e.EventID]
	switch {
	case e.EventID == "" || e.EventType == "" || e.Status == "":
		return s.lose(of, LostInvalid, e.RunID)
	case s.closed:
		return s.lose(of, LostClosed, e.RunID)
	case stored:
		s.stats.Duplicates++
	default:
		s.stats.Stored++
		s.m.last++
		e.Seq = s.m.last
		e.Content, e.ContentParts, e.Attributes, e.LatencyMS = own(e.Content), own(e.ContentParts), own(e.Attributes), own(e.LatencyMS)
		s.m.rows[e.EventID] = e
		of.add(e)
		if parent, child, is := schema.Nested(&e); is {
			if p := s.m.of(parent); !slices.Contains(p.nested, child) {
				p.nested = append(p.nested, child)
			}
		}
	}
	s.stats.Accepted++
	return true
}

// lose counts a row that is refused.
func (s *memory) lose(of *kept, reason LossReason, run string) (taken bool) {
	s.stats.Lost[reason]++
	of.lost = countDropped(of.lost, run)
	of.stamp.Lost++
	return false
}

// own returns a copy of b; nil if b is empty.
func own(b []byte) []byte { return append([]byte(nil), b...) }

// add adds a row to those of its session.
func (k *kept) add(e record.Event) {
	l := &k.line
	if at := e.Time(); l.Events == 0 || at.Before(l.First) {
		l.First = at
	}
	if at := e.Time(); l.Events == 0 || at.After(l.Last) {
		l.Last = at
	}
	if i, found := slices.BinarySearch(l.Agents, e.Agent); !found && e.Agent != "" {
		l.Agents = slices.Insert(slices.Clone(l.Agents), i, e.Agent)
	}
	k.rows = append(k.rows, e)
	l.LastSeq, l.Events = e.Seq, l.Events+1
	k.stamp.LastSeq, k.stamp.Events = l.LastSeq, l.Events
}

// now returns the line of a session in the list.
func (k *kept) now() Session {
	l := k.line
	if k.asked != nil {
		l.Approval = string(k.asked.State)
	}
	return l
}

func (s *memory) Flush(ctx context.Context) error { return s.do(ctx, func() error { return nil }) }

func (s *memory) Commit(ctx context.Context, eventID string) error {
	if stored, err := s.Stored(ctx, eventID); err != nil || stored {
		return err
	}
	return errNotStored
}

// pageRows is how many rows RowsAfter returns, so that nobody relies on all.
const pageRows = 500

func (s *memory) RowsAfter(ctx context.Context, of record.Session, seq int64) ([]record.Event, error) {
	rows, err := s.Outline(ctx, of)
	rows = rows[sort.Search(len(rows), func(i int) bool { return rows[i].Seq > seq }):]
	return rows[:min(pageRows, len(rows))], err
}

func (s *memory) Outline(ctx context.Context, of record.Session) ([]record.Event, error) {
	return get(ctx, s, func() []record.Event { return s.m.of(of).rows })
}

func (s *memory) Row(ctx context.Context, eventID string) (record.Event, bool, error) {
	e, err := get(ctx, s, func() record.Event { return s.m.rows[eventID] })
	return e, e.Seq > 0, err
}

func (s *memory) Stored(ctx context.Context, eventIDs ...string) (bool, error) {
	return get(ctx, s, func() bool {
		return !slices.ContainsFunc(eventIDs, func(id string) bool { return s.m.rows[id].Seq == 0 })
	})
}

func (s *memory) Children(ctx context.Context, of record.Session) ([]record.Child, error) {
	return get(ctx, s, func() []record.Child { return slices.Clone(s.m.of(of).nested) })
}

func (s *memory) Waiting(record.Session) ([]record.Event, bool) { return nil, true }

func (s *memory) Losses(ctx context.Context, of record.Session) ([]Loss, error) {
	return get(ctx, s, func() []Loss { return slices.Clone(s.m.of(of).lost) })
}

func (s *memory) Session(ctx context.Context, of record.Session) (Session, bool, error) {
	l, err := get(ctx, s, func() Session { return s.m.of(of).now() })
	return l, l.Events > 0, err
}

func (s *memory) Sessions(ctx context.Context, q Query) ([]Session, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return get(ctx, s, func() (list []Session) {
		for _, k := range s.m.sessions {
			if l := k.now(); l.Events > 0 && q.selects(&l) {
				list = append(list, l)
			}
		}
		slices.SortFunc(list, func(a, b Session) int { return cmp.Compare(b.LastSeq, a.LastSeq) })
		list = list[min(q.Offset, len(list)):]
		return list[:min(cmp.Or(q.Limit, DefaultLimit), len(list))]
	})
}

func (s *memory) Standings(ctx context.Context, sessions []record.Session) ([]Standing, error) {
	other := func(e record.Event) bool { return !Milestone(e.EventType) }
	return get(ctx, s, func() (out []Standing) {
		for _, of := range sessions {
			rows := slices.DeleteFunc(slices.Clone(s.m.of(of).rows), other)
			out = append(out, Standing{Rows: rows, Approvals: s.m.list(safety.Query{Session: of, Brief: true})})
		}
		return out
	})
}

func (s *memory) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	soonest := func(a, b *approval) int { return a.ExpiresAt.Compare(b.ExpiresAt) }
	return s.asked(ctx, limit, soonest, func(a *approval) bool { return a.State.Open() && a.ExpiresAt.After(now) })
}

func (s *memory) Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error) {
	newest := func(a, b *approval) int { return b.number - a.number }
	return s.asked(ctx, limit, newest, func(a *approval) bool {
		return (strings.HasPrefix(a.ID, prefix) || a.ConfirmationID != "" && strings.HasPrefix(a.ConfirmationID, prefix)) &&
			(of.App == "" || of.App == a.Session.App) && (of.User == "" || of.User == a.Session.User)
	})
}

// asked returns the sessions of approvals in an order, each once.
func (s *memory) asked(ctx context.Context, limit int, order func(a, b *approval) int, want func(*approval) bool) ([]record.Session, error) {
	return get(ctx, s, func() (list []record.Session) {
		for _, a := range slices.SortedStableFunc(slices.Values(s.m.approvals), order) {
			if len(list) < limit && want(a) && !slices.Contains(list, a.Session) {
				list = append(list, a.Session)
			}
		}
		return list
	})
}

func (s *memory) Summaries(ctx context.Context, now time.Time, each func(*Summary)) error {
	return s.do(ctx, func() error {
		for of, k := range s.m.sessions {
			var sum Summary
			if k.summary.Of == k.stamp && k.summary.Until.After(now) {
				sum = k.summary.Summary
			}
			sum.Session, sum.LastSeq, sum.LastTime, sum.Events = of, k.line.LastSeq, k.line.Last.UnixMicro(), k.line.Events
			if sum.Events > 0 {
				each(&sum)
			}
		}
		return nil
	})
}

func (s *memory) Stamp(ctx context.Context, of record.Session) (Stamp, error) {
	return get(ctx, s, func() Stamp { return s.m.of(of).stamp })
}

func (s *memory) KeepSummaries(ctx context.Context, list []NewSummary) error {
	return s.do(ctx, func() error {
		for _, sum := range list {
			if k := s.m.of(sum.Session); sum.Of == k.stamp {
				k.summary = sum
				k.summary.Known, k.summary.Words, k.summary.More = true, own(sum.Words), own(sum.More)
			}
		}
		return nil
	})
}

func (s *memory) Rules(ctx context.Context, digest string) ([]byte, bool, error) {
	text, err := get(ctx, s, func() []byte { return s.m.rules[cmp.Or(digest, s.m.newest)] })
	return text, text != nil, err
}

func (s *memory) SetRules(ctx context.Context, digest string, text []byte) error {
	if digest == "" {
		return errNoDigest
	}
	return s.do(ctx, func() error {
		s.m.newest = digest
		if s.m.rules[digest] == nil {
			s.m.rules[digest] = append([]byte{}, text...)
		}
		return nil
	})
}

func (s *memory) Changes(ctx context.Context) (int64, error) {
	return get(ctx, s, func() int64 { return s.m.last })
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

func (s *memory) Create(ctx context.Context, a safety.Approval) error {
	return s.do(ctx, func() error {
		stored, of := &approval{a.Clone(), len(s.m.approvals), []safety.Step{a.FirstStep()}}, s.m.of(a.Session)
		if err := cmp.Or(a.CheckNew(), s.m.alone(stored)); err != nil {
			return err
		}
		s.m.approvals, of.asked = append(s.m.approvals, stored), stored
		of.stamp.Steps++
		return nil
	})
}

// alone refuses an approval if another one has what must be unique.
func (m *Memory) alone(a *approval) error {
	for _, b := range m.approvals {
		beside := b.Session == a.Session && (b.CallID == a.CallID && b.RunID == a.RunID || a.ConfirmationID != "" && b.ConfirmationID == a.ConfirmationID)
		if b.number != a.number && (b.ID == a.ID || beside || a.Replaces != "" && b.Replaces == a.Replaces) {
			return fmt.Errorf("approval %s: %w: approval %s has its id, call, confirmation or predecessor", a.ID, safety.ErrConflict, b.ID)
		}
	}
	return nil
}

// change calls fn with the stored approval with the id.
func (s *memory) change(ctx context.Context, id string, fn func(*approval) error) error {
	return s.do(ctx, func() error {
		i := slices.IndexFunc(s.m.approvals, func(a *approval) bool { return a.ID == id })
		if i < 0 {
			return fmt.Errorf("approval %q: %w", id, safety.ErrNotFound)
		}
		return fn(s.m.approvals[i])
	})
}

func (s *memory) Attach(ctx context.Context, id, confirmationID string) error {
	return s.change(ctx, id, func(a *approval) error {
		named := *a
		named.ConfirmationID = confirmationID
		err := cmp.Or(a.CheckAttach(confirmationID), s.m.alone(&named))
		if err == nil {
			*a = named
		}
		return err
	})
}

func (s *memory) Transition(ctx context.Context, t safety.Transition) (moved safety.Approval, err error) {
	err = s.change(ctx, t.ID, func(a *approval) error {
		changed, steps, err := t.Apply(a.Approval)
		if err == nil {
			a.Approval, a.history, moved = changed, append(a.history, steps...), bare(changed)
			s.m.of(a.Session).stamp.Steps += int64(len(steps))
		}
		return err
	})
	return moved, err
}

func (s *memory) History(ctx context.Context, id string) (steps []safety.Step, err error) {
	err = s.change(ctx, id, func(a *approval) error {
		steps = slices.Clone(a.history)
		return nil
	})
	return steps, err
}

func (s *memory) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	return get(ctx, s, func() []safety.Approval { return s.m.list(q) })
}

func (m *Memory) list(q safety.Query) (list []safety.Approval) {
	for _, a := range m.approvals {
		if q.Selects(&a.Approval) && q.Brief {
			list = append(list, bare(a.Clone()))
		} else if q.Selects(&a.Approval) {
			list = append(list, a.Clone())
		}
	}
	return list
}

// bare returns an approval without what a method need not return, so that nobody relies on more.
func bare(a safety.Approval) safety.Approval {
	a.Args, a.Entities, a.Needs, a.Gaps, a.Report = nil, nil, nil, nil, nil
	a.NotChosen, a.Surroundings, a.Difference = entity.NotChosen{}, safety.Surroundings{}, safety.Difference{}
	return a
}
