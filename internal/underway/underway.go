// Copyright 2026 The contextgraph Authors
// SPDX-License-Identifier: Apache-2.0

// Package underway holds facts about the runs of a process that no row holds: the runs under
// way, the earlier turns of their sessions, and the steps that could not be recorded. The
// recorder writes them, and the evidence for a decision is read with them. The package stands
// below both.
package underway

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Register is what one process knows. The zero value is empty. It is safe for concurrent use,
// and nothing waits while its lock is held.
type Register struct {
	mu       sync.Mutex
	running  map[record.Session][]string
	left     []string
	unplaced atomic.Uint64
}

// Begin notes that a run of a session is under way.
func (u *Register) Begin(s record.Session, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running == nil {
		u.running = make(map[record.Session][]string)
	}
	u.running[s] = append(u.running[s], id)
}

// End notes that the last row of a run was handed to the sink.
func (u *Register) End(s record.Session, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running[s] = slices.DeleteFunc(u.running[s], func(other string) bool { return other == id })
	if len(u.running[s]) == 0 {
		delete(u.running, s)
	}
}

// Runs returns the ids of the runs of a session that are under way: their record is not finished, and must not be
// taken for one that lost its end.
func (u *Register) Runs(s record.Session) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.running[s])
}

// Running reports whether a run of a session is under way.
func (u *Register) Running(s record.Session, id string) bool { return slices.Contains(u.Runs(s), id) }

// LeaveOut notes, in sentences for people, the parts that the configuration leaves out of the
// record.
func (u *Register) LeaveOut(gaps []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.left = append(u.left, gaps...)
}

// Lose notes that a step of an unknown run could not be recorded.
func (u *Register) Lose() { u.unplaced.Add(1) }

// Gaps says, in sentences for people, which steps this process left out of the record, and how many
// steps of unknown runs it failed to record. No approval can rest on such a record.
func (u *Register) Gaps() []string {
	u.mu.Lock()
	gaps := slices.Clone(u.left)
	u.mu.Unlock()
	if n := u.unplaced.Load(); n > 0 {
		gaps = append(gaps, fmt.Sprintf("%s not be recorded, and of which run is not known: restart the program and start a new session", plural(int(n), "step could", "steps could")))
	}
	return gaps
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
