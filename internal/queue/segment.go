// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import "github.com/adk-contextgraph/contextgraph/record"

// segmentRows and segmentBytes bound a segment. Growing the queue costs one allocation and never a
// copy of waiting rows. A taken segment is never much larger than asked for.
const (
	segmentRows  = 128
	segmentBytes = 256 << 10
)

// freeSegments is how many empty segments are kept for reuse.
const freeSegments = 64

// tally is a number of rows and the bytes they hold.
type tally struct {
	rows  int
	bytes int64
}

func (t *tally) add(o tally) { t.rows += o.rows; t.bytes += o.bytes }
func (t *tally) sub(o tally) { t.rows -= o.rows; t.bytes -= o.bytes }

// Segment is a run of rows, in order.
type Segment struct {
	rows      []record.Event
	start     int   // rows before it were popped
	all       tally // rows from start on
	approvals tally // rows that are never dropped for others
	next      *Segment
}

// Live returns the rows that are still in s.
func (s *Segment) Live() []record.Event { return s.rows[s.start:] }

// Len returns how many these are.
func (s *Segment) Len() int { return s.all.rows }

// Bytes estimates the memory of them.
func (s *Segment) Bytes() int64 { return s.all.bytes }

// reset empties s and drops the references of its rows.
func (s *Segment) reset() {
	clear(s.rows)
	*s = Segment{rows: s.rows[:0]}
}

// fifo is a list of segments, the oldest row first.
type fifo struct {
	head, tail *Segment
	all        tally
	approvals  tally
}

// droppable returns the rows that may be dropped to make room.
func (f *fifo) droppable() tally {
	return tally{f.all.rows - f.approvals.rows, f.all.bytes - f.approvals.bytes}
}

// push appends a copy of *e, which is of the given size. It takes segments from free.
func (f *fifo) push(e *record.Event, size int64, approval bool, free *freeList) {
	s := f.tail
	if s == nil || len(s.rows) == segmentRows || s.all.bytes+size > segmentBytes && s.all.rows > 0 {
		s = free.get()
		if f.tail == nil {
			f.head = s
		} else {
			f.tail.next = s
		}
		f.tail = s
	}
	s.rows = append(s.rows, *e)
	one := tally{1, size}
	s.all.add(one)
	f.all.add(one)
	if approval {
		s.approvals.add(one)
		f.approvals.add(one)
	}
}

// first returns the oldest row. The list must not be empty.
func (f *fifo) first() *record.Event { return &f.head.rows[f.head.start] }

// pop removes the oldest row, whose size and kind the caller has looked at.
func (f *fifo) pop(size int64, approval bool, free *freeList) {
	s := f.head
	s.rows[s.start] = record.Event{}
	s.start++
	one := tally{1, size}
	s.all.sub(one)
	f.all.sub(one)
	if approval {
		s.approvals.sub(one)
		f.approvals.sub(one)
	}
	if s.all.rows == 0 {
		f.shift()
		s.reset()
		free.put(s)
	}
}

// shift removes the oldest segment and returns it, nil when there is none.
func (f *fifo) shift() *Segment {
	s := f.head
	if s == nil {
		return nil
	}
	f.head = s.next
	if f.head == nil {
		f.tail = nil
	}
	s.next = nil
	f.all.sub(s.all)
	f.approvals.sub(s.approvals)
	return s
}

// freeList keeps empty segments for reuse.
type freeList struct {
	segments [freeSegments]*Segment
	n        int
}

func (l *freeList) get() *Segment {
	if l.n == 0 {
		return &Segment{rows: make([]record.Event, 0, segmentRows)}
	}
	l.n--
	s := l.segments[l.n]
	l.segments[l.n] = nil
	return s
}

// Put keeps s, which is empty, if there is room for it.
func (l *freeList) put(s *Segment) {
	if l.n < len(l.segments) {
		l.segments[l.n] = s
		l.n++
	}
}
