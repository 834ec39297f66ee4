// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/safety"
)

// Ledger returns the approvals ledger of the journal. A change is on disk when the method that made
// it returns nil. One exception: an approval that Create stored without a confirmation is as safe as
// rows are until Attach names the confirmation. Nobody can answer it before. Processes that have the
// same file open share the ledger.
func (j *Journal) Ledger() safety.Ledger { return &ledger{j: j} }

type ledger struct{ j *Journal }

// Create stores a pending approval and the first step of its history.
func (l *ledger) Create(ctx context.Context, a safety.Approval) error {
	what := fmt.Sprintf("create approval %q", a.ID)
	row, err := encodeApproval(a)
	if err = cmp.Or(a.CheckNew(), err); err != nil {
		return fmt.Errorf("journal: %s: %w", what, err)
	}
	level := syncFull
	if a.ConfirmationID == "" { // the step that names it brings it to the disk
		level = l.j.w.level
	}
	return l.write(ctx, what, level, func(conn *sqlite.Conn) error {
		session, err := numberOf(conn, a.Session)
		if err != nil {
			return err
		}
		err = exec(conn, insertApprovalSQL, func(b *binder) { row.bind(b, session) })
		if isConstraint(err) {
			return fmt.Errorf("%w: the id exists, or call %q of run %q or confirmation %q has one, or %q was replaced before", safety.ErrConflict, a.CallID, a.RunID, a.ConfirmationID, a.Replaces)
		}
		if err != nil {
			return err
		}
		return addStep(conn, a.ID, a.FirstStep())
	})
}

// Attach names the confirmation of an approval, once.
func (l *ledger) Attach(ctx context.Context, id, confirmationID string) error {
	return l.write(ctx, fmt.Sprintf("attach to approval %q", id), syncFull, func(conn *sqlite.Conn) error {
		a, err := stateOf(conn, id)
		if err != nil {
			return err
		}
		if err := a.CheckAttach(confirmationID); err != nil {
			return err
		}
		err = exec(conn, attachApprovalSQL, func(b *binder) { b.text(id, confirmationID) })
		if isConstraint(err) {
			return fmt.Errorf("%w: confirmation %q belongs to another", safety.ErrConflict, confirmationID)
		}
		return err
	})
}

// Transition changes an approval in one immediate transaction: no other process can change it
// between the test and the change. It neither reads nor returns the long parts: arguments,
// entities, gaps, difference and report.
func (l *ledger) Transition(ctx context.Context, t safety.Transition) (safety.Approval, error) {
	var moved safety.Approval
	err := l.write(ctx, fmt.Sprintf("approval %q to %s", t.ID, t.To), syncFull, func(conn *sqlite.Conn) error {
		a, err := stateOf(conn, t.ID)
		if err != nil {
			return err
		}
		var steps []safety.Step
		if moved, steps, err = t.Apply(a); err != nil {
			return err
		}
		consents, err := json.Marshal(moved.Consents)
		if err != nil {
			return err
		}
		err = exec(conn, updateApprovalSQL, func(b *binder) {
			b.text(moved.ID)
			bindState(b, moved, consents)
		})
		if err == nil && moved.State.Final() {
			err = exec(conn, closeApprovalSQL, func(b *binder) { b.text(moved.ID) })
		}
		if err != nil {
			return err
		}
		for _, s := range steps {
			if err := addStep(conn, a.ID, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return safety.Approval{}, err
	}
	return moved, nil
}

// List returns the approvals that q selects, oldest first.
func (l *ledger) List(ctx context.Context, q safety.Query) ([]safety.Approval, error) {
	return get(ctx, l.j, "list approvals", func(conn *sqlite.Conn) ([]safety.Approval, error) { return listApprovals(conn, q) })
}

// listApprovals returns the approvals that q selects, oldest first.
func listApprovals(conn *sqlite.Conn, q safety.Query) (list []safety.Approval, err error) {
	err = query(conn, selectApprovalsSQL, func(b *binder) {
		b.session(q.Session)
		b.text(q.ID, q.ConfirmationID, q.Tool, q.ArgsDigest)
		b.boolean(q.Brief)
	}, func(stmt *sqlite.Stmt) error {
		a, err := scanApproval(stmt)
		if err == nil && q.Selects(&a) {
			list = append(list, a)
		}
		return err
	})
	return list, err
}

// History returns what happened to an approval, oldest first.
func (l *ledger) History(ctx context.Context, id string) ([]safety.Step, error) {
	var steps []safety.Step
	err := l.j.read(ctx, fmt.Sprintf("history of approval %q", id), func(conn *sqlite.Conn) error {
		err := query(conn, selectHistorySQL, func(b *binder) { b.text(id) }, func(stmt *sqlite.Stmt) error {
			steps = append(steps, safety.Step{
				From:    safety.ApprovalState(stmt.ColumnText(0)),
				To:      safety.ApprovalState(stmt.ColumnText(1)),
				At:      columnTime(stmt, 2),
				Actor:   stmt.ColumnText(3),
				Verdict: stmt.ColumnText(4),
				Note:    stmt.ColumnText(5),
				Run:     stmt.ColumnText(6),
				Check:   stmt.ColumnText(7),

				Authenticated: stmt.ColumnBool(8),
				Resolved:      stmt.ColumnBool(9),
				Override:      stmt.ColumnBool(10),
			})
			return nil
		})
		if err == nil && len(steps) == 0 {
			// The creation of every approval is a step.
			return safety.ErrNotFound
		}
		return err
	})
	return steps, err
}

// write runs fn in one transaction with the rows that wait.
func (l *ledger) write(ctx context.Context, what string, level synchronous, fn func(*sqlite.Conn) error) error {
	if err := l.j.w.join(ctx, level, fn); err != nil {
		return fmt.Errorf("journal: %s: %w", what, err)
	}
	return nil
}

// addStep adds a step to the history of an approval, after which the session comes to something else.
func addStep(conn *sqlite.Conn, id string, s safety.Step) error {
	if err := exec(conn, removeSummaryOfSQL, func(b *binder) { b.text(id) }); err != nil {
		return err
	}
	return exec(conn, insertHistorySQL, func(b *binder) {
		b.text(id)
		b.optional(string(s.From))
		b.text(string(s.To))
		b.time(s.At)
		b.optional(s.Actor, s.Verdict, s.Note, s.Run, s.Check)
		b.boolean(s.Authenticated)
		b.boolean(s.Resolved)
		b.boolean(s.Override)
	})
}

// stateOf reads an approval without its long parts; ErrNotFound if there is none with the id.
func stateOf(conn *sqlite.Conn, id string) (safety.Approval, error) {
	list, err := listApprovals(conn, safety.Query{ID: id, Brief: true})
	if err != nil {
		return safety.Approval{}, err
	}
	if len(list) == 0 {
		return safety.Approval{}, safety.ErrNotFound
	}
	return list[0], nil
}

func isConstraint(err error) bool {
	return err != nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint
}
