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
	"time"

	"github.com/adk-contextgraph/contextgraph/record"
)

// Settles is how long a run that ended still counts as under way. Its last row
// may not be on disk yet when another run of the session reads the record.
const Settles = 5 * time.Second

// Register is what one process knows. The zero value is empty. It is safe for concurrent use,
// and nothing waits while its lock is held.
type Register struct {
	mu   sync.Mutex
	runs map[record.Session][]string
	// ended holds the runs that ended just now, oldest first.
	ended    []ended
	left     []string
	unplaced atomic.Uint64
}

type ended struct {
	session record.Session
	id      string
	at      time.Time
}

// Begin notes that a run of a session is under way.
func (u *Register) Begin(s record.Session, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.runs == nil {
		u.runs = make(map[record.Session][]string)
	}
	u.runs[s] = append(u.runs[s], id)
}

// End notes that the last row of a run was handed to the sink.
func (u *Register) End(s record.Session, id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids := slices.DeleteFunc(u.runs[s], func(other string) bool { return other == id })
	if len(ids) == 0 {
		delete(u.runs, s)
	} else {
		u.runs[s] = ids
	}
	u.forget(now)
	u.ended = append(u.ended, ended{s, id, now})
}

func (u *Register) forget(now time.Time) {
	n := 0
	for n < len(u.ended) && now.Sub(u.ended[n].at) > Settles {
		n++
	}
	clear(u.ended[:n])
	u.ended = u.ended[n:]
}

// Runs returns the ids of the runs of a session that are under way or ended just now: their
// record may not be finished and must not be taken for one that lost its end.
func (u *Register) Runs(s record.Session, now time.Time) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(now)
	ids := slices.Clone(u.runs[s])
	for _, e := range u.ended {
		if e.session == s {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// Running reports whether a run of a session is under way.
func (u *Register) Running(s record.Session, id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Contains(u.runs[s], id)
}

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
