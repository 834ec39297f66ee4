// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Ledger returns the approvals of all replicas.
func (s *db) Ledger() safety.Ledger { return s }

// long are the long parts of an approval, but for the arguments and the report.
type long struct {
	Entities     []entity.Canonical
	NotChosen    entity.NotChosen
	Surroundings safety.Surroundings
	Needs        map[string]map[string]safety.Need
	Gaps         []string
	Difference   safety.Difference
}

// short returns an approval without its long parts, and without what no ledger stores.
func short(a safety.Approval) safety.Approval {
	a.Args, a.Report = nil, nil
	a.Entities, a.Needs, a.Gaps = nil, nil, nil
	a.NotChosen, a.Surroundings, a.Difference = entity.NotChosen{}, safety.Surroundings{}, safety.Difference{}
	a.Costs, a.NotChecked, a.Fails, a.Hopeless, a.Checked, a.Same = nil, nil, nil, "", nil, safety.Step{}
	return a
}

// head returns what is stored of an approval but for its long parts, and for what has a column of its own, as JSON.
func head(a safety.Approval) (string, error) {
	a = short(a)
	a.Session, a.ConfirmationID = safety.Approval{}.Session, ""
	text, err := json.Marshal(a)
	return string(text), err
}

// stored is an approval as it is read, with the number of its steps.
type stored struct {
	safety.Approval
	version int64
}

func scanApproval(r scanner) (a stored, err error) {
	var is safety.Approval
	var head, more, args, report string
	doubt := false
	err = r.to(&is.Session.App, &is.Session.User, &is.Session.ID, &is.ConfirmationID, &a.version, &head, &more, &args, &report, &doubt)
	if err != nil {
		return a, err
	}
	err = json.Unmarshal([]byte(head), &a.Approval)
	var l long
	if more != "" {
		err = errors.Join(err, json.Unmarshal([]byte(more), &l))
	}
	if err != nil {
		return a, fmt.Errorf("an approval is damaged: %w", err)
	}
	a.Session, a.ConfirmationID = is.Session, is.ConfirmationID
	if doubt { // its call may have run on a server that this one has taken the place of
		a.State = safety.StateExecuting
	}
	a.Entities, a.NotChosen, a.Surroundings = l.Entities, l.NotChosen, l.Surroundings
	a.Needs, a.Gaps, a.Difference = l.Needs, l.Gaps, l.Difference
	if args != "" {
		a.Args = []byte(args)
	}
	if report != "" {
		a.Report = []byte(report)
	}
	return a, nil
}

// doing makes a change that notes the id of the attempt, and returns how many approvals it changed.
type doing func(ctx context.Context, attempt string) (int64, error)

