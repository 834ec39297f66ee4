// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/adk-contextgraph/contextgraph/internal/queue"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/record"
)

// inserter stores rows and keeps the list of sessions in step with them.
type inserter struct {
	conn *sqlite.Conn
	last int64 // the seq of the last row
	// sessions, agents and children are what one transaction adds.
	sessions map[int64]*activity
	agents   map[sessionAgent]struct{}
	children []childOf
	// numbers are those of sessions, which never change.
	numbers map[record.Session]int64
	// known are agents that the file has, as far as version says: the number that SQLite changes
	// when another connection has written.
	known   map[sessionAgent]struct{}
	version int64
}

// knownSessions bounds the agents and the sessions that are known. It is more than those that run at once.
const knownSessions = 1 << 16

// activity is the addition of one transaction to a session.
type activity struct {
	first, last, lastSeq, events int64
}

// sessionAgent is an agent in the session with a number.
type sessionAgent struct {
	session int64
	agent   string
}

// childOf is the session of an agent that ran as a tool, and the session that called it.
type childOf struct {
	parent record.Session
	child  record.Child
}

func newInserter(conn *sqlite.Conn) *inserter {
	return &inserter{
		conn:     conn,
		sessions: make(map[int64]*activity),
		agents:   make(map[sessionAgent]struct{}),
		numbers:  make(map[record.Session]int64),
		known:    make(map[sessionAgent]struct{}),
	}
}

// forget is for a transaction that failed, and for one that removed a session.
func (in *inserter) forget() {
	clear(in.numbers)
	clear(in.known)
}

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
	if max(len(in.known), len(in.numbers)) > knownSessions {
		in.forget()
	}
	if version != in.version {
		clear(in.known)
	}
	in.version = version
	return nil
}

// insert stores the rows of segs inside the transaction of the caller. A row that SQLite refuses
// does not keep the others from being stored.
func (in *inserter) insert(segs []*queue.Segment) (queue.Result, error) {
	clear(in.sessions)
	clear(in.agents)
	in.children = in.children[:0]
	var res queue.Result
	if err := in.checkKnown(); err != nil {
		return res, err
	}
	if len(segs) > 0 {
		if err := in.findLast(); err != nil {
			return res, err
		}
	}
	stmt, err := in.conn.Prepare(insertEventSQL)
	if err != nil {
		return res, err
	}
	for _, s := range segs {
		rows := s.Live()
		for i := range rows {
			e := &rows[i]
			if err := in.row(stmt, e, &res); err != nil {
				return res, err
			}
		}
	}
	return res, in.updateSessions()
}

func (in *inserter) row(stmt *sqlite.Stmt, e *record.Event, res *queue.Result) error {
	session, err := in.number(e.Session())
	if err != nil {
		return err
	}
	bindEvent(&binder{stmt: stmt}, in.last+1, session, e)
	_, err = stmt.Step()
	switch code := sqlite.ErrCode(err).ToPrimary(); {
	case err == nil:
	case code == sqlite.ResultTooBig || code == sqlite.ResultConstraint || code == sqlite.ResultMismatch:
		res.Rejected = append(res.Rejected, e)
		res.Errors = append(res.Errors, fmt.Errorf("row %s of session %s: %w", e.EventID, e.SessionID, err))
		return nil
	default:
		return err
	}
	if err := stmt.Reset(); err != nil {
		return err
	}
	if in.conn.Changes() == 0 {
		res.Duplicates++
		return nil
	}
	res.Stored++
	in.last++
	in.note(session, e, in.last)
	return nil
}

// findLast reads which row was the last: another process may have written it.
func (in *inserter) findLast() error {
	return query(in.conn, selectLastNumberSQL, func(*binder) {}, func(stmt *sqlite.Stmt) error {
		in.last = stmt.ColumnInt64(0)
		return nil
	})
}

// number returns the number of a session, which gets one here if it has none.
func (in *inserter) number(s record.Session) (int64, error) {
	if n, ok := in.numbers[s]; ok {
		return n, nil
	}
	n, err := numberOf(in.conn, s)
	if err == nil {
		in.numbers[s] = n
	}
	return n, err
}

// numberOf returns the number of a session, which gets one here if it has none.
func numberOf(conn *sqlite.Conn, s record.Session) (n int64, err error) {
	if err := exec(conn, numberSessionSQL, func(b *binder) { b.session(s) }); err != nil {
		return 0, err
	}
	err = query(conn, selectNumberSQL, func(b *binder) { b.session(s) }, func(stmt *sqlite.Stmt) error {
		n = stmt.ColumnInt64(0)
		return nil
	})
	return n, err
}

// note remembers what e means for the list of sessions.
func (in *inserter) note(session int64, e *record.Event, seq int64) {
	a, ok := in.sessions[session]
	if !ok {
		a = &activity{first: e.Timestamp, last: e.Timestamp}
		in.sessions[session] = a
	}
	a.first, a.last = min(a.first, e.Timestamp), max(a.last, e.Timestamp)
	a.lastSeq = seq
	a.events++
	if e.Agent != "" {
		if agent := (sessionAgent{session, e.Agent}); !in.has(agent) {
			in.agents[agent] = struct{}{}
		}
	}
	if parent, child, is := schema.Nested(e); is {
		in.children = append(in.children, childOf{parent, child})
	}
}

func (in *inserter) updateSessions() error {
	for session, a := range in.sessions {
		err := exec(in.conn, updateSessionSQL, func(b *binder) {
			b.integer(session, a.first, a.last, a.lastSeq, a.events)
		})
		if err != nil {
			return err
		}
	}
	for sa := range in.agents {
		err := exec(in.conn, insertAgentSQL, func(b *binder) {
			b.integer(sa.session)
			b.text(sa.agent)
		})
		if err != nil {
			return err
		}
		in.known[sa] = struct{}{}
	}
	for _, c := range in.children {
		parent, err := in.number(c.parent)
		if err != nil {
			return err
		}
		child, err := in.number(c.child.Session)
		if err != nil {
			return err
		}
		err = exec(in.conn, insertChildSQL, func(b *binder) {
			b.integer(parent, child)
			b.text(c.child.Span, c.child.Call)
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

// bindEvent sets the parameters of insert_event.
func bindEvent(b *binder, seq, session int64, e *record.Event) {
	b.integer(seq, session)
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
