// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// MemoryLedger is the ledger of a store in memory. It is for tests: what it acknowledges
// is gone when the process ends. The zero value is that of a new store.
type MemoryLedger struct {
	once sync.Once
	s    *memory
}

var _ safety.Ledger = (*MemoryLedger)(nil)

// do calls fn with the lock, unless the store is closed or ctx has ended.
func (l *MemoryLedger) do(ctx context.Context, fn func(*Memory) error) (err error) {
	l.once.Do(func() {
		if l.s == nil {
			l.s = new(Memory).open()
		}
	})
	refused := l.s.do(ctx, func() { err = fn(l.s.m) })
	if refused != nil {
		return refused
	}
	return err
}

// Create stores a new approval.
func (l *MemoryLedger) Create(ctx context.Context, a safety.Approval) error {
	return l.do(ctx, func(m *Memory) error {
		if a.ID == "" || a.State != safety.StatePending {
			return fmt.Errorf("creating approval %q in state %q: %w: it needs an id and must be pending", a.ID, a.State, safety.ErrConflict)
		}
		for _, b := range m.approvals {
			beside := b.Session == a.Session && (b.CallID == a.CallID && b.RunID == a.RunID || a.ConfirmationID != "" && b.ConfirmationID == a.ConfirmationID)
			if b.ID == a.ID || beside || a.Replaces != "" && b.Replaces == a.Replaces {
				return fmt.Errorf("creating approval %s: %w: the id exists, or call %q of run %q or confirmation %q has one, or %q was replaced before",
					a.ID, safety.ErrConflict, a.CallID, a.RunID, a.ConfirmationID, a.Replaces)
			}
		}
		m.approvals = append(m.approvals, a.Clone())
		m.history[a.ID] = []safety.Step{a.FirstStep()}
		return nil
	})
}

// Attach names the confirmation of a pending approval.
func (l *MemoryLedger) Attach(ctx context.Context, id, confirmationID string) error {
	return l.do(ctx, func(m *Memory) error {
		a, err := m.approval(id)
		if err != nil {
			return err
		}
		if confirmationID == "" || a.State != safety.StatePending || a.ConfirmationID != "" {
			return fmt.Errorf("approval %s: %w: it is %s and has confirmation %q", id, safety.ErrConflict, a.State, a.ConfirmationID)
		}
		for _, b := range m.approvals {
			if b.Session == a.Session && b.ConfirmationID == confirmationID {
				return fmt.Errorf("approval %s: %w: confirmation %q belongs to another", id, safety.ErrConflict, confirmationID)
			}
		}
		a.ConfirmationID = confirmationID
		return nil
	})
}

// approval returns the stored approval with the id.
func (m *Memory) approval(id string) (*safety.Approval, error) {
	for i := range m.approvals {
		if m.approvals[i].ID == id {
			return &m.approvals[i], nil
		}
	}
	return nil, fmt.Errorf("approval %q: %w", id, safety.ErrNotFound)
}

// bare returns an approval without what a method need not return.
func bare(a safety.Approval) safety.Approval {
	a.Args, a.Entities, a.Needs, a.Gaps, a.Report = nil, nil, nil, nil, nil
	a.NotChosen, a.Difference = entity.NotChosen{}, safety.Difference{}
	return a
}

// List returns the approvals that q selects, oldest first.
func (l *MemoryLedger) List(ctx context.Context, q safety.Query) (list []safety.Approval, err error) {
	err = l.do(ctx, func(m *Memory) error {
		list = m.list(q)
		return nil
	})
	return list, err
}

func (m *Memory) list(q safety.Query) (list []safety.Approval) {
	for i := range m.approvals {
		a := &m.approvals[i]
		if q.Selects(a) && q.Brief {
			list = append(list, bare(a.Clone()))
		} else if q.Selects(a) {
			list = append(list, a.Clone())
		}
	}
	return list
}

// Transition changes an approval atomically. It returns no more of it than it has to, so
// that nobody relies on more.
func (l *MemoryLedger) Transition(ctx context.Context, t safety.Transition) (moved safety.Approval, err error) {
	err = l.do(ctx, func(m *Memory) error {
		a, err := m.approval(t.ID)
		if err != nil {
			return err
		}
		changed, steps, err := t.Apply(*a)
		if err != nil {
			return err
		}
		*a, moved = changed, bare(changed)
		m.history[t.ID] = append(m.history[t.ID], steps...)
		return nil
	})
	return moved, err
}

// History returns what happened to an approval, oldest first.
func (l *MemoryLedger) History(ctx context.Context, id string) (steps []safety.Step, err error) {
	err = l.do(ctx, func(m *Memory) error {
		_, err := m.approval(id)
		steps = slices.Clone(m.history[id])
		return err
	})
	return steps, err
}
