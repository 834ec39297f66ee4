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

// MemoryLedger is a [safety.Ledger] in memory. It is for tests: what it acknowledges
// is gone when the process ends. The zero value is empty and ready.
type MemoryLedger struct {
	mu      sync.Mutex
	rows    []safety.Approval // in the order of creation
	history map[string][]safety.Step
}

var _ safety.Ledger = (*MemoryLedger)(nil)

// Create stores a new approval.
func (m *MemoryLedger) Create(ctx context.Context, a safety.Approval) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.ID == "" || a.State != safety.StatePending {
		return fmt.Errorf("creating approval %q in state %q: %w: it needs an id and must be pending", a.ID, a.State, safety.ErrConflict)
	}
	for _, b := range m.rows {
		if b.ID == a.ID || b.Session == a.Session && b.CallID == a.CallID && b.RunID == a.RunID {
			return fmt.Errorf("creating approval %s: %w: call %q of run %q has one", a.ID, safety.ErrConflict, a.CallID, a.RunID)
		}
		if a.Replaces != "" && b.Replaces == a.Replaces {
			return fmt.Errorf("creating approval %s: %w: %s was replaced before", a.ID, safety.ErrConflict, a.Replaces)
		}
		if a.ConfirmationID != "" && b.Session == a.Session && b.ConfirmationID == a.ConfirmationID {
			return fmt.Errorf("creating approval %s: %w: confirmation %q has one", a.ID, safety.ErrConflict, a.ConfirmationID)
		}
	}
	m.rows = append(m.rows, a.Clone())
	m.record(a.ID, a.FirstStep())
	return nil
}

func (m *MemoryLedger) record(id string, s safety.Step) {
	if m.history == nil {
		m.history = make(map[string][]safety.Step)
	}
	m.history[id] = append(m.history[id], s)
}

// Attach names the confirmation of a pending approval.
func (m *MemoryLedger) Attach(ctx context.Context, id, confirmationID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.row(id)
	if a == nil {
		return fmt.Errorf("approval %q: %w", id, safety.ErrNotFound)
	}
	if confirmationID == "" || a.State != safety.StatePending || a.ConfirmationID != "" {
		return fmt.Errorf("approval %s: %w: it is %s and has confirmation %q", id, safety.ErrConflict, a.State, a.ConfirmationID)
	}
	for _, b := range m.rows {
		if b.Session == a.Session && b.ConfirmationID == confirmationID {
			return fmt.Errorf("approval %s: %w: confirmation %q belongs to another", id, safety.ErrConflict, confirmationID)
		}
	}
	a.ConfirmationID = confirmationID
	return nil
}

// row returns the stored approval with the id, or nil.
func (m *MemoryLedger) row(id string) *safety.Approval {
	for i := range m.rows {
		if m.rows[i].ID == id {
			return &m.rows[i]
		}
	}
	return nil
}

// bare returns an approval without what a method need not return.
func bare(a safety.Approval) safety.Approval {
	a.Args, a.Entities, a.Needs, a.Gaps, a.Report = nil, nil, nil, nil, nil
	a.NotChosen, a.Difference = entity.NotChosen{}, safety.Difference{}
	return a
}

// List returns the approvals that q selects, oldest first.
func (m *MemoryLedger) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []safety.Approval
	for i := range m.rows {
		if !q.Selects(&m.rows[i]) {
			continue
		}
		a := m.rows[i].Clone()
		if q.Brief {
			a = bare(a)
		}
		out = append(out, a)
	}
	return out, nil
}

// Transition changes an approval atomically. It returns no more of it than it has to, so
// that nobody relies on more.
func (m *MemoryLedger) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	if err := ctx.Err(); err != nil {
		return safety.Approval{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.row(t.ID)
	if a == nil {
		return safety.Approval{}, fmt.Errorf("approval %q: %w", t.ID, safety.ErrNotFound)
	}
	moved, steps, err := t.Apply(*a)
	if err != nil {
		return safety.Approval{}, err
	}
	for _, s := range steps {
		m.record(t.ID, s)
	}
	*a = moved
	return bare(moved), nil
}

// History returns what happened to an approval, oldest first.
func (m *MemoryLedger) History(ctx context.Context, id string) ([]safety.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.row(id) == nil {
		return nil, fmt.Errorf("approval %q: %w", id, safety.ErrNotFound)
	}
	return slices.Clone(m.history[id]), nil
}

// all returns all approvals, oldest first.
func (m *MemoryLedger) all() (list []safety.Approval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.rows {
		list = append(list, a.Clone())
	}
	return list
}

// steps returns the number of steps of the approvals of a session.
func (m *MemoryLedger) steps(of safety.Session) (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.rows {
		if a.Session == of {
			n += int64(len(m.history[a.ID]))
		}
	}
	return n
}
