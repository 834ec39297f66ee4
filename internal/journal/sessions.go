// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
	"github.com/adk-contextgraph/contextgraph/safety"
)

// Sessions lists sessions, the one with the newest row first.
func (j *Journal) Sessions(ctx context.Context, q store.Query) ([]store.Session, error) {
	if err := q.Check(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var list []store.Session
	err := j.read(ctx, "list sessions", func(conn *sqlite.Conn) error {
		return query(conn, selectSessionsSQL, func(b *binder) {
			b.text(q.App, q.User)
			b.integer(int64(cmp.Or(q.Limit, store.DefaultLimit)), int64(q.Offset))
			b.text(q.ID)
			b.time(q.From, q.To)
			b.integer(cmp.Or(q.Before, math.MaxInt64))
			b.text(q.Prefix, afterPrefix(q.Prefix))
		}, func(stmt *sqlite.Stmt) error {
			s, err := scanSummary(stmt)
			list = append(list, s)
			return err
		})
	})
	return list, err
}

func scanSummary(stmt *sqlite.Stmt) (store.Session, error) {
	s := store.Session{
		Session:  columnSession(stmt, 0),
		First:    columnTime(stmt, 3),
		Last:     columnTime(stmt, 4),
		LastSeq:  stmt.ColumnInt64(5),
		Events:   stmt.ColumnInt64(6),
		Approval: stmt.ColumnText(8),
	}
	if err := json.Unmarshal(columnJSON(stmt, 7), &s.Agents); err != nil {
		return s, fmt.Errorf("agents of session %s: %w", s.Session.ID, err)
	}
	slices.Sort(s.Agents)
	return s, nil
}

// Session returns a session as it is now. found is false if nothing is left of it.
func (j *Journal) Session(ctx context.Context, s record.Session) (is store.Session, found bool, err error) {
	err = j.read(ctx, "look up a session", func(conn *sqlite.Conn) error {
		return query(conn, selectSessionSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) (err error) {
			found = true
			is, err = scanSummary(stmt)
			return err
		})
	})
	return is, found, err
}

// afterPrefix returns a text behind all texts that begin with prefix.
func afterPrefix(prefix string) string { return prefix + "\U0010FFFF" }

// Requested returns the sessions with an approval whose id, or that of its confirmation, begins with
// prefix: those of an application and a user where of names them, the one with the newest approval
// first, at most limit.
func (j *Journal) Requested(ctx context.Context, of record.Session, prefix string, limit int) ([]record.Session, error) {
	return list(ctx, j, "look for an approval", selectRequestedSQL, func(b *binder) {
		b.text(prefix, afterPrefix(prefix), of.App, of.User)
		b.integer(int64(max(limit, 0)))
	}, firstSession)
}

// OpenRequests returns the sessions with a request for an approval that may still be answered at the time
// now, at most limit of them. The one that expires first comes first.
func (j *Journal) OpenRequests(ctx context.Context, now time.Time, limit int) ([]record.Session, error) {
	return list(ctx, j, "list open requests", selectOpenRequestsSQL, func(b *binder) {
		b.time(now)
		b.integer(int64(max(limit, 0)))
	}, firstSession)
}

// firstSession reads a session from the first columns.
func firstSession(stmt *sqlite.Stmt) record.Session { return columnSession(stmt, 0) }

// Standings returns where sessions stand, in their order. It reads no other rows of them
// than it returns.
func (j *Journal) Standings(ctx context.Context, sessions []record.Session) ([]store.Standing, error) {
	out := make([]store.Standing, len(sessions))
	err := j.read(ctx, "look where sessions stand", func(conn *sqlite.Conn) error {
		for i, s := range sessions {
			scan := rowOf(s)
			list, err := listApprovals(conn, safety.Query{Session: s, Brief: true})
			if err != nil {
				return err
			}
			out[i].Approvals = list
			err = query(conn, selectMilestonesSQL, func(b *binder) {
				b.session(s)
				b.boolean(len(out[i].Approvals) == 0)
			}, func(stmt *sqlite.Stmt) error {
				out[i].Rows = append(out[i].Rows, scan(stmt))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Outline returns the rows of s in the order they were recorded, without their payloads:
// of model calls alone there is something, the names of the models and the tokens used,
// where they stand in a row as it was recorded.
func (j *Journal) Outline(ctx context.Context, s record.Session) ([]record.Event, error) {
	return list(ctx, j, "outline a session", selectOutlineSQL, func(b *binder) { b.session(s) }, rowOf(s))
}
