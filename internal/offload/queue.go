// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package offload

// queue is a first-in, first-out queue of parts that reuses its memory.
type queue struct {
	parts []part
	head  int // of the first that waits
}

func (q *queue) len() int { return len(q.parts) - q.head }

func (q *queue) push(p part) {
	if q.head > len(q.parts)/2 {
		n := copy(q.parts, q.parts[q.head:])
		clear(q.parts[n:])
		q.parts, q.head = q.parts[:n], 0
	}
	q.parts = append(q.parts, p)
}

// pop removes the first part; there must be one.
func (q *queue) pop() part {
	p := q.parts[q.head]
	q.parts[q.head] = part{} // lets go of the bytes
	q.head++
	if q.head == len(q.parts) {
		q.parts, q.head = q.parts[:0], 0
	}
	return p
}
