// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package queue holds the rows that wait to be stored, in bounds, and keeps the books of what became of them. It
// is what the stores of rows have in common: none of them makes a callback of an agent wait for a disk.
package queue

import (
	"maps"
	"sync"
	"time"

	"github.com/adk-contextgraph/contextgraph/config"
	"github.com/adk-contextgraph/contextgraph/internal/schema"
	"github.com/adk-contextgraph/contextgraph/internal/store"
	"github.com/adk-contextgraph/contextgraph/record"
)

// approvalRoom is how far approval rows may go beyond the bounds of the queue, as a
// multiple of them.
const approvalRoom = 2

// lostSessions bounds how many sessions the queue remembers the losses of.
const lostSessions = 1 << 16

// Queue is the bounded buffer between the callers of Append and the writer. The writer takes the
// rows of one transaction at a time; they count against the bounds until they are stored or lost.
// The queue also keeps the books: each change of a row's state is noted under the lock that makes
// the change, so that the numbers add up at any time.
type Queue struct {
	max     tally
	onFull  config.OnFull
	timeout time.Duration
	// group completes a group before its interval is over.
	group tally
	tx    tally // bounds what Take gives
	wake  chan struct{}

	mu sync.Mutex
	// kept holds the approval rows that drop_oldest passed over, all older than
	// those in waiting. Moving them out of the way keeps the dropping of a row at
	// constant cost, and keeps them from holding on to segments of dropped rows.
	kept    fifo
	waiting fifo
	held    tally // taken by the writer
	free    freeList
	closed  bool
	// room is closed when rows leave the queue; nil while none of the blocked calls
	// of put waits for that.
	room    chan struct{}
	blocked int

	accepted, stored, duplicates, commits uint64

	lost      map[store.LossReason]uint64
	bySession map[record.Session]int
	elsewhere int // losses of sessions that bySession has no room for
	// unsaved is the part of bySession that the file does not know of, by run. It has unsavedRuns lines.
	unsaved     map[record.Session]map[string]int
	unsavedRuns int
}

// Config bounds a queue. The store says how much its transactions hold.
type Config struct {
	// Rows and Bytes bound what waits.
	Rows  int
	Bytes int64
	// OnFull decides about a row without room; with [config.Block] it waits for BlockTimeout.
	OnFull       config.OnFull
	BlockTimeout time.Duration
	// GroupRows and GroupBytes complete a group before its interval is over. TxRows and TxBytes bound what
	// Take gives at a time.
	GroupRows, TxRows   int
	GroupBytes, TxBytes int64
}

// New returns an empty queue.
func New(cfg Config) *Queue {
	return &Queue{
		max:     tally{cfg.Rows, cfg.Bytes},
		onFull:  cfg.OnFull,
		timeout: cfg.BlockTimeout,
		// Half of a small queue: the other half fills while the group is stored.
		group:     tally{max(1, min(cfg.GroupRows, cfg.Rows/2)), max(1, min(cfg.GroupBytes, cfg.Bytes/2))},
		tx:        tally{cfg.TxRows, cfg.TxBytes},
		wake:      make(chan struct{}, 1),
		lost:      make(map[store.LossReason]uint64),
		bySession: make(map[record.Session]int),
		unsaved:   make(map[record.Session]map[string]int),
	}
}

// Wake holds at most one signal: rows began to wait, or a group is complete.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// Blocked returns how many calls of Put wait for room.
func (q *Queue) Blocked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.blocked
}

// Put appends a copy of *e. It reports false, and counts why, when e is not taken.
func (q *Queue) Put(e *record.Event) bool {
	size := rowBytes(e)
	approval := schema.IsApproval(e.EventType)
	q.mu.Lock()
	reason := q.admit(e, size, approval)
	if reason == store.LostQueueFull && q.onFull == config.Block && size <= q.max.bytes {
		reason = q.await(e, size)
	}
	if reason != "" {
		q.lose(reason, e)
		q.mu.Unlock()
		return false
	}
	before := q.waiting.all
	q.waiting.push(e, size, approval, &q.free)
	q.accepted++
	// One signal starts the interval, one more tells that a group is complete.
	wake := before.rows == 0 || !q.complete(before) && q.complete(q.waiting.all)
	q.mu.Unlock()
	if wake {
		q.Signal()
	}
	return true
}

// Signal wakes the writer, now or when it next looks.
func (q *Queue) Signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) complete(t tally) bool {
	return t.rows >= q.group.rows || t.bytes >= q.group.bytes
}

// admit returns why there is no place for e, "" when there is one. With drop_oldest
// it makes the place. The caller holds mu.
func (q *Queue) admit(e *record.Event, size int64, approval bool) store.LossReason {
	switch {
	case e.EventID == "" || e.EventType == "" || e.Status == "":
		return store.LostInvalid
	case q.closed:
		return store.LostClosed
	case q.fits(size, 1), q.onFull == config.DropOldest && q.makeRoom(size):
		return ""
	case !approval:
		return store.LostQueueFull
	case q.fits(size, approvalRoom):
		return ""
	default:
		return store.LostApprovalsFull
	}
}

// fits reports whether a row of the size stays within times the bounds.
func (q *Queue) fits(size int64, times int) bool {
	t := q.total()
	return t.rows < q.max.rows*times && t.bytes+size <= q.max.bytes*int64(times)
}

// total is everything that counts against the bounds.
func (q *Queue) total() tally {
	t := q.held
	t.add(q.kept.all)
	t.add(q.waiting.all)
	return t
}

