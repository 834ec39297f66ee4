// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/adk-contextgraph/contextgraph/entity"
	"github.com/adk-contextgraph/contextgraph/record"
)

// Rows gives the rows of sessions. It is safe for concurrent use. Rows are only ever added, with
// growing numbers, or removed.
type Rows interface {
	// RowsAfter returns the next rows of a session after a number, in order: some of them, and none if
	// there are no more.
	RowsAfter(ctx context.Context, s record.Session, seq int64) ([]record.Event, error)
	// Row returns the row with an event id, of any session; false if there is none.
	Row(ctx context.Context, eventID string) (record.Event, bool, error)
	// Stored reports whether all rows with these event ids are there.
	Stored(ctx context.Context, eventIDs ...string) (bool, error)
	// Waiting returns the rows of a session that were recorded before and are not stored, in order,
	// unless it cannot tell.
	Waiting(s record.Session) (rows []record.Event, known bool)
	// Children returns the sessions of agents that ran as tools of a session, each with the span of its call.
	Children(ctx context.Context, s record.Session) ([]record.Child, error)
	// Flush stores every row recorded before.
	Flush(ctx context.Context) error
}

// keptBytes is how large the kept folds may be together.
const keptBytes = 64 << 20

// maxNested bounds how deep agents run as tools of agents that run as tools.
const maxNested = 16

// errNested is for a record that says so of itself.
var errNested = fmt.Errorf("agents run as tools more than %d deep", maxNested)

// Sessions folds sessions when somebody asks for them. It keeps the folds that were used last, up to
// 64 MB, and adds to them only the rows that came since. It is safe for concurrent use. Several
// processes may have the same rows: each folds for itself.
type Sessions struct {
	rows Rows
	x    *Extractor

	mu    sync.Mutex
	kept  map[branch]*list.Element // of *fold
	used  list.List                // the one that was used last in front
	bytes int64
}

// branch is a session without what some rewinds left. They are the event ids of their rows, with blanks between them;
// none is the whole session.
type branch struct {
	record.Session
	rewinds string
}

// fold is a branch that is kept.
type fold struct {
	of branch
	// busy holds a token while somebody uses the fields below it.
	busy    chan struct{}
	session *Session
	// bytes is the part of Sessions.bytes.
	bytes int64
}

// NewSessions returns the sessions of rows by the rules of x. A nil Extractor finds declared entities
// only.
func NewSessions(rows Rows, x *Extractor) *Sessions {
	return &Sessions{rows: rows, x: x, kept: make(map[branch]*list.Element)}
}

// Extractor returns the rules.
func (ss *Sessions) Extractor() *Extractor { return ss.x }

// Select selects the evidence of a decision, as [Session.Select] does, from all rows recorded before. If the history of
// the deciding run goes by rewinds, the runs that they left do not count.
func (ss *Sessions) Select(ctx context.Context, s record.Session, d record.Decision, turns ...string) (sel Selection, err error) {
	sel, rewinds, err := ss.selectIn(ctx, branch{Session: s}, d, turns)
	if err == nil && rewinds != "" {
		sel, _, err = ss.selectIn(ctx, branch{s, rewinds}, d, turns)
	}
	if err != nil {
		return Selection{}, fmt.Errorf("select the evidence of session %s: %w", s.ID, err)
	}
	return sel, nil
}

// selectIn selects in one branch. If the deciding run is of another one, it returns the rewinds of that.
func (ss *Sessions) selectIn(ctx context.Context, b branch, d record.Decision, turns []string) (sel Selection, rewinds string, err error) {
	err = ss.use(ctx, b, func(f *fold) error {
		waiting, known := ss.rows.Waiting(b.Session)
		if known {
			if err := ss.catchUp(ctx, f); err != nil {
				return err
			}
			// Some may have been stored since.
			waiting = slices.DeleteFunc(waiting, func(e record.Event) bool { _, stored := f.session.at[e.EventID]; return stored })
			known = f.session.idle(waiting, d)
		}
		if !known {
			waiting = nil
			if err := ss.rows.Flush(ctx); err != nil {
				return err
			}
			if err := ss.catchUp(ctx, f); err != nil {
				return err
			}
		}
		if rewinds = f.session.rewindsOf(d); b.rewinds != "" || rewinds == "" {
			sel = f.session.selected(d, turns, waiting)
		}
		return nil
	})
	return sel, rewinds, err
}