// Create stores a pending approval and the first step of its history.
func (s *db) Create(ctx context.Context, a safety.Approval) error {
	if err := a.CheckNew(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	first, err := head(a)
	more, err2 := json.Marshal(long{a.Entities, a.NotChosen, a.Surroundings, a.Needs, a.Gaps, a.Difference})
	step, err3 := json.Marshal(a.FirstStep())
	if err := errors.Join(err, err2, err3); err != nil {
		return fmt.Errorf("postgres: approval %s: %w", a.ID, err)
	}
	var confirmation []byte
	if a.ConfirmationID != "" {
		confirmation = digest(a.ConfirmationID)
	}
	key := keyOf(a.Session)
	_, err = s.attempt(ctx, a.ID, func(ctx context.Context, attempt string) (int64, error) {
		b := batch(s.pool)
		var of sessionsOf
		of.add(a.Session, key)
		b.Queue(statement("insert_sessions"), texts([]any{of.keys, of.app, of.user, of.ids})...)
		b.Queue(statement("insert_approval"), texts([]any{
			a.ID, key, digest(a.CallID, a.RunID), confirmation, a.ConfirmationID, a.Replaces, a.Tool, a.ArgsDigest,
			string(a.State), a.ExpiresAt.UnixMicro(), attempt, first, string(more), string(a.Args), string(step),
		})...)
		return 1, s.pool.SendBatch(ctx, b).Close()
	})
	if err == nil {
		s.remember(stored{a, 1})
	}
	return err
}

// Attach names the confirmation of an approval, once.
func (s *db) Attach(ctx context.Context, id, confirmationID string) error {
	var named stored
	err := s.change(ctx, id, func(a stored) (doing, error) {
		if err := a.CheckAttach(confirmationID); err != nil {
			return nil, err
		}
		named = a
		named.ConfirmationID = confirmationID
		return func(ctx context.Context, attempt string) (int64, error) {
			return exec(ctx, s.pool, "attach_approval", id, a.version, digest(confirmationID), confirmationID, attempt)
		}, nil
	})
	if err == nil {
		s.remember(named)
	}
	return err
}

// Transition changes an approval if it is still as it was read. Who loses a race reads it again.
func (s *db) Transition(ctx context.Context, t safety.Transition) (moved safety.Approval, err error) {
	version := int64(0)
	err = s.change(ctx, t.ID, func(a stored) (doing, error) {
		var list []safety.Step
		if moved, list, err = t.Apply(a.Approval); err != nil {
			return nil, err
		}
		steps := make([]string, len(list))
		for i, step := range list {
			text, err := json.Marshal(step)
			if err != nil {
				return nil, err
			}
			steps[i] = string(text)
		}
		version = a.version + int64(len(steps))
		first, err := head(moved)
		return func(ctx context.Context, attempt string) (int64, error) {
			return exec(ctx, s.pool, "move_approval", moved.ID, a.version, attempt, string(moved.State), !moved.State.Final(), first,
				string(moved.Report), moved.PermitRun, slices.Clone(steps), moved.State == safety.StateExecuting,
				leaseTime.Seconds(), a.ConfirmationID)
		}, err
	})
	if err != nil {
		return safety.Approval{}, err
	}
	s.remember(stored{moved, version})
	s.hold(moved.ID, moved.State == safety.StateExecuting)
	return moved, nil
}

// changes bounds how often an approval is read that others change at the same time. Each time one of them has
// succeeded, and an approval has few changes.
const changes = 100

// change reads an approval and does what next makes of it, until that was done to what was read.
func (s *db) change(ctx context.Context, id string, next func(stored) (doing, error)) error {
	for range changes {
		a, old := s.remembered(id)
		if !old {
			list, err := read(ctx, s, "select_approvals", scanApproval, id, []byte{}, "", "", "", true)
			if a, err = only(list, err); err != nil {
				return err
			}
			if len(list) == 0 || id == "" {
				return fmt.Errorf("postgres: approval %q: %w", id, safety.ErrNotFound)
			}
		}
		do, err := next(a)
		if err != nil && old {
			continue // it may be another one by now
		}
		if err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
		if n, err := s.attempt(ctx, id, do); err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("postgres: approval %q: %w: others change it all the time", id, safety.ErrConflict)
}

// attempt makes a change that notes the id of the attempt, in one transaction. If its answer is lost, it looks whether
// the change took effect. If that cannot be learned, it is not known: the caller gets an error, and may not go on.
func (s *db) attempt(ctx context.Context, id string, do doing) (n int64, err error) {
	err = s.do(ctx, "change an approval", func(ctx context.Context) error {
		attempt := rand.Text()
		n, err = do(ctx, attempt)
		failed, answered := errors.AsType[*pgconn.PgError](err)
		switch {
		case err == nil:
			return nil
		case answered && failed.Code == "23505":
			return fmt.Errorf("approval %q: %w: another one has its id, call, confirmation or predecessor", id, safety.ErrConflict)
		case answered && failed.Code[:2] != "57" && failed.Code[:2] != "08":
			return err
		}
		ctx, cancel := context.WithTimeout(s.hurry, connectTime) // the time of the caller may be up
		defer cancel()
		list, readErr := query(ctx, s.pool, "select_attempt", one[bool], id, attempt)
		if readErr != nil || len(list) == 0 || !list[0] {
			return cmp.Or(err, readErr)
		}
		n = 1
		return nil
	})
	return n, err
}

func (s *db) History(ctx context.Context, id string) ([]safety.Step, error) {
	steps, err := read(ctx, s, "select_steps", func(r scanner) (step safety.Step, err error) {
		text, err := one[string](r)
		if err == nil {
			err = json.Unmarshal([]byte(text), &step)
		}
		return step, err
	}, id)
	if err == nil && len(steps) == 0 {
		err = fmt.Errorf("postgres: approval %q: %w", id, safety.ErrNotFound)
	}
	return steps, err
}

func (s *db) List(ctx context.Context, q safety.Query) (list []safety.Approval, err error) {
	if q.ID == "" && q.Session == (safety.Query{}).Session {
		return nil, s.do(ctx, "list approvals", func(context.Context) error { return nil })
	}
	all, err := read(ctx, s, "select_approvals", scanApproval,
		q.ID, keyOf(q.Session), q.ConfirmationID, q.Tool, q.ArgsDigest, q.Brief)
	for _, a := range all {
		if q.Selects(&a.Approval) {
			list = append(list, a.Approval)
		}
	}
	return list, err
}
