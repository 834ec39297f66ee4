// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// inserter stores rows and keeps the list of sessions in step with them.
type inserter struct {
	conn     *sqlite.Conn
	sessions map[record.Session]*activity
	agents   map[sessionAgent]struct{}
	children []childOf
	// known are agents that the file has, as far as version says: the number that SQLite changes
	// when another connection has written.
	known   map[sessionAgent]struct{}
	version int64
}

// knownAgents bounds the agents that are known. It is more than the sessions that run at once.
const knownAgents = 1 << 16

// activity is the addition of one transaction to a session.
type activity struct {
	first, last, lastSeq, events int64
}

type sessionAgent struct {
	session record.Session
	agent   string
}

// childOf is the session of an agent that ran as a tool, and the session that called it.
type childOf struct{ parent, child record.Session }

// insertResult has the outcome for the rows of one transaction.
type insertResult struct {
	stored, duplicates uint64
	rejected           []*record.Event
	errors             []error
}

func newInserter(conn *sqlite.Conn) *inserter {
	return &inserter{
		conn:     conn,
		sessions: make(map[record.Session]*activity),
		agents:   make(map[sessionAgent]struct{}),
		known:    make(map[sessionAgent]struct{}),
	}
}

// forget is for a transaction that failed, and for one that removed a session.
func (in *inserter) forget() { clear(in.known) }

// checkKnown forgets the known agents if another connection may have removed one.
func (in *inserter) checkKnown() error {
	var version int64
	err := query(in.conn, "PRAGMA data_version", func(*binder) {}, func(stmt *sqlite.Stmt) error {
		version = stmt.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return err
	}
	if version != in.version || len(in.known) > knownAgents {
		in.forget()
	}
	in.version = version
	return nil
}

// insert stores the rows of segs inside the transaction of the caller. A row that SQLite refuses
// does not keep the others from being stored.
func (in *inserter) insert(segs []*segment) (insertResult, error) {
	clear(in.sessions)
	clear(in.agents)
	in.children = in.children[:0]
	var res insertResult
	if err := in.checkKnown(); err != nil {
		return res, err
	}
	stmt, err := in.conn.Prepare(insertEventSQL)
	if err != nil {
		return res, err
	}
	for _, s := range segs {
		rows := s.live()
		for i := range rows {
			e := &rows[i]
			if err := in.row(stmt, e, &res); err != nil {
				return res, err
			}
		}
	}
	return res, in.updateSessions()
}

func (in *inserter) row(stmt *sqlite.Stmt, e *record.Event, res *insertResult) error {
	bindEvent(&binder{stmt: stmt}, e)
	_, err := stmt.Step()
	switch code := sqlite.ErrCode(err).ToPrimary(); {
	case err == nil:
	case code == sqlite.ResultTooBig || code == sqlite.ResultConstraint || code == sqlite.ResultMismatch:
		res.rejected = append(res.rejected, e)
		res.errors = append(res.errors, fmt.Errorf("row %s of session %s: %w", e.EventID, e.SessionID, err))
		return nil
	default:
		return err
	}
	if err := stmt.Reset(); err != nil {
		return err
	}
	if in.conn.Changes() == 0 {
		res.duplicates++
		return nil
	}
	res.stored++
	in.note(e, in.conn.LastInsertRowID())
	return nil
}

// note remembers what e means for the list of sessions.
func (in *inserter) note(e *record.Event, seq int64) {
	key := e.Session()
	a, ok := in.sessions[key]
	if !ok {
		a = &activity{first: e.Timestamp, last: e.Timestamp}
		in.sessions[key] = a
	}
	a.first, a.last = min(a.first, e.Timestamp), max(a.last, e.Timestamp)
	a.lastSeq = seq
	a.events++
	if e.Agent != "" {
		if agent := (sessionAgent{key, e.Agent}); !in.has(agent) {
			in.agents[agent] = struct{}{}
		}
	}
	if child, ran := schema.ChildSession(e); ran {
		in.children = append(in.children, childOf{key, child})
	}
}

func (in *inserter) updateSessions() error {
	for s, a := range in.sessions {
		err := exec(in.conn, upsertSessionSQL, func(b *binder) {
			b.session(s)
			b.integer(a.first, a.last, a.lastSeq, a.events)
		})
		if err != nil {
			return err
		}
	}
	for sa := range in.agents {
		err := exec(in.conn, insertAgentSQL, func(b *binder) {
			b.session(sa.session)
			b.text(sa.agent)
		})
		if err != nil {
			return err
		}
		in.known[sa] = struct{}{}
	}
	for _, c := range in.children {
		err := exec(in.conn, insertChildSQL, func(b *binder) {
			b.session(c.parent)
			b.session(c.child)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *inserter) has(a sessionAgent) bool {
	_, ok := in.known[a]
	return ok
}

// bindEvent sets the parameters of insert_event.sql.
func bindEvent(b *binder, e *record.Event) {
	b.text(e.AppName, e.RunID)
	b.integer(e.RunSeq, e.Timestamp)
	b.text(e.EventID, e.EventType)
	b.optional(e.Agent)
	b.text(e.SessionID)
	b.optional(e.InvocationID)
	b.text(e.UserID)
	b.optional(e.TraceID, e.SpanID, e.ParentSpanID)
	b.json(e.Content, e.ContentParts, e.Attributes, e.LatencyMS)
	b.text(e.Status)
	b.optional(e.ErrorMessage)
	b.boolean(e.IsTruncated)
}