// makeRoom drops the oldest rows until one of the size fits. It drops none when
// dropping all would not be enough. The caller holds mu.
func (q *Queue) makeRoom(size int64) bool {
	least := q.total()
	least.sub(q.waiting.droppable())
	if least.rows >= q.max.rows || least.bytes+size > q.max.bytes {
		return false
	}
	for !q.fits(size, 1) {
		e := q.waiting.first()
		n, approval := rowBytes(e), schema.IsApproval(e.EventType)
		if approval {
			q.kept.push(e, n, true, &q.free)
		} else {
			q.lose(store.LostDroppedOldest, e)
		}
		q.waiting.pop(n, approval, &q.free)
	}
	return true
}

// await waits until there is room for e, but at most the timeout. The caller holds
// mu, which is free during the wait.
func (q *Queue) await(e *record.Event, size int64) store.LossReason {
	timer := time.NewTimer(q.timeout)
	defer timer.Stop()
	q.blocked++
	defer func() { q.blocked-- }()
	for {
		if q.room == nil {
			q.room = make(chan struct{})
		}
		room, late := q.room, false
		q.mu.Unlock()
		q.Signal() // the group may be short of complete, because this row is large
		select {
		case <-room:
		case <-timer.C:
			late = true
		}
		q.mu.Lock()
		if reason := q.admit(e, size, false); reason != store.LostQueueFull || late {
			return reason
		}
	}
}

// vacate tells those who wait that there is room, or that there will be none. The
// caller holds mu.
func (q *Queue) vacate() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// lose counts one row that will not be stored. The caller holds mu.
func (q *Queue) lose(r store.LossReason, e *record.Event) {
	q.lost[r]++
	s := e.Session()
	if n, ok := q.bySession[s]; ok || len(q.bySession) < lostSessions {
		q.bySession[s] = n + 1
		q.loseOf(s, e.RunID)
	} else {
		q.elsewhere++
	}
}

// waitingRows bounds the rows that waitingOf looks at, because Append waits meanwhile.
const waitingRows = 256

// WaitingOf returns the rows of s in the queue, in order. It cannot tell if the writer has taken
// rows, or if more than waitingRows wait.
func (q *Queue) WaitingOf(s record.Session) (rows []record.Event, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held.rows > 0 || q.total().rows > waitingRows {
		return nil, false
	}
	for _, of := range []*fifo{&q.kept, &q.waiting} {
		for seg := of.head; seg != nil; seg = seg.next {
			for i := range seg.Live() {
				if e := &seg.Live()[i]; e.SessionID == s.ID && e.UserID == s.User && e.AppName == s.App {
					rows = append(rows, *e)
				}
			}
		}
	}
	return rows, true
}

// Pending returns how many rows are queued, those that the writer has taken
// included, and whether a group waits that is complete, or that somebody waits for.
func (q *Queue) Pending() (rows int, complete bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total().rows, q.blocked > 0 || q.kept.all.rows > 0 || q.complete(q.waiting.all)
}

// Take moves rows of about one transaction from the queue to held, in order, and
// returns it.
func (q *Queue) Take(held []*Segment) []*Segment {
	q.mu.Lock()
	defer q.mu.Unlock()
	var taken tally
	for taken.rows < q.tx.rows && taken.bytes < q.tx.bytes {
		s := q.kept.shift()
		if s == nil {
			s = q.waiting.shift()
		}
		if s == nil {
			break
		}
		taken.add(s.all)
		held = append(held, s)
	}
	q.held.add(taken)
	return held
}

// Result has the outcome for the rows of one transaction.
type Result struct {
	Stored, Duplicates uint64
	Rejected           []*record.Event
	Errors             []error // why, for each that was rejected
}

// Release gives back segments with stored rows. Rows that were rejected according to res are
// counted as lost.
func (q *Queue) Release(done []*Segment, res Result) {
	q.mu.Lock()
	q.stored += res.Stored
	q.duplicates += res.Duplicates
	if len(done) > 0 {
		q.commits++
	}
	for _, e := range res.Rejected {
		q.lose(store.LostRejected, e)
	}
	for _, s := range done {
		q.held.sub(s.all)
	}
	q.vacate()
	q.mu.Unlock()

	for _, s := range done {
		s.reset()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range done {
		q.free.put(s)
	}
}

// Abandon counts every row of held as lost for reason r and returns how many.
func (q *Queue) Abandon(held []*Segment, r store.LossReason) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, s := range held {
		for i := range s.Live() {
			q.lose(r, &s.Live()[i])
		}
		n += s.all.rows
		q.held.sub(s.all)
	}
	q.vacate()
	return n
}

// Close makes put refuse from now on.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.vacate()
}

// LostOf returns how many rows of s were lost, and those that the file does not know of, by run.
func (q *Queue) LostOf(s record.Session) (lost int, unsaved map[string]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n, ok := q.bySession[s]; ok {
		return n, maps.Clone(q.unsaved[s])
	}
	return q.elsewhere, nil
}

// Count adds the numbers of the queue to s.
func (q *Queue) Count(s *store.Stats) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.Accepted, s.Stored, s.Duplicates, s.Commits = q.accepted, q.stored, q.duplicates, q.commits
	s.Lost = maps.Clone(q.lost)
	t := q.total()
	s.QueuedRows, s.QueuedBytes = t.rows, t.bytes
}

// rowBytes estimates what e holds in memory.
func rowBytes(e *record.Event) int64 {
	const fixed = 384 // the struct itself
	return int64(fixed + len(e.EventID) + len(e.EventType) + len(e.Agent) + len(e.SessionID) +
		len(e.InvocationID) + len(e.UserID) + len(e.TraceID) + len(e.SpanID) + len(e.ParentSpanID) +
		len(e.Content) + len(e.ContentParts) + len(e.Attributes) + len(e.LatencyMS) +
		len(e.Status) + len(e.ErrorMessage) + len(e.AppName) + len(e.RunID))
}