// Fold folds a session from its first row on, with its graph. It stores the rows that wait before.
// The result belongs to the caller.
func (ss *Sessions) Fold(ctx context.Context, s record.Session) (*Session, error) {
	err := ss.rows.Flush(ctx)
	out := newSession(ss.x)
	out.spans = newSpans()
	if err == nil {
		err = ss.read(ctx, s, out, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("fold session %s: %w", s.ID, err)
	}
	return out, nil
}

// use calls f with a fold that nobody else uses meanwhile.
func (ss *Sessions) use(ctx context.Context, b branch, f func(*fold) error) error {
	ss.mu.Lock()
	at := ss.kept[b]
	if at == nil {
		at = ss.used.PushFront(&fold{of: b, busy: make(chan struct{}, 1), session: newSession(ss.x)})
		ss.kept[b] = at
	} else {
		ss.used.MoveToFront(at)
	}
	ss.mu.Unlock()
	kept := at.Value.(*fold)
	select {
	case kept.busy <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		ss.account(at)
		<-kept.busy
	}()
	return f(kept)
}

// account counts the bytes of a fold, and forgets those that were not used for longest.
func (ss *Sessions) account(at *list.Element) {
	kept := at.Value.(*fold)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.kept[kept.of] != at {
		return // forgotten meanwhile
	}
	ss.bytes += kept.session.bytes - kept.bytes
	kept.bytes = kept.session.bytes
	for ss.bytes > keptBytes {
		last := ss.used.Back()
		old := last.Value.(*fold)
		ss.used.Remove(last)
		delete(ss.kept, old.of)
		ss.bytes -= old.bytes
	}
}

// catchUp adds the rows that were stored since. Where the first or the last row of before is gone, it
// starts anew.
func (ss *Sessions) catchUp(ctx context.Context, f *fold) error {
	if rows := f.session.rows; len(rows) > 0 {
		stored, err := ss.rows.Stored(ctx, rows[0].id, rows[len(rows)-1].id)
		if err != nil {
			return err
		}
		if !stored {
			f.session = newSession(ss.x)
		}
	}
	if f.of.rewinds != "" && f.session.left == nil {
		left, err := leftBy(ctx, ss.rows, f.of)
		if err != nil {
			return err
		}
		f.session.left = left
	}
	return ss.read(ctx, f.of.Session, f.session, 0)
}

// read adds the rows of a session that s lacks.
func (ss *Sessions) read(ctx context.Context, of record.Session, s *Session, depth int) error {
	if depth > maxNested {
		return errNested
	}
	others := &restOf{ctx: ctx, of: ss, session: of, depth: depth}
	for {
		rows, err := ss.rows.RowsAfter(ctx, of, s.counts.Watermark)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			if s.leaves(&rows[i]) {
				s.counts.Watermark = rows[i].Seq
				continue
			}
			if err := s.add(&rows[i], others); err != nil {
				return err
			}
		}
	}
}

// restOf implements [rest] for one reading of a session.
type restOf struct {
	ctx     context.Context
	of      *Sessions
	session record.Session
	depth   int
	// nested are the children of the session by the spans and the ids of their calls; nil until they are asked for.
	nested map[record.Child][]record.Session
}

func (r *restOf) children(span, call string) ([]record.Session, error) {
	if r.nested == nil {
		list, err := r.of.rows.Children(r.ctx, r.session)
		if err != nil {
			return nil, err
		}
		r.nested = make(map[record.Child][]record.Session)
		for _, c := range list {
			for _, by := range [...]record.Child{{Span: c.Span}, {Call: c.Call}} {
				if !slices.Contains(r.nested[by], c.Session) {
					r.nested[by] = append(r.nested[by], c.Session)
				}
			}
		}
	}
	return r.nested[record.Child{Span: span, Call: call}], nil
}

func (r *restOf) row(eventID string) (record.Event, bool, error) {
	return r.of.rows.Row(r.ctx, eventID)
}

// child folds the session anew: it is asked for once, when the tool that ran it has ended.
func (r *restOf) child(s record.Session) (*Session, error) {
	out := newSession(r.of.x)
	return out, r.of.read(r.ctx, s, out, r.depth+1)
}

// idle reports whether a decision can be made without the fold of these rows, which come after those
// of the session.
func (s *Session) idle(rows []record.Event, d record.Decision) bool {
	last := make(map[string]int64)
	for i := range rows {
		e := &rows[i]
		if s.x.bears(e) || e.EventID == d.Answer || e.EventID == d.After {
			return false
		}
		if e.RunID == "" || e.RunSeq == 0 {
			continue
		}
		before, known := last[e.RunID]
		switch run := s.runs[e.RunID]; {
		case run == nil && e.RunID == d.Run:
			return false // where it began says which broken turns count
		case run != nil && !known:
			before = run.Expected
		}
		if e.RunSeq <= before {
			return false // in a place that had a row, or was missing
		}
		last[e.RunID] = e.RunSeq
	}
	return true
}

// bears reports whether a row can change what a decision rests on. The arguments of a call do not:
// the deciding call's own are read from the request, and those of another call are no reason for it.
// A row that cannot be read as the rules say does.
func (x *Extractor) bears(e *record.Event) bool {
	switch e.EventType {
	case record.ToolCompleted, record.ToolError, record.NodeOutput, record.HITLInputRequestCompleted, record.ToolResultRewritten,
		record.LLMResponse, record.AgentResponse, record.EntitiesFound, record.TurnClosed:
		return true
	}
	read, err := x.row(e, nil, nil)
	return err != nil || e.IsTruncated && read.relevant || len(read.choices) > 0 ||
		slices.ContainsFunc(read.entities, func(e entity.Entity) bool { return e.Source != entity.SourceAction })
}
