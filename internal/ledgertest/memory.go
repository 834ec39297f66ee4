// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledgertest has the tests that every implementation of [safety.Ledger]
// must pass, and an implementation in memory for the tests of others.
package ledgertest

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

// Find returns the approval of a confirmation.
func (m *MemoryLedger) Find(ctx context.Context, s safety.Session, confirmationID string) (safety.Approval, error) {
	found, err := m.all(ctx, func(a safety.Approval) bool {
		return confirmationID != "" && a.Session == s && a.ConfirmationID == confirmationID
	})
	return first(found, err, confirmationID)
}

// FindCall returns the approvals of a call, oldest first.
func (m *MemoryLedger) FindCall(ctx context.Context, s safety.Session, callID string) ([]safety.Approval, error) {
	return m.all(ctx, func(a safety.Approval) bool { return a.Session == s && a.CallID == callID })
}

// Last returns the approval that was asked for last for a call.
func (m *MemoryLedger) Last(ctx context.Context, s safety.Session, tool, argsDigest, invocationID string) (safety.Approval, error) {
	found, err := m.all(ctx, func(a safety.Approval) bool {
		return a.Session == s && a.Tool == tool && a.ArgsDigest == argsDigest
	})
	slices.Reverse(found)
	for _, a := range found {
		if a.State == safety.StateRejected && a.InvocationID == invocationID {
			found = []safety.Approval{a}
			break
		}
	}
	last, err := first(found, err, tool)
	return bare(last), err
}

// LastChange returns the last approval for a tool that a person wants to be different.
func (m *MemoryLedger) LastChange(ctx context.Context, s safety.Session, tool string) (safety.Approval, error) {
	all, err := m.all(ctx, func(safety.Approval) bool { return true })
	found := slices.DeleteFunc(slices.Clone(all), func(a safety.Approval) bool {
		replaced := slices.ContainsFunc(all, func(b safety.Approval) bool { return b.Replaces == a.ID })
		return a.Session != s || a.Tool != tool || a.State != safety.StateRejected || a.Change == "" || replaced
	})
	slices.Reverse(found)
	last, err := first(found, err, tool)
	return bare(last), err
}

// bare returns an approval without what a method need not return.
func bare(a safety.Approval) safety.Approval {
	a.Args, a.Entities, a.Needs, a.Gaps, a.Report = nil, nil, nil, nil, nil
	a.NotChosen, a.Difference = entity.NotChosen{}, safety.Difference{}
	return a
}

// Get returns the approval with the id.
func (m *MemoryLedger) Get(ctx context.Context, id string) (safety.Approval, error) {
	found, err := m.all(ctx, func(a safety.Approval) bool { return a.ID == id })
	return first(found, err, id)
}

// List returns the approvals of a session, oldest first.
func (m *MemoryLedger) List(ctx context.Context, s safety.Session) ([]safety.Approval, error) {
	return m.all(ctx, func(a safety.Approval) bool { return a.Session == s })
}

func (m *MemoryLedger) all(ctx context.Context, want func(safety.Approval) bool) ([]safety.Approval, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []safety.Approval
	for _, a := range m.rows {
		if want(a) {
			out = append(out, a.Clone())
		}
	}
	return out, nil
}

func first(found []safety.Approval, err error, name string) (safety.Approval, error) {
	if err != nil {
		return safety.Approval{}, err
	}
	if len(found) == 0 {
		return safety.Approval{}, fmt.Errorf("approval %q: %w", name, safety.ErrNotFound)
	}
	return found[0], nil
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
