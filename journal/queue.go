// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"sync"

	"github.com/adk-contextgraph/contextgraph/internal/schema"
)

// segmentRows is the number of rows of a segment: growing the queue costs one
// allocation of this size, never a copy of what waits, so the lock stays short.
const segmentRows = 128

// freeSegments is how many empty segments are kept for reuse.
const freeSegments = 16

// segment is a run of rows with the number of bytes they hold.
type segment struct {
	rows  []schema.Event
	bytes int64
}

// queue is the bounded buffer between the callers of Append and the writer. The
// writer takes all waiting segments at once while callers fill new ones; rows it
// has taken count against the bounds until they are stored or lost.
type queue struct {
	maxRows  int
	maxBytes int64
	// wake holds at most one signal: rows began to wait, or a group is complete.
	wake chan struct{}

	mu        sync.Mutex
	waiting   []*segment
	free      []*segment
	waitRows  int
	waitBytes int64
	heldRows  int
	heldBytes int64
	closed    bool
	accepted  uint64
	lost      map[LossReason]uint64
	bySession map[schema.Session]int
}

func newQueue(maxRows int, maxBytes int64) *queue {
	return &queue{
		maxRows:   maxRows,
		maxBytes:  maxBytes,
		wake:      make(chan struct{}, 1),
		lost:      make(map[LossReason]uint64),
		bySession: make(map[schema.Session]int),
	}
}

// put appends a copy of *e. It reports false, and counts why, when e is not usable,
// the queue is full or closed.
func (q *queue) put(e *schema.Event) bool {
	size := rowBytes(e)
	q.mu.Lock()
	switch {
	case e.EventID == "" || e.EventType == "" || e.Status == "":
		q.lose(LostInvalid, e)
	case q.closed:
		q.lose(LostClosed, e)
	case q.waitRows+q.heldRows >= q.maxRows || q.waitBytes+q.heldBytes+size > q.maxBytes:
		q.lose(LostQueueFull, e)
	default:
		q.push(e, size)
		q.accepted++
		// One signal starts the interval, one more tells that a group is complete.
		wake := q.waitRows == 1 || q.waitRows == groupRows ||
			(q.waitBytes >= groupBytes && q.waitBytes-size < groupBytes)
		q.mu.Unlock()
		if wake {
			select {
			case q.wake <- struct{}{}:
			default:
			}
		}
		return true
	}
	q.mu.Unlock()
	return false
}

func (q *queue) push(e *schema.Event, size int64) {
	n := len(q.waiting)
	if n == 0 || len(q.waiting[n-1].rows) == segmentRows {
		q.waiting = append(q.waiting, q.newSegment())
		n++
	}
	s := q.waiting[n-1]
	s.rows = append(s.rows, *e)
	s.bytes += size
	q.waitRows++
	q.waitBytes += size
}

func (q *queue) newSegment() *segment {
	if n := len(q.free); n > 0 {
		s := q.free[n-1]
		q.free[n-1] = nil
		q.free = q.free[:n-1]
		return s
	}
	return &segment{rows: make([]schema.Event, 0, segmentRows)}
}

// lose counts one row that will not be stored. The caller holds mu.
func (q *queue) lose(r LossReason, e *schema.Event) {
	q.lost[r]++
	q.bySession[e.Session()]++
}

// size returns what waits to be taken.
func (q *queue) size() (rows int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waitRows, q.waitBytes
}

// take appends all waiting segments to held, in order, and returns it.
func (q *queue) take(held []*segment) []*segment {
	q.mu.Lock()
	defer q.mu.Unlock()
	held = append(held, q.waiting...)
	clear(q.waiting)
	q.waiting = q.waiting[:0]
	q.heldRows += q.waitRows
	q.heldBytes += q.waitBytes
	q.waitRows, q.waitBytes = 0, 0
	return held
}

// release gives back segments that the writer is done with: their rows are stored,
// but for those in rejected, which are counted as lost.
func (q *queue) release(done []*segment, rejected []*schema.Event) {
	q.mu.Lock()
	for _, e := range rejected {
		q.lose(LostRejected, e)
	}
	for _, s := range done {
		q.heldRows -= len(s.rows)
		q.heldBytes -= s.bytes
	}
	q.mu.Unlock()

	for _, s := range done {
		clear(s.rows)
		s.rows, s.bytes = s.rows[:0], 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	room := freeSegments - len(q.free)
	q.free = append(q.free, done[:min(room, len(done))]...)
}

// abandon counts every row of held as lost for reason r and returns how many.
func (q *queue) abandon(held []*segment, r LossReason) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, s := range held {
		for i := range s.rows {
			q.lose(r, &s.rows[i])
		}
		n += len(s.rows)
		q.heldRows -= len(s.rows)
		q.heldBytes -= s.bytes
	}
	return n
}

// close makes put refuse from now on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

func (q *queue) lostOf(s schema.Session) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bySession[s]
}

// rowBytes estimates what e holds in memory.
func rowBytes(e *schema.Event) int64 {
	const fixed = 384 // the struct itself
	return int64(fixed + len(e.EventID) + len(e.EventType) + len(e.Agent) + len(e.SessionID) +
		len(e.InvocationID) + len(e.UserID) + len(e.TraceID) + len(e.SpanID) + len(e.ParentSpanID) +
		len(e.Content) + len(e.ContentParts) + len(e.Attributes) + len(e.LatencyMS) +
		len(e.Status) + len(e.ErrorMessage) + len(e.AppName) + len(e.RunID))
}
