// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// memory is a source in memory: a file that several processes have open.
type memory struct {
	store.Outbox // nil: nobody calls the rest
	tb           testing.TB
	table        *table // told of the cursor, to check it; may be nil

	mu       sync.Mutex
	rows     []record.Event // ascending, Seq from 1
	position int64
	owner    string
	until    time.Time
	dead     map[int64]store.DeadLetter
	watchers []chan<- struct{}
	advances int
	failing  error // of every call, while it is set
}

func newMemory(tb testing.TB, t *table) *memory {
	return &memory{tb: tb, table: t, dead: make(map[int64]store.DeadLetter)}
}

// add commits rows and tells the watchers.
func (m *memory) add(rows ...record.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range rows {
		e.Seq = m.last() + 1
		m.rows = append(m.rows, e)
	}
	for _, ch := range m.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (m *memory) last() int64 {
	if len(m.rows) == 0 {
		return 0
	}
	return m.rows[len(m.rows)-1].Seq
}

func (m *memory) after(seq int64) []record.Event {
	i, _ := slices.BinarySearchFunc(m.rows, seq+1, func(e record.Event, s int64) int { return int(e.Seq - s) })
	return m.rows[i:]
}

func (m *memory) letters() map[int64]store.DeadLetter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[int64]store.DeadLetter, len(m.dead))
	for seq, l := range m.dead {
		out[seq] = l
	}
	return out
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = err
}

func (m *memory) cursor() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.position
}

func (m *memory) Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.failing); err != nil {
		return 0, err
	}
	now := time.Now()
	if m.owner != "" && m.owner != owner && now.Before(m.until) {
		return 0, fmt.Errorf("%w: %q", store.ErrLeased, m.owner)
	}
	m.owner, m.until = owner, now.Add(ttl)
	return m.position, nil
}

func (m *memory) Release(ctx context.Context, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner == owner {
		m.owner = ""
	}
	return errors.Join(ctx.Err(), m.failing)
}

func (m *memory) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.failing); err != nil {
		return nil, err
	}
	rows := m.after(after)
	n := 0
	for n < len(rows) && n < maxRows {
		if maxBytes -= int64(len(rows[n].Content)); maxBytes < 0 && n > 0 {
			break
		}
		n++
	}
	return slices.Clone(rows[:n]), nil
}

func (m *memory) Advance(ctx context.Context, owner string, to int64, dead []store.DeadLetter) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.failing); err != nil {
		return err
	}
	if m.owner != owner {
		return fmt.Errorf("%w: %q has it", store.ErrLeaseLost, m.owner)
	}
	if to < m.position || to > m.last() {
		m.tb.Errorf("the cursor is moved from %d to %d of %d", m.position, to, m.last())
	}
	for _, l := range dead {
		if l.Seq > to || l.Reason == "" || l.Code == "" || l.Bytes == 0 || l.At.IsZero() {
			m.tb.Errorf("at %d: a dead letter %+v", to, l)
		}
		m.dead[l.Seq] = l
	}
	if m.table != nil {
		for _, e := range m.after(m.position) {
			if _, buried := m.dead[e.Seq]; e.Seq <= to && !buried && !m.table.acknowledged(e.EventID) {
				m.tb.Errorf("the cursor is moved to %d, but row %d is not acknowledged", to, e.Seq)
			}
		}
	}
	m.position = to
	m.advances++
	return nil
}

func (m *memory) Backlog(ctx context.Context) (store.Backlog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.failing); err != nil {
		return store.Backlog{}, err
	}
	rest := m.after(m.position)
	l := store.Backlog{Rows: int64(len(rest)), DeadLetters: int64(len(m.dead))}
	if len(rest) > 0 {
		l.First, l.Oldest = rest[0].Seq, time.UnixMicro(rest[0].Timestamp)
	}
	return l, nil
}

func (m *memory) LastSeq(ctx context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last(), errors.Join(ctx.Err(), m.failing)
}

func (m *memory) Changed(ch chan<- struct{}) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers = append(m.watchers, ch)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watchers = slices.DeleteFunc(m.watchers, func(c chan<- struct{}) bool { return c == ch })
	}
}

// process is the source as a process has it that may die: then no call of it reaches the
// source any more.
type process struct {
	*memory
	ctx context.Context
}

var errKilled = errors.New("the process was killed")

func (p process) Acquire(ctx context.Context, owner string, ttl time.Duration) (int64, error) {
	if p.ctx.Err() != nil {
		return 0, errKilled
	}
	return p.memory.Acquire(ctx, owner, ttl)
}

func (p process) Release(ctx context.Context, owner string) error {
	if p.ctx.Err() != nil {
		return errKilled
	}
	return p.memory.Release(ctx, owner)
}

func (p process) Rows(ctx context.Context, after int64, maxRows int, maxBytes int64) ([]record.Event, error) {
	if p.ctx.Err() != nil {
		return nil, errKilled
	}
	return p.memory.Rows(ctx, after, maxRows, maxBytes)
}

func (p process) Advance(ctx context.Context, owner string, to int64, dead []store.DeadLetter) error {
	if p.ctx.Err() != nil {
		return errKilled
	}
	return p.memory.Advance(ctx, owner, to, dead)
}
