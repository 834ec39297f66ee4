// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

package writefake

import (
	"math/rand/v2"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Seeded returns a schedule in which about one request of every `every` meets one of
// faults, drawn by the seed, and all others are taken.
func Seeded(seed uint64, every int, faults ...Answer) func(Request) Answer {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(Request) Answer {
		if r.IntN(every) != 0 {
			return Answer{}
		}
		return faults[r.IntN(len(faults))]
	}
}

// Fault is an answer with a name for tests.
type Fault struct {
	Name   string
	Answer Answer
}

// Transient returns the faults after which the rows get through when they are sent
// again: what is said of servers that go away, are overloaded or break. A silent server
// is not among them: a client sees it only by its clock.
func Transient() []Fault {
	return []Fault{
		{"EOF before", EndBefore(nil)},
		{"EOF after", EndAfter(nil)},
		{"draining before", EndBefore(status.Error(codes.Unavailable, "the connection is draining"))},
		{"draining after", EndAfter(status.Error(codes.Unavailable, "the connection is draining"))},
		{"reset before", EndBefore(status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"))},
		{"reset after", EndAfter(status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"))},
		{"aborted after", EndAfter(status.Error(codes.Aborted, "Closing the stream because server is closing"))},
		{"deadline after", EndAfter(status.Error(codes.DeadlineExceeded, "deadline exceeded"))},
		{"unavailable in the answer", Failed(codes.Unavailable, "Task is overloaded (memory-protection)")},
		{"internal in the answer", Failed(codes.Internal, "internal error")},
	}
}
